//! One question, one decision.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::cache::fill::Keep;
use crate::cache::search::{Asked, Considered, Found, Passed, Query};
use crate::cache::shadow::{Pair, Shadow};
use crate::cache::{Cache, Prepared};
use crate::dialect::openai_chat;
use crate::embed::EmbedError;
use crate::embedding::Embedding;
use crate::entry::EntryKind;
use crate::policy::directives::Directives;
use crate::policy::freshness::{self, Freshness};
use crate::policy::guard;
use crate::policy::partition::{PlainScope, Scope};
use crate::policy::self_contained;
use crate::prompt::Prompt;
use crate::reason::{BypassReason, MissReason};
use crate::settings::{CachePolicy, History, Mode, Strategy, TimeGuard};
use crate::store::{AttributeFilter, Stored};
use crate::types::{EntryId, ExactKey, Fingerprint, LookupId, Outcome, Similarity, TenantId, Tier, Timestamp};

/// A request as the engine is asked about it.
pub struct Question<'a> {
    /// What was asked.
    pub prompt: &'a Prompt,
    /// Everything outside the body that keeps entries apart; `tenant` is the caller's, sharing is applied here.
    pub scope: Scope,
    /// The caller's wishes.
    pub directives: &'a Directives,
    /// Show the candidates and the guards' verdicts.
    pub explain: bool,
}

/// The decision.
pub enum Lookup {
    /// An entry answers.
    Hit(Box<Hit>),
    /// Upstream must answer.
    Forward(Box<Forward>),
}

/// An entry that answers.
pub struct Hit {
    /// The decision's name.
    pub lookup_id: LookupId,
    /// The entry and its prepared form.
    pub stored: Arc<Stored>,
    /// Features and template.
    pub prepared: Arc<Prepared>,
    /// Which tier found it.
    pub tier: Tier,
    /// How near it is.
    pub similarity: Similarity,
    /// The verifier's probability that its answer serves, 0 to 1; `None` when it had no say.
    pub probability: Option<f64>,
    /// `Hit` or `Stale`.
    pub outcome: Outcome,
    /// Time since the provider's answer.
    pub age: Duration,
    /// Freshness left in whole seconds, negative for a stale entry.
    pub ttl: i64,
    /// What the policy makes of a prompt whose right answer moves with time, where that had a say.
    pub moves: Option<Moves>,
    /// The candidates, when asked for.
    pub considered: Vec<Considered>,
}

/// A prompt's right answer moves with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves {
    /// The word that says so.
    pub word: &'static str,
    /// What the policy makes of it.
    pub guard: TimeGuard,
}

impl Moves {
    fn of(text: &str, policy: &CachePolicy) -> Option<Self> {
        guard::time_sensitive(text).map(|word| Self { word, guard: policy.guards.time })
    }
}

/// A request that must go upstream.
pub struct Forward {
    /// The decision's name.
    pub lookup_id: LookupId,
    /// `Miss` or `Bypass`.
    pub outcome: Outcome,
    /// The reason's label.
    pub reason: &'static str,
    /// The best cosine, when one was scored.
    pub best: Option<Similarity>,
    /// How to keep the answer; `None` when it must not be kept.
    pub keep: Option<Box<Keep>>,
    /// What the policy makes of a prompt whose right answer moves with time.
    pub moves: Option<Moves>,
    /// The candidates, when asked for.
    pub considered: Vec<Considered>,
    /// What mode `on` would have come to; `None` outside shadow mode.
    pub shadow: Option<Shadow>,
}

/// A question under way.
struct Asking<'a> {
    /// With the entries' owner as its tenant.
    question: &'a Question<'a>,
    policy: &'a CachePolicy,
    /// Who asks.
    caller: TenantId,
    key: ExactKey,
    /// The entry under `key` when the lookup began.
    known: Option<EntryId>,
}

#[derive(Clone, Copy)]
enum Reason {
    Miss(MissReason),
    Bypass(BypassReason),
}

/// What the semantic tier came to.
struct Semantic {
    hit: Option<Passed>,
    reason: Reason,
    best: Option<Similarity>,
    embedding: Option<Embedding>,
    considered: Vec<Considered>,
}

impl Semantic {
    fn bypass(reason: BypassReason) -> Self {
        Self { hit: None, reason: Reason::Bypass(reason), best: None, embedding: None, considered: Vec::new() }
    }
}

impl Cache {
    /// Decides what answers `question`: an entry, or upstream. In shadow mode it is always upstream.
    pub async fn lookup(&self, question: Question<'_>, policy: &CachePolicy) -> Lookup {
        match self.decide(question, policy).await {
            Lookup::Forward(mut forward) if policy.mode == Mode::Shadow && forward.shadow.is_none() => {
                forward.shadow = Some(Shadow::none(&forward));
                Lookup::Forward(forward)
            }
            decided => decided,
        }
    }

