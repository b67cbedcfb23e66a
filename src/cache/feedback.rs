//! What callers say of answers that they were served: a wrong one is never served to that prompt again.
//!
//! A verdict is about a pair of prompts in one owner's part of one cache, whichever of the two was stored; it outlives
//! the entry and a restart, and is a label for calibration. A provider's answer to the very same request has no pair to
//! be kept from: its entry goes.

use std::sync::Arc;

use moka::sync::Cache as Recent;
use serde::{Deserialize, Serialize};

use crate::cache::{Cache, Hit};
use crate::entry::EntryKind;
use crate::store::{Label, PairKey, StoreError};
use crate::types::{CacheId, EntryId, LookupId, Similarity, TenantId, Tier};

/// Hits that can still be spoken of.
const REMEMBERED: u64 = 50_000;

/// What a caller says of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It answered the prompt.
    Right,
    /// It did not.
    Wrong,
}

/// What became of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It is kept as a label.
    Labelled,
    /// It is kept as a label, and the pair is never served again.
    PairRefused,
    /// The entry of the exact hit is gone.
    EntryRemoved,
}

/// Why a verdict was not taken.
#[derive(Debug, thiserror::Error)]
pub enum FeedbackError {
    /// No hit of this caller in this cache has this name, or it was too long ago.
    #[error("no recent hit of this cache has this lookupId")]
    Unknown,
    /// The verdict could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A hit that can be spoken of.
struct Served {
    cache: CacheId,
    caller: TenantId,
    owner: TenantId,
    entry: EntryId,
    /// The prompt and the stored one; `None` when the entry is the caller's own answer to this very prompt.
    pair: Option<(String, String)>,
    similarity: Similarity,
    probability: Option<f64>,
}

/// The hits of late, by their lookups' names.
pub(super) struct Recents(Recent<LookupId, Arc<Served>>);

impl Default for Recents {
    fn default() -> Self {
        Self(Recent::new(REMEMBERED))
    }
}

impl Cache {
    /// Remembers a hit of `caller` on the prompt `asked`, so that it can be spoken of.
    pub(super) fn remember(&self, hit: &Hit, caller: TenantId, asked: &str) {
        let entry = &hit.stored.entry;
        // A vetted answer is not a caller's to remove: it is only never served to this prompt again.
        let is_pair = hit.tier == Tier::Semantic || entry.kind == EntryKind::Plain;
        let pair = is_pair.then(|| (asked.to_owned(), entry.text.clone()));
        let served = Served {
            cache: entry.cache.clone(),
            caller,
            owner: entry.tenant,
            entry: entry.id,
            pair,
            similarity: hit.similarity,
            probability: hit.probability,
        };
        self.inner.recents.0.insert(hit.lookup_id, Arc::new(served));
    }

    /// Takes `caller`'s word on the hit `lookup`. When this returns, it is durable and counts for the next lookup.
    ///
    /// # Errors
    /// When nobody remembers the hit, or the store fails.
    pub async fn feedback(
        &self,
        cache: &CacheId,
        caller: TenantId,
        lookup: LookupId,
        verdict: Verdict,
    ) -> Result<Effect, FeedbackError> {
        let served = self.inner.recents.0.get(&lookup);
        let served = served.filter(|served| served.cache == *cache && served.caller == caller);
        let served = served.ok_or(FeedbackError::Unknown)?;
        let Some((asked, stored)) = &served.pair else {
            if verdict == Verdict::Wrong {
                self.inner.store.remove(vec![served.entry]).await?;
                return Ok(Effect::EntryRemoved);
            }
            return Ok(Effect::Labelled);
        };
        let label = Label {
            cache: cache.clone(),
            asked: asked.clone(),
            stored: stored.clone(),
            wrong: verdict == Verdict::Wrong,
            similarity: f64::from(served.similarity.get()),
            probability: served.probability,
            at: self.inner.clock.now(),
        };
        self.inner.store.put_label(pair_key(cache, served.owner, asked, stored), label).await?;
        Ok(if verdict == Verdict::Wrong { Effect::PairRefused } else { Effect::Labelled })
    }
}

/// Names a pair of prompts of one owner in one cache, whichever was stored.
pub(super) fn pair_key(cache: &CacheId, owner: TenantId, a: &str, b: &str) -> PairKey {
    let (first, second) = if a <= b { (a, b) } else { (b, a) };
    let mut hasher = blake3::Hasher::new();
    hasher.update(&owner.0);
    for part in [cache.as_str(), first, second] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    PairKey(hasher.finalize().into())
}
