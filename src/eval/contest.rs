//! Policies that learn against policies that do not, over recorded traffic: hits at the same measured error.
//!
//! A policy's own promise says little about what it does, so each is played at many settings, and they are compared
//! where as many of all requests got a wrong answer. The settings are chosen in hindsight, for all of them alike.

use serde_json::{Value, json};

use crate::eval::rival::Rival;
use crate::eval::traffic::Traffic;

/// How often a policy that throws dice is played.
const THROWS: u64 = 5;
/// The parts of a stream that are shown one by one.
pub const SLICES: usize = 10;

/// One policy at one setting.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The setting.
    pub knob: f64,
    /// What became of each prompt: `Some(right)` for a hit.
    pub course: Vec<Option<bool>>,
    /// Hits of all prompts, 0 to 1; the mean where dice were thrown.
    pub hits: f64,
    /// Wrong hits of all prompts, 0 to 1; the mean where dice were thrown.
    pub wrong: f64,
}

/// One policy at all its settings.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The policy.
    pub rival: Rival,
    /// Its settings, the strictest first.
    pub trials: Vec<Trial>,
}

/// All policies on one stream.
#[derive(Debug)]
pub struct Contest {
    /// The set's name.
    pub set: String,
    /// How many prompts there are.
    pub prompts: usize,
    /// Those whose group had been there before: a perfect cache would have hit so many.
    pub repeats: usize,
    /// Prompts that the embedder does not cover.
    pub uncovered: usize,
    /// Every policy.
    pub runs: Vec<Runs>,
}

impl Contest {
    /// Plays every policy; `card` is the cosine that the embedder's card calls safe, 0 to 1.
    pub fn play(traffic: &Traffic, card: f64) -> Self {
        let runs = Rival::ALL.into_iter().map(|rival| Runs {
            rival,
            trials: rival.knobs().into_iter().map(|knob| trial(traffic, rival, card, knob)).collect(),
        });
        let mut seen = std::collections::HashSet::new();
        let repeats = traffic.groups.iter().filter(|group| !seen.insert(*group)).count();
        Self {
            set: traffic.set.clone(),
            prompts: traffic.len(),
            repeats,
            uncovered: traffic.uncovered,
            runs: runs.collect(),
        }
    }

    /// The contest for other programs; errors are shares of all requests.
    pub fn to_json(&self, errors: &[f64]) -> Value {
        json!({
            "stream": self.set, "prompts": self.prompts, "repeats": self.repeats, "uncovered": self.uncovered,
            "policies": self.runs.iter().map(|runs| runs.to_json(errors)).collect::<Vec<_>>(),
        })
    }
}

impl Runs {
    fn to_json(&self, errors: &[f64]) -> Value {
        let at = errors.iter().map(|error| json!({"error": error, "hitRatio": self.hits_at(*error)}));
        let over_time = errors.iter().filter_map(|error| {
            let slices = self.within(*error)?.slices();
            Some(json!({"error": error, "slices": slices}))
        });
        let settings = self.trials.iter().map(|trial| {
            let wrong_of_hits = (trial.hits > 0.0).then(|| trial.wrong / trial.hits);
            json!({"knob": trial.knob, "hitRatio": trial.hits, "error": trial.wrong, "wrongOfHits": wrong_of_hits})
        });
        json!({
            "policy": self.rival.as_str(), "atError": at.collect::<Vec<_>>(),
            "overTime": over_time.collect::<Vec<_>>(), "settings": settings.collect::<Vec<_>>(),
        })
    }

