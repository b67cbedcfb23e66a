//! The one thread that changes the file: it takes what is queued, up to a bound, into one durable commit.
//!
//! A durable commit costs some milliseconds whatever is in it, so waiting callers share one. Memory follows after the
//! commit; when the commit fails, everybody in the group is told, memory stays as it was, and the next group finds the
//! file opened again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use redb::{Table, WriteTransaction};
use tokio::sync::{mpsc, oneshot};

use super::codec::{self, MetaRecord};
use super::file::{self, CLOCK, ENTRIES, FILE, File, LABELS, METAS, SETTINGS, TOKENS, VECTORS};
use super::labels::{self, Forget, Label, Labels, PairKey, Relabel};
use super::ledger::Ledger;
use super::memory::{Change, Gone, Memory, Record};
use super::{Limits, Put, StoreError, Stored};
use crate::embedding::Embedding;
use crate::entry::Entry;
use crate::types::{CacheId, EntryId, Fingerprint, Timestamp};

/// Operations in one commit at most.
const GROUP: usize = 512;
/// Failures in a row after which an operation is not even tried any more.
const PATIENCE: usize = 4;
/// Entries that one operation removes at most, so that a purge does not hold up everybody else.
pub(super) const BATCH: usize = 1_000;

/// What can be asked of the writer.
pub(super) enum Op {
    /// Keep an entry, with its vector if it has a usable one.
    Put { entry: Box<Entry>, embedding: Option<Embedding>, limits: Limits },
    /// Remove these entries.
    Remove(Vec<EntryId>),
    /// Remove up to [`BATCH`] entries that expire at this moment or before.
    Sweep(Timestamp),
    /// Remove up to [`BATCH`] entries of a cache that holds more than it may.
    Trim { cache: CacheId, limits: Limits, now: Timestamp },
    /// Keep or remove a setting.
    Set { key: String, value: Option<Vec<u8>> },
    /// Keep what somebody said of a pair.
    Say { pair: PairKey, label: Label },
    /// Take texts out of labels.
    Forget(Forget),
    /// Use this embedder's vectors from now on, those in the file first.
    Adopt { fingerprint: Fingerprint, dimension: usize },
    /// Finish what was queued before this, note the time, and end.
    Close,
}

/// What the writer says when it is done.
#[derive(Debug)]
pub(super) enum Done {
    Put(Put),
    /// How many entries went.
    Removed(usize),
    /// What has become of labels.
    Relabelled(Vec<Relabel>),
    Other,
}

/// An operation and who waits for it.
pub(super) struct Job {
    pub(super) op: Op,
    pub(super) reply: oneshot::Sender<Result<Done, StoreError>>,
}

/// See the module.
pub(super) struct Writer {
    pub(super) memory: Arc<Memory>,
    pub(super) file: Arc<File>,
    pub(super) fingerprint: Option<Fingerprint>,
    ledger: Ledger,
    broken: bool,
}

struct Tables<'t> {
    entries: Table<'t, u128, &'static [u8]>,
    metas: Table<'t, u128, &'static [u8]>,
    vectors: Table<'t, u128, &'static [u8]>,
    tokens: Table<'t, u128, &'static [u8]>,
    settings: Table<'t, &'static str, &'static [u8]>,
    labels: Labels<'t>,
}

impl<'t> Tables<'t> {
    fn open(writing: &'t WriteTransaction) -> Result<Self, StoreError> {
        Ok(Self {
            entries: writing.open_table(ENTRIES)?,
            metas: writing.open_table(METAS)?,
            vectors: writing.open_table(VECTORS)?,
            tokens: writing.open_table(TOKENS)?,
            settings: writing.open_table(SETTINGS)?,
            labels: writing.open_table(LABELS)?,
        })
    }
}

impl Writer {
    pub(super) fn new(memory: Arc<Memory>, file: Arc<File>, fingerprint: Option<Fingerprint>) -> Self {
        let ledger = Ledger::of(&memory);
        Self { memory, file, fingerprint, ledger, broken: false }
    }

