//! What a trained judge makes of a pair's signals: probabilities, and where the lines are drawn.
//!
//! Two stages share the signals. The cheap one sees them alone; where it is sure, it decides. The full one also sees
//! what the reader said of both texts. Each adds up boosted trees and a weighted sum, which err differently, into a
//! calibrated probability that one answer serves both prompts (Platt 1999).
//!
//! The lines were drawn on pairs that neither stage was trained on, apart for edits and for rewordings: one exchanged
//! word among the same words is a harder question than two tellings of one, and a line for both would be the harder
//! one's (group-wise error control, as in Mondrian conformal prediction: Vovk, Gammerman and Shafer 2005). Rewordings that
//! the embedder puts close together and edits of particles may have lines of their own, too: few of those ask something
//! else.

use serde::Deserialize;

use super::forest::Forest;
use super::lines::{Change, Mark, Marks};
use super::signals;

/// The version of the file that this code reads.
const VERSION: u32 = 1;
/// The signal that tells an edit from a rewording.
const WORDS_ALIKE: &str = "words_alike";
/// The signal that tells which rewordings are near.
const COSINE: &str = "cosine";

/// A trained judge, as `judge.json` holds it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    version: u32,
    /// The signals that it was trained on, in their order.
    signals: Vec<String>,
    cheap: Stage,
    full: Stage,
    /// Cosine from which a candidate is worth a look, 0 to 1.
    floor: f32,
    /// A cheap probability under this is a no: the reader would not change it.
    hopeless: f64,
    /// The share of common words from which a pair is an edit, 0 to 1.
    edit: f32,
    /// The cosine from which a rewording is near, 0 to 1; `None`: none is.
    #[serde(default)]
    near: Option<f32>,
    /// Where the lines are for a rate of false hits, the strictest rate first.
    lines: Vec<Line>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stage {
    forest: Forest,
    linear: Linear,
    /// The probability is the logistic of `a * forest + b * linear + c`.
    platt: (f64, f64, f64),
}

/// A weighted sum of the signals.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Linear {
    base: f64,
    weights: Vec<f64>,
}

/// Where the lines are for one rate of false hits.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Pairs that ask something else and are served all the same, as a share of all such pairs.
    rate: f64,
    /// As for other edits, where it is not given.
    #[serde(default)]
    particles: Option<Mark>,
    edit: Mark,
    rewording: Mark,
    /// As for other rewordings, where it is not given.
    #[serde(default)]
    near: Option<Mark>,
}

/// The line of rate 0, which nothing reaches but certainty.
const CERTAIN: Line = Line { rate: 0.0, particles: None, edit: Mark::CERTAIN, rewording: Mark::CERTAIN, near: None };

impl Line {
    fn mark(&self, change: Change) -> Mark {
        match change {
            Change::Particles => self.particles.unwrap_or(self.edit),
            Change::Edit => self.edit,
            Change::Rewording => self.rewording,
            Change::Near => self.near.unwrap_or(self.rewording),
        }
    }
}

impl Judge {
    /// Reads a judge.
    ///
    /// # Errors
    /// What is wrong with it: another version, other signals, trees that do not end, lines that make no sense.
    pub fn read(json: &[u8]) -> Result<Self, String> {
        let judge: Self = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if judge.version != VERSION {
            return Err(format!("version {} (this refrain reads {VERSION})", judge.version));
        }
        if judge.signals != signals::names() {
            return Err("it was trained on other signals than this refrain computes".into());
        }
        judge.cheap.check(judge.signals.len())?;
        judge.full.check(judge.signals.len() + 1)?;
        judge.check_lines()?;
        Ok(judge)
    }

    fn check_lines(&self) -> Result<(), String> {
        let falls = |from: Mark, to: Mark| from.pass >= to.pass && from.sure >= to.sure;
        let fall = |two: &[Line]| Change::ALL.iter().all(|change| falls(two[0].mark(*change), two[1].mark(*change)));
        let rising = self.lines.windows(2).all(|two| two[0].rate < two[1].rate && fall(two));
        let positive = |mark: Mark| mark.sure > 0.0 && mark.pass > 0.0;
        let drawn = |line: &Line| Change::ALL.iter().all(|change| positive(line.mark(*change)));
        let sane = self.lines.iter().all(|line| line.rate > 0.0 && drawn(line));
        let shares = [self.floor, self.edit, self.near.unwrap_or_default()];
        let shares = shares.iter().all(|share| (0.0..=1.0).contains(share));
        if self.lines.is_empty() || !rising || !sane || !shares {
            return Err("its lines make no sense".into());
        }
        Ok(())
    }

