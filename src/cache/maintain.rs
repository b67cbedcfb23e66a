//! Upkeep between requests: expired entries out, indices built, gauges set.

use std::time::Duration;

use crate::cache::Cache;
use crate::embed::State;
use crate::metrics;
use crate::policy::freshness::GRACE;
use crate::tasks::Tasks;
use crate::types::Timestamp;

/// How often the gauges are set, and indices looked after when nothing asks for it.
const TICK: Duration = Duration::from_secs(5);

/// Starts the upkeep tasks; they end with `tasks`.
pub(super) fn start(cache: Cache, tasks: &Tasks, sweep_every: Duration) {
    let (closing, sweeper) = (tasks.closing(), cache.clone());
    tasks.spawn("sweep", async move {
        while tokio::time::timeout(sweep_every, closing.cancelled()).await.is_err() {
            sweep(&sweeper).await;
        }
    });
    let closing = tasks.closing();
    tasks.spawn("index-upkeep", async move {
        loop {
            tokio::select! {
                () = closing.cancelled() => return,
                () = cache.store().needs_maintenance().notified() => {}
                () = tokio::time::sleep(TICK) => {}
            }
            cache.store().maintain().await;
            gauge(&cache);
        }
    });
}

/// Entries expired for longer than the grace that stale readers may ask for.
async fn sweep(cache: &Cache) {
    let now = cache.clock().now();
    let grace = u64::try_from(GRACE.as_millis()).unwrap_or(0);
    match cache.store().sweep(Timestamp(now.0.saturating_sub(grace))).await {
        Ok(0) => {}
        Ok(swept) => tracing::debug!(swept, "expired entries swept out"),
        Err(error) => tracing::warn!(%error, "the sweep failed; lookups skip expired entries anyway"),
    }
}

fn gauge(cache: &Cache) {
    metrics::embedder_ready(cache.embedder().state() == State::Ready);
    for (id, _) in cache.policies().list() {
        let stats = cache.store().stats(&id);
        metrics::cache_size(id.as_str(), stats.entries, stats.bytes);
        metrics::removed(id.as_str(), stats.evictions, stats.expirations);
    }
}
