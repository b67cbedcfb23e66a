//! Keeping an answer: what a lookup planned, and the one way into the store for a provider's answer.

use std::time::Duration;

use bytes::Bytes;

use crate::cache::Cache;
use crate::cache::comparing::Work;
use crate::dialect::assemble::Expected;
use crate::embedding::Embedding;
use crate::entry::{Answer, Entry, EntryKind};
use crate::policy::{freshness, guard};
use crate::settings::CachePolicy;
use crate::store::{Limits, StoreError};
use crate::types::{Attributes, CacheId, EntryId, ExactKey, PartitionKey, TenantId};

/// How the answer to a request is to be kept, once it has proved complete.
pub struct Keep {
    pub(super) kind: EntryKind,
    pub(super) cache: CacheId,
    pub(super) tenant: TenantId,
    pub(super) exact_key: ExactKey,
    pub(super) partition: Option<PartitionKey>,
    pub(super) embedding: Option<Embedding>,
    pub(super) canonical: Bytes,
    pub(super) text: String,
    pub(super) attributes: Attributes,
    pub(super) lifetime: Duration,
    pub(super) max_answer_bytes: usize,
    pub(super) limits: Limits,
    pub(super) json_mode: bool,
    pub(super) choices: u64,
    /// The entry's name, given when its request was looked up: of two answers to one request the later asked counts.
    pub(super) id: EntryId,
    /// The entry under the exact key when the lookup began.
    pub(super) known: Option<EntryId>,
    /// What the answer is compared with once it is kept.
    pub(super) compared: Option<Work>,
}

/// Why an answer was not kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The answer is larger than the policy's `maxAnswerBytes`.
    #[error("the answer has {size} bytes, the cache keeps at most {limit} (maxAnswerBytes)")]
    TooLarge {
        /// The answer's size.
        size: usize,
        /// The policy's limit.
        limit: usize,
    },
    /// The policy keeps nothing: ttl 0, or mode off.
    #[error("the cache's policy keeps nothing (ttl 0, or mode off)")]
    NothingKept,
    /// The store could not keep it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Keep {
    /// Where identical requests meet.
    pub fn exact_key(&self) -> ExactKey {
        self.exact_key
    }

    /// The largest answer worth collecting, in bytes.
    pub fn max_answer_bytes(&self) -> usize {
        self.max_answer_bytes
    }

    /// What the answer must be like.
    pub fn expected(&self) -> Expected {
        Expected { max_answer_bytes: self.max_answer_bytes, json_mode: self.json_mode, choices: self.choices }
    }

    /// With the caller's wish for a lifetime, within what the policy allows.
    pub fn lasting(mut self, wish: Duration, policy: &CachePolicy) -> Self {
        let sensitive = guard::time_sensitive(&self.text).is_some();
        self.lifetime = freshness::lifetime(policy, Some(wish), sensitive);
        self
    }
}

/// The caps that a policy sets for its cache.
pub(super) fn limits(policy: &CachePolicy) -> Limits {
    Limits { max_entries: policy.max_entries, max_bytes: policy.max_bytes }
}

impl Cache {
    /// Has somebody kept an answer to this very request since its lookup began?
    pub fn overtaken(&self, keep: &Keep) -> bool {
        self.inner.store.exact_id(&keep.exact_key) != keep.known
    }

    /// Keeps a complete answer. When this returns, the entry is durable and every lookup can see it; or that of the same
    /// request, asked later and answered sooner, which stays.
    ///
    /// # Errors
    /// When the answer is too large, or the store fails.
    pub async fn commit(&self, keep: Keep, answer: Answer) -> Result<EntryId, KeepError> {
        if answer.body.len() > keep.max_answer_bytes {
            return Err(KeepError::TooLarge { size: answer.body.len(), limit: keep.max_answer_bytes });
        }
        let now = self.inner.clock.now();
        let entry = Entry {
            id: keep.id,
            cache: keep.cache,
            tenant: keep.tenant,
            kind: keep.kind,
            exact_key: keep.exact_key,
            partition: keep.partition,
            canonical: keep.canonical,
            text: keep.text,
            attributes: keep.attributes,
            answer,
            stored_at: now,
            expires_at: now.plus(keep.lifetime),
        };
        // Token vectors are the larger part of a small entry: kept for a verifier only.
        let verified = self.inner.verifier.is_there();
        let embedding = keep.embedding.map(|it| if verified { it } else { it.with_tokens(None) });
        let id = self.inner.store.put(entry, embedding, keep.limits).await?.id;
        if let Some(work) = keep.compared {
            self.inner.comparing.offer(work);
        }
        Ok(id)
    }
}