    /// The strictest rate of false hits at whose lines a pair of these probabilities is served, above 0, at most 1.
    ///
    /// Inverse to [`Judge::lines`] up to the largest measured rate; beyond it goes on in proportion, so that any two pairs
    /// can be compared.
    pub fn strictest(&self, change: Change, cheap: f64, full: f64) -> f64 {
        let surely = self.rate_at(cheap, |line| line.mark(change).sure);
        let read = self.rate_at(full, |line| line.mark(change).pass);
        let last = self.lines.last().map_or(1.0, |line| line.rate);
        if cheap < self.hopeless {
            return read.max(last * 1.001); // Served at no measured rate.
        }
        if surely <= last { surely.min(read) } else { read }
    }

    /// The rate whose line runs through `probability`.
    fn rate_at(&self, probability: f64, mark: impl Fn(&Line) -> f64) -> f64 {
        let Some(at) = self.lines.iter().position(|line| mark(line) <= probability) else {
            let (rate, lowest) = self.lines.last().map_or((1.0, 1.0), |line| (line.rate, mark(line)));
            return rate + (1.0 - rate) * (lowest - probability) / lowest;
        };
        let (rate, here) = (self.lines[at].rate, mark(&self.lines[at]));
        let Some(before) = at.checked_sub(1).map(|before| &self.lines[before]) else {
            return rate * ((1.0 - probability) / (1.0 - here).max(f64::EPSILON)).clamp(1e-6, 1.0);
        };
        let share = (probability - mark(before)) / (here - mark(before));
        before.rate * (rate / before.rate).powf(share)
    }

    /// The probability by the signals alone, 0 to 1.
    pub fn cheap(&self, signals: &[f32]) -> f64 {
        self.cheap.probability(signals)
    }

    /// The probability by the signals and the reader's log-odds, 0 to 1.
    pub fn full(&self, signals: &[f32], read: f32) -> f64 {
        let mut all = signals.to_vec();
        all.push(read);
        self.full.probability(&all)
    }

    /// Cosine from which a candidate is worth a look, 0 to 1.
    pub fn floor(&self) -> f32 {
        self.floor
    }

    /// How the wordings behind these signals differ; `particles`: in nothing but such.
    pub fn change(&self, signals: &[f32], particles: bool) -> Change {
        let reaches = |name: &str, bound: f32| {
            let at = self.signals.iter().position(|signal| signal == name);
            at.and_then(|at| signals.get(at)).is_some_and(|value| *value >= bound)
        };
        if reaches(WORDS_ALIKE, self.edit) {
            if particles { Change::Particles } else { Change::Edit }
        } else if self.near.is_some_and(|near| reaches(COSINE, near)) {
            Change::Near
        } else {
            Change::Rewording
        }
    }

    /// The lines for a rate of false hits, 0 to 1: between two measured rates, in proportion to their logarithms. Under
    /// the least one they go on towards probability 1 for rate 0; above the largest one they are its own.
    pub fn lines(&self, rate: f64) -> Marks {
        let first = self.lines[0];
        if rate < first.rate {
            return self.marks(first, CERTAIN, 1.0 - rate / first.rate);
        }
        let above = self.lines.iter().position(|line| line.rate >= rate).unwrap_or(self.lines.len() - 1);
        let (low, high) = (self.lines[above.saturating_sub(1)], self.lines[above]);
        let span = (high.rate / low.rate).ln();
        self.marks(low, high, if span > 0.0 { ((rate / low.rate).ln() / span).min(1.0) } else { 1.0 })
    }

    /// The lines at `share`, 0 to 1, of the way from one to another.
    fn marks(&self, from: Line, to: Line, share: f64) -> Marks {
        let between = |from: Mark, to: Mark| Mark {
            sure: from.sure + (to.sure - from.sure) * share,
            pass: from.pass + (to.pass - from.pass) * share,
        };
        let of = |change| between(from.mark(change), to.mark(change));
        Marks {
            hopeless: self.hopeless,
            particles: of(Change::Particles),
            edit: of(Change::Edit),
            rewording: of(Change::Rewording),
            near: of(Change::Near),
        }
    }
}

impl Stage {
    fn check(&self, signals: usize) -> Result<(), String> {
        if self.linear.weights.len() != signals {
            return Err(format!("{} weights for {signals} signals", self.linear.weights.len()));
        }
        self.forest.check(signals)
    }

    fn probability(&self, signals: &[f32]) -> f64 {
        let (a, b, c) = self.platt;
        1.0 / (1.0 + (-(a * self.forest.sum(signals) + b * self.linear.sum(signals) + c)).exp())
    }
}

