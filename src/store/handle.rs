//! What all handles of a store share: memory, file, and the way to the writer.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot};

use super::file::File;
use super::labels::{Label, LabelScope};
use super::memory::{Memory, Record};
use super::writer::{Done, Job, Op, Writer};
use super::{AttributeFilter, Maintained, Scope, StoreError, Stored};
use crate::types::{EntryId, Fingerprint, Timestamp};

/// Operations that may wait; whoever comes after them waits to get in.
const QUEUE: usize = 1_024;
/// Points in new graphs that make a snapshot worth its time.
const SNAPSHOT_AFTER: usize = 10_000;

/// See the module.
pub(super) struct Inner {
    pub(super) memory: Arc<Memory>,
    file: Arc<File>,
    fingerprint: OnceLock<Fingerprint>,
    snapshots: PathBuf,
    /// `None` only while the last handle is dropped.
    queue: Option<mpsc::Sender<Job>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Inner {
    /// Starts the writer.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the system has no thread to give.
    pub(super) fn start(
        memory: Arc<Memory>,
        file: Arc<File>,
        fingerprint: Option<Fingerprint>,
        snapshots: PathBuf,
    ) -> Result<Self, StoreError> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let writer = Writer::new(Arc::clone(&memory), Arc::clone(&file), fingerprint);
        let thread = std::thread::Builder::new().name("refrain-store".into()).spawn(move || writer.run(jobs));
        let thread = thread.map_err(|error| StoreError::Failed(error.to_string()))?;
        let fingerprint = fingerprint.map(OnceLock::from).unwrap_or_default();
        Ok(Self { memory, file, fingerprint, snapshots, queue: Some(queue), writer: Mutex::new(Some(thread)) })
    }

    /// Queues an operation, waiting for room, and waits until it is done.
    pub(super) async fn ask(&self, op: Op) -> Result<Done, StoreError> {
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send(Job { op, reply }).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// The same for operations that remove something.
    pub(super) async fn ask_removal(&self, op: Op) -> Result<usize, StoreError> {
        match self.ask(op).await? {
            Done::Removed(count) => Ok(count),
            other => Err(StoreError::Failed(format!("the writer answered {other:?} to a removal"))),
        }
    }

    /// Reads an entry from the file. One that is not there, or damaged, is dropped from memory too.
    pub(super) fn read(&self, id: EntryId) -> Result<Option<Arc<Stored>>, StoreError> {
        match self.file.entry(id) {
            Ok(Some(entry)) => {
                let tokens = self.fingerprint.get().filter(|_| entry.partition.is_some());
                let tokens = tokens.and_then(|fingerprint| self.file.tokens(id, fingerprint)).map(Arc::new);
                let stored = Arc::new(Stored::new(entry, tokens));
                self.memory.keep_at_hand(id, Arc::clone(&stored));
                Ok(Some(stored))
            }
            Ok(None) => {
                self.forget(id);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn labels(&self, scope: Option<LabelScope>) -> Result<Vec<Label>, StoreError> {
        self.file.labels(scope)
    }

    /// Asks the writer to drop an entry that cannot be served. Not waited for: the next reader asks again.
    fn forget(&self, id: EntryId) {
        if self.memory.record(id).is_none() {
            return;
        }
        tracing::warn!(%id, "an entry is missing or damaged in the store's file; it is dropped");
        self.memory.damaged.fetch_add(1, Ordering::Relaxed);
        let (reply, _) = oneshot::channel();
        if let Some(queue) = &self.queue {
            // A full queue is no reason to wait here.
            let _ = queue.try_send(Job { op: Op::Remove(vec![id]), reply });
        }
    }

    /// The entries that a purge is about: those that are fresh at `now`, and the expired ones.
    pub(super) fn select(
        &self,
        scope: &Scope,
        filter: &AttributeFilter,
        now: Timestamp,
    ) -> (Vec<EntryId>, Vec<EntryId>) {
        let wanted = self.memory.select(|record| {
            record.meta.cache == scope.cache
                && scope.tenant.is_none_or(|tenant| record.meta.tenant == tenant)
                && scope.kind.is_none_or(|kind| record.meta.kind == kind)
                && filter.admits(&record.meta.attributes)
        });
        let (fresh, expired): (Vec<_>, Vec<_>) = wanted.iter().partition(|record| now < record.meta.expires_at);
        let ids = |records: Vec<&Arc<Record>>| records.into_iter().map(|record| record.id).collect();
        (ids(fresh), ids(expired))
    }

    /// See [`super::Store::adopt`].
    pub(super) async fn adopt(&self, fingerprint: Fingerprint, dimension: usize) -> Result<(), StoreError> {
        if self.fingerprint.get().is_some() {
            return Ok(());
        }
        self.ask(Op::Adopt { fingerprint, dimension }).await?;
        let _ = self.fingerprint.set(fingerprint);
        let (memory, snapshots) = (Arc::clone(&self.memory), self.snapshots.clone());
        let loading = move || {
            memory.index.load(&snapshots, &fingerprint);
            memory.index.mark_all_due();
        };
        tokio::task::spawn_blocking(loading).await.map_err(|error| StoreError::Failed(error.to_string()))
    }

    /// Builds what is due.
    pub(super) fn maintain(&self) -> Maintained {
        let done = self.memory.index.maintain();
        if done.points >= SNAPSHOT_AFTER {
            self.save();
        }
        done
    }

    fn save(&self) {
        let Some(fingerprint) = self.fingerprint.get() else { return };
        if let Err(error) = self.memory.index.save(&self.snapshots, fingerprint) {
            tracing::warn!(%error, "the next start will build its graphs again");
        }
    }

    /// Waits for the writer, which closes the file, and writes the snapshot.
    pub(super) fn finish(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // A panic has been reported where it happened.
            let _ = writer.join();
            self.save();
        }
    }
}

impl Drop for Inner {
    /// Ends the writer: the file must be free when the last handle is gone.
    fn drop(&mut self) {
        self.queue.take();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
    }
}