    async fn decide(&self, mut question: Question<'_>, policy: &CachePolicy) -> Lookup {
        let now = self.inner.clock.now();
        let caller = question.scope.tenant;
        question.scope.tenant = Self::owner(policy, caller);
        if let Some(reason) = whole_bypass(question.prompt, policy) {
            return forward(Semantic::bypass(reason), None, None);
        }
        let key = question.scope.exact_key(&question.prompt.canonical);
        let known = self.inner.store.exact_id(&key);
        let asking = Asking { question: &question, policy, caller, key, known };
        // Only a limit on the age has a say in the exact tier, whose hits are too fast to be read for nothing.
        let limits = matches!(policy.guards.time, TimeGuard::Ttl(_));
        let early = limits.then(|| Moves::of(&question.prompt.text, policy)).flatten();
        let limit = freshness::time_limit(policy, early.is_some());
        let fresh_answer_wanted = question.directives.no_cache;
        if !fresh_answer_wanted
            && policy.uses(Strategy::Exact)
            && let Some(mut hit) = self.exact(&question, key, policy, now).await
            && limit.is_none_or(|limit| hit.age <= limit)
        {
            hit.moves = early;
            return self.answered(&asking, hit, None).await;
        }
        let moves = if limits { early } else { Moves::of(&question.prompt.text, policy) };
        let sensitive = moves.is_some();
        let mut semantic = self.semantic(&question, policy, sensitive, now).await;
        if let Some(passed) = semantic.hit.take() {
            // Kept while this request was being embedded: the same request is an exact hit, whoever found it.
            let same = policy.uses(Strategy::Exact) && passed.stored.entry.exact_key == key;
            let passed =
                if same { Passed { similarity: Similarity::ONE, probability: None, ..passed } } else { passed };
            let tier = if same { Tier::Exact } else { Tier::Semantic };
            let hit = Hit { moves, ..hit_of(passed, tier, now, semantic.considered) };
            return self.answered(&asking, hit, semantic.embedding).await;
        }
        let keep = self.keep(&asking, semantic.embedding.take(), sensitive);
        forward(semantic, keep, moves)
    }

    /// An entry answers; in shadow mode it is only said that it would have.
    async fn answered(&self, asking: &Asking<'_>, hit: Hit, embedding: Option<Embedding>) -> Lookup {
        if asking.policy.mode == Mode::Shadow {
            return Lookup::Forward(Box::new(self.withheld(asking, hit, embedding).await));
        }
        self.remember(&hit, asking.caller, &asking.question.prompt.text);
        Lookup::Hit(Box::new(hit))
    }

    /// The way upstream of a request that `hit` would have answered; what comes is kept as after any miss.
    async fn withheld(&self, asking: &Asking<'_>, mut hit: Hit, embedding: Option<Embedding>) -> Forward {
        let Asking { question, policy, .. } = asking;
        let (prompt, store) = (question.prompt, &self.inner.store);
        // As a hit does, so that the same entries stay as in mode `on`.
        store.touch(hit.stored.entry.id, self.inner.clock.now());
        let sensitive = guard::time_sensitive(&prompt.text).is_some();
        let embedding = match embedding {
            None if self.semantic_bypass(prompt, policy, sensitive).is_none() => {
                self.inner.embedder.embed(&prompt.text).await.ok()
            }
            known => known,
        };
        let mut keep = self.keep(asking, embedding, sensitive);
        if let Some(keep) = &mut keep {
            keep.pair = Pair::of(&hit, keep);
        }
        Forward {
            lookup_id: hit.lookup_id,
            outcome: Outcome::Bypass,
            reason: BypassReason::Shadow.as_str(),
            best: Some(hit.similarity),
            keep,
            moves: hit.moves,
            considered: std::mem::take(&mut hit.considered),
            shadow: Some(Shadow::of(hit)),
        }
    }

    /// How to keep the answer; `None` when it must not be kept.
    fn keep(&self, asking: &Asking<'_>, embedding: Option<Embedding>, sensitive: bool) -> Option<Box<Keep>> {
        let Asking { question, policy, .. } = asking;
        let lifetime = freshness::lifetime(policy, question.directives.ttl.map(Duration::from_secs), sensitive);
        let kept = !question.directives.no_store && !lifetime.is_zero();
        kept.then(|| Box::new(self.kept_for(asking, embedding, lifetime)))
    }

