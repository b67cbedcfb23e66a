//! Where answers are kept: one redb file that is the truth (I3), and beside it in memory what a lookup needs.
//!
//! A [`Store`] is a handle; clones share everything. What a lookup can see has been committed durably: the writer
//! thread changes memory after the commit and never before. An entry that memory knows and the file does not, or that
//! does not pass its checksum, is a miss. Time is an argument (`now`); no clock is read here. Blocking work happens on
//! the writer's thread or in `spawn_blocking`, so every `async` method may be called on an async thread (I5).
//!
//! | module | holds |
//! |---|---|
//! | `codec` | the bytes of a record |
//! | `file` | the redb file: open, set aside, reopen, read |
//! | `memory` | metadata, exact keys, vectors, entries at hand |
//! | `labels` | what is known of pairs of prompts: what people said, what shadow mode found |
//! | `ledger` | the writer's view of a transaction under way |
//! | `writer` | group commits |

use std::any::Any;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;

use crate::embedding::Embedding;
use crate::entry::{Entry, EntryKind};
use crate::index::{Query, SearchCounts};
use crate::policy::record::Record;
use crate::tokens::TokenVectors;
use crate::types::{CacheId, EntryId, ExactKey, Fingerprint, PartitionKey, TenantId, Timestamp};

mod codec;
mod error;
mod file;
mod handle;
mod labels;
mod ledger;
mod memory;
mod open;
mod writer;

pub use crate::index::{AttributeFilter, Candidate, Maintained, SearchKind};
pub use crate::policy::eviction::Limits;
pub use error::StoreError;
pub use labels::{Forget, Label, LabelScope, LabelSource, LabelledPair, PairKey};

use handle::Inner;
use writer::{BATCH, Done, Op};

/// What callers said of an entry's hits, by pair.
pub type EntryRecord = Record<PairKey>;

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The folder of the redb file and the index snapshots; made when it is not there.
    pub dir: PathBuf,
    /// How vectors are searched.
    pub index: crate::config::Index,
    /// Memory for entries that were read or written lately, in bytes.
    pub memory_bytes: u64,
    /// What makes the vectors. `None`: no embedder works; vectors are left alone, and only the exact tier answers.
    pub fingerprint: Option<Fingerprint>,
    /// Components of a vector.
    pub dimension: usize,
}

/// What was found at the opening.
#[derive(Clone, Debug)]
pub struct OpenReport {
    /// Entries that can be served.
    pub entries: usize,
    /// Entries whose vector another embedder made: the exact tier serves them, the semantic one does not.
    pub vectors_ignored: usize,
    /// Records that did not pass their checksum; they are removed.
    pub damaged: usize,
    /// Graphs taken over from the snapshot.
    pub graphs: usize,
    /// Where a file went that could not be used.
    pub set_aside: Option<PathBuf>,
    /// The latest moment that the file speaks of; the clock must not start before it.
    pub latest: Timestamp,
    /// How long opening took.
    pub took: Duration,
}

/// An entry at hand.
pub struct Stored {
    /// The entry.
    pub entry: Entry,
    /// The vectors of its text's tokens, as the present embedder makes them; `None` without.
    pub tokens: Option<Arc<TokenVectors>>,
    /// Room for what callers derive from the entry and want to keep with it: it lives as long as the entry is at hand.
    pub prepared: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Stored {
    /// An entry with nothing prepared.
    pub fn new(entry: Entry, tokens: Option<Arc<TokenVectors>>) -> Self {
        Self { entry, tokens, prepared: OnceLock::new() }
    }

    /// Memory that it takes, in bytes.
    fn bytes(&self) -> u64 {
        self.entry.bytes() + self.tokens.as_ref().map_or(0, |tokens| tokens.bytes() as u64)
    }
}

impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the entry: prompts and answers must not reach a log by accident.
        f.debug_struct("Stored").field("id", &self.entry.id).finish_non_exhaustive()
    }
}

/// What keeping an entry did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// The entry's id.
    pub id: EntryId,
    /// The entry that had the same exact key, now gone.
    pub replaced: Option<EntryId>,
    /// How many others had to go.
    pub evicted: usize,
}

