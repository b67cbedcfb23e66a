//! Upkeep between requests: expired entries out, indices built; and the gauges for who asks.

use std::time::Duration;

use crate::cache::{Cache, comparing};
use crate::embed::State;
use crate::metrics;
use crate::policy::freshness::GRACE;
use crate::tasks::Tasks;
use crate::types::Timestamp;

/// How often indices are looked after when nothing asks for it.
const TICK: Duration = Duration::from_secs(5);
/// How often an embedder that was not ready at the start is looked at.
const ARRIVAL_TICK: Duration = Duration::from_millis(250);

/// Starts the upkeep tasks; they end with `tasks`.
pub(super) fn start(cache: Cache, tasks: &Tasks, sweep_every: Duration) {
    let (closing, sweeper) = (tasks.closing(), cache.clone());
    tasks.spawn("sweep", async move {
        while tokio::time::timeout(sweep_every, closing.cancelled()).await.is_err() {
            sweep(&sweeper).await;
        }
    });
    if cache.embedder().state() != State::Ready {
        tasks.spawn("embedder-arrival", adopt_when_ready(cache.clone(), tasks.clone()));
    }
    comparing::start(cache.clone(), tasks);
    let closing = tasks.closing();
    tasks.spawn("index-upkeep", async move {
        loop {
            tokio::select! {
                () = closing.cancelled() => return,
                () = cache.store().needs_maintenance().notified() => {}
                () = tokio::time::sleep(TICK) => {}
            }
            cache.store().maintain().await;
            // Samples are kept until somebody asks for them, or this.
            metrics::install().upkeep();
        }
    });
}

/// A model that loads slowly, or a server that was down, brings the semantic tier with it when it comes.
async fn adopt_when_ready(cache: Cache, tasks: Tasks) {
    let closing = tasks.closing();
    while tokio::time::timeout(ARRIVAL_TICK, closing.cancelled()).await.is_err() {
        let known = (cache.embedder().fingerprint(), cache.embedder().dimension(), cache.embedder().state());
        let (Some(fingerprint), Some(dimension), State::Ready) = known else {
            continue;
        };
        match cache.store().adopt(fingerprint, dimension).await {
            Ok(()) => tracing::info!(dimension, "the embedder is ready: the semantic tier serves from now on"),
            Err(error) => {
                tracing::error!(%error, "the store cannot use the embedder's vectors yet");
                continue;
            }
        }
        return;
    }
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

/// Brings the metrics that are states, not events, up to date.
pub(super) fn set_gauges(cache: &Cache) {
    let searches = cache.store().totals().searches;
    metrics::index_searches(searches.scans, searches.graphs, searches.fallbacks);
    metrics::store_faults(cache.store().totals().failed_commits, cache.store().totals().damaged);
    metrics::verifier_ready(cache.verifier_state() == State::Ready);
    metrics::embedder_ready(cache.embedder().state() == State::Ready);
    for (id, _) in cache.policies().list() {
        let stats = cache.store().stats(&id);
        metrics::cache_size(id.as_str(), stats.entries, stats.bytes);
        metrics::removed(id.as_str(), stats.evictions, stats.expirations);
    }
}
