//! A `[caches.NAME]` table: the policy's fields in snake_case, each optional.

use serde::{Deserialize, Serialize};

use crate::config::Span;
use crate::settings::{CachePolicy, Guards, History, Mode, Sharing, Strategy, VerifierChoice};

/// The fields that a config file sets; the rest keep their defaults.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilePolicy {
    /// See [`CachePolicy::mode`].
    pub mode: Option<Mode>,
    /// See [`CachePolicy::strategies`].
    pub strategies: Option<Vec<Strategy>>,
    /// See [`CachePolicy::similarity_threshold`].
    pub similarity_threshold: Option<f64>,
    /// See [`CachePolicy::verifier`].
    pub verifier: Option<VerifierChoice>,
    /// See [`CachePolicy::target_error_rate`].
    pub target_error_rate: Option<f64>,
    /// See [`CachePolicy::learning`].
    pub learning: Option<bool>,
    /// See [`CachePolicy::history`].
    pub history: Option<History>,
    /// See [`CachePolicy::ttl`].
    pub ttl: Option<Span>,
    /// See [`CachePolicy::max_ttl`].
    pub max_ttl: Option<Span>,
    /// See [`CachePolicy::sharing`].
    pub sharing: Option<Sharing>,
    /// See [`CachePolicy::max_entries`].
    pub max_entries: Option<u64>,
    /// See [`CachePolicy::max_bytes`].
    pub max_bytes: Option<u64>,
    /// See [`CachePolicy::max_answer_bytes`].
    pub max_answer_bytes: Option<u64>,
    /// See [`CachePolicy::guards`].
    pub guards: Option<Guards>,
    /// See [`CachePolicy::max_temperature`].
    pub max_temperature: Option<f64>,
    /// See [`CachePolicy::curated`].
    pub curated: Option<bool>,
}

impl FilePolicy {
    /// The whole policy: these fields over the defaults.
    pub fn policy(&self) -> CachePolicy {
        let base = CachePolicy::default();
        CachePolicy {
            mode: self.mode.unwrap_or(base.mode),
            strategies: self.strategies.clone().unwrap_or(base.strategies),
            similarity_threshold: self.similarity_threshold.or(base.similarity_threshold),
            verifier: self.verifier.unwrap_or(base.verifier),
            target_error_rate: self.target_error_rate.unwrap_or(base.target_error_rate),
            learning: self.learning.unwrap_or(base.learning),
            history: self.history.unwrap_or(base.history),
            ttl: self.ttl.map_or(base.ttl, |span| span.0.as_secs()),
            max_ttl: self.max_ttl.map_or(base.max_ttl, |span| span.0.as_secs()),
            sharing: self.sharing.unwrap_or(base.sharing),
            max_entries: self.max_entries.unwrap_or(base.max_entries),
            max_bytes: self.max_bytes.unwrap_or(base.max_bytes),
            max_answer_bytes: self.max_answer_bytes.unwrap_or(base.max_answer_bytes),
            guards: self.guards.unwrap_or(base.guards),
            max_temperature: self.max_temperature.or(base.max_temperature),
            curated: self.curated.unwrap_or(base.curated),
        }
    }
}
