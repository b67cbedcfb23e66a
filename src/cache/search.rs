//! The semantic tier's search: nearest first, until a candidate passes or falls under the floor.
//!
//! A candidate passes when it is near enough, fresh enough, vetoed by no guard, and trusted by the verifier. The cheap
//! stage settles most of them; of those that it leaves open the likeliest are read, at most [`MAX_READS`] a search. A
//! vetoed or unloadable neighbour never hides a right one behind it: `k` doubles up to [`MAX_K`].

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::cache::bar::Bar;
use crate::cache::{Cache, Prepared};
use crate::embedding::Embedding;
use crate::policy::directives::Directives;
use crate::policy::evidence::Signals;
use crate::policy::freshness::{self, Freshness};
use crate::policy::guard::{self, Features, GuardName};
use crate::policy::record::{Counts, Record};
use crate::policy::self_contained;
use crate::policy::wording::Wording;
use crate::reason::MissReason;
use crate::settings::Guards;
use crate::store::{AttributeFilter, Candidate, Stored};
use crate::types::{EntryId, PartitionKey, Similarity, Timestamp};
use crate::verify::{Glance, Settled, Side};

/// The most neighbours looked at.
const MAX_K: usize = 64;
/// The most candidates that are read: each costs about as much as an embedding of both texts.
const MAX_READS: usize = 3;
/// The most candidates that an explanation shows below the floor.
const SHOWN: usize = 8;
/// The verdict on a candidate that an explanation shows beside enough that passed.
const UNNEEDED: &str = "not-needed";

/// The prompt that is looked for, read once.
pub(super) struct Asked<'a> {
    pub text: &'a str,
    pub embedding: &'a Embedding,
    pub features: Features,
    pub wording: Wording,
}

impl<'a> Asked<'a> {
    pub(super) fn of(text: &'a str, embedding: &'a Embedding) -> Self {
        Self { text, embedding, features: Features::of(text), wording: Wording::of(text) }
    }
}

/// One search in one partition.
pub(super) struct Query<'a> {
    pub partition: PartitionKey,
    pub asked: &'a Asked<'a>,
    pub filter: AttributeFilter,
    pub bar: Bar,
    pub guards: &'a Guards,
    pub directives: &'a Directives,
    pub now: Timestamp,
    /// How old an answer may be, since the right one moves with time.
    pub time_limit: Option<Duration>,
    /// How many passing candidates are wanted.
    pub wanted: usize,
    /// The asked prompt left a history behind: so must the stored one be able to.
    pub alone: bool,
    /// Judge every guard, for `explain`.
    pub explain: bool,
}

/// A candidate that passed.
#[derive(Clone)]
pub(super) struct Passed {
    pub stored: Arc<Stored>,
    pub similarity: Similarity,
    pub freshness: Freshness,
    /// The verifier's probability that one answer serves both, 0 to 1; `None` when it had no say.
    pub probability: Option<f64>,
}

/// One candidate as `explain` shows it.
#[derive(Clone, Debug)]
pub struct Considered {
    /// The entry.
    pub id: EntryId,
    /// Its cosine.
    pub similarity: Similarity,
    /// The verifier's probability that one answer serves both, 0 to 1; `None` when it was not asked.
    pub probability: Option<f64>,
    /// The probability that the policy's target asks of this pair: one for what was read, one for what was not.
    pub needed: Option<f64>,
    /// The target error rate that the pair was judged by, above 0, at most 1: the policy's, or what the cache's traffic made
    /// of it. `None` when the verifier was not asked.
    pub target: Option<f64>,
    /// Did the verifier's reader read both texts?
    pub read: bool,
    /// How often callers said that its answer was right and wrong.
    pub observations: Counts,
    /// `hit`, the reason's label, or `not-needed`: nothing spoke against it yet when another one passed.
    pub verdict: &'static str,
    /// Every enabled guard: its name, and what differs when it vetoes.
    pub guards: Vec<(GuardName, Option<String>)>,
}

/// What a search found.
pub(super) struct Found {
    pub passed: Vec<Passed>,
    /// The best cosine scored, passing or not.
    pub best: Option<Similarity>,
    /// Why the best candidate did not pass; `NoCandidate` when there was none.
    pub reason: MissReason,
    pub considered: Vec<Considered>,
}

impl Found {
    fn nothing() -> Self {
        Self { passed: Vec::new(), best: None, reason: MissReason::NoCandidate, considered: Vec::new() }
    }

    /// Takes in what another partition gave; the reason is the nearer candidate's.
    pub fn add(&mut self, other: Self) {
        if other.best > self.best {
            self.reason = other.reason;
        }
        self.best = self.best.max(other.best);
        self.considered.extend(other.considered);
        self.passed.extend(other.passed);
    }