    /// Works until the queue is closed or [`Op::Close`] comes.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        while let Some(first) = queue.blocking_recv() {
            let mut jobs = vec![first];
            while jobs.len() < GROUP && !ends_group(&jobs) {
                let Ok(job) = queue.try_recv() else { break };
                jobs.push(job);
            }
            let last = closes(&jobs);
            self.group(jobs);
            if last {
                break;
            }
        }
        self.file.close();
    }

    fn group(&mut self, jobs: Vec<Job>) {
        match catch_unwind(AssertUnwindSafe(|| self.commit(&jobs))) {
            Ok(Ok(answers)) => self.publish(jobs, answers),
            Ok(Err(error)) => self.refuse(jobs, &error),
            // redb panics on pages that were damaged under it. One operation met them, the others may not have to.
            Err(_) if jobs.len() > 1 => self.one_by_one(jobs),
            Err(panic) => self.refuse(jobs, &StoreError::Failed(file::words(panic.as_ref()))),
        }
    }

    /// After a panic: every operation in a commit of its own, until it is clear that nothing works.
    fn one_by_one(&mut self, jobs: Vec<Job>) {
        self.recover();
        let mut failures = 0;
        let mut jobs = jobs.into_iter();
        while failures < PATIENCE
            && let Some(job) = jobs.next()
        {
            let before = self.memory.failed_commits.load(Ordering::Relaxed);
            self.group(vec![job]);
            let failed = self.memory.failed_commits.load(Ordering::Relaxed) > before;
            failures = if failed { failures + 1 } else { 0 };
        }
        let rest: Vec<Job> = jobs.collect();
        if !rest.is_empty() {
            self.refuse(rest, &StoreError::Failed("the file is damaged".to_owned()));
        }
    }

    /// Makes a commit visible, and tells those who wait.
    fn publish(&mut self, jobs: Vec<Job>, answers: Vec<Result<Done, StoreError>>) {
        for change in self.ledger.close_transaction() {
            self.memory.apply(change);
        }
        for (job, mut answer) in jobs.into_iter().zip(answers) {
            match job.op {
                Op::Set { key, value } => self.memory.set(key, value),
                Op::Say { .. } | Op::Forget(_) => {
                    if let Ok(Done::Relabelled(changes)) = &answer {
                        for change in changes {
                            self.memory.relabel(*change);
                        }
                    }
                }
                Op::Adopt { fingerprint, dimension } => {
                    // redb panics on pages that were damaged under it.
                    let adopted = catch_unwind(AssertUnwindSafe(|| self.adopt(fingerprint, dimension)));
                    let adopted = adopted.unwrap_or_else(|panic| Err(StoreError::Failed(file::words(panic.as_ref()))));
                    answer = adopted.map(|()| Done::Other);
                }
                _ => {}
            }
            // Nobody waits any more when the caller has left; the work is done all the same.
            let _ = job.reply.send(answer);
        }
    }

    fn adopt(&mut self, fingerprint: Fingerprint, dimension: usize) -> Result<(), StoreError> {
        self.fingerprint = Some(fingerprint);
        self.memory.index.set_dimension(dimension);
        let database = self.file.database()?;
        file::walk(&database, Some(&fingerprint), |row| {
            if let file::Vector::Usable(vector) = row.vector
                && vector.len() == dimension
            {
                self.memory.give_vector(row.id, &vector);
            }
        })?;
        self.ledger = Ledger::of(&self.memory);
        Ok(())
    }

    fn refuse(&mut self, jobs: Vec<Job>, error: &StoreError) {
        tracing::error!(%error, operations = jobs.len(), "a commit failed; nothing of it was kept");
        self.memory.failed_commits.fetch_add(1, Ordering::Relaxed);
        self.recover();
        for job in jobs {
            let _ = job.reply.send(Err(error.clone()));
        }
    }

    /// Forgets the transaction that failed.
    fn recover(&mut self) {
        self.broken = true;
        self.ledger = Ledger::of(&self.memory);
    }

    fn commit(&mut self, jobs: &[Job]) -> Result<Vec<Result<Done, StoreError>>, StoreError> {
        if self.broken {
            self.file.reopen()?;
            self.broken = false;
        }
        let database = self.file.database()?;
        let writing = database.begin_write()?;
        let mut answers = Vec::with_capacity(jobs.len());
        {
            let mut tables = Tables::open(&writing)?;
            for job in jobs {
                answers.push(self.stage(&mut tables, &job.op)?);
            }
            // The clock never starts before this, so that a wall clock set back revives nothing.
            writing.open_table(FILE)?.insert(CLOCK, self.memory.latest().0)?;
        }
        writing.commit()?;
        Ok(answers)
    }

    /// Puts one operation into the transaction. The outer error is the file's and fails everybody, the inner one is
    /// the operation's own.
    fn stage(&mut self, tables: &mut Tables<'_>, op: &Op) -> Result<Result<Done, StoreError>, StoreError> {
        let removed = match op {
            Op::Put { entry, embedding, limits } => return self.put(tables, entry, embedding.as_ref(), limits),
            Op::Remove(ids) => self.remove_all(tables, ids, Gone::Deleted)?,
            Op::Sweep(now) => self.sweep(tables, *now)?,
            Op::Trim { cache, limits, now } => self.make_room(tables, cache, None, limits, *now)?,
            Op::Set { key, value } => {
                set(tables, key, value.as_deref())?;
                return Ok(Ok(Done::Other));
            }
            Op::Say { pair, label } => {
                return Ok(Ok(Done::Relabelled(labels::say(&mut tables.labels, *pair, label, labels::MOST)?)));
            }
            Op::Forget(what) => return Ok(Ok(Done::Relabelled(labels::forget(&mut tables.labels, what)?))),
            Op::Adopt { .. } | Op::Close => return Ok(Ok(Done::Other)),
        };
        Ok(Ok(Done::Removed(removed)))
    }

    fn put(
        &mut self,
        tables: &mut Tables<'_>,
        entry: &Entry,
        embedding: Option<&Embedding>,
        limits: &Limits,
    ) -> Result<Result<Done, StoreError>, StoreError> {
        let bytes = entry.bytes();
        if bytes > limits.max_bytes || limits.max_entries == 0 {
            return Ok(Err(StoreError::TooLarge { bytes, max_bytes: limits.max_bytes }));
        }
        let mut replaced = None;
        let old = self.ledger.exact_id(&self.memory, &entry.exact_key);
        // Ids are in the order in which requests came: an answer that took longer must not undo a later refresh.
        if let Some(newer) = old.filter(|old| *old > entry.id) {
            return Ok(Ok(Done::Put(Put { id: newer, replaced: None, evicted: 0 })));
        }
        for id in old.into_iter().chain([entry.id]) {
            if let Some(record) = self.ledger.record(&self.memory, id) {
                replaced = replaced.or(Some(id));
                self.remove(tables, record, Gone::Replaced)?;
            }
        }
        let evicted = self.make_room(tables, &entry.cache, Some(bytes), limits, entry.stored_at)?;
        self.add(tables, entry, embedding)?;
        Ok(Ok(Done::Put(Put { id: entry.id, replaced, evicted })))
    }

    fn add(&mut self, tables: &mut Tables<'_>, entry: &Entry, embedding: Option<&Embedding>) -> Result<(), StoreError> {
        let (id, key) = (entry.id, entry.id.0.as_u128());
        let meta = MetaRecord::of(entry);
        tables.entries.insert(key, codec::encode_entry(entry).as_slice())?;
        tables.metas.insert(key, codec::encode_meta(id, &meta).as_slice())?;
        let dimension = self.memory.index.dimension();
        let usable = embedding.filter(|vector| entry.partition.is_some() && vector.dimension() == dimension);
        let vector = usable.zip(self.fingerprint.as_ref()).map(|(vector, fingerprint)| {
            (codec::encode_vector(id, fingerprint, vector.as_slice()), vector.as_slice().to_vec())
        });
        if let Some((record, _)) = &vector {
            tables.vectors.insert(key, record.as_slice())?;
        }
        let tokens = usable.and_then(Embedding::tokens).cloned();
        if let Some((tokens, fingerprint)) = tokens.as_ref().zip(self.fingerprint.as_ref()) {
            tables.tokens.insert(key, codec::encode_tokens(id, fingerprint, tokens).as_slice())?;
        }
        let record = Arc::new(Record::new(id, meta, vector.is_some()));
        let vector = vector.map(|(_, vector)| vector);
        let stored = Arc::new(Stored::new(entry.clone(), tokens));
        self.ledger.add(Arc::clone(&record), Change::Add { record, vector, stored });
        Ok(())
    }

    fn make_room(
        &mut self,
        tables: &mut Tables<'_>,
        cache: &CacheId,
        incoming: Option<u64>,
        limits: &Limits,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let mut count = 0;
        while incoming.is_some() || count < BATCH {
            let Some(id) = self.ledger.victim(&self.memory, cache, incoming, limits, now) else { break };
            let Some(record) = self.ledger.record(&self.memory, id) else { continue };
            let why = if record.meta.expires_at <= now { Gone::Expired } else { Gone::Evicted };
            self.remove(tables, record, why)?;
            count += 1;
        }
        Ok(count)
    }

    fn sweep(&mut self, tables: &mut Tables<'_>, now: Timestamp) -> Result<usize, StoreError> {
        let mut count = 0;
        while count < BATCH {
            let Some(id) = self.ledger.next_expired(&self.memory, now) else { break };
            count += self.remove_all(tables, &[id], Gone::Expired)?;
        }
        Ok(count)
    }

    fn remove_all(&mut self, tables: &mut Tables<'_>, ids: &[EntryId], why: Gone) -> Result<usize, StoreError> {
        let mut count = 0;
        for id in ids {
            if let Some(record) = self.ledger.record(&self.memory, *id) {
                self.remove(tables, record, why)?;
                count += 1;
            }
        }
        Ok(count)
    }

    fn remove(&mut self, tables: &mut Tables<'_>, record: Arc<Record>, why: Gone) -> Result<(), StoreError> {
        let key = record.id.0.as_u128();
        tables.entries.remove(key)?;
        tables.metas.remove(key)?;
        tables.vectors.remove(key)?;
        tables.tokens.remove(key)?;
        self.ledger.remove(&self.memory, record, why);
        Ok(())
    }
}

/// An adoption is the last of its group: what comes after it is kept with vectors.
fn ends_group(jobs: &[Job]) -> bool {
    closes(jobs) || jobs.last().is_some_and(|job| matches!(job.op, Op::Adopt { .. }))
}

fn closes(jobs: &[Job]) -> bool {
    jobs.last().is_some_and(|job| matches!(job.op, Op::Close))
}

fn set(tables: &mut Tables<'_>, key: &str, value: Option<&[u8]>) -> Result<(), StoreError> {
    match value {
        Some(value) => tables.settings.insert(key, value)?,
        None => tables.settings.remove(key)?,
    };
    Ok(())
}
