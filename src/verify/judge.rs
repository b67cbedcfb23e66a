//! What a trained judge makes of a pair's signals: probabilities, and where the lines are drawn.
//!
//! Two stages share the signals. The cheap one sees them alone; where it is sure, it decides. The full one also sees
//! what the reader said of both texts. Both give calibrated probabilities that one answer serves both prompts (Platt
//! 1999), and the lines were chosen on pairs that neither was trained on.

use serde::Deserialize;

use super::forest::Forest;
use super::signals;

/// The version of the file that this code reads.
const VERSION: u32 = 1;

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
    /// Where the lines are for a rate of false hits, the strictest rate first.
    lines: Vec<Line>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stage {
    forest: Forest,
    /// Platt's `a` and `b`: the probability is the logistic of `a * sum + b`.
    platt: (f64, f64),
}

/// Where the lines are for one rate of false hits.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Pairs that ask something else and are served all the same, as a share of all such pairs.
    rate: f64,
    /// A cheap probability from here on is a yes without reading.
    sure: f64,
    /// A full probability from here on is a yes.
    pass: f64,
}

/// The lines that a policy's target draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lines {
    /// Cosine from which a candidate is worth a look, 0 to 1.
    pub floor: f32,
    /// A cheap probability under this is a no.
    pub hopeless: f64,
    /// A cheap probability from here on is a yes.
    pub sure: f64,
    /// A full probability from here on is a yes.
    pub pass: f64,
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
        judge.cheap.forest.check(judge.signals.len())?;
        judge.full.forest.check(judge.signals.len() + 1)?;
        let rising = judge.lines.windows(2).all(|pair| pair[0].rate < pair[1].rate && pair[0].pass >= pair[1].pass);
        let sane = judge.lines.iter().all(|line| line.rate > 0.0 && line.pass > 0.0 && line.sure > 0.0);
        if judge.lines.is_empty() || !rising || !sane || !(0.0..=1.0).contains(&judge.floor) {
            return Err("its lines make no sense".into());
        }
        Ok(judge)
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

    /// The lines for a rate of false hits: between two measured rates, in proportion to their logarithms; outside of
    /// them, the nearest.
    pub fn lines(&self, rate: f64) -> Lines {
        let above = self.lines.iter().position(|line| line.rate >= rate).unwrap_or(self.lines.len() - 1);
        let (low, high) = (self.lines[above.saturating_sub(1)], self.lines[above]);
        let span = (high.rate / low.rate).ln();
        let share = if span > 0.0 { ((rate / low.rate).ln() / span).clamp(0.0, 1.0) } else { 1.0 };
        let between = |low: f64, high: f64| low + (high - low) * share;
        Lines {
            floor: self.floor,
            hopeless: self.hopeless,
            sure: between(low.sure, high.sure),
            pass: between(low.pass, high.pass),
        }
    }
}

impl Stage {
    fn probability(&self, signals: &[f32]) -> f64 {
        let (a, b) = self.platt;
        1.0 / (1.0 + (-(a * self.forest.sum(signals) + b)).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A judge that goes by the cosine alone (and by the reader, when there is one).
    fn by_cosine() -> String {
        let names = signals::names();
        let stump = |signal: usize, bound: f64| {
            format!(
                r#"{{"base":0,"trees":[{{"signal":[{signal},0,0],"bound":[{bound},0,0],"left":[1,0,0],"right":[2,0,0],"value":[0,-4,4]}}]}}"#
            )
        };
        format!(
            r#"{{"version":1,"signals":{names},"cheap":{{"forest":{cheap},"platt":[1,0]}},"full":{{"forest":{full},"platt":[1,0]}},
               "floor":0.5,"hopeless":0.001,"lines":[{{"rate":0.001,"sure":0.99,"pass":0.9}},{{"rate":0.1,"sure":0.97,"pass":0.5}}]}}"#,
            names = serde_json::to_string(&names).unwrap(),
            cheap = stump(0, 0.9),
            full = stump(names.len(), 0.0),
        )
    }

    #[test]
    fn lines_lie_between_the_measured_ones() {
        let judge = Judge::read(by_cosine().as_bytes()).unwrap();
        assert!((judge.lines(0.001).pass - 0.9).abs() < 1e-9);
        assert!((judge.lines(0.01).pass - 0.7).abs() < 1e-9);
        assert!((judge.lines(0.5).pass - 0.5).abs() < 1e-9);
        assert!((judge.lines(0.000_001).sure - 0.99).abs() < 1e-9);
    }

    #[test]
    fn each_stage_gives_its_own_probability() {
        let judge = Judge::read(by_cosine().as_bytes()).unwrap();
        let mut signals = vec![0.0; signals::names().len()];
        signals[0] = 0.95;
        assert!(judge.cheap(&signals) > 0.95);
        assert!(judge.full(&signals, -1.0) < 0.05);
        assert!(judge.full(&signals, 1.0) > 0.95);
    }

    #[test]
    fn a_judge_of_other_signals_or_another_version_is_refused() {
        let other = by_cosine().replace("\"cosine\"", "\"sine\"");
        assert!(Judge::read(other.as_bytes()).unwrap_err().contains("other signals"));
        let later = by_cosine().replace("\"version\":1", "\"version\":2");
        assert!(Judge::read(later.as_bytes()).unwrap_err().contains("version 2"));
        let wrong = by_cosine().replace("\"rate\":0.1", "\"rate\":0.0001");
        assert!(Judge::read(wrong.as_bytes()).unwrap_err().contains("no sense"));
        assert!(Judge::read(b"{").is_err());
    }
}