    /// Has enough passed?
    fn is_enough(&self, query: &Query<'_>) -> bool {
        self.passed.len() >= query.wanted
    }

    /// Adds a candidate to the explanation, if there is to be one.
    fn show(&mut self, query: &Query<'_>, one: &Scored, verdict: &'static str) {
        if query.explain {
            self.considered.push(Considered {
                id: one.stored.entry.id,
                similarity: one.similarity,
                probability: one.probability,
                needed: one.needed,
                target: one.probability.map(|_| one.target),
                read: one.read,
                observations: one.observations,
                verdict,
                guards: explain_guards(query, &one.stored),
            });
        }
    }

    /// Notes a decision about a candidate.
    fn settle(&mut self, query: &Query<'_>, one: Scored, verdict: Result<(), MissReason>) {
        self.show(query, &one, verdict.map_or_else(MissReason::as_str, |()| "hit"));
        match verdict {
            Ok(()) => {
                let Scored { stored, similarity, freshness, probability, .. } = one;
                self.passed.push(Passed { stored, similarity, freshness, probability });
            }
            Err(reason) if self.best == Some(one.similarity) => self.reason = reason,
            Err(_) => {}
        }
    }
}

/// A candidate under consideration.
struct Scored {
    stored: Arc<Stored>,
    similarity: Similarity,
    freshness: Freshness,
    probability: Option<f64>,
    needed: Option<f64>,
    /// What it is judged by, where the verifier is asked.
    target: f64,
    read: bool,
    /// For `explain`.
    observations: Counts,
}

impl Scored {
    fn signals(&self) -> Signals {
        Signals { cosine: f64::from(self.similarity.get()), probability: self.probability }
    }
}

/// What is known of a candidate before anything is read.
enum First {
    Passes,
    Fails(MissReason),
    /// The cheap stage leaves it open.
    Open(Glance),
}

impl Cache {
    /// Searches one partition.
    pub(super) async fn search(&self, query: &Query<'_>) -> Found {
        let mut found = Found::nothing();
        let (mut k, mut seen, mut reads) = (4.max(query.wanted), HashSet::new(), MAX_READS);
        loop {
            let candidates = self.neighbours(query, k);
            // A wider search may find other neighbours than a narrow one, and entries come meanwhile.
            let new: Vec<Candidate> = candidates.iter().filter(|one| seen.insert(one.id)).copied().collect();
            let (open, ends) = self.first_look(query, &new, &mut found).await;
            self.read(query, open, &mut reads, &mut found).await;
            if ends || candidates.len() < k || k >= MAX_K || found.is_enough(query) {
                break;
            }
            k = (k * 2).min(MAX_K);
        }
        found.passed.sort_by_key(|passed| std::cmp::Reverse(passed.similarity));
        found
    }

    fn neighbours(&self, query: &Query<'_>, k: usize) -> Vec<Candidate> {
        let accepted = query.directives.max_stale.unwrap_or(0).saturating_mul(1000);
        let usable_at = Timestamp(query.now.0.saturating_sub(accepted));
        self.inner.store.nearest(&query.partition, query.asked.embedding, k, &query.filter, usable_at)
    }

    /// Settles what can be settled without reading; the rest is returned, and whether the search ends here.
    async fn first_look(
        &self,
        query: &Query<'_>,
        candidates: &[Candidate],
        found: &mut Found,
    ) -> (Vec<(Scored, Glance)>, bool) {
        let mut open = Vec::new();
        for candidate in candidates {
            let enough = found.is_enough(query);
            if enough && !query.explain {
                return (Vec::new(), true);
            }
            let Some(mut one) = self.scored(query, candidate).await else { continue };
            let similarity = one.similarity;
            found.best = found.best.max(Some(similarity));
            match self.first(query, &mut one) {
                First::Fails(reason) => found.settle(query, one, Err(reason)),
                _ if enough => found.show(query, &one, UNNEEDED),
                First::Passes => {
                    let verdict = self.by_record(query, &one);
                    found.settle(query, one, verdict);
                }
                First::Open(glance) => open.push((one, glance)),
            }
            let shows_on = query.explain && found.considered.len() < SHOWN;
            if similarity.get() < query.bar.floor && !shows_on {
                return (open, true);
            }
        }
        (open, false)
    }

    /// Loads a neighbour; `None` when it went away meanwhile.
    async fn scored(&self, query: &Query<'_>, candidate: &Candidate) -> Option<Scored> {
        let stored = self.inner.store.load(candidate.id).await.ok().flatten()?;
        let entry = &stored.entry;
        let similarity = if entry.text == query.asked.text { Similarity::ONE } else { candidate.similarity };
        let freshness = freshness::judge(entry.stored_at, entry.expires_at, query.directives, query.now);
        let observations = query.explain.then(|| self.inner.store.observed(entry.id, Record::counts)).flatten();
        Some(Scored {
            stored,
            similarity,
            freshness,
            probability: None,
            needed: None,
            target: query.bar.target(similarity.get()),
            read: false,
            observations: observations.unwrap_or_default(),
        })
    }

