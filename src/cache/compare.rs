//! The engine's view of two prompts, without a store: what a lookup of one would say if the other were its neighbour.
//!
//! For measuring (`refrain eval`, `refrain calibrate`): every signal is computed, whatever an earlier one said.

use crate::cache::Cache;
use crate::cache::semantic::embed_bypass;
use crate::embedding::Embedding;
use crate::policy::guard::{self, Features, Veto};
use crate::policy::wording::Wording;
use crate::reason::BypassReason;
use crate::settings::{CachePolicy, Guards};
use crate::verify::{Glance, Settled, Side};

/// All signals about one pair of prompts.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Why the semantic tier would not look at one of them; the other signals are then as if it did.
    pub bypass: Option<BypassReason>,
    /// Cosine of the two vectors, -1 to 1 clamped to 0 to 1; 0 when a text has no vector.
    pub cosine: f64,
    /// Every guard that forbids the pair.
    pub vetoes: Vec<Veto>,
    /// The verifier's probability that one answer serves both, 0 to 1; `None` without a verifier.
    pub probability: Option<f64>,
    /// The strictest `targetErrorRate` at which the verifier lets it pass, above 0, at most 1; `None` without one.
    pub target: Option<f64>,
    /// What the verifier's cheap stage says; `None` without a verifier.
    pub glance: Option<Glance>,
}

/// What the service would do with a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Would {
    /// Serve the stored answer.
    pub serve: bool,
    /// Have the reader read both texts first.
    pub read: bool,
}

impl Cache {
    /// Compares two prompts as a lookup of `asked` would with `stored` as its neighbour, every guard on.
    pub async fn compare(&self, stored: &str, asked: &str) -> Comparison {
        let (a, b) = (Features::of(stored), Features::of(asked));
        let verdicts = guard::verdicts(&a, &b, &Guards::default());
        let mut comparison = Comparison {
            bypass: self.compare_bypass(stored).or_else(|| self.compare_bypass(asked)),
            cosine: 0.0,
            vetoes: verdicts.into_iter().filter_map(|(_, veto)| veto).collect(),
            probability: None,
            target: None,
            glance: None,
        };
        match (self.inner.embedder.embed(stored).await, self.inner.embedder.embed(asked).await) {
            (Ok(one), Ok(other)) => {
                comparison.cosine = f64::from(one.similarity(&other).get());
                self.verify((stored, &one, &a), (asked, &other, &b), &mut comparison).await;
            }
            (Err(error), _) | (_, Err(error)) => {
                comparison.bypass.get_or_insert_with(|| embed_bypass(&error));
            }
        }
        comparison
    }

    async fn verify(
        &self,
        (stored, one, a): (&str, &Embedding, &Features),
        (asked, other, b): (&str, &Embedding, &Features),
        comparison: &mut Comparison,
    ) {
        let Some((one_tokens, other_tokens)) = one.tokens().zip(other.tokens()) else { return };
        let (wording, other_wording) = (Wording::of(stored), Wording::of(asked));
        let a = Side { text: stored, wording: &wording, features: a, tokens: one_tokens };
        let b = Side { text: asked, wording: &other_wording, features: b, tokens: other_tokens };
        let verifier = &self.inner.verifier;
        let Some(glance) = verifier.glance(&a, &b, one.similarity(other).get()) else { return };
        comparison.probability = verifier.read(stored, asked, &glance).await.ok();
        comparison.target = comparison.probability.and_then(|full| verifier.strictest(&glance, full));
        comparison.glance = Some(glance);
    }

    /// The cosine from which on a candidate is shown to the verifier under `policy`, 0 to 1; `None` when none decides.
    pub fn verified_from(&self, policy: &CachePolicy) -> Option<f64> {
        let bar = self.bar(policy, None, &self.inner.embedder.fingerprint()?);
        bar.lines.map(|_| f64::from(bar.floor))
    }

    /// What the service would do with `comparison`'s pair under `policy`: the very rules of a lookup (cosine, guards, the
    /// verifier's cheap stage, then its reader).
    pub fn would(&self, comparison: &Comparison, policy: &CachePolicy) -> Would {
        let Some(fingerprint) = self.inner.embedder.fingerprint() else { return Would::default() };
        let bar = self.bar(policy, None, &fingerprint);
        if comparison.bypass.is_some() || !comparison.vetoes.is_empty() || comparison.cosine < f64::from(bar.floor) {
            return Would::default();
        }
        let cheaply = |serve| Would { serve, read: false };
        let (lines, glance) = match (bar.lines, &comparison.glance) {
            (Some(lines), Some(glance)) => (lines, glance),
            (None, _) => return cheaply(true),
            (Some(_), None) => return cheaply(comparison.cosine >= f64::from(bar.unverified)),
        };
        match lines.settle(glance.kind, glance.probability) {
            Settled::Yes => cheaply(true),
            Settled::No => cheaply(false),
            Settled::Open => {
                Would { serve: comparison.probability.is_some_and(|full| lines.pass(glance.kind, full)), read: true }
            }
        }
    }

    fn compare_bypass(&self, text: &str) -> Option<BypassReason> {
        if guard::time_sensitive(text).is_some() {
            return Some(BypassReason::Time);
        }
        if guard::has_hidden(text) {
            return Some(BypassReason::Hidden);
        }
        self.inner.embedder.coverage(text).err()
    }
}