/// Which entries a purge is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Of this cache.
    pub cache: CacheId,
    /// Of this tenant; `None`: of all.
    pub tenant: Option<TenantId>,
    /// Of this kind; `None`: of both.
    pub kind: Option<EntryKind>,
}

/// An entry, less its request and answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The entry.
    pub id: EntryId,
    /// Its cache.
    pub cache: CacheId,
    /// Its tenant.
    pub tenant: TenantId,
    /// Provider's or plain.
    pub kind: EntryKind,
    /// When the answer was complete.
    pub stored_at: Timestamp,
    /// From this moment on it is not fresh.
    pub expires_at: Timestamp,
    /// What it counts against `maxBytes`.
    pub bytes: u64,
}

/// A cache in numbers. Entries, bytes and vectors are now; the others count since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Entries kept, expired ones that are not swept out yet included.
    pub entries: u64,
    /// What they count against `maxBytes`.
    pub bytes: u64,
    /// Those that the semantic tier can find.
    pub vectors: u64,
    /// Entries that had to make room.
    pub evictions: u64,
    /// Entries removed because their time was up.
    pub expirations: u64,
}

/// The installation in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All caches together.
    pub caches: CacheStats,
    /// Partitions with vectors.
    pub partitions: u64,
    /// How searches went.
    pub searches: SearchCounts,
    /// Records that could not be read back, since the start.
    pub damaged: u64,
    /// Commits that failed, since the start.
    pub failed_commits: u64,
}

/// The handle to the store.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

impl Store {
    /// Opens the store in `options.dir`. Blocks for up to some seconds: call it in `spawn_blocking`.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when another process has it open; [`StoreError::Unusable`] when no file can be had there.
    /// A damaged file is no error: it is moved aside and reported.
    #[allow(clippy::needless_pass_by_value)] // It is moved into a blocking task anyway.
    pub fn open(options: StoreOptions) -> Result<(Self, OpenReport), StoreError> {
        open::open(&options).map(|(inner, report)| (Self { inner: Arc::new(inner) }, report))
    }

    /// The entry with this exact key, fresh or not. Memory only.
    pub fn exact_id(&self, key: &ExactKey) -> Option<EntryId> {
        self.inner.memory.exact_id(key)
    }

    /// The entry, if it was read or written lately. Memory only.
    pub fn cached(&self, id: EntryId) -> Option<Arc<Stored>> {
        self.inner.memory.cached(id)
    }

