//! A Gaussian over the weights of a logistic regression.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::policy::evidence::logistic;

/// Weights: a constant, the cosine's place, the strictness that a pair stands, a guard's veto.
const TERMS: usize = 4;
/// The log-odds that a pair on the line of strictness 0 is right: four times of five.
const ON_LINE: f64 = 1.5;
/// What one unit of strictness adds to them: a pair on the line of a ten times looser target is right seven times of ten.
const JUDGED: f64 = 0.3;
/// The weights before any label.
const START: [f64; TERMS] = [ON_LINE, 0.0, JUDGED, -0.5];
/// How unsure they are, as the variance of each.
const VARIANCE: [f64; TERMS] = [1.0, 3.0, 0.1, 0.3];
/// However little the verifier is worth in a cache, more of its word is more.
const LEAST_JUDGED: f64 = 0.05;

/// What everything that was seen is worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Belief {
    weights: [f64; TERMS],
    covariance: [[f64; TERMS]; TERMS],
}

impl Default for Belief {
    fn default() -> Self {
        let mut covariance = [[0.0; TERMS]; TERMS];
        for (at, row) in covariance.iter_mut().enumerate() {
            row[at] = VARIANCE[at];
        }
        Self { weights: START, covariance }
    }
}

impl Belief {
    /// Learns one label.
    pub fn learn(&mut self, terms: &[f64; TERMS], right: bool) {
        let mut spread = [0.0; TERMS];
        for (value, row) in spread.iter_mut().zip(&self.covariance) {
            *value = dot(row, terms);
        }
        let variance = dot(terms, &spread);
        let expected = logistic(dot(&self.weights, terms) / (1.0 + PI * variance / 8.0).sqrt());
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

    /// The strictness that a pair without a veto must stand at `near` to be as likely right as one on the line of
    /// strictness `usual` was taken to be before any label.
    pub fn needed(&self, near: f64, usual: f64) -> f64 {
        let [constant, nearness, judged, _] = self.weights;
        // More of a signal is never less: labels that say so are too few.
        let (nearness, judged) = (nearness.max(0.0), judged.max(LEAST_JUDGED));
        (ON_LINE + JUDGED * usual - constant - nearness * near) / judged
    }
}

fn dot(a: &[f64; TERMS], b: &[f64; TERMS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
