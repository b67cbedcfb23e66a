//! What a candidate must pass, as a policy and the state of the models set it for one lookup.

use crate::cache::Cache;
use crate::settings::{CachePolicy, VerifierChoice};
use crate::types::Fingerprint;
use crate::verify::Lines;

/// The bar of one lookup.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar {
    /// The least cosine of a candidate that is looked at, 0 to 1.
    pub floor: f32,
    /// The least cosine of a hit that the verifier had no say in.
    pub unverified: f32,
    /// The verifier's lines; `None` when cosine and guards decide.
    pub lines: Option<Lines>,
}

impl Cache {
    /// The bar under `policy`; a caller's own threshold raises it and never lowers it.
    ///
    /// A number in the policy is a floor. Without one the verifier decides; where it should and cannot, the model
    /// card's calibrated cosine stands in for it, whatever lower number the policy has.
    pub(super) fn bar(&self, policy: &CachePolicy, raised: Option<f64>, fingerprint: &Fingerprint) -> Bar {
        let calibrated = f64::from(self.inner.embedder.calibrated_similarity());
        let asked = policy.verifier == VerifierChoice::Builtin;
        let lines = Some(fingerprint).filter(|_| asked);
        let lines = lines.and_then(|made| self.inner.verifier.lines(policy.target_error_rate, made));
        let unverified = match policy.similarity_threshold {
            Some(number) if asked => number.max(calibrated),
            Some(number) => number,
            None => calibrated,
        };
        let floor = match (lines, policy.similarity_threshold) {
            (Some(_), Some(number)) => number,
            (Some(lines), None) => f64::from(lines.floor),
            (None, _) => unverified,
        };
        let raise = |cosine: f64| narrow(cosine.max(raised.unwrap_or(0.0)));
        Bar { floor: raise(floor), unverified: raise(unverified), lines }
    }

    /// The bar with another floor in place of the policy's: what a search over the LangCache routes may ask for.
    pub(super) fn bar_with(&self, policy: &CachePolicy, floor: Option<f64>, fingerprint: &Fingerprint) -> Bar {
        let policy = CachePolicy { similarity_threshold: floor.or(policy.similarity_threshold), ..policy.clone() };
        self.bar(&policy, None, fingerprint)
    }
}

#[allow(clippy::cast_possible_truncation)]
fn narrow(cosine: f64) -> f32 {
    cosine as f32
}
