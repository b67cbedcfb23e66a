//! What callers say of answers that they were served: a wrong one is never served to that prompt again.
//!
//! A verdict is about a pair of prompts in one owner's part of one cache, whichever of the two was stored; it outlives
//! the entry and a restart, and is a label for calibration. Letter case and white space make no other pair. Where the
//! stored prompt is the asked one, there is no pair: a provider's answer goes, and a vetted one, which is not a
//! caller's to remove, is not served to anybody until it is replaced.
//!
//! A verdict is in the entry's own record too, for as long as the entry is there: once a pair was wrong, no pair whose
//! evidence is not clearly stronger is served from it ([`record`](crate::policy::record)).

use std::sync::Arc;
use std::time::Duration;

use moka::policy::EvictionPolicy;
use moka::sync::Cache as Recent;
use serde::Serialize;

use crate::cache::{Cache, Hit};
use crate::entry::{Entry, EntryKind};
use crate::metrics;
use crate::policy::evidence::Signals;
use crate::settings::CachePolicy;
use crate::store::{Forget, Label, LabelScope, LabelSource, LabelledPair, PairKey, StoreError};
use crate::types::{Attributes, CacheId, EntryId, LookupId, Similarity, TenantId};

/// How long a hit can be spoken of.
const REMEMBERED_FOR: Duration = Duration::from_hours(24);
/// Memory for hits that can be spoken of, in bytes.
const REMEMBERED_BYTES: u64 = 64 << 20;

/// What a caller says of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It answered the prompt.
    Right,
    /// It did not.
    Wrong,
}

impl Verdict {
    /// The word in bodies and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
        }
    }
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
    /// It changes nothing: there is no pair to learn from.
    Noted,
}

/// Why a verdict was not taken.
#[derive(Debug, thiserror::Error)]
pub enum FeedbackError {
    /// No hit of this caller in this cache has this name, or it was too long ago.
    #[error(
        "no hit of yours in this cache has this lookupId: it was a miss, was relayed in shadow mode, another caller's or \
         another cache's, is older than a day, or was before the last restart"
    )]
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
    what: What,
}

/// What was served.
enum What {
    /// A provider's answer to this very prompt.
    Own,
    /// A vetted answer to this very prompt.
    Vetted,
    /// The answer to another prompt.
    Other(LabelledPair),
}

impl Served {
    fn bytes(&self) -> u32 {
        let texts = match &self.what {
            What::Other(pair) => pair.asked.len() + pair.stored.len(),
            What::Own | What::Vetted => 0,
        };
        u32::try_from(size_of::<Self>() + texts + 100).unwrap_or(u32::MAX)
    }
}

/// The hits of late, by their lookups' names.
pub(super) struct Recents(Recent<LookupId, Arc<Served>>);

impl Default for Recents {
    fn default() -> Self {
        Self::holding(REMEMBERED_BYTES)
    }
}

impl Recents {
    fn holding(bytes: u64) -> Self {
        let recent = Recent::builder()
            .weigher(|_, served: &Arc<Served>| served.bytes())
            .max_capacity(bytes)
            .time_to_live(REMEMBERED_FOR)
            // Each is asked for once at most: by popularity the newest would not get in.
            .eviction_policy(EvictionPolicy::lru());
        Self(recent.build())
    }
}

impl Cache {
    /// Remembers a hit of `caller` on the prompt `asked`, so that it can be spoken of.
    pub fn remember(&self, hit: &Hit, caller: TenantId, asked: &str) {
        let entry = &hit.stored.entry;
        let what = match entry.kind {
            _ if entry.text != asked => What::Other(LabelledPair {
                asked: asked.to_owned(),
                stored: entry.text.clone(),
                attributes: entry.attributes.clone(),
                similarity: cosine(hit.similarity),
                probability: hit.probability,
            }),
            EntryKind::Plain => What::Vetted,
            EntryKind::Provider => What::Own,
        };
        let served = Served { cache: entry.cache.clone(), caller, owner: entry.tenant, entry: entry.id, what };
        self.inner.recents.0.insert(hit.lookup_id, Arc::new(served));
    }

