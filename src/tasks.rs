//! The only spawner. Every task has a name and is waited for at shutdown; a panic is caught, logged and counted.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics;

/// The spawner's handle; cheap to clone.
#[derive(Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    closing: CancellationToken,
    aborting: CancellationToken,
    running: Arc<Mutex<BTreeMap<&'static str, usize>>>,
}

/// One running task in the count; gone when dropped.
struct Counted {
    name: &'static str,
    running: Arc<Mutex<BTreeMap<&'static str, usize>>>,
}

impl Counted {
    fn new(name: &'static str, running: &Arc<Mutex<BTreeMap<&'static str, usize>>>) -> Self {
        *running.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
        Self { name, running: Arc::clone(running) }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_mut(self.name) {
            *count -= 1;
            if *count == 0 {
                running.remove(self.name);
            }
        }
    }
}

impl Tasks {
    /// Runs `future` as a task of this name.
    pub fn spawn(&self, name: &'static str, future: impl Future<Output = ()> + Send + 'static) {
        let counted = Counted::new(name, &self.running);
        let aborting = self.aborting.clone();
        let guarded = async move {
            let _counted = counted;
            let caught = AssertUnwindSafe(future).catch_unwind();
            tokio::select! {
                result = caught => if result.is_err() {
                    tracing::error!(task = name, "a task panicked");
                    metrics::task_panic(name);
                },
                () = aborting.cancelled() => {}
            }
        };
        self.tracker.spawn(guarded);
    }

    /// Is cancelled when shutdown begins: tasks that run for ever end then.
    pub fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// Begins the shutdown: see [`Tasks::closing`].
    pub fn begin_closing(&self) {
        self.closing.cancel();
    }

    /// Runs `work` to its end whatever becomes of the caller, whose own future may be dropped on the way; `None` when
    /// it panicked or was ended by the shutdown.
    pub async fn complete<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (done, result) = tokio::sync::oneshot::channel();
        self.spawn(name, async move {
            let _ = done.send(work.await);
        });
        result.await.ok()
    }

    /// Begins the shutdown and waits for all tasks, at most `limit`; the names of those that were still running, which
    /// are then ended.
    pub async fn drain(&self, limit: Duration) -> Vec<(&'static str, usize)> {
        self.closing.cancel();
        self.tracker.close();
        if tokio::time::timeout(limit, self.tracker.wait()).await.is_ok() {
            return Vec::new();
        }
        let stuck = self.running().into_iter().collect();
        self.aborting.cancel();
        let _ = tokio::time::timeout(Duration::from_secs(1), self.tracker.wait()).await;
        stuck
    }

    /// Running tasks by name.
    pub fn running(&self) -> BTreeMap<&'static str, usize> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn draining_names_what_is_stuck_and_ends_it() {
        let tasks = Tasks::default();
        tasks.spawn("endless", std::future::pending());
        let closing = tasks.closing();
        tasks.spawn("polite", async move { closing.cancelled().await });
        assert_eq!(tasks.running().len(), 2);
        assert_eq!(tasks.drain(Duration::from_millis(50)).await, [("endless", 1)]);
        assert!(tasks.running().is_empty());
    }

    #[tokio::test]
    async fn a_panic_stays_in_its_task() {
        let tasks = Tasks::default();
        tasks.spawn("faulty", async { panic!("on purpose") });
        assert!(tasks.drain(Duration::from_secs(5)).await.is_empty());
    }
}
