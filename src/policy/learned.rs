//! What a cache's own traffic teaches: how strictly a near prompt is to be judged there.
//!
//! The verifier's lines are drawn on pairs that are hard on purpose. Traffic differs: in one cache everything that is
//! near asks the same, in another hardly anything does. Each answer that is kept tells, compared with the one kept for
//! the nearest earlier prompt, whether that one would have served. Such labels move the weights of a logistic
//! regression over the cosine's place above the embedder's card and the strictest target at which the verifier passes a
//! pair (a Gaussian over the weights, moment-matched at each label: Spiegelhalter and Lauritzen, Networks 20, 1990). What comes
//! of it is the target that a pair is judged by in place of the policy's, looser or stricter.
//!
//! - **Without labels it is the policy's target** for every pair: nothing has to be explored first.
//! - **Looser takes more than stricter.** A target is tightened to what labels make likely, and loosened only as far as they
//!   make it likely nine times of ten. A handful of labels loosens nothing, and wrong ones of far pairs never what is nearer.
//! - It stays within what a policy may ask for, never overrules a guard, and is no looser beyond the cosines that labels
//!   were taken from. Pairs that a guard forbids are no labels: they are the ones that the verifier knows least about.
//! - Two long answers seldom show whether they say the same. Labels that are missing for what they would have said bias
//!   whatever is learnt from the others, so each unclear one is taken both ways (bounds for partial identification:
//!   Manski, American Economic Review 80, 1990): a target moves only as far as both ways move it to the same side.
//!
//! Pure: no store, no clock.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::policy::agreement::Agreement;
use crate::settings::TARGETS;

mod belief;

use belief::Belief;

/// The farthest place under the card's cosine that labels are taken from, in units of the room above it.
pub const NEAREST_FROM: f64 = -3.0;
/// The target of strictness 0: the default one.
const MIDDLE: f64 = 0.01;
/// Targets of pairs that are told apart.
const TOLD_APART: RangeInclusive<f64> = 1e-4..=1.0;
/// How many standard deviations a log-odds is taken lower where it would loosen: nine times of ten it is no lower.
const SURE: f64 = 1.28;

/// What the engine saw of a pair whose answers were compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lesson {
    /// The cosine's place above the card's, see [`place`](crate::policy::evidence::place).
    pub near: f64,
    /// The strictest target at which the verifier passes the pair, above 0, at most 1.
    pub target: f64,
}

/// How many labels there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// The earlier answer would have served.
    pub right: u64,
    /// It would not.
    pub wrong: u64,
    /// The answers did not show it.
    pub unclear: u64,
}

impl Labels {
    /// All of them.
    pub fn count(&self) -> u64 {
        self.right + self.wrong + self.unclear
    }

    /// These and others.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { right: self.right + other.right, wrong: self.wrong + other.wrong, unclear: self.unclear + other.unclear }
    }
}

/// What was learnt so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// What it comes from.
    pub labels: Labels,
    /// Where every unclear label is taken as right.
    hopeful: Belief,
    /// Where every unclear label is taken as wrong.
    cautious: Belief,
}

impl Learned {
    /// Learns from one pair.
    pub fn learn(&mut self, lesson: &Lesson, says: Agreement) {
        let (count, hopeful, cautious) = match says {
            Agreement::Same => (&mut self.labels.right, true, true),
            Agreement::Other => (&mut self.labels.wrong, false, false),
            Agreement::Unclear => (&mut self.labels.unclear, true, false),
        };
        *count += 1;
        let stands = strictness(lesson.target);
        self.hopeful.learn(lesson.near, stands, hopeful);
        self.cautious.learn(lesson.near, stands, cautious);
    }

    /// The target that a pair at `near` is judged by where the policy says `target`: both within [`TARGETS`].
    pub fn target(&self, near: f64, target: f64) -> f64 {
        let usual = strictness(target);
        // Where no label can be, nothing was shown to be loose.
        let least = if near < NEAREST_FROM { usual } else { strictness(*TARGETS.end()) };
        let likely = self.hopeful.likely(near, usual);
        let surely = self.cautious.surely(near, least, usual, SURE);
        let needed = usual.clamp(likely.min(surely), likely.max(surely));
        (MIDDLE * (-needed).exp()).clamp(*TARGETS.start(), *TARGETS.end())
    }
}

