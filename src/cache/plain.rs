//! Plain entries: a prompt and its answer without a request body, as the LangCache routes and FAQ warm-ups keep them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::cache::Cache;
use crate::cache::fill::{Keep, KeepError, limits};
use crate::cache::search::{Asked, Passed, Query};
use crate::entry::{Answer, EntryKind};
use crate::policy::directives::Directives;
use crate::policy::freshness::{self, Freshness};
use crate::policy::guard;
use crate::policy::partition::{PlainScope, Scope};
use crate::prompt::Prompt;
use crate::settings::{CachePolicy, Mode, Strategy, TimeGuard};
use crate::store::{AttributeFilter, Scope as StoreScope, Stored};
use crate::types::{Attributes, CacheId, Dialect, EntryId, Similarity, TenantId, Tier, Timestamp};

/// A search in plain entries.
pub struct PlainQuery {
    /// The prompt, trimmed and in NFC.
    pub prompt: String,
    /// Labels that an entry must have; it may have more.
    pub attributes: Attributes,
    /// Overrides the policy's threshold.
    pub threshold: Option<f64>,
    /// The ways to search; the policy's when empty.
    pub strategies: Vec<Strategy>,
    /// How many entries are wanted.
    pub wanted: usize,
}

/// A plain prompt and its answer, to be kept.
pub struct PlainPrompt {
    /// The prompt, trimmed and in NFC.
    pub prompt: String,
    /// The answer.
    pub response: String,
    /// The caller's labels.
    pub attributes: Attributes,
    /// The caller's wish, in seconds' precision of milliseconds; the policy's ttl when `None`.
    pub ttl: Option<Duration>,
}

/// What a search in plain entries came to.
#[derive(Default)]
pub struct PlainAnswer {
    /// The entries that answer, best first.
    pub found: Vec<PlainFound>,
    /// Those that would have, were the policy's mode not shadow.
    pub withheld: Option<Vec<PlainFound>>,
}

/// An entry that answers a plain query.
pub struct PlainFound {
    /// The entry.
    pub stored: Arc<Stored>,
    /// How near it is.
    pub similarity: Similarity,
    /// Which way found it.
    pub tier: Tier,
}

impl Cache {
    /// Finds plain entries that answer `query`; in shadow mode none does. A failing embedder leaves the exact way.
    pub async fn plain_search(
        &self,
        cache: &CacheId,
        tenant: TenantId,
        policy: &CachePolicy,
        query: &PlainQuery,
    ) -> PlainAnswer {
        let found = self.plain_found(cache, tenant, policy, query).await;
        match policy.mode {
            Mode::Shadow => PlainAnswer { found: Vec::new(), withheld: Some(found) },
            Mode::On | Mode::Off => PlainAnswer { found, withheld: None },
        }
    }

    async fn plain_found(
        &self,
        cache: &CacheId,
        tenant: TenantId,
        policy: &CachePolicy,
        query: &PlainQuery,
    ) -> Vec<PlainFound> {
        let now = self.inner.clock.now();
        let scope = plain_scope(policy, tenant, cache);
        let wants = |s| (query.strategies.is_empty() || query.strategies.contains(&s)) && policy.uses(s);
        if policy.mode == Mode::Off {
            return Vec::new();
        }
        let mut found = Vec::new();
        if wants(Strategy::Exact) {
            found.extend(self.plain_exact(&scope, query, now).await);
        }
        if found.len() < query.wanted {
            let known: Vec<EntryId> = found.iter().map(|hit: &PlainFound| hit.stored.entry.id).collect();
            let near = self.plain_semantic(&scope, policy, query, now).await;
            // An equal prompt with more attributes has another exact key: it is found as the nearest there is.
            let wanted = near.into_iter().filter_map(|mut hit| {
                let equal = hit.stored.entry.text == query.prompt && wants(Strategy::Exact);
                hit.tier = if equal { Tier::Exact } else { Tier::Semantic };
                (equal || wants(Strategy::Semantic)).then_some(hit)
            });
            found.extend(wanted.filter(|hit| !known.contains(&hit.stored.entry.id)));
        }
        found.truncate(query.wanted);
        for hit in &found {
            self.inner.store.touch(hit.stored.entry.id, now);
        }
        found
    }

    async fn plain_exact(&self, scope: &PlainScope, query: &PlainQuery, now: Timestamp) -> Option<PlainFound> {
        let stored = self.by_key(&scope.exact_key(&query.prompt, &query.attributes)).await?;
        let entry = &stored.entry;
        let fresh = freshness::judge(entry.stored_at, entry.expires_at, &Directives::default(), now);
        let same = entry.text == query.prompt && fresh == Freshness::Fresh && !self.is_refused(entry, &query.prompt);
        same.then_some(PlainFound { stored, similarity: Similarity::ONE, tier: Tier::Exact })
    }

    async fn plain_semantic(
        &self,
        scope: &PlainScope,
        policy: &CachePolicy,
        query: &PlainQuery,
        now: Timestamp,
    ) -> Vec<PlainFound> {
        let embedder = &self.inner.embedder;
        let sensitive = guard::time_sensitive(&query.prompt).is_some();
        let moves = policy.guards.time == TimeGuard::Bypass && sensitive;
        if moves || guard::has_hidden(&query.prompt) || embedder.coverage(&query.prompt).is_err() {
            return Vec::new();
        }
        let (Ok(embedding), Some(fingerprint)) = (embedder.embed(&query.prompt).await, embedder.fingerprint()) else {
            return Vec::new();
        };
        let search = Query {
            partition: scope.partition(&fingerprint),
            asked: &Asked::of(&query.prompt, &embedding),
            filter: AttributeFilter::Contains(query.attributes.clone()),
            bar: self.bar_with(policy, query.threshold, &fingerprint),
            guards: &policy.guards,
            directives: &Directives::default(),
            now,
            time_limit: freshness::time_limit(policy, sensitive),
            wanted: query.wanted,
            alone: false,
            explain: false,
        };
        let found = |p: Passed| PlainFound { stored: p.stored, similarity: p.similarity, tier: Tier::Semantic };
        self.search(&search).await.passed.into_iter().map(found).collect()
    }

