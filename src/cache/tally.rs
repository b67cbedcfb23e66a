//! How requests of each cache came out since the start. Memory only; the metrics say the same to Prometheus.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::types::CacheId;

/// The requests of one cache by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcomes {
    /// Answered from a fresh entry.
    pub hits: u64,
    /// Answered from a stale entry.
    pub stale: u64,
    /// Went upstream for want of an entry.
    pub misses: u64,
    /// Went upstream past the semantic tier, and no exact entry answered.
    pub bypasses: u64,
    /// Went upstream since the mode is shadow, and would have been answered from an entry; among `bypasses`.
    pub shadow_hits: u64,
}

impl Outcomes {
    /// The share of requests that an entry answered; `None` before the first.
    pub fn hit_rate(&self) -> Option<f64> {
        let all = self.hits + self.stale + self.misses + self.bypasses;
        (all > 0).then(|| (self.hits + self.stale) as f64 / all as f64)
    }
}

/// All caches.
#[derive(Default)]
pub(super) struct Tally(Mutex<BTreeMap<CacheId, Outcomes>>);

impl Tally {
    /// Counts a request; `outcome` is its label, and another word is no outcome.
    pub(super) fn count(&self, cache: &CacheId, outcome: &str) {
        let mut all = self.all();
        let entry = all.entry(cache.clone()).or_default();
        match outcome {
            "hit" => entry.hits += 1,
            "stale" => entry.stale += 1,
            "miss" => entry.misses += 1,
            "bypass" => entry.bypasses += 1,
            _ => {}
        }
    }

    /// Counts what shadow mode withheld; an outcome that is no answer from an entry is none.
    pub(super) fn count_shadow(&self, cache: &CacheId, outcome: &str) {
        if matches!(outcome, "hit" | "stale") {
            self.all().entry(cache.clone()).or_default().shadow_hits += 1;
        }
    }

    pub(super) fn of(&self, cache: &CacheId) -> Outcomes {
        self.all().get(cache).copied().unwrap_or_default()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<CacheId, Outcomes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
