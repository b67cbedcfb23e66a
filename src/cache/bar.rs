//! What a candidate must pass, as a policy and the state of the models set it for one lookup.

use crate::cache::Cache;
use crate::policy::evidence;
use crate::policy::learned::Learned;
use crate::reason::MissReason;
use crate::settings::{CachePolicy, VerifierChoice};
use crate::types::Fingerprint;
use crate::verify::{Kind, Lines};

/// The bar of one lookup.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    /// The least cosine of a candidate that is looked at, 0 to 1.
    pub floor: f32,
    /// The least cosine of a hit that the verifier had no say in.
    pub unverified: f32,
    /// The verifier's lines; `None` when cosine and guards decide.
    pub lines: Option<Lines>,
    /// From which cosine on, though under the floor, a candidate is only refused because the verifier does not work.
    pub open: Option<f32>,
    /// The policy's target error rate.
    target: f64,
    /// The cosine that the embedder's card calls safe, 0 to 1.
    card: f64,
    /// What the cache's own traffic has shown, where its policy learns.
    learned: Option<Learned>,
    /// The embedder that the verifier's lines are asked for.
    fingerprint: Fingerprint,
}

/// The least cosine that a verifier is shown, where it cannot say that itself.
const OPEN: f64 = 0.6;

impl Bar {
    /// With what the cache's own traffic has shown.
    pub fn learned(mut self, learned: Option<Learned>) -> Self {
        self.learned = learned;
        self
    }

    /// The target error rate that a pair of this cosine is judged by, above 0, at most 1.
    pub fn target(&self, cosine: f32) -> f64 {
        let near = evidence::place(f64::from(cosine), self.card);
        self.learned.as_ref().map_or(self.target, |learned| learned.target(near, self.target))
    }

    /// What becomes of a candidate that the verifier should have looked at and could not.
    pub fn unlooked(&self, cosine: f32) -> Result<(), MissReason> {
        if cosine >= self.unverified { Ok(()) } else { Err(MissReason::VerifierDown) }
    }

    /// The same where its cheap stage did look.
    pub fn unread(&self, cosine: f32, kind: Kind, glance: f64) -> Result<(), MissReason> {
        let likely = self.lines.is_none_or(|lines| lines.pass(kind, glance));
        self.unlooked(cosine).and(if likely { Ok(()) } else { Err(MissReason::VerifierDown) })
    }

    /// Why a candidate under the floor is refused.
    pub fn under(&self, cosine: f32) -> MissReason {
        if self.open.is_some_and(|open| cosine >= open) { MissReason::VerifierDown } else { MissReason::BelowThreshold }
    }
}

impl Cache {
    /// The bar under `policy`; a caller's own threshold raises it and never lowers it.
    ///
    /// A number in the policy is a floor. Without one the verifier decides; where it should and cannot, the model
    /// card's calibrated cosine stands in for it, whatever lower number the policy has.
    pub(super) fn bar(&self, policy: &CachePolicy, raised: Option<f64>, fingerprint: &Fingerprint) -> Bar {
        let calibrated = f64::from(self.inner.embedder.calibrated_similarity());
        let asked = policy.verifier == VerifierChoice::Builtin && self.inner.verifier.is_there();
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
        let missing = asked && lines.is_none();
        let open = missing.then(|| raise(policy.similarity_threshold.unwrap_or(OPEN)));
        Bar {
            floor: raise(floor),
            unverified: raise(unverified),
            lines,
            open,
            target: policy.target_error_rate,
            card: calibrated,
            learned: None,
            fingerprint: *fingerprint,
        }
    }

    /// The verifier's lines for a pair that is judged by `target`; `None` when cosine and guards decide.
    pub(super) fn lines(&self, bar: &Bar, target: f64) -> Option<Lines> {
        let usual = bar.lines?;
        if bar.learned.is_none() {
            return Some(usual);
        }
        self.inner.verifier.lines(target, &bar.fingerprint).or(Some(usual))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::language::Language;
    use crate::verify::{Change, Mark, Marks};

    const MARKS: Marks = {
        let rewording = Mark { sure: 0.99, pass: 0.8 };
        let edit = Mark { sure: 0.99, pass: 0.9 };
        Marks { hopeless: 0.1, particles: edit, edit, rewording, near: rewording }
    };
    const LINES: Lines = Lines { floor: 0.6, each: [MARKS; 3] };
    const EDIT: Kind = Kind { language: Language::English, change: Change::Edit };

    fn bar(lines: Option<Lines>, floor: f32, open: Option<f32>) -> Bar {
        let (card, fingerprint) = (0.93, Fingerprint([0; 32]));
        Bar { floor, unverified: 0.93, lines, open, target: 0.01, card, learned: None, fingerprint }
    }

    #[test]
    fn without_the_verifiers_word_only_the_stricter_cosine_serves() {
        let bar = bar(Some(LINES), 0.6, None);
        assert_eq!((bar.unlooked(0.95), bar.unlooked(0.92)), (Ok(()), Err(MissReason::VerifierDown)));
        assert_eq!(bar.unread(0.95, EDIT, 0.95), Ok(()));
        assert_eq!(bar.unread(0.95, EDIT, 0.85), Err(MissReason::VerifierDown), "its cheap stage doubts");
        assert_eq!(bar.unread(0.9, EDIT, 0.95), Err(MissReason::VerifierDown), "not near enough");
    }

    #[test]
    fn what_a_missing_verifier_might_have_passed_says_so() {
        let bar = bar(None, 0.93, Some(0.6));
        assert_eq!((bar.under(0.8), bar.under(0.5)), (MissReason::VerifierDown, MissReason::BelowThreshold));
        let by_cosine = Bar { open: None, ..bar };
        assert_eq!(by_cosine.under(0.8), MissReason::BelowThreshold);
    }
}
