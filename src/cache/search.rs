//! The semantic tier's search: nearest first, until a candidate passes or falls under the floor.
//!
//! A vetoed or unloadable neighbour never hides a right one behind it: `k` doubles up to [`MAX_K`].

use std::collections::HashSet;
use std::sync::Arc;

use crate::cache::{Cache, Prepared};
use crate::embedding::Embedding;
use crate::policy::directives::Directives;
use crate::policy::freshness::{self, Freshness};
use crate::policy::guard::{self, Features, GuardName};
use crate::reason::MissReason;
use crate::settings::Guards;
use crate::store::{AttributeFilter, Candidate, Stored};
use crate::types::{EntryId, PartitionKey, Similarity, Timestamp};

/// The most neighbours looked at.
const MAX_K: usize = 64;

/// One search in one partition.
pub(super) struct Query<'a> {
    pub partition: PartitionKey,
    pub text: &'a str,
    pub embedding: &'a Embedding,
    pub features: &'a Features,
    pub filter: AttributeFilter,
    pub floor: f32,
    pub guards: &'a Guards,
    pub directives: &'a Directives,
    pub now: Timestamp,
    /// How many passing candidates are wanted.
    pub wanted: usize,
    /// Judge every guard, for `explain`.
    pub explain: bool,
}

/// A candidate that passed.
#[derive(Clone)]
pub(super) struct Passed {
    pub stored: Arc<Stored>,
    pub similarity: Similarity,
    pub freshness: Freshness,
}

/// One candidate as `explain` shows it.
#[derive(Clone, Debug)]
pub struct Considered {
    /// The entry.
    pub id: EntryId,
    /// Its cosine.
    pub similarity: Similarity,
    /// `hit`, or the reason's label.
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
    /// Takes in what another partition gave; the reason is the nearer candidate's.
    pub fn add(&mut self, other: Self) {
        if other.best > self.best {
            self.reason = other.reason;
        }
        self.best = self.best.max(other.best);
        self.considered.extend(other.considered);
        self.passed.extend(other.passed);
    }
}

impl Cache {
    /// Searches one partition.
    pub(super) async fn search(&self, query: &Query<'_>) -> Found {
        let mut found =
            Found { passed: Vec::new(), best: None, reason: MissReason::NoCandidate, considered: Vec::new() };
        let (mut k, mut seen) = (4.max(query.wanted), HashSet::new());
        loop {
            let candidates = self.neighbours(query, k);
            // A wider search may find other neighbours than a narrow one, and entries come meanwhile.
            for candidate in candidates.iter().filter(|candidate| seen.insert(candidate.id)) {
                if found.passed.len() >= query.wanted {
                    return found;
                }
                if !self.consider(query, candidate, &mut found).await {
                    return found;
                }
            }
            if candidates.len() < k || k >= MAX_K || found.passed.len() >= query.wanted {
                return found;
            }
            k = (k * 2).min(MAX_K);
        }
    }

    fn neighbours(&self, query: &Query<'_>, k: usize) -> Vec<Candidate> {
        let accepted = query.directives.max_stale.unwrap_or(0).saturating_mul(1000);
        let usable_at = Timestamp(query.now.0.saturating_sub(accepted));
        self.inner.store.nearest(&query.partition, query.embedding, k, &query.filter, usable_at)
    }

    /// Judges one candidate; false when it and all behind it are too far.
    async fn consider(&self, query: &Query<'_>, candidate: &Candidate, found: &mut Found) -> bool {
        let Ok(Some(stored)) = self.inner.store.load(candidate.id).await else { return true };
        let similarity = if stored.entry.text == query.text { Similarity::ONE } else { candidate.similarity };
        let first = found.best.is_none();
        found.best = found.best.max(Some(similarity));
        let verdict = Self::verdict(query, &stored, similarity);
        if query.explain {
            let guards = explain_guards(query, &stored);
            let label = verdict.as_ref().map_or_else(|reason| reason.as_str(), |_| "hit");
            found.considered.push(Considered { id: candidate.id, similarity, verdict: label, guards });
        }
        match verdict {
            Ok(freshness) => found.passed.push(Passed { stored, similarity, freshness }),
            Err(reason) if first => found.reason = reason,
            Err(_) => {}
        }
        similarity.get() >= query.floor || query.explain && found.considered.len() < 8
    }

    fn verdict(query: &Query<'_>, stored: &Stored, similarity: Similarity) -> Result<Freshness, MissReason> {
        if similarity.get() < query.floor {
            return Err(MissReason::BelowThreshold);
        }
        let entry = &stored.entry;
        let freshness = freshness::judge(entry.stored_at, entry.expires_at, query.directives, query.now);
        if freshness == Freshness::Expired {
            return Err(freshness::refusal(entry.stored_at, entry.expires_at, query.directives, query.now));
        }
        if stored.entry.text == query.text {
            return Ok(freshness);
        }
        match guard::judge(query.features, &Prepared::of(stored).features, query.guards) {
            Some(veto) => {
                crate::metrics::guard_veto(veto.guard.as_str());
                Err(veto.guard.miss_reason())
            }
            None => Ok(freshness),
        }
    }
}

fn explain_guards(query: &Query<'_>, stored: &Stored) -> Vec<(GuardName, Option<String>)> {
    let prepared = Prepared::of(stored);
    let verdicts = guard::verdicts(query.features, &prepared.features, query.guards);
    verdicts.into_iter().map(|(name, veto)| (name, veto.map(|veto| veto.difference))).collect()
}