    fn kept_for(&self, asking: &Asking<'_>, embedding: Option<Embedding>, lifetime: Duration) -> Keep {
        let Asking { question, policy, key, known, .. } = *asking;
        let prompt = question.prompt;
        let partition = embedding
            .as_ref()
            .and_then(|_| self.inner.embedder.fingerprint())
            .map(|fingerprint| question.scope.partition(&shape(prompt, policy).0, &fingerprint));
        Keep {
            kind: EntryKind::Provider,
            cache: question.scope.cache.clone(),
            tenant: question.scope.tenant,
            exact_key: key,
            partition,
            embedding,
            canonical: prompt.canonical.clone(),
            text: prompt.text.clone(),
            attributes: question.scope.attributes.clone(),
            lifetime,
            max_answer_bytes: usize::try_from(policy.max_answer_bytes).unwrap_or(usize::MAX),
            limits: crate::cache::fill::limits(policy),
            json_mode: prompt.json_mode,
            choices: prompt.choices,
            id: EntryId::generate(),
            known,
            pair: None,
        }
    }

    /// The exact tier; canonical bytes are compared, so that not even a hash collision serves a wrong answer.
    async fn exact(&self, question: &Question<'_>, key: ExactKey, policy: &CachePolicy, now: Timestamp) -> Option<Hit> {
        let prompt = question.prompt;
        if let Some(stored) = self.by_key(&key).await
            && stored.entry.canonical == prompt.canonical
            && let Some(passed) = usable(stored, question.directives, now)
        {
            return Some(hit_of(passed, Tier::Exact, now, Vec::new()));
        }
        if !answers_plainly(policy, prompt) {
            return None;
        }
        let plain = curated_scope(&question.scope);
        let stored = self.by_key(&plain.exact_key(&prompt.text, &question.scope.attributes)).await?;
        let same = stored.entry.text == prompt.text && !self.is_refused(&stored.entry, &prompt.text);
        usable(stored, question.directives, now).filter(|_| same).map(|p| hit_of(p, Tier::Exact, now, Vec::new()))
    }

    /// The entry under an exact key; a store that fails is a miss (I6).
    pub(super) async fn by_key(&self, key: &ExactKey) -> Option<Arc<Stored>> {
        let id = self.inner.store.exact_id(key)?;
        if let Some(stored) = self.inner.store.cached(id) {
            return Some(stored);
        }
        self.inner.store.load(id).await.ok().flatten()
    }

    async fn semantic(
        &self,
        question: &Question<'_>,
        policy: &CachePolicy,
        sensitive: bool,
        now: Timestamp,
    ) -> Semantic {
        let prompt = question.prompt;
        if let Some(reason) = self.semantic_bypass(prompt, policy, sensitive) {
            return Semantic::bypass(reason);
        }
        let embedding = match self.inner.embedder.embed(&prompt.text).await {
            Ok(embedding) => embedding,
            Err(error) => return Semantic::bypass(embed_bypass(&error)),
        };
        if question.directives.no_cache {
            let reason = Reason::Miss(MissReason::NoCache);
            return Semantic { hit: None, reason, best: None, embedding: Some(embedding), considered: Vec::new() };
        }
        let Some(fingerprint) = self.inner.embedder.fingerprint() else {
            return Semantic::bypass(BypassReason::EmbedderDown);
        };
        let limit = freshness::time_limit(policy, sensitive);
        let found = self.by_meaning(question, policy, (&embedding, &fingerprint), (now, limit)).await;
        let hit = found.passed.into_iter().max_by_key(|passed| passed.similarity);
        let reason = Reason::Miss(found.reason);
        Semantic { hit, reason, best: found.best, embedding: Some(embedding), considered: found.considered }
    }

    /// Searches the request's own partition, and the curated entries where they may answer.
    async fn by_meaning(
        &self,
        question: &Question<'_>,
        policy: &CachePolicy,
        (embedding, fingerprint): (&Embedding, &Fingerprint),
        (now, time_limit): (Timestamp, Option<Duration>),
    ) -> Found {
        let prompt = question.prompt;
        let (shape, alone) = shape(prompt, policy);
        let mut query = Query {
            partition: question.scope.partition(&shape, fingerprint),
            asked: &Asked::of(&prompt.text, embedding),
            filter: AttributeFilter::Any,
            bar: self.bar(policy, question.directives.threshold, fingerprint),
            guards: &policy.guards,
            directives: question.directives,
            now,
            time_limit,
            wanted: 1,
            alone,
            explain: question.explain,
        };
        let mut found = self.search(&query).await;
        if answers_plainly(policy, prompt) {
            query.partition = curated_scope(&question.scope).partition(fingerprint);
            query.filter = AttributeFilter::Equals(question.scope.attributes.clone());
            found.add(self.search(&query).await);
        }
        found
    }