    /// Keeps a plain entry; an earlier one for the same prompt and labels is replaced.
    ///
    /// # Errors
    /// When the policy keeps nothing, the answer is too large, or the store fails.
    pub async fn plain_store(
        &self,
        cache: &CacheId,
        tenant: TenantId,
        policy: &CachePolicy,
        plain: PlainPrompt,
    ) -> Result<EntryId, KeepError> {
        let scope = plain_scope(policy, tenant, cache);
        let sensitive = guard::time_sensitive(&plain.prompt).is_some();
        let lifetime = freshness::lifetime(policy, plain.ttl, sensitive);
        if lifetime.is_zero() || policy.mode == Mode::Off {
            return Err(KeepError::NothingKept);
        }
        let embedding = self.embedding_to_keep(&plain.prompt, policy, sensitive).await;
        let fingerprint = embedding.as_ref().and_then(|_| self.inner.embedder.fingerprint());
        let keep = Keep {
            id: EntryId::generate(),
            known: None,
            compared: None,
            kind: EntryKind::Plain,
            cache: cache.clone(),
            tenant: scope.tenant,
            exact_key: scope.exact_key(&plain.prompt, &plain.attributes),
            partition: fingerprint.map(|fingerprint| scope.partition(&fingerprint)),
            embedding,
            canonical: Bytes::new(),
            text: plain.prompt,
            attributes: plain.attributes,
            lifetime,
            max_answer_bytes: usize::try_from(policy.max_answer_bytes).unwrap_or(usize::MAX),
            limits: limits(policy),
            json_mode: false,
            choices: 1,
        };
        let body = Bytes::from(plain.response);
        let answer = Answer { dialect: Dialect::OpenAi, body, model: String::new(), usage: None };
        self.commit(keep, answer).await
    }

    /// The vector of a text that is to be kept, when it may be found by meaning at all.
    async fn embedding_to_keep(
        &self,
        text: &str,
        policy: &CachePolicy,
        sensitive: bool,
    ) -> Option<crate::embedding::Embedding> {
        let moves = sensitive && policy.guards.time == TimeGuard::Bypass;
        if moves || guard::has_hidden(text) || self.inner.embedder.coverage(text).is_err() {
            return None;
        }
        self.inner.embedder.embed(text).await.ok()
    }

    /// Deletes one entry that the caller may see; false when there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn delete_entry(
        &self,
        cache: &CacheId,
        tenant: TenantId,
        policy: &CachePolicy,
        id: EntryId,
    ) -> Result<bool, KeepError> {
        let visible = [plain_scope(policy, tenant, cache).tenant, Self::owner(policy, tenant)];
        let seen = |meta: &crate::store::Meta| meta.cache == *cache && visible.contains(&meta.tenant);
        let Some(meta) = self.inner.store.meta(id).filter(seen) else { return Ok(false) };
        self.forget_text(cache, meta.tenant, id).await?;
        Ok(self.inner.store.remove(vec![id]).await? > 0)
    }

    /// Deletes the caller's entries that carry all of `attributes`; the count of those that a search could have found.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn delete_by_attributes(
        &self,
        cache: &CacheId,
        tenant: TenantId,
        policy: &CachePolicy,
        attributes: Attributes,
    ) -> Result<usize, KeepError> {
        let (mut deleted, now) = (0, self.inner.clock.now());
        for owner in Self::owners(cache, tenant, policy) {
            self.forget_labels(cache, owner, Some(&attributes)).await?;
            let scope = StoreScope { cache: cache.clone(), tenant: Some(owner), kind: None };
            let filter = AttributeFilter::Contains(attributes.clone());
            deleted += self.inner.store.remove_matching(scope, filter, now).await?;
        }
        Ok(deleted)
    }

    /// Deletes all of the caller's entries in a cache; the count.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn flush(&self, cache: &CacheId, tenant: TenantId, policy: &CachePolicy) -> Result<usize, KeepError> {
        let mut deleted = 0;
        for owner in Self::owners(cache, tenant, policy) {
            self.forget_labels(cache, owner, None).await?;
            self.forget_lessons(cache, Some(owner)).await?;
            deleted += self.inner.store.flush(cache, Some(owner)).await?;
        }
        Ok(deleted)
    }

    pub(super) fn owners(cache: &CacheId, tenant: TenantId, policy: &CachePolicy) -> Vec<TenantId> {
        let mut owners = vec![plain_scope(policy, tenant, cache).tenant, Self::owner(policy, tenant)];
        owners.dedup();
        owners
    }
}

/// May curated plain entries answer this request?
pub(super) fn answers_plainly(policy: &CachePolicy, prompt: &Prompt) -> bool {
    policy.curated && prompt.plain && prompt.bypass.is_none()
}

/// Where a curated cache keeps its plain entries: they belong to the cache, not to a tenant.
pub(super) fn curated_scope(scope: &Scope) -> PlainScope {
    PlainScope { tenant: super::SHARED, cache: scope.cache.clone() }
}

/// Whose plain entries a caller of the lookup routes sees.
pub(super) fn plain_scope(policy: &CachePolicy, tenant: TenantId, cache: &CacheId) -> PlainScope {
    let owner = if policy.curated { super::SHARED } else { Cache::owner(policy, tenant) };
    PlainScope { tenant: owner, cache: cache.clone() }
}
