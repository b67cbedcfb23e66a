//! How likely one answer serves two prompts, from everything that was seen of the pair at once.
//!
//! A cosine, a verifier's probability and a guard's veto each err on other pairs. They are weighed into log-odds by a
//! logistic regression over [`Signals`]. It starts from weights that make the model card's cosine a safe one, so that a
//! new entry has a prior and needs no trials of its own; where labels come, it follows them one by one (a Gaussian over
//! the weights, moment-matched at each label: Spiegelhalter and Lauritzen, Networks 20, 1990). Labels must not be chosen
//! by what they say: a stream of wrong hits alone would teach that everything is wrong.

use std::f64::consts::PI;

/// Weights: a constant, the cosine's place above the card's, the verifier's log-odds, a veto.
const TERMS: usize = 4;
/// The weights before any label: chosen by hand on recorded streams, which hardly notice others.
const PRIOR: [f64; TERMS] = [2.2, 2.8, 0.25, -0.5];
/// How unsure they are: the variance of each.
const VARIANCE: f64 = 0.3;
/// A verifier's log-odds beyond this, either way, count as this.
const SURE: f64 = 6.0;

/// What was seen of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signals {
    /// The cosine, 0 to 1.
    pub cosine: f64,
    /// The verifier's probability that one answer serves both, 0 to 1; `None` when it had no say.
    pub probability: Option<f64>,
    /// Did a guard object?
    pub vetoed: bool,
}

/// What the signals are worth.
#[derive(Clone, Debug)]
pub struct Evidence {
    card: f64,
    weights: [f64; TERMS],
    covariance: [[f64; TERMS]; TERMS],
}

impl Evidence {
    /// The weights before any label, for an embedder whose card calls the cosine `card` (0 to 1) a safe one.
    pub fn prior(card: f64) -> Self {
        let mut covariance = [[0.0; TERMS]; TERMS];
        for (at, row) in covariance.iter_mut().enumerate() {
            row[at] = VARIANCE;
        }
        Self { card, weights: PRIOR, covariance }
    }

    /// The log-odds that one answer serves both. With the weights before any label they rise with the cosine and with
    /// the probability.
    pub fn log_odds(&self, signals: &Signals) -> f64 {
        dot(&self.weights, &self.terms(signals))
    }

    /// Learns the label of one pair.
    pub fn learn(&mut self, signals: &Signals, right: bool) {
        let terms = self.terms(signals);
        let mut spread = [0.0; TERMS];
        for (value, row) in spread.iter_mut().zip(&self.covariance) {
            *value = dot(row, &terms);
        }
        let variance = dot(&terms, &spread);
        let expected = logistic(dot(&self.weights, &terms) / (1.0 + PI * variance / 8.0).sqrt());
        let information = (expected * (1.0 - expected)).max(1e-6);
        let gain = information / (1.0 + information * variance);
        let surprise = f64::from(u8::from(right)) - expected;
        for (at, own) in spread.iter().enumerate() {
            for (value, other) in self.covariance[at].iter_mut().zip(&spread) {
                *value -= gain * own * other;
            }
            self.weights[at] += own * surprise / (1.0 + information * variance);
        }
    }

    fn terms(&self, signals: &Signals) -> [f64; TERMS] {
        // A card of 1 leaves no room above it.
        let near = (signals.cosine - self.card) / (1.0 - self.card).max(0.01);
        let judged = signals.probability.map_or(0.0, |p| log_odds(p).clamp(-SURE, SURE));
        [1.0, near, judged, f64::from(u8::from(signals.vetoed))]
    }
}

/// The probability behind log-odds.
pub fn logistic(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// The log-odds of a probability; finite for 0 and 1, too.
pub fn log_odds(probability: f64) -> f64 {
    let probability = probability.clamp(1e-12, 1.0 - 1e-12);
    (probability / (1.0 - probability)).ln()
}

fn dot(a: &[f64; TERMS], b: &[f64; TERMS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(cosine: f64, probability: Option<f64>) -> Signals {
        Signals { cosine, probability, vetoed: false }
    }

    #[test]
    fn before_any_label_more_of_each_signal_is_more_evidence() {
        let prior = Evidence::prior(0.93);
        let at = |signals: Signals| prior.log_odds(&signals);
        assert!(logistic(at(seen(0.93, None))) > 0.88, "the card's cosine is a safe one");
        assert!(at(seen(0.94, None)) > at(seen(0.93, None)));
        assert!(at(seen(0.93, Some(0.9))) > at(seen(0.93, Some(0.8))));
        assert!(at(seen(0.93, Some(0.5))) - at(seen(0.93, None)) < 1e-9, "half and half says nothing");
        assert!(at(Signals { vetoed: true, ..seen(0.93, None) }) < at(seen(0.93, None)));
        assert!(
            at(seen(0.93, Some(1.0))).is_finite() && Evidence::prior(1.0).log_odds(&seen(1.0, Some(0.0))).is_finite()
        );
    }

    #[test]
    fn labels_move_it_to_the_signal_that_tells() {
        let mut evidence = Evidence::prior(0.93);
        for _ in 0..300 {
            evidence.learn(&seen(0.95, Some(0.1)), false);
            evidence.learn(&seen(0.85, Some(0.9)), true);
        }
        let probability = |signals| logistic(evidence.log_odds(&signals));
        assert!(probability(seen(0.95, Some(0.1))) < 0.1, "{}", probability(seen(0.95, Some(0.1))));
        assert!(probability(seen(0.85, Some(0.9))) > 0.9, "{}", probability(seen(0.85, Some(0.9))));
    }

    #[test]
    fn one_label_moves_it_towards_what_it_says_and_later_ones_less() {
        let pair = seen(0.9, Some(0.7));
        let mut evidence = Evidence::prior(0.93);
        let before = evidence.log_odds(&pair);
        evidence.learn(&pair, false);
        let first = before - evidence.log_odds(&pair);
        for _ in 0..50 {
            evidence.learn(&pair, true);
            evidence.learn(&pair, false);
        }
        let settled = evidence.log_odds(&pair);
        evidence.learn(&pair, false);
        let later = settled - evidence.log_odds(&pair);
        assert!(first > later && later > 0.0, "{first} {later}");
    }

    #[test]
    fn probability_and_log_odds_are_inverse() {
        for p in [0.001, 0.3, 0.5, 0.999] {
            assert!((logistic(log_odds(p)) - p).abs() < 1e-12, "{p}");
        }
    }
}