impl Linear {
    fn sum(&self, signals: &[f32]) -> f64 {
        self.base + self.weights.iter().zip(signals).map(|(weight, signal)| weight * f64::from(*signal)).sum::<f64>()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::policy::language::Language;
    use crate::verify::lines::{Kind, Lines, Settled};

    /// A judge that goes by the cosine alone (and by the reader, when there is one).
    pub fn by_cosine() -> String {
        let names = signals::names();
        let stump = |signal: usize, bound: f64| {
            format!(
                r#"{{"base":0,"trees":[{{"signal":[{signal},0,0],"bound":[{bound},0,0],"left":[1,0,0],"right":[2,0,0],"value":[0,-4,4]}}]}}"#
            )
        };
        // The weight of the first signal: small, and seen by a test.
        let linear = |count: usize| {
            let weights: Vec<f64> = (0..count).map(|at| if at == 0 { 0.01 } else { 0.0 }).collect();
            format!(r#"{{"base":0,"weights":{weights:?}}}"#)
        };
        format!(
            r#"{{"version":1,"signals":{names},"cheap":{{"forest":{cheap},"linear":{few},"platt":[1,1,0]}},
               "full":{{"forest":{full},"linear":{many},"platt":[1,1,0]}},"floor":0.5,"hopeless":0.001,"edit":0.6,"lines":[
               {{"rate":0.001,"edit":{{"sure":0.99,"pass":0.9}},"rewording":{{"sure":0.98,"pass":0.8}}}},
               {{"rate":0.1,"edit":{{"sure":0.97,"pass":0.5}},"rewording":{{"sure":0.9,"pass":0.4}}}}]}}"#,
            few = linear(names.len()),
            many = linear(names.len() + 1),
            names = serde_json::to_string(&names).unwrap(),
            cheap = stump(0, 0.9),
            full = stump(names.len(), 0.0),
        )
    }

    #[test]
    fn lines_lie_between_the_measured_ones() {
        let judge = Judge::read(by_cosine().as_bytes()).unwrap();
        assert!((judge.lines(0.001).edit.pass - 0.9).abs() < 1e-9);
        assert!((judge.lines(0.01).edit.pass - 0.7).abs() < 1e-9);
        assert!((judge.lines(0.01).rewording.pass - 0.6).abs() < 1e-9);
    }

    #[test]
    fn under_the_measured_rates_lines_go_on_to_certainty_and_above_them_they_stay() {
        let judge = Judge::read(by_cosine().as_bytes()).unwrap();
        assert!((judge.lines(0.000_5).rewording.sure - 0.99).abs() < 1e-9, "half way from 0.98 to 1");
        assert!(judge.lines(0.0).edit.pass > 1.0 - 1e-9);
        assert_eq!(judge.lines(0.55), judge.lines(0.1));
    }

    #[test]
    fn the_strictest_rate_is_the_one_whose_line_a_pair_just_reaches() {
        let judge = Judge::read(by_cosine().as_bytes()).unwrap();
        let read = |full: f64| judge.strictest(Change::Edit, 0.5, full);
        for rate in [0.000_2, 0.001, 0.004, 0.05, 0.1] {
            assert!((read(judge.lines(rate).edit.pass) - rate).abs() < 1e-9, "{rate}");
            let surely = judge.strictest(Change::Edit, judge.lines(rate).edit.sure, 0.0);
            assert!((surely - rate).abs() < 1e-9, "{rate}");
        }
        assert!(read(0.99) < read(0.95) && read(0.95) < 0.001 && read(0.99) > 0.0);
        assert!(read(0.3) > 0.1 && read(0.3) < read(0.2) && read(0.0) <= 1.0);
        assert!(judge.strictest(Change::Edit, 0.000_1, 0.99) > 0.1, "hopeless: not read");
        assert!(judge.strictest(Change::Rewording, 0.5, 0.6) < read(0.6), "each kind has its own lines");
    }

