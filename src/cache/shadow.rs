//! Shadow mode: every request goes upstream, and what would have answered it is said.
//!
//! Where an entry would have answered by meaning and a fresh answer has come whole, the two answers are
//! [compared](super::comparing): what is clear becomes a label of the pair of prompts. A label refuses no pair; that is
//! for people to say.

use crate::cache::comparing::{Work, tells};
use crate::cache::lookup::Asking;
use crate::cache::{Cache, Forward, Hit, Keep};
use crate::embedding::Embedding;
use crate::metrics;
use crate::policy::agreement::Agreement;
use crate::policy::guard;
use crate::reason::BypassReason;
use crate::settings::{CachePolicy, Mode};
use crate::store::{LabelSource, LabelledPair};
use crate::types::{ExactKey, LookupId, Outcome, TenantId};

/// What a request would have come to, were the policy's mode `on`.
pub struct Shadow {
    /// The outcome.
    pub outcome: Outcome,
    /// The reason's label; of a hit its tier's, as everywhere.
    pub reason: &'static str,
    /// What would have answered.
    pub hit: Option<Box<Hit>>,
}

impl Shadow {
    /// An entry would have answered.
    pub(super) fn of(hit: Hit) -> Self {
        Self { outcome: hit.outcome, reason: hit.tier.as_str(), hit: Some(Box::new(hit)) }
    }

    /// The request would have gone upstream all the same.
    pub(super) fn none(forward: &Forward) -> Self {
        Self { outcome: forward.outcome, reason: forward.reason, hit: None }
    }

    /// The label of the tier that would have answered, or empty.
    pub fn tier(&self) -> &'static str {
        self.hit.as_ref().map_or("", |hit| hit.tier.as_str())
    }
}

/// Two requests, one of which would have been answered by the other's entry.
pub(super) struct Pair {
    stored: ExactKey,
    asked: ExactKey,
    similarity: f64,
    probability: Option<f64>,
}

impl Pair {
    /// The pair behind a hit; none where the difference of the answers would say nothing of the prompts: one prompt, a
    /// vetted answer, an old one, or a question whose right answer moves with time.
    pub(super) fn of(hit: &Hit, keep: &Keep) -> Option<Self> {
        let entry = &hit.stored.entry;
        let telling = hit.outcome == Outcome::Hit && hit.moves.is_none();
        let pair = Self {
            stored: entry.exact_key,
            asked: keep.exact_key,
            similarity: f64::from(hit.similarity.get()),
            probability: hit.probability,
        };
        (telling && tells(entry, keep.tenant, &keep.text)).then_some(pair)
    }
}

impl Cache {
    /// The way upstream of a request that `hit` would have answered; what comes is kept as after any miss.
    pub(super) async fn withheld(&self, asking: &Asking<'_>, mut hit: Hit, embedding: Option<Embedding>) -> Forward {
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
            keep.compared = Pair::of(&hit, keep).map(Work::Withheld).or(keep.compared.take());
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

    /// Compares what is kept of two requests now, and labels their prompts where that is clear; the metric's label.
    ///
    /// Both are looked up again: what was deleted meanwhile may be in no label, and a newer answer is as good.
    pub(super) async fn label_pair(&self, pair: &Pair) -> &'static str {
        let (Some(stored), Some(asked)) = (self.by_key(&pair.stored).await, self.by_key(&pair.asked).await) else {
            return "gone";
        };
        let agreement = match self.agreement(&stored, &asked).await {
            Ok(agreement) => agreement,
            Err(why) => return why,
        };
        if self.learns(&asked.entry.cache) {
            self.note(&asked.entry);
            metrics::lesson(self.learn_from(&stored, &asked, agreement).await);
        }
        let wrong = match agreement {
            Agreement::Same => false,
            Agreement::Other => true,
            Agreement::Unclear => return "unclear",
        };
        let labelled = LabelledPair {
            asked: asked.entry.text.clone(),
            stored: stored.entry.text.clone(),
            attributes: stored.entry.attributes.clone(),
            similarity: pair.similarity,
            probability: pair.probability,
        };
        match self.put_label(&stored.entry, LabelSource::Shadow, wrong, labelled).await {
            Ok(()) if wrong => "wrong",
            Ok(()) => "right",
            Err(_) => "store-down",
        }
    }

    /// Has the answer that `keep` is for compared, once it is kept, with that of the hit which `caller`'s lookup `named`
    /// would have been. Does nothing outside shadow mode, or where no lookup of this very prompt has this name.
    pub async fn compare_when_kept(
        &self,
        mut keep: Keep,
        named: LookupId,
        caller: TenantId,
        policy: &CachePolicy,
    ) -> Keep {
        if policy.mode == Mode::Shadow
            && let Some((entry, known)) = self.spoken_of(named, caller, &keep.cache)
            && known.asked == keep.text
            && let Ok(Some(stored)) = self.inner.store.load(entry).await
            && stored.entry.partition == keep.partition
            && tells(&stored.entry, keep.tenant, &keep.text)
        {
            let (similarity, probability) = (known.similarity, known.probability);
            let (stored, asked) = (stored.entry.exact_key, keep.exact_key);
            keep.compared = Some(Work::Withheld(Pair { stored, asked, similarity, probability }));
        }
        keep
    }
}