/// A target as evidence, larger for a stricter one. Weights that are unsure should be so around a common target.
fn strictness(target: f64) -> f64 {
    (MIDDLE / target.clamp(*TOLD_APART.start(), *TOLD_APART.end())).ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SAYS: [Agreement; 3] = [Agreement::Same, Agreement::Other, Agreement::Unclear];

    fn taught(lessons: &[(f64, f64, Agreement)]) -> Learned {
        let mut learned = Learned::default();
        for (near, target, says) in lessons {
            learned.learn(&Lesson { near: *near, target: *target }, *says);
        }
        learned
    }

    /// The same label forty times over, between the card's cosine and a good deal under it.
    fn forty(target: f64, says: Agreement) -> Vec<(f64, f64, Agreement)> {
        (0..40).map(|at| (-f64::from(at % 4) / 2.0, target, says)).collect()
    }

    #[test]
    fn without_labels_every_pair_is_judged_by_the_target_of_the_policy() {
        for target in [0.001, 0.01, 0.1] {
            for near in [-9.0, -3.0, 0.0, 1.0] {
                assert!((Learned::default().target(near, target) - target).abs() < 1e-12, "{near} {target}");
            }
        }
    }

    #[test]
    fn right_labels_loosen_the_target_and_wrong_ones_tighten_it() {
        let right = taught(&forty(0.1, Agreement::Same));
        let wrong = taught(&forty(0.02, Agreement::Other));
        assert!(right.target(0.0, 0.01) > 0.03, "{}", right.target(0.0, 0.01));
        assert!(wrong.target(0.0, 0.01) < 0.003, "{}", wrong.target(0.0, 0.01));
        assert_eq!((right.labels.right, wrong.labels.wrong), (40, 40));
    }

    #[test]
    fn a_few_right_labels_loosen_nothing() {
        let few: Vec<_> = forty(0.1, Agreement::Same).into_iter().take(5).collect();
        for near in [-2.0, -1.0, 0.0, 1.0] {
            let target = taught(&few).target(near, 0.01);
            assert!((target - 0.01).abs() < 1e-12, "{near} {target}");
        }
    }

    #[test]
    fn a_few_wrong_labels_tighten_the_target() {
        let few: Vec<_> = forty(0.02, Agreement::Other).into_iter().take(5).collect();
        assert!(taught(&few).target(0.0, 0.01) < 0.006, "{}", taught(&few).target(0.0, 0.01));
    }

    #[test]
    fn it_finds_the_cosine_that_tells_right_from_wrong() {
        let lessons: Vec<_> = (0..200)
            .map(|at| if at % 2 == 0 { (0.3, 0.2, Agreement::Same) } else { (-1.5, 0.02, Agreement::Other) })
            .collect();
        let learned = taught(&lessons);
        assert!(learned.target(0.3, 0.01) > 0.05, "{}", learned.target(0.3, 0.01));
        assert!(learned.target(-1.5, 0.01) < 0.005, "{}", learned.target(-1.5, 0.01));
    }

    #[test]
    fn what_answers_do_not_show_moves_nothing() {
        let unclear = taught(&forty(0.02, Agreement::Unclear));
        assert_eq!(unclear.labels.unclear, 40);
        for near in [-2.0, 0.0, 1.0] {
            assert!((unclear.target(near, 0.01) - 0.01).abs() < 1e-12, "{near}");
        }
    }

    #[test]
    fn a_few_clear_labels_among_many_unclear_ones_move_nothing_either() {
        let mut lessons = forty(0.02, Agreement::Unclear);
        lessons.extend(forty(0.02, Agreement::Same).into_iter().take(8));
        assert!((taught(&lessons).target(-0.5, 0.01) - 0.01).abs() < 1e-12, "only the right ones may have been clear");
        lessons.extend(forty(0.02, Agreement::Same).into_iter().cycle().take(400));
        assert!(taught(&lessons).target(-0.5, 0.01) > 0.011, "many enough are, whatever the unclear ones were");
    }

    #[test]
    fn nothing_is_looser_beyond_the_cosines_that_labels_come_from() {
        let right = taught(&forty(0.1, Agreement::Same));
        assert!(right.target(-2.9, 0.01) > 0.01);
        assert!((right.target(-3.1, 0.01) - 0.01).abs() < 1e-12);
    }

    #[test]
    fn what_is_kept_of_it_reads_back_the_same() {
        let learned = taught(&forty(0.1, Agreement::Same));
        let kept = serde_json::to_string(&learned).unwrap();
        let read: Learned = serde_json::from_str(&kept).unwrap();
        assert_eq!(read.labels, learned.labels);
        assert!((read.target(0.0, 0.01) / learned.target(0.0, 0.01) - 1.0).abs() < 1e-9);
        // As version 2 wrote it.
        let golden = r#"{"labels":{"right":1,"wrong":0,"unclear":2},
            "hopeful":{"weights":[3.0,0.5,0.25],"covariance":[[0.1,0.0,0.0],[0.0,0.1,0.0],[0.0,0.0,0.01]]},
            "cautious":{"weights":[2.5,0.5,0.25],"covariance":[[0.1,0.0,0.0],[0.0,0.1,0.0],[0.0,0.0,0.01]]}}"#;
        let old: Learned = serde_json::from_str(golden).unwrap();
        assert_eq!(old.labels, Labels { right: 1, wrong: 0, unclear: 2 });
        assert!(old.target(1.0, 0.01) > 0.01);
    }

    /// With labels that say any of `says`.
    fn lessons(says: &'static [Agreement]) -> impl Strategy<Value = Vec<(f64, f64, Agreement)>> {
        let one = (-3.0..1.0_f64, -14.0..0.0_f64, prop::sample::select(says));
        prop::collection::vec(one.prop_map(|(near, target, says)| (near, target.exp(), says)), 0..60)
    }

    proptest! {
        #[test]
        fn whatever_was_learnt_a_looser_policy_never_judges_more_strictly(
            lessons in lessons(&SAYS),
            near in -12.0..1.0_f64,
            (target, looser) in (0.001..0.1_f64, 1.0..10.0_f64),
        ) {
            let learned = taught(&lessons);
            let at = learned.target(near, target);
            prop_assert!(TARGETS.contains(&at), "{at}");
            prop_assert!(learned.target(near, (target * looser).min(0.1)) >= at - 1e-12);
        }

        #[test]
        fn without_a_right_label_nothing_is_looser(
            lessons in lessons(&[Agreement::Other, Agreement::Unclear]),
            near in -12.0..1.0_f64,
            target in 0.001..0.1_f64,
        ) {
            let at = taught(&lessons).target(near, target);
            prop_assert!(at <= target + 1e-12, "{at}");
        }

        #[test]
        fn without_a_wrong_label_nothing_is_stricter(
            lessons in lessons(&[Agreement::Same, Agreement::Unclear]),
            near in -12.0..1.0_f64,
            target in 0.001..0.1_f64,
        ) {
            let at = taught(&lessons).target(near, target);
            prop_assert!(at >= target - 1e-12, "{at}");
        }
    }
}
