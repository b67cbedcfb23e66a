//! One question, one decision.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::comparing::Work;
use crate::cache::fill::Keep;
use crate::cache::plain::{answers_plainly, curated_scope};
use crate::cache::search::{Considered, Passed};
use crate::cache::semantic::{Reason, Semantic, shape};
use crate::cache::shadow::Shadow;
use crate::cache::{Cache, Prepared};
use crate::embedding::Embedding;
use crate::entry::EntryKind;
use crate::policy::directives::Directives;
use crate::policy::freshness::{self, Freshness};
use crate::policy::guard;
use crate::policy::partition::Scope;
use crate::prompt::Prompt;
use crate::reason::BypassReason;
use crate::settings::{CachePolicy, Mode, Strategy, TimeGuard};
use crate::store::Stored;
use crate::types::{EntryId, ExactKey, LookupId, Outcome, Similarity, TenantId, Tier, Timestamp};

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
pub(super) struct Asking<'a> {
    /// With the entries' owner as its tenant.
    pub question: &'a Question<'a>,
    pub policy: &'a CachePolicy,
    /// Who asks.
    caller: TenantId,
    key: ExactKey,
    /// The entry under `key` when the lookup began.
    known: Option<EntryId>,
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

    /// How to keep the answer; `None` when it must not be kept.
    pub(super) fn keep(&self, asking: &Asking<'_>, embedding: Option<Embedding>, sensitive: bool) -> Option<Box<Keep>> {
        let Asking { question, policy, .. } = asking;
        let lifetime = freshness::lifetime(policy, question.directives.ttl.map(Duration::from_secs), sensitive);
        let kept = !question.directives.no_store && !lifetime.is_zero();
        // Two answers to a question whose right answer moves say nothing of the question.
        let learns = policy.learning && !sensitive;
        kept.then(|| {
            let keep = self.kept_for(asking, embedding, lifetime);
            let compared = (learns && keep.partition.is_some()).then_some(Work::Nearest(keep.exact_key));
            Box::new(Keep { compared, ..keep })
        })
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
            compared: None,
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
}

/// Reasons that keep both tiers out.
fn whole_bypass(prompt: &Prompt, policy: &CachePolicy) -> Option<BypassReason> {
    if policy.mode == Mode::Off {
        return Some(BypassReason::ModeOff);
    }
    let temperature = prompt.temperature.unwrap_or(1.0);
    policy.max_temperature.filter(|limit| temperature > *limit).map(|_| BypassReason::Temperature)
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