    /// Takes `caller`'s word on the hit `lookup`; the last word counts. When this returns, it is durable and counts for
    /// the next lookup.
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
        let wrong = verdict == Verdict::Wrong;
        let effect = match &served.what {
            What::Own if wrong => {
                self.inner.store.remove(vec![served.entry]).await?;
                Effect::EntryRemoved
            }
            What::Own => Effect::Noted,
            What::Vetted => {
                self.label(&served, self.entry_hash(served.entry), wrong, None).await?;
                if wrong { Effect::PairRefused } else { Effect::Noted }
            }
            What::Other(pair) => {
                // An entry that is gone may have been deleted for what it says.
                let there = self.inner.store.meta(served.entry).is_some();
                let hash = self.pair_hash(&pair.asked, &pair.stored);
                self.label(&served, hash, wrong, there.then(|| pair.clone())).await?;
                if wrong { Effect::PairRefused } else { Effect::Labelled }
            }
        };
        metrics::feedback(verdict.as_str());
        Ok(effect)
    }

    async fn label(
        &self,
        served: &Served,
        hash: [u8; 32],
        wrong: bool,
        pair: Option<LabelledPair>,
    ) -> Result<(), StoreError> {
        let (at, source) = (self.inner.clock.now(), LabelSource::Feedback);
        let entry = pair.as_ref().map(|_| served.entry);
        let label = Label { cache: served.cache.clone(), wrong, at, source, entry, pair };
        let scope = self.label_scope(&served.cache, served.owner);
        self.inner.store.put_label(PairKey::new(scope, hash), label).await
    }

    /// Keeps what was found of a pair that `entry` is the stored side of.
    pub(super) async fn put_label(
        &self,
        entry: &Entry,
        source: LabelSource,
        wrong: bool,
        pair: LabelledPair,
    ) -> Result<(), StoreError> {
        let hash = self.pair_hash(&pair.asked, &pair.stored);
        let label = Label {
            cache: entry.cache.clone(),
            wrong,
            at: self.inner.clock.now(),
            source,
            entry: None,
            pair: Some(pair),
        };
        self.inner.store.put_label(PairKey::new(self.label_scope(&entry.cache, entry.tenant), hash), label).await
    }

    /// The entry and the pair of prompts behind a hit of `caller` that can be spoken of.
    pub(super) fn spoken_of(
        &self,
        lookup: LookupId,
        caller: TenantId,
        cache: &CacheId,
    ) -> Option<(EntryId, LabelledPair)> {
        let served = self.inner.recents.0.get(&lookup)?;
        match &served.what {
            What::Other(pair) if served.cache == *cache && served.caller == caller => {
                Some((served.entry, pair.clone()))
            }
            _ => None,
        }
    }

    /// Did somebody say that this entry's answer is wrong for the prompt `asked`?
    pub(super) fn is_refused(&self, entry: &Entry, asked: &str) -> bool {
        self.inner.store.is_wrong(|| {
            let own = entry.text == asked;
            let hash = if own { self.entry_hash(entry.id) } else { self.pair_hash(asked, &entry.text) };
            PairKey::new(self.label_scope(&entry.cache, entry.tenant), hash)
        })
    }

    /// Does what was said of this entry's hits forbid to serve it to the prompt `asked`, whose pair looks like `signals`?
    /// Not where somebody said that it is right for that very prompt.
    pub(super) fn is_tightened(&self, entry: &Entry, asked: &str, signals: &Signals) -> bool {
        let card = f64::from(self.inner.embedder.calibrated_similarity());
        let forbids = self.inner.store.observed(entry.id, |record| record.forbids(signals, card));
        let right = || {
            let scope = self.label_scope(&entry.cache, entry.tenant);
            self.inner.store.is_right(&PairKey::new(scope, self.pair_hash(asked, &entry.text)))
        };
        forbids == Some(true) && !right()
    }

    /// Names an entry for its own prompt: one that takes its place has another name.
    fn entry_hash(&self, id: EntryId) -> [u8; 32] {
        blake3::Hasher::new_keyed(&self.inner.secret).update(b"entry").update(id.0.as_bytes()).finalize().into()
    }

    /// Names two prompts, whichever of them was stored.
    fn pair_hash(&self, one: &str, other: &str) -> [u8; 32] {
        let mut pair = [folded(one), folded(other)];
        pair.sort_unstable();
        let mut hasher = blake3::Hasher::new_keyed(&self.inner.secret);
        for text in pair {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        hasher.finalize().into()
    }

    pub(super) fn label_scope(&self, cache: &CacheId, owner: TenantId) -> LabelScope {
        let mut hasher = blake3::Hasher::new_keyed(&self.inner.secret);
        hasher.update(b"labels").update(&owner.0).update(cache.as_str().as_bytes());
        let mut scope = [0; 16];
        scope.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        LabelScope(scope)
    }

    /// What was said of answers that `tenant` may see in a cache, or of all of them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn labels(
        &self,
        cache: &CacheId,
        tenant: Option<TenantId>,
        policy: &CachePolicy,
    ) -> Result<Vec<Label>, StoreError> {
        let mut labels = Vec::new();
        match tenant {
            None => labels = self.inner.store.labels(None).await?,
            Some(tenant) => {
                for owner in Self::owners(cache, tenant, policy) {
                    labels.extend(self.inner.store.labels(Some(self.label_scope(cache, owner))).await?);
                }
            }
        }
        labels.retain(|label| label.cache == *cache);
        labels.sort_by_key(|label| label.at);
        Ok(labels)
    }

    /// Takes an entry's text out of the labels: before the entry goes, so that a failure leaves nothing behind.
    pub(super) async fn forget_text(&self, cache: &CacheId, owner: TenantId, id: EntryId) -> Result<(), StoreError> {
        match self.inner.store.load(id).await? {
            Some(stored) => {
                let scope = self.label_scope(cache, owner);
                self.inner.store.forget_labels(Forget::Text(scope, stored.entry.text.clone())).await
            }
            None => Ok(()),
        }
    }

    /// Takes texts out of the labels of one owner: those of entries with these attributes, or all.
    pub(super) async fn forget_labels(
        &self,
        cache: &CacheId,
        owner: TenantId,
        attributes: Option<&Attributes>,
    ) -> Result<(), StoreError> {
        let scope = self.label_scope(cache, owner);
        let what = match attributes {
            Some(attributes) => Forget::Attributes(scope, attributes.clone()),
            None => Forget::Scope(scope),
        };
        self.inner.store.forget_labels(what).await
    }
}

/// Case and white space carry no other question for most people: a refused pair stays refused in another spelling.
fn folded(text: &str) -> String {
    text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

fn cosine(similarity: Similarity) -> f64 {
    f64::from(similarity.get())
}

#[cfg(test)]
mod tests;
