//! The semantic tier's part of a lookup: may this prompt be answered by meaning, and by which entry.

use std::time::Duration;

use bytes::Bytes;

use crate::cache::Cache;
use crate::cache::lookup::Question;
use crate::cache::plain::{answers_plainly, curated_scope};
use crate::cache::search::{Asked, Considered, Found, Passed, Query};
use crate::dialect::openai_chat;
use crate::embed::EmbedError;
use crate::embedding::Embedding;
use crate::policy::{freshness, guard, self_contained};
use crate::prompt::Prompt;
use crate::reason::{BypassReason, MissReason};
use crate::settings::{CachePolicy, History, Strategy, TimeGuard};
use crate::store::AttributeFilter;
use crate::types::{Fingerprint, Similarity, Timestamp};

#[derive(Clone, Copy)]
pub(super) enum Reason {
    Miss(MissReason),
    Bypass(BypassReason),
}

/// What the semantic tier came to.
pub(super) struct Semantic {
    pub hit: Option<Passed>,
    pub reason: Reason,
    pub best: Option<Similarity>,
    pub embedding: Option<Embedding>,
    pub considered: Vec<Considered>,
}

impl Semantic {
    pub(super) fn bypass(reason: BypassReason) -> Self {
        Self { hit: None, reason: Reason::Bypass(reason), best: None, embedding: None, considered: Vec::new() }
    }
}

impl Cache {
    /// Looks for an entry that answers by meaning.
    pub(super) async fn semantic(
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
            bar: self.bar(policy, question.directives.threshold, fingerprint).learned(self.learned(
                policy,
                &question.scope.cache,
                question.scope.tenant,
            )),
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
    pub(super) fn semantic_bypass(
        &self,
        prompt: &Prompt,
        policy: &CachePolicy,
        sensitive: bool,
    ) -> Option<BypassReason> {
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

/// The bypass reason that an embedding error stands for.
pub(super) fn embed_bypass(error: &EmbedError) -> BypassReason {
    match error {
        EmbedError::Deadline => BypassReason::EmbedderSlow,
        EmbedError::Busy => BypassReason::EmbedderBusy,
        EmbedError::Down(_) | EmbedError::Invalid(_) => BypassReason::EmbedderDown,
    }
}

/// What must be equal for a semantic hit, and whether the turns before the last one are left out of that.
pub(super) fn shape(prompt: &Prompt, policy: &CachePolicy) -> (Bytes, bool) {
    let may = policy.history == History::SelfContained && self_contained::stands_alone(&prompt.text);
    match may.then(|| openai_chat::alone(prompt)).flatten() {
        Some(alone) => (alone, true),
        None => (prompt.shape.clone(), false),
    }
}