    /// The hit ratio where `error` of all requests get a wrong answer: the most hits of any setting that is wrong no
    /// more often, and a straight line from there to the next setting that has more. Settings between two are reached
    /// by throwing dice.
    pub fn hits_at(&self, error: f64) -> f64 {
        let (mut from, mut to) = ((0.0, 0.0), None);
        let mut points: Vec<(f64, f64)> = self.trials.iter().map(|trial| (trial.wrong, trial.hits)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for point in points {
            if point.0 <= error {
                from = if point.1 >= from.1 { point } else { from };
            } else if point.1 > from.1 {
                to = to.or(Some(point));
            }
        }
        to.map_or(from.1, |to: (f64, f64)| from.1 + (to.1 - from.1) * (error - from.0) / (to.0 - from.0))
    }

    /// The setting with the most hits of those that were wrong for at most `error` of all requests.
    pub fn within(&self, error: f64) -> Option<&Trial> {
        let within = self.trials.iter().filter(|trial| trial.wrong <= error);
        within.max_by(|a, b| a.hits.total_cmp(&b.hits))
    }
}

impl Trial {
    /// Hits and wrong hits of all prompts in each of ten parts of (nearly) the same length.
    pub fn slices(&self) -> Vec<Value> {
        let parts = SLICES.min(self.course.len());
        let edge = |part: usize| part * self.course.len() / parts.max(1);
        let slice = |part: usize| {
            let played = &self.course[edge(part)..edge(part + 1)];
            let hits = played.iter().flatten().count();
            let wrong = played.iter().flatten().filter(|right| !**right).count();
            json!({"to": edge(part + 1), "prompts": played.len(), "hits": hits, "wrongHits": wrong})
        };
        (0..parts).map(slice).collect()
    }
}

fn trial(traffic: &Traffic, rival: Rival, card: f64, knob: f64) -> Trial {
    let seeds = if rival.is_random() { THROWS } else { 1 };
    let courses: Vec<_> = (1..=seeds).map(|seed| course(traffic, rival, card, knob, seed)).collect();
    let all = (courses.len() * traffic.len()).max(1) as f64;
    let count = |what: &dyn Fn(bool) -> bool| {
        courses.iter().flatten().flatten().filter(|right| what(**right)).count() as f64 / all
    };
    let (hits, wrong) = (count(&|_| true), count(&|right| !right));
    Trial { knob, hits, wrong, course: courses.into_iter().next().unwrap_or_default() }
}

/// Plays one policy; a group's label is looked at for what the policy is told, and for the score.
fn course(traffic: &Traffic, rival: Rival, card: f64, knob: f64, seed: u64) -> Vec<Option<bool>> {
    let mut player = rival.player(traffic, card, knob, seed);
    let mut cached = vec![false; traffic.len()];
    (0..traffic.len())
        .map(|asked| {
            let near: Vec<_> = traffic.near[asked].iter().filter(|one| cached[one.at]).copied().collect();
            let Some(served) = player.decide(&near) else {
                cached[asked] = player.missed(asked, &|entry| traffic.same(asked, entry));
                return None;
            };
            let right = traffic.same(asked, served);
            if !right {
                player.blamed(asked);
            }
            Some(right)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::traffic::{Near, Seen};
    use crate::policy::evidence::Signals;

    fn near(at: usize, cosine: f64) -> Near {
        let (probability, target) = match cosine {
            0.96.. => (0.99, 0.001),
            0.9.. => (0.7, 0.1),
            _ => (0.01, 0.99),
        };
        let signals = Signals { cosine, probability: Some(probability) };
        Near { at, cosine, seen: Some(Seen { signals, target: Some(target), vetoed: false, moves: false }) }
    }

    /// An entry whose neighbours at 0.95 are others, and one whose neighbours at 0.97 ask the same.
    fn traffic(rounds: usize) -> Traffic {
        let mut groups = vec!["misled".to_owned(), "asked".to_owned()];
        let mut all = vec![vec![], vec![near(0, 0.1)]];
        for round in 0..rounds {
            groups.extend([format!("other {round}"), "asked".to_owned()]);
            all.extend([vec![near(0, 0.95), near(1, 0.1)], vec![near(1, 0.97), near(0, 0.1)]]);
        }
        Traffic { set: "made".into(), groups, near: all, uncovered: 0 }
    }

    fn played(rival: Rival, knob: f64) -> (usize, usize) {
        let course = course(&traffic(20), rival, 0.93, knob, 1);
        (course.iter().flatten().count(), course.iter().flatten().filter(|right| !**right).count())
    }

    #[test]
    fn a_threshold_repeats_its_mistake_and_a_record_does_not() {
        assert_eq!(played(Rival::Static, 0.9), (40, 20));
        let pairs = [(Rival::Learned, Rival::LearnedUntold, 0.5), (Rival::Verified, Rival::VerifiedUntold, 0.1)];
        for (told, untold, knob) in pairs {
            let (hits, wrong) = played(told, knob);
            assert!(hits >= 15 && wrong == 1, "{told:?}: {hits} {wrong}");
            assert!(played(untold, knob).1 > wrong, "without a word on hits it cannot know");
        }
    }

    #[test]
    fn the_verifiers_target_draws_the_line() {
        assert_eq!(played(Rival::VerifiedUntold, 0.0005), (0, 0));
        assert_eq!(played(Rival::VerifiedUntold, 0.01), (20, 0));
        assert_eq!(played(Rival::VerifiedUntold, 0.1), (40, 20));
    }

    #[test]
    fn the_papers_rule_serves_once_it_has_seen_enough() {
        let (strict, _) = played(Rival::VCacheSix, 0.001);
        let (loose, wrong) = played(Rival::VCacheSix, 0.1);
        assert!(strict < loose && loose >= 10 && wrong < 10, "{strict} {loose} {wrong}");
        assert!(played(Rival::VCache, 0.1).0 >= loose, "waiting for six costs hits");
    }

    #[test]
    fn a_guards_objection_is_final_where_guards_are_on() {
        let mut traffic = traffic(20);
        for one in traffic.near.iter_mut().flatten() {
            one.seen = one.seen.map(|seen| Seen { vetoed: true, ..seen });
        }
        for (rival, none) in [(Rival::Guarded, true), (Rival::Verified, true), (Rival::Static, false)] {
            let hits = course(&traffic, rival, 0.93, 0.9, 1).iter().flatten().count();
            assert_eq!(hits == 0, none, "{rival:?}");
        }
    }

    #[test]
    fn hits_are_compared_at_the_same_error() {
        let trial = |hits, wrong| Trial { knob: 0.0, course: Vec::new(), hits, wrong };
        let trials = vec![trial(0.1, 0.0), trial(0.3, 0.01), trial(0.2, 0.012), trial(0.5, 0.03)];
        let runs = Runs { rival: Rival::Static, trials };
        for (error, hits) in [(0.0, 0.1), (0.005, 0.2), (0.01, 0.3), (0.02, 0.4), (0.03, 0.5), (0.5, 0.5)] {
            assert!((runs.hits_at(error) - hits).abs() < 1e-9, "{error}: {}", runs.hits_at(error));
        }
        assert!(runs.within(0.02).is_some_and(|trial| (trial.hits - 0.3).abs() < 1e-9));
    }

    #[test]
    fn slices_cover_the_course() {
        let course: Vec<Option<bool>> = [None, Some(true), Some(false)].into_iter().cycle().take(37).collect();
        let slices = Trial { knob: 0.0, course, hits: 0.0, wrong: 0.0 }.slices();
        let sum = |name: &str| slices.iter().filter_map(|slice| slice[name].as_u64()).sum::<u64>();
        assert_eq!((sum("prompts"), sum("hits"), sum("wrongHits")), (37, 24, 12));
    }
}