    /// Why this prompt may not be answered by meaning.
    fn semantic_bypass(&self, prompt: &Prompt, policy: &CachePolicy, sensitive: bool) -> Option<BypassReason> {
        if let Some(reason) = prompt.bypass {
            return Some(reason);
        }
        if !policy.uses(Strategy::Semantic) {
            return Some(BypassReason::Strategy);
        }
        if sensitive && policy.guards.time == TimeGuard::Bypass {
            return Some(BypassReason::Time);
        }
        if guard::has_hidden(&prompt.text) {
            return Some(BypassReason::Hidden);
        }
        self.inner.embedder.coverage(&prompt.text).err()
    }
}

/// Reasons that keep both tiers out.
fn whole_bypass(prompt: &Prompt, policy: &CachePolicy) -> Option<BypassReason> {
    if policy.mode == Mode::Off {
        return Some(BypassReason::ModeOff);
    }
    let temperature = prompt.temperature.unwrap_or(1.0);
    policy.max_temperature.filter(|limit| temperature > *limit).map(|_| BypassReason::Temperature)
}

/// May curated plain entries answer this request?
fn answers_plainly(policy: &CachePolicy, prompt: &Prompt) -> bool {
    policy.curated && prompt.plain && prompt.bypass.is_none()
}

/// Where a curated cache keeps its plain entries: they belong to the cache, not to a tenant.
pub(super) fn curated_scope(scope: &Scope) -> PlainScope {
    PlainScope { tenant: super::SHARED, cache: scope.cache.clone() }
}

/// Whose plain entries a caller of the lookup routes sees.
pub(super) fn plain_scope(policy: &CachePolicy, tenant: TenantId, cache: &crate::types::CacheId) -> PlainScope {
    let owner = if policy.curated { super::SHARED } else { Cache::owner(policy, tenant) };
    PlainScope { tenant: owner, cache: cache.clone() }
}

/// The bypass reason that an embedding error stands for.
pub(super) fn embed_bypass(error: &EmbedError) -> BypassReason {
    match error {
        EmbedError::Deadline => BypassReason::EmbedderSlow,
        EmbedError::Busy => BypassReason::EmbedderBusy,
        EmbedError::Down(_) | EmbedError::Invalid(_) => BypassReason::EmbedderDown,
    }
}

fn usable(stored: Arc<Stored>, directives: &Directives, now: Timestamp) -> Option<Passed> {
    let freshness = freshness::judge(stored.entry.stored_at, stored.entry.expires_at, directives, now);
    (freshness != Freshness::Expired).then_some(Passed {
        stored,
        similarity: Similarity::ONE,
        freshness,
        probability: None,
    })
}

/// What must be equal for a semantic hit, and whether the turns before the last one are left out of that.
fn shape(prompt: &Prompt, policy: &CachePolicy) -> (Bytes, bool) {
    let may = policy.history == History::SelfContained && self_contained::stands_alone(&prompt.text);
    match may.then(|| openai_chat::alone(prompt)).flatten() {
        Some(alone) => (alone, true),
        None => (prompt.shape.clone(), false),
    }
}

fn hit_of(passed: Passed, tier: Tier, now: Timestamp, considered: Vec<Considered>) -> Hit {
    let entry = &passed.stored.entry;
    let left = i64::try_from(entry.expires_at.0 / 1000).unwrap_or(i64::MAX) - i64::try_from(now.0 / 1000).unwrap_or(0);
    Hit {
        lookup_id: LookupId::generate(),
        prepared: Prepared::of(&passed.stored),
        tier,
        similarity: passed.similarity,
        probability: passed.probability,
        outcome: if passed.freshness == Freshness::Stale { Outcome::Stale } else { Outcome::Hit },
        age: now.since(entry.stored_at),
        ttl: left,
        moves: None,
        considered,
        stored: passed.stored,
    }
}

fn forward(semantic: Semantic, keep: Option<Box<Keep>>, moves: Option<Moves>) -> Lookup {
    let (outcome, reason) = match semantic.reason {
        Reason::Miss(reason) => (Outcome::Miss, reason.as_str()),
        Reason::Bypass(reason) => (Outcome::Bypass, reason.as_str()),
    };
    if let Some(moves) = moves {
        crate::metrics::time_sensitive(moves.guard.as_str());
    }
    let (lookup_id, best, considered) = (LookupId::generate(), semantic.best, semantic.considered);
    Lookup::Forward(Box::new(Forward { lookup_id, outcome, reason, best, keep, moves, considered, shadow: None }))
}
