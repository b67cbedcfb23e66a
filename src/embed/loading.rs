//! Something that takes a while to make and may fail: made on a thread of its own, while the service runs without it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// How long a start waits; after that the making goes on while the service runs.
const READY_WITHIN: Duration = Duration::from_secs(10);
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(5);

/// A `T`, whatever has become of it.
pub struct Loading<T> {
    outcome: Arc<OnceLock<Result<T, String>>>,
    loader: Mutex<Option<JoinHandle<()>>>,
}

impl<T: Send + Sync + 'static> Loading<T> {
    /// Begins to make it and waits, for at most ten seconds. `report` is told what came of it, on the making thread.
    pub async fn start(
        name: &str,
        make: impl FnOnce() -> Result<T, String> + Send + 'static,
        report: impl FnOnce(&Result<T, String>) + Send + 'static,
    ) -> Self {
        let outcome: Arc<OnceLock<Result<T, String>>> = Arc::default();
        let (done, finished) = oneshot::channel::<()>();
        let slot = Arc::clone(&outcome);
        let loader = thread::Builder::new().name(format!("refrain-{name}-load")).spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|_| Err("loading it panicked".into()));
            report(&result);
            // Set already only by a shutdown, and then what was made ends with the value.
            let _ = slot.set(result);
            let _ = done.send(());
        });
        let loader = loader
            .map_err(|error| {
                tracing::error!(%error, name, "no thread to load on");
                let _ = outcome.set(Err(format!("no thread to load on: {error}")));
            })
            .ok();
        if tokio::time::timeout(READY_WITHIN, finished).await.is_err() {
            tracing::warn!(name, "still loading; the service runs without it until it is ready");
        }
        Self { outcome, loader: Mutex::new(loader) }
    }
}

impl<T> Loading<T> {
    /// What became of it; `None` while it is being made.
    pub fn get(&self) -> Option<Result<&T, &str>> {
        self.outcome.get().map(|made| made.as_ref().map_err(String::as_str))
    }

    /// The thing itself, when it is there.
    pub fn ready(&self) -> Option<&T> {
        self.get()?.ok()
    }

    /// Waits for the making to end, for a bounded time. Blocks.
    pub fn finish(&self) {
        let loader = self.loader.lock().unwrap_or_else(PoisonError::into_inner).take();
        let until = Instant::now() + SHUTDOWN_WITHIN;
        while loader.as_ref().is_some_and(|loader| !loader.is_finished()) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        // A loader that is still at it would make it for nobody.
        let _ = self.outcome.set(Err("shutting down".into()));
    }
}