    /// The entry; `None` when it is gone, or damaged and therefore gone.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the file cannot be read.
    pub async fn load(&self, id: EntryId) -> Result<Option<Arc<Stored>>, StoreError> {
        if let Some(stored) = self.cached(id) {
            return Ok(Some(stored));
        }
        if self.inner.memory.record(id).is_none() {
            return Ok(None);
        }
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || inner.read(id)).await.map_err(|_| StoreError::Closed)?
    }

    /// The entries of one partition nearest to `query`, at most `k`, best first. Those that expire at `now` or before
    /// are skipped; pass the epoch to see them too. CPU only.
    pub fn nearest(
        &self,
        partition: &PartitionKey,
        query: &Embedding,
        k: usize,
        filter: &AttributeFilter,
        now: Timestamp,
    ) -> Vec<Candidate> {
        self.inner.memory.saw(now);
        self.inner.memory.index.search(partition, &Query { vector: query.as_slice(), k, filter, now })
    }

    /// Live vectors in a partition.
    #[cfg(test)]
    pub fn partition_len(&self, partition: &PartitionKey) -> usize {
        self.inner.memory.index.get(partition).map_or(0, |partition| partition.len())
    }

    /// How a partition is searched at present.
    pub fn search_kind(&self, partition: &PartitionKey) -> SearchKind {
        self.inner.memory.index.get(partition).map_or(SearchKind::Scan, |partition| partition.search_kind())
    }

    /// Keeps an entry; returns after the durable commit. An entry with the same exact key, or the same id, goes at
    /// the same moment, unless the other's id is the later one: then that one stays, and is what is returned. `limits` are its cache's: others are evicted in the same transaction, so they hold at all
    /// times. An embedding is ignored when the entry has no partition, the store no fingerprint, or its dimension is
    /// another.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] when the entry alone exceeds `limits`, and nothing is evicted for it;
    /// [`StoreError::Failed`] when the commit failed, and nothing has changed.
    pub async fn put(&self, entry: Entry, embedding: Option<Embedding>, limits: Limits) -> Result<Put, StoreError> {
        match self.inner.ask(Op::Put { entry: Box::new(entry), embedding, limits }).await? {
            Done::Put(put) => Ok(put),
            other => Err(StoreError::Failed(format!("the writer answered {other:?} to a put"))),
        }
    }

    /// Tells a store that was opened without a fingerprint what makes the vectors from now on, and makes those of the
    /// file findable that it made. Does nothing when the store has one already.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the file cannot be read; what has been read by then is findable.
    pub async fn adopt(&self, fingerprint: Fingerprint, dimension: usize) -> Result<(), StoreError> {
        self.inner.adopt(fingerprint, dimension).await
    }

    /// Removes entries and says how many there were; gone from both tiers at once, and after a restart.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when a commit failed; part of a long list may be gone then.
    pub async fn remove(&self, ids: Vec<EntryId>) -> Result<usize, StoreError> {
        let mut removed = 0;
        for batch in ids.chunks(BATCH) {
            removed += self.inner.ask_removal(Op::Remove(batch.to_vec())).await?;
        }
        Ok(removed)
    }

    /// Removes every entry in `scope` whose attributes pass `filter`, and says how many of them were fresh at `now`.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub async fn remove_matching(
        &self,
        scope: Scope,
        filter: AttributeFilter,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let inner = Arc::clone(&self.inner);
        let select = move || inner.select(&scope, &filter, now);
        let (fresh, expired) = tokio::task::spawn_blocking(select).await.map_err(|_| StoreError::Closed)?;
        let removed = self.remove(fresh).await?;
        self.remove(expired).await?;
        Ok(removed)
    }

    /// Empties a cache, or one tenant's part of it, and says how many entries there were, expired ones included.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub async fn flush(&self, cache: &CacheId, tenant: Option<TenantId>) -> Result<usize, StoreError> {
        let scope = Scope { cache: cache.clone(), tenant, kind: None };
        // At the epoch nothing has expired yet.
        self.remove_matching(scope, AttributeFilter::Any, Timestamp::default()).await
    }

    /// An entry, less its request and answer. Memory only.
    pub fn meta(&self, id: EntryId) -> Option<Meta> {
        let record = self.inner.memory.record(id)?;
        Some(Meta {
            id,
            cache: record.meta.cache.clone(),
            tenant: record.meta.tenant,
            kind: record.meta.kind,
            stored_at: record.meta.stored_at,
            expires_at: record.meta.expires_at,
            bytes: record.meta.bytes,
        })
    }

    /// Notes that an entry was used, so that it is evicted later. Memory only, and forgotten by a restart.
    pub fn touch(&self, id: EntryId, now: Timestamp) {
        self.inner.memory.saw(now);
        if let Some(record) = self.inner.memory.record(id) {
            record.touch(now);
        }
    }

    /// Removes the entries that expire at `now` or before, in batches, and says how many. For a period of grace pass
    /// an earlier moment.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when a commit failed; earlier batches are gone then.
    pub async fn sweep(&self, now: Timestamp) -> Result<usize, StoreError> {
        self.inner.memory.saw(now);
        self.in_batches(|| Op::Sweep(now)).await
    }

    /// Brings a cache within limits that have become smaller, and says how many entries went.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when a commit failed; earlier batches are gone then.
    pub async fn trim(&self, cache: &CacheId, limits: Limits, now: Timestamp) -> Result<usize, StoreError> {
        self.in_batches(|| Op::Trim { cache: cache.clone(), limits, now }).await
    }

    async fn in_batches(&self, op: impl Fn() -> Op) -> Result<usize, StoreError> {
        let mut total = 0;
        loop {
            let removed = self.inner.ask_removal(op()).await?;
            total += removed;
            if removed < BATCH {
                return Ok(total);
            }
        }
    }

    /// Builds the graphs that are due, and writes a snapshot after big ones. Takes as long as building takes, on a
    /// blocking thread; one runs at a time, and another call returns at once.
    pub async fn maintain(&self) -> Maintained {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || inner.maintain()).await.unwrap_or_default()
    }

    /// Ends the building of graphs, now and for ever: for a shutdown, which must not wait for one.
    pub fn stop_building(&self) {
        self.inner.memory.index.stop();
    }

    /// Wakes one waiter when [`Self::maintain`] has something to do.
    pub fn needs_maintenance(&self) -> &Notify {
        self.inner.memory.index.wanted()
    }

    /// A cache in numbers.
    pub fn stats(&self, cache: &CacheId) -> CacheStats {
        self.inner.memory.stats(cache)
    }

    /// The installation in numbers.
    pub fn totals(&self) -> Totals {
        let memory = &self.inner.memory;
        Totals {
            caches: memory.sum(),
            partitions: memory.index.len() as u64,
            searches: memory.index.search_counts(),
            damaged: memory.damaged.load(Ordering::Relaxed),
            failed_commits: memory.failed_commits.load(Ordering::Relaxed),
        }
    }

    /// Keeps a small value under a name, durably.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the commit failed, and nothing has changed.
    pub async fn put_setting(&self, key: &str, value: Vec<u8>) -> Result<(), StoreError> {
        self.inner.ask(Op::Set { key: key.to_owned(), value: Some(value) }).await.map(drop)
    }

    /// Removes the value under a name, durably; no error when there is none.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the commit failed, and nothing has changed.
    pub async fn delete_setting(&self, key: &str) -> Result<(), StoreError> {
        self.inner.ask(Op::Set { key: key.to_owned(), value: None }).await.map(drop)
    }

    /// Keeps what somebody said of a pair, durably; the last word on it counts.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the commit failed, and nothing has changed.
    pub async fn put_label(&self, pair: PairKey, label: Label) -> Result<(), StoreError> {
        self.inner.ask(Op::Say { pair, label }).await.map(drop)
    }

    /// Is the last word on this pair that its answer was wrong? Memory only.
    pub fn is_wrong(&self, pair: impl FnOnce() -> PairKey) -> bool {
        self.inner.memory.knows_wrong() && self.inner.memory.is_wrong(&pair())
    }

    /// Is the last word on this pair that its answer was right? Memory only.
    pub fn is_right(&self, pair: &PairKey) -> bool {
        self.inner.memory.is_right(pair)
    }

    /// What `look` makes of an entry's record, which goes with the entry; `None` where nothing was said of it. Memory
    /// only, and under its lock: keep it short.
    pub fn observed<T>(&self, id: EntryId, look: impl FnOnce(&EntryRecord) -> T) -> Option<T> {
        self.inner.memory.observed(id, look)
    }

    /// Takes texts out of labels, durably: those of entries that are deleted on request.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the commit failed, and nothing has changed.
    pub async fn forget_labels(&self, what: Forget) -> Result<(), StoreError> {
        if self.inner.memory.knows_labels() {
            self.inner.ask(Op::Forget(what)).await?;
        }
        Ok(())
    }

    /// What was said in a scope, or in all, in no order.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the file cannot be read.
    pub async fn labels(&self, scope: Option<LabelScope>) -> Result<Vec<Label>, StoreError> {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || inner.labels(scope)).await.map_err(|_| StoreError::Closed)?
    }

    /// All settings. Memory only.
    pub fn settings(&self) -> BTreeMap<String, Vec<u8>> {
        self.inner.memory.settings()
    }

    /// Finishes what is queued, closes the file and writes the index snapshot. Calls after the first do nothing.
    /// Without it nothing acknowledged is lost either, but the next start builds its graphs again.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the last commit failed.
    pub async fn close(self) -> Result<(), StoreError> {
        self.inner.memory.index.stop();
        let answer = match self.inner.ask(Op::Close).await {
            Ok(_) | Err(StoreError::Closed) => Ok(()),
            Err(error) => Err(error),
        };
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || inner.finish()).await.map_err(|_| StoreError::Closed)?;
        answer
    }
}

/// Reads the labels in the data folder `dir`, which no running service has open; blocks. Nothing there is changed.
///
/// # Errors
/// [`StoreError::Locked`], or [`StoreError::Unusable`] when there is no file that can be read.
pub fn labels_in(dir: &Path) -> Result<Vec<Label>, StoreError> {
    file::labels_of(dir)
}

#[cfg(test)]
mod tests;
