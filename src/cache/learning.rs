//! Caches that learn: what their own traffic shows moves the target of each pair ([`Learned`]).
//!
//! Of each answer that is kept, the one to the nearest earlier prompt is looked up and the two are
//! [compared](super::comparing): would that one have served? Callers' word on hits is not in this: of hits only the
//! wrong ones are spoken of, and labels chosen by what they say teach that all hits are wrong.
//!
//! An owner's part of a cache learns for itself, so that one tenant's traffic moves nothing of another's. What was
//! learnt is kept durably, as numbers only; it goes when that part is emptied, and means nothing to other models than
//! those it was learnt with.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::cache::comparing::{Said, said, tells};
use crate::embedding::Embedding;
use crate::entry::Entry;
use crate::policy::agreement::Agreement;
use crate::policy::directives::Directives;
use crate::policy::evidence;
use crate::policy::freshness::{self, Freshness};
use crate::policy::learned::{Labels, Learned, Lesson, NEAREST_FROM};
use crate::settings::CachePolicy;
use crate::store::{AttributeFilter, LabelScope, Store, StoreError, Stored};
use crate::types::{CacheId, EntryId, ExactKey, TenantId};

/// The key of what was learnt among the store's settings.
const PREFIX: &str = "learned/";
/// The version of what is kept there.
const VERSION: u32 = 2;
/// Owners' parts of caches that learn, at most: one that comes later takes the place of the one with the fewest labels.
const MOST: usize = 10_000;
/// Earlier prompts that are looked at for one whose answer says something.
const LOOKED_AT: usize = 4;
/// Prompts of late that are remembered to tell an answer from one that is given to everything.
const OF_LATE: usize = 16;
/// Far prompts of late with other answers from which on an answer is taken as one to its prompt.
const ENOUGH: usize = 3;

/// What was learnt in an owner's part of a cache.
#[derive(Clone, Serialize, Deserialize)]
struct Taught {
    version: u32,
    cache: CacheId,
    /// The embedder and the verifier whose numbers it is about.
    models: String,
    learned: Learned,
}

/// All that was learnt.
pub(super) struct Lessons {
    taught: RwLock<HashMap<LabelScope, Arc<Taught>>>,
    /// One change at a time, from durable to visible.
    changing: tokio::sync::Mutex<()>,
    of_late: Mutex<HashMap<LabelScope, VecDeque<ExactKey>>>,
}

/// Two prompts, the earlier of which was the nearest to the later one.
pub struct Neighbours {
    /// The earlier one's entry.
    pub stored: EntryId,
    cache: CacheId,
    owner: TenantId,
    lesson: Lesson,
}

impl Lessons {
    /// What was learnt before the start. What cannot be read is logged, and learnt anew.
    pub(super) fn load(store: &Store) -> Self {
        let mut taught = HashMap::new();
        for (key, bytes) in store.settings() {
            let Some(name) = key.strip_prefix(PREFIX) else { continue };
            match (scope_of(name), serde_json::from_slice::<Taught>(&bytes)) {
                (Some(scope), Ok(known)) if known.version == VERSION => {
                    taught.insert(scope, Arc::new(known));
                }
                _ => tracing::error!(name, "what a cache has learnt cannot be read; it learns anew"),
            }
        }
        Self { taught: RwLock::new(taught), changing: tokio::sync::Mutex::default(), of_late: Mutex::default() }
    }

    fn get(&self, scope: &LabelScope) -> Option<Arc<Taught>> {
        self.taught.read().unwrap_or_else(PoisonError::into_inner).get(scope).cloned()
    }

    fn set(&self, scope: LabelScope, taught: Option<Taught>) {
        let mut all = self.taught.write().unwrap_or_else(PoisonError::into_inner);
        match taught {
            Some(taught) => all.insert(scope, Arc::new(taught)),
            None => all.remove(&scope),
        };
    }

    /// Whose part makes room for this one: the one with the fewest labels, where there is none left.
    fn in_the_way(&self, scope: &LabelScope) -> Option<LabelScope> {
        let all = self.taught.read().unwrap_or_else(PoisonError::into_inner);
        let full = all.len() >= MOST && !all.contains_key(scope);
        let least = || all.iter().min_by_key(|(_, taught)| taught.learned.labels.count());
        full.then(least).flatten().map(|(scope, _)| *scope)
    }

    /// The scopes of a cache.
    fn of(&self, cache: &CacheId) -> Vec<(LabelScope, Labels)> {
        let all = self.taught.read().unwrap_or_else(PoisonError::into_inner);
        let its = all.iter().filter(|(_, taught)| taught.cache == *cache);
        its.map(|(scope, taught)| (*scope, taught.learned.labels)).collect()
    }

    /// Remembers a prompt for [`Lessons::of_late`].
    fn note(&self, scope: LabelScope, asked: ExactKey) {
        let mut all = self.of_late.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(&scope) {
            all.clear(); // Gathered again with the next prompts.
        }
        let late = all.entry(scope).or_default();
        late.push_front(asked);
        late.truncate(OF_LATE);
    }

