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
//! | `judged` | the handle's part about labels and entries' records |
//! | `labels` | what is known of pairs of prompts: what people said, what shadow mode found |
//! | `ledger` | the writer's view of a transaction under way |
//! | `writer` | group commits |

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Notify;

use crate::embedding::Embedding;
use crate::entry::{Entry, EntryKind};
use crate::index::Query;
use crate::types::{CacheId, EntryId, ExactKey, Fingerprint, PartitionKey, TenantId, Timestamp};

mod codec;
mod error;
mod file;
mod handle;
mod judged;
mod labels;
mod ledger;
mod memory;
mod open;
mod options;
mod stats;
mod stored;
mod writer;

pub use crate::index::{AttributeFilter, Candidate, Maintained, SearchKind};
pub use crate::policy::eviction::Limits;
pub use error::StoreError;
pub use judged::EntryRecord;
pub use labels::{Forget, Label, LabelScope, LabelSource, LabelledPair, PairKey};
pub use options::{OpenReport, StoreOptions};
pub use stats::{CacheStats, Totals};
pub use stored::{Meta, Stored};

use handle::Inner;
use writer::{BATCH, Done, Op};

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