    #[test]
    fn edits_and_rewordings_have_lines_of_their_own() {
        let judge = Judge::read(by_cosine().as_bytes()).unwrap();
        let marks = judge.lines(0.1);
        let none = Mark { sure: 2.0, pass: 2.0 };
        let closed = Marks { edit: none, rewording: none, ..marks };
        let lines = Lines { floor: judge.floor(), each: [marks, closed, marks] };
        let of = |language, change| Kind { language, change };
        let (edit, rewording) = (of(Language::English, Change::Edit), of(Language::English, Change::Rewording));
        let mut signals = vec![0.0; signals::names().len()];
        assert_eq!(judge.change(&signals, false), Change::Rewording);
        let at = signals::names().iter().position(|name| *name == WORDS_ALIKE).unwrap();
        signals[at] = 0.6;
        assert_eq!(judge.change(&signals, false), Change::Edit);
        assert_eq!(lines.settle(rewording, 0.95), Settled::Yes);
        assert_eq!(lines.settle(edit, 0.95), Settled::Open);
        assert_eq!(lines.settle(edit, 0.000_1), Settled::No);
        assert!(lines.pass(rewording, 0.45) && !lines.pass(edit, 0.45));
        assert!(!lines.pass(of(Language::Chinese, Change::Rewording), 1.0), "each language has its own, too");
        assert!(lines.pass(of(Language::Other, Change::Edit), 0.5));
    }

    #[test]
    fn rewordings_that_are_near_have_lines_of_their_own_where_the_judge_gives_them() {
        let near = r#","near":{"sure":0.98,"pass":0.6}},"#;
        let json = by_cosine().replacen("\"edit\":0.6", "\"edit\":0.6,\"near\":0.92", 1);
        let json = json.replacen("\"pass\":0.8}},", &format!("\"pass\":0.8}}{near}"), 1);
        let judge = Judge::read(json.as_bytes()).unwrap();
        let mut signals = vec![0.0; signals::names().len()];
        for (cosine, change) in [(0.91, Change::Rewording), (0.93, Change::Near)] {
            signals[0] = cosine;
            assert_eq!(judge.change(&signals, false), change, "{cosine}");
        }
        assert!((judge.lines(0.001).near.pass - 0.6).abs() < 1e-9);
        assert_eq!(judge.lines(0.1).near, judge.lines(0.1).rewording, "as for others where it is not given");
        assert!((judge.strictest(Change::Near, 0.5, 0.6) - 0.001).abs() < 1e-9);
        let risen = json.replace("\"pass\":0.6", "\"pass\":0.3");
        assert!(Judge::read(risen.as_bytes()).unwrap_err().contains("no sense"), "stricter at a looser rate");
    }

    #[test]
    fn edits_of_particles_have_lines_of_their_own_where_the_judge_gives_them() {
        let own = r#""particles":{"sure":0.98,"pass":0.6},"edit":{"sure":0.99"#;
        let json = by_cosine().replacen(r#""edit":{"sure":0.99"#, own, 1);
        let judge = Judge::read(json.as_bytes()).unwrap();
        let mut signals = vec![0.0; signals::names().len()];
        assert_eq!(judge.change(&signals, true), Change::Rewording, "frames alone may be most of the words");
        let at = signals::names().iter().position(|name| *name == WORDS_ALIKE).unwrap();
        signals[at] = 0.6;
        assert_eq!(judge.change(&signals, true), Change::Particles);
        assert_eq!(judge.change(&signals, false), Change::Edit);
        assert!((judge.lines(0.001).particles.pass - 0.6).abs() < 1e-9);
        assert_eq!(judge.lines(0.1).particles, judge.lines(0.1).edit, "as for others where it is not given");
    }

    #[test]
    fn each_stage_gives_its_own_probability() {
        let judge = Judge::read(by_cosine().as_bytes()).unwrap();
        let mut signals = vec![0.0; signals::names().len()];
        signals[0] = 0.95;
        assert!(judge.cheap(&signals) > 0.95);
        assert!(judge.full(&signals, -1.0) < 0.05);
        assert!(judge.full(&signals, 1.0) > 0.95);
        let without = judge.cheap(&signals);
        signals[0] = 1.0;
        assert!(judge.cheap(&signals) > without, "the weighted sum counts too");
    }

    #[test]
    fn a_judge_of_other_signals_or_another_version_is_refused() {
        let other = by_cosine().replace("\"cosine\"", "\"sine\"");
        assert!(Judge::read(other.as_bytes()).unwrap_err().contains("other signals"));
        let later = by_cosine().replace("\"version\":1", "\"version\":2");
        assert!(Judge::read(later.as_bytes()).unwrap_err().contains("version 2"));
        let wrong = by_cosine().replace("\"rate\":0.1", "\"rate\":0.0001");
        assert!(Judge::read(wrong.as_bytes()).unwrap_err().contains("no sense"));
        let short = by_cosine().replace("\"weights\":[0.01, ", "\"weights\":[");
        assert!(Judge::read(short.as_bytes()).unwrap_err().contains("weights for"));
        assert!(Judge::read(b"{").is_err());
    }
}
