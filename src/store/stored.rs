//! An entry at hand, and what is known of one without reading it.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::entry::{Entry, EntryKind};
use crate::tokens::TokenVectors;
use crate::types::{CacheId, EntryId, TenantId, Timestamp};

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
    pub(super) fn bytes(&self) -> u64 {
        self.entry.bytes() + self.tokens.as_ref().map_or(0, |tokens| tokens.bytes() as u64)
    }
}

impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the entry: prompts and answers must not reach a log by accident.
        f.debug_struct("Stored").field("id", &self.entry.id).finish_non_exhaustive()
    }
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