    /// Prompts of late, the last one first.
    fn of_late(&self, scope: &LabelScope) -> Vec<ExactKey> {
        let all = self.of_late.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(scope).into_iter().flatten().copied().collect()
    }
}

impl Cache {
    /// What the owner's part of a cache has learnt with the present models; `None` where its policy does not learn, or
    /// nothing was learnt.
    pub(super) fn learned(&self, policy: &CachePolicy, cache: &CacheId, owner: TenantId) -> Option<Learned> {
        let scope = policy.learning.then(|| self.label_scope(cache, owner))?;
        let taught = self.inner.lessons.get(&scope)?;
        (Some(&taught.models) == self.models().as_ref()).then(|| taught.learned.clone())
    }

    /// How many labels a cache has learnt from, all owners together.
    pub fn lessons(&self, cache: &CacheId) -> Labels {
        self.inner.lessons.of(cache).into_iter().fold(Labels::default(), |sum, (_, labels)| sum.plus(labels))
    }

    /// Names the models whose numbers are learnt from; `None` while one of them does not work.
    fn models(&self) -> Option<String> {
        let embedder = self.inner.embedder.fingerprint()?;
        Some(format!("{embedder} {}", self.inner.verifier.mark(&embedder)?))
    }

    /// Does this cache's policy say so?
    pub(super) fn learns(&self, cache: &CacheId) -> bool {
        self.inner.policies.get(cache).is_some_and(|policy| policy.learning)
    }

