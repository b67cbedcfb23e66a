//! How likely one answer serves two prompts, by weights that follow labels.
//!
//! A logistic regression over what was seen of a pair. It starts from the fixed weights of the service's evidence, so
//! that a new entry needs no trials of its own; labels move them one by one (a Gaussian over the weights,
//! moment-matched at each label: Spiegelhalter and Lauritzen, Networks 20, 1990). Labels must not be chosen by what they
//! say: a stream of wrong hits alone would teach that everything is wrong.

use std::f64::consts::PI;

use crate::eval::traffic::Seen;
use crate::policy::evidence::{BASE, JUDGED, NEAR};

/// Weights: a constant, the cosine's place above the card's, the verifier's log-odds, a veto.
const TERMS: usize = 4;
/// The weights before any label: the service's, and a guard's objection.
const START: [f64; TERMS] = [BASE, NEAR, JUDGED, -0.5];
/// How unsure they are, as the variance of each: some dozens of labels outweigh them.
const VARIANCE: f64 = 1.0;

/// What everything that was seen is worth, in the whole cache.
#[derive(Clone, Debug)]
pub(super) struct Prior {
    card: f64,
    weights: [f64; TERMS],
    covariance: [[f64; TERMS]; TERMS],
}

impl Prior {
    /// Before any label, for an embedder whose card calls the cosine `card` (0 to 1) a safe one.
    pub fn new(card: f64) -> Self {
        let mut covariance = [[0.0; TERMS]; TERMS];
        for (at, row) in covariance.iter_mut().enumerate() {
            row[at] = VARIANCE;
        }
        Self { card, weights: START, covariance }
    }

    /// The log-odds that one answer serves both.
    pub fn log_odds(&self, seen: &Seen) -> f64 {
        dot(&self.weights, &self.terms(seen))
    }

    /// Learns the label of one pair.
    pub fn learn(&mut self, seen: &Seen, right: bool) {
        let terms = self.terms(seen);
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

    fn terms(&self, seen: &Seen) -> [f64; TERMS] {
        let (near, judged) = seen.signals.terms(self.card);
        [1.0, near, judged, f64::from(u8::from(seen.vetoed))]
    }
}

/// The probability behind log-odds.
pub(super) fn logistic(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

fn dot(a: &[f64; TERMS], b: &[f64; TERMS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::evidence::Signals;

    fn seen(cosine: f64, probability: f64) -> Seen {
        Seen { signals: Signals { cosine, probability: Some(probability) }, target: None, vetoed: false }
    }

    #[test]
    fn before_any_label_it_is_the_services_evidence_and_a_veto_lowers_it() {
        let (prior, pair) = (Prior::new(0.93), seen(0.95, 0.8));
        assert!((prior.log_odds(&pair) - pair.signals.evidence(0.93)).abs() < 1e-12);
        assert!(prior.log_odds(&Seen { vetoed: true, ..pair }) < prior.log_odds(&pair));
    }

    #[test]
    fn labels_move_it_to_the_signal_that_tells() {
        let mut prior = Prior::new(0.93);
        for _ in 0..300 {
            prior.learn(&seen(0.95, 0.1), false);
            prior.learn(&seen(0.85, 0.9), true);
        }
        let probability = |pair| logistic(prior.log_odds(&pair));
        assert!(probability(seen(0.95, 0.1)) < 0.1, "{}", probability(seen(0.95, 0.1)));
        assert!(probability(seen(0.85, 0.9)) > 0.9, "{}", probability(seen(0.85, 0.9)));
    }

    #[test]
    fn one_label_moves_it_towards_what_it_says_and_later_ones_less() {
        let pair = seen(0.9, 0.7);
        let mut prior = Prior::new(0.93);
        let before = prior.log_odds(&pair);
        prior.learn(&pair, false);
        let first = before - prior.log_odds(&pair);
        for _ in 0..50 {
            prior.learn(&pair, true);
            prior.learn(&pair, false);
        }
        let settled = prior.log_odds(&pair);
        prior.learn(&pair, false);
        let later = settled - prior.log_odds(&pair);
        assert!(first > later && later > 0.0, "{first} {later}");
    }
}