    /// Holds a pair that would pass against what became of the entry's earlier hits; its own prompt is no pair.
    fn by_record(&self, query: &Query<'_>, one: &Scored) -> Result<(), MissReason> {
        let (entry, asked) = (&one.stored.entry, query.asked.text);
        let tightened = entry.text != asked && self.is_tightened(entry, asked, &one.signals());
        if tightened { Err(MissReason::Tightened) } else { Ok(()) }
    }

    fn first(&self, query: &Query<'_>, one: &mut Scored) -> First {
        if one.similarity.get() < query.bar.floor {
            return First::Fails(query.bar.under(one.similarity.get()));
        }
        if one.freshness == Freshness::Expired {
            let entry = &one.stored.entry;
            let why = freshness::refusal(entry.stored_at, entry.expires_at, query.directives, query.now);
            return First::Fails(why);
        }
        if query.time_limit.is_some_and(|limit| query.now.since(one.stored.entry.stored_at) > limit) {
            return First::Fails(MissReason::GuardTime);
        }
        if self.is_refused(&one.stored.entry, query.asked.text) {
            return First::Fails(MissReason::Wrong);
        }
        if query.alone && !self_contained::stands_alone(&one.stored.entry.text) {
            return First::Fails(MissReason::History);
        }
        if one.stored.entry.text == query.asked.text {
            return First::Passes;
        }
        let prepared = Prepared::of(&one.stored);
        if let Some(veto) = guard::judge(&query.asked.features, &prepared.features, query.guards) {
            crate::metrics::guard_veto(veto.guard.as_str());
            return First::Fails(veto.guard.miss_reason());
        }
        self.glance(query, one, &prepared)
    }

    /// The verifier's cheap stage; without a verifier, the cosine decides.
    fn glance(&self, query: &Query<'_>, one: &mut Scored, prepared: &Prepared) -> First {
        let Some(lines) = self.lines(&query.bar, one.target) else {
            return First::Passes; // The floor is the bar.
        };
        let asked = query.asked.embedding.tokens().zip(one.stored.tokens.as_ref());
        let glance = asked.and_then(|(asked, stored)| {
            let (text, other) = (query.asked.text, one.stored.entry.text.as_str());
            let a = Side { text, wording: &query.asked.wording, features: &query.asked.features, tokens: asked };
            let b = Side { text: other, wording: &prepared.wording, features: &prepared.features, tokens: stored };
            self.inner.verifier.glance(&a, &b, one.similarity.get())
        });
        let Some(glance) = glance else {
            return query.bar.unlooked(one.similarity.get()).map_or_else(First::Fails, |()| First::Passes);
        };
        (one.probability, one.needed) = (Some(glance.probability), Some(lines.needed(glance.kind, false)));
        match lines.settle(glance.kind, glance.probability) {
            Settled::Yes => First::Passes,
            Settled::No => First::Fails(MissReason::Verifier),
            Settled::Open => First::Open(glance),
        }
    }

    /// Has the likeliest of the open candidates read, until enough pass or the reads are used up.
    async fn read(&self, query: &Query<'_>, mut open: Vec<(Scored, Glance)>, reads: &mut usize, found: &mut Found) {
        open.sort_by(|(_, a), (_, b)| b.probability.total_cmp(&a.probability));
        for (mut one, glance) in open {
            if found.is_enough(query) {
                found.show(query, &one, UNNEEDED);
                continue;
            }
            if *reads == 0 {
                found.settle(query, one, Err(MissReason::Verifier));
                continue;
            }
            *reads -= 1;
            let Some(lines) = self.lines(&query.bar, one.target) else { return };
            let verdict = match self.inner.verifier.read(query.asked.text, &one.stored.entry.text, &glance).await {
                Ok(probability) => {
                    (one.probability, one.read) = (Some(probability), true);
                    one.needed = Some(lines.needed(glance.kind, true));
                    crate::metrics::verifier_read();
                    if lines.pass(glance.kind, probability) { Ok(()) } else { Err(MissReason::Verifier) }
                }
                Err(_) => query.bar.unread(one.similarity.get(), glance.kind, glance.probability),
            };
            let verdict = verdict.and_then(|()| self.by_record(query, &one));
            found.settle(query, one, verdict);
        }
    }
}

fn explain_guards(query: &Query<'_>, stored: &Stored) -> Vec<(GuardName, Option<String>)> {
    let prepared = Prepared::of(stored);
    let verdicts = guard::verdicts(&query.asked.features, &prepared.features, query.guards);
    verdicts.into_iter().map(|(name, veto)| (name, veto.map(|veto| veto.difference))).collect()
}