    /// Compares a kept answer with the one to the nearest earlier prompt, and learns from that; the metric's label.
    pub(super) async fn learn_from_nearest(&self, asked: &ExactKey) -> &'static str {
        let Some(asked) = self.by_key(asked).await else { return "gone" };
        self.note(&asked.entry);
        let stored = match self.nearest_earlier(&asked).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return "nothing-near",
            Err(why) => return why,
        };
        match self.agreement(&stored, &asked).await {
            Ok(agreement) => self.learn_from(&stored, &asked, agreement).await,
            Err(why) => why,
        }
    }

    /// Remembers the prompt of a kept answer: others may be far from it and get the same.
    pub(super) fn note(&self, entry: &Entry) {
        self.inner.lessons.note(self.label_scope(&entry.cache, entry.tenant), entry.exact_key);
    }

    /// Learns that the answers of two entries agree or not; the metric's label.
    pub(super) async fn learn_from(&self, stored: &Stored, asked: &Stored, says: Agreement) -> &'static str {
        // Two answers that differ in more than numbers and prompts say that they do, whatever others get.
        let frame = |said: Option<Said>| said.map(|said| said.frame);
        let telling = says == Agreement::Other && frame(said(&stored.entry).await) != frame(said(&asked.entry).await);
        if says != Agreement::Unclear && !telling && self.is_canned(asked).await {
            return "canned";
        }
        match self.seen_as(stored, asked).await {
            Some(neighbours) => self.teach(&neighbours, says).await,
            None => "not-judged",
        }
    }

    /// The entry of the nearest earlier prompt of this owner whose answer says something of this one's.
    async fn nearest_earlier(&self, asked: &Stored) -> Result<Option<Arc<Stored>>, &'static str> {
        let (entry, now) = (&asked.entry, self.inner.clock.now());
        let Some(partition) = &entry.partition else { return Ok(None) };
        let embedding = self.inner.embedder.embed(&entry.text).await.map_err(|_| "embedder-down")?;
        for candidate in self.inner.store.nearest(partition, &embedding, LOOKED_AT, &AttributeFilter::Any, now) {
            if self.place(f64::from(candidate.similarity.get())) < NEAREST_FROM {
                return Ok(None);
            }
            let stored = self.inner.store.load(candidate.id).await.map_err(|_| "store-down")?;
            let earlier = stored.filter(|stored| {
                let other = &stored.entry;
                let fresh = freshness::judge(other.stored_at, other.expires_at, &Directives::default(), now);
                other.id < entry.id && fresh == Freshness::Fresh && tells(other, entry.tenant, &entry.text)
            });
            if earlier.is_some() {
                return Ok(earlier);
            }
        }
        Ok(None)
    }

    /// Does a prompt of late that is far from this one get the same answer, but for its numbers and the prompt's own
    /// words, or one as near as answers that say the same? Then it says nothing of prompts: neither does one for which there
    /// are too few such prompts to tell.
    async fn is_canned(&self, asked: &Stored) -> bool {
        let entry = &asked.entry;
        let Ok(vector) = self.inner.embedder.embed(&entry.text).await else { return true };
        let (own, mut far) = (said(entry).await, 0);
        for key in self.inner.lessons.of_late(&self.label_scope(&entry.cache, entry.tenant)) {
            let other = self.by_key(&key).await.filter(|other| other.entry.partition == entry.partition);
            let Some(other) = other else { continue };
            if !self.is_far(&vector, &other).await {
                continue;
            }
            let same = match (&own, said(&other.entry).await) {
                (Some(own), Some(other)) => own.frame == other.frame || self.is_alike(&own.text, &other.text).await,
                (own, other) => own.is_none() && other.is_none(),
            };
            if same {
                return true;
            }
            far += 1;
        }
        far < ENOUGH
    }

    async fn is_far(&self, vector: &Embedding, other: &Stored) -> bool {
        let Ok(other) = self.inner.embedder.embed(&other.entry.text).await else { return false };
        self.place(f64::from(vector.similarity(&other).get())) < NEAREST_FROM
    }

    fn place(&self, cosine: f64) -> f64 {
        evidence::place(cosine, f64::from(self.inner.embedder.calibrated_similarity()))
    }

    /// The pair of two entries as a lookup would have seen it; `None` where the verifier has no say, a guard forbids it,
    /// or they are too far apart to be learnt from.
    async fn seen_as(&self, stored: &Stored, asked: &Stored) -> Option<Neighbours> {
        let (entry, policy) = (&asked.entry, self.inner.policies.get(&asked.entry.cache)?);
        let seen = self.compare(&stored.entry.text, &entry.text).await;
        let vetoed = seen.vetoes.iter().any(|veto| veto.guard.is_on(&policy.guards));
        let near = self.place(seen.cosine);
        let judged = seen.bypass.is_none() && !vetoed && near >= NEAREST_FROM;
        let lesson = Lesson { near, target: seen.target.filter(|_| judged)? };
        Some(Neighbours { stored: stored.entry.id, cache: entry.cache.clone(), owner: entry.tenant, lesson })
    }

    /// The nearest earlier prompt to that of a kept entry, where its cache learns: for measuring, where the two answers
    /// are not compared but known.
    pub async fn nearest_to(&self, asked: EntryId) -> Option<Neighbours> {
        let asked = self.inner.store.load(asked).await.ok()??;
        let stored = self.nearest_earlier(&asked).await.ok()??;
        self.seen_as(&stored, &asked).await
    }

    /// Learns whether one answer serves both; durable and in effect when this returns. The metric's label.
    pub async fn teach(&self, neighbours: &Neighbours, says: Agreement) -> &'static str {
        let Neighbours { cache, owner, lesson, .. } = neighbours;
        let (scope, lessons) = (self.label_scope(cache, *owner), &self.inner.lessons);
        let Some(models) = self.models() else { return "not-judged" };
        let _changing = lessons.changing.lock().await;
        if let Some(least) = lessons.in_the_way(&scope) {
            if self.inner.store.delete_setting(&name_of(&least)).await.is_err() {
                return "store-down";
            }
            lessons.set(least, None);
        }
        let known = lessons.get(&scope).filter(|taught| taught.models == models);
        let mut learned = known.map(|taught| taught.learned.clone()).unwrap_or_default();
        learned.learn(lesson, says);
        let taught = Taught { version: VERSION, cache: cache.clone(), models, learned };
        let Ok(bytes) = serde_json::to_vec(&taught) else { return "not-judged" };
        if self.inner.store.put_setting(&name_of(&scope), bytes).await.is_err() {
            return "store-down";
        }
        lessons.set(scope, Some(taught));
        match says {
            Agreement::Same => "right",
            Agreement::Other => "wrong",
            Agreement::Unclear => "unclear",
        }
    }

    /// Forgets what was learnt in a cache: in one owner's part of it, or in all.
    ///
    /// # Errors
    /// When the store cannot make it durable; part of it may be forgotten then.
    pub async fn forget_lessons(&self, cache: &CacheId, owner: Option<TenantId>) -> Result<(), StoreError> {
        let lessons = &self.inner.lessons;
        let _changing = lessons.changing.lock().await;
        let meant = owner.map(|owner| self.label_scope(cache, owner));
        for (scope, _) in lessons.of(cache).into_iter().filter(|(scope, _)| meant.is_none_or(|meant| meant == *scope)) {
            self.inner.store.delete_setting(&name_of(&scope)).await?;
            lessons.set(scope, None);
        }
        Ok(())
    }
}

fn name_of(scope: &LabelScope) -> String {
    format!("{PREFIX}{:032x}", u128::from_be_bytes(scope.0))
}

fn scope_of(name: &str) -> Option<LabelScope> {
    (name.len() == 32).then(|| u128::from_str_radix(name, 16).ok().map(|n| LabelScope(n.to_be_bytes()))).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_part_takes_the_place_of_the_one_with_the_fewest_labels() {
        let lessons =
            Lessons { taught: RwLock::default(), changing: tokio::sync::Mutex::default(), of_late: Mutex::default() };
        let scope = |n: usize| LabelScope((n as u128).to_be_bytes());
        for n in 0..MOST {
            let mut learned = Learned::default();
            learned.labels.right = if n == 77 { 1 } else { 5 };
            let (cache, models) = ("default".parse().unwrap(), String::new());
            assert_eq!(lessons.in_the_way(&scope(n)), None);
            lessons.set(scope(n), Some(Taught { version: VERSION, cache, models, learned }));
        }
        assert_eq!(lessons.in_the_way(&scope(3)), None, "it has a place");
        assert_eq!(lessons.in_the_way(&scope(MOST)), Some(scope(77)));
    }
}
