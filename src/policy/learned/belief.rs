//! A Gaussian over the weights of a logistic regression.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::policy::evidence::logistic;

/// Weights: a constant, the cosine's place under the highest one, the strictness that a pair stands.
const TERMS: usize = 3;
type Terms = [f64; TERMS];
const NEARNESS: usize = 1;
const STRICTNESS: usize = 2;
/// The place of the highest cosine. Counted from there, a label moves nearer pairs by the constant alone, to its own side.
const HIGHEST: f64 = 1.0;
/// The log-odds that a pair on the line of strictness 0 is right: four times of five.
const ON_LINE: f64 = 1.5;
/// What one unit of strictness adds to them: a pair on the line of a ten times looser target is right seven times of ten.
const JUDGED: f64 = 0.3;
/// The weights before any label.
const START: Terms = [ON_LINE, 0.0, JUDGED];
/// How unsure they are, as the variance of each.
const VARIANCE: Terms = [1.0, 1.0, 0.03];
/// However little the verifier is worth in a cache, more of its word is more.
const LEAST_JUDGED: f64 = 0.05;

/// What everything that was seen is worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Belief {
    weights: Terms,
    covariance: [Terms; TERMS],
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
    /// Learns one label: of a pair at `near` that stands `strictness`.
    pub fn learn(&mut self, near: f64, strictness: f64, right: bool) {
        let terms = terms(near, strictness);
        let spread = self.spread(&terms);
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

    /// The strictness that a pair must stand at `near` to be as likely right as one on the line of strictness `usual`
    /// was taken to be before any label.
    pub fn likely(&self, near: f64, usual: f64) -> f64 {
        let held = self.held();
        (before(usual) - dot(&held.weights, &terms(near, 0.0))) / held.weights[STRICTNESS]
    }

    /// The least one from `least` to `usual` where it is so even if every log-odds is `deviations` standard deviations
    /// lower than it is thought to be; infinite where that is so nowhere.
    pub fn surely(&self, near: f64, least: f64, usual: f64, deviations: f64) -> f64 {
        let (held, fixed, unit) = (self.held(), terms(near, 0.0), [0.0, 0.0, 1.0]);
        let (rest, slope) = (dot(&held.weights, &fixed) - before(usual), held.weights[STRICTNESS]);
        let squared = |a: &Terms, b: &Terms| deviations * deviations * dot(a, &held.spread(b));
        let (own, with, each) = (squared(&fixed, &fixed), squared(&fixed, &unit), squared(&unit, &unit));
        let slack = |at: f64| rest + slope * at - (own + 2.0 * with * at + each * at * at).max(0.0).sqrt();
        // The slack is concave: some is left between the roots of a quadratic, or up to an end.
        let roots = roots(slope * slope - each, rest * slope - with, rest * rest - own);
        let ends = [least, roots[0], roots[1], usual].into_iter();
        ends.filter(|at| (least..=usual).contains(at) && slack(*at) >= -1e-9).fold(f64::INFINITY, f64::min)
    }

    /// The same, given that more of a signal is never less: labels that say so are too few.
    fn held(&self) -> Self {
        let mut held = self.clone();
        for (at, least) in [(NEARNESS, 0.0), (STRICTNESS, LEAST_JUDGED)] {
            if held.weights[at] < least {
                held.hold(at, least);
            }
        }
        held
    }

    /// What the other weights are, given this one.
    fn hold(&mut self, at: usize, value: f64) {
        let along = self.covariance.map(|row| row[at]);
        let (variance, step) = (along[at].max(f64::EPSILON), value - self.weights[at]);
        for (one, own) in along.iter().enumerate() {
            self.weights[one] += own * step / variance;
            for (value, other) in self.covariance[one].iter_mut().zip(&along) {
                *value -= own * other / variance;
            }
        }
        self.weights[at] = value;
    }

    fn spread(&self, terms: &Terms) -> Terms {
        self.covariance.each_ref().map(|row| dot(row, terms))
    }
}

/// The log-odds on the line of strictness `usual` before any label.
fn before(usual: f64) -> f64 {
    ON_LINE + JUDGED * usual
}

/// Where `a x² + 2 b x + c` is 0; not a number where it never is.
fn roots(a: f64, b: f64, c: f64) -> [f64; 2] {
    let root = (b * b - a * c).sqrt();
    [(-b - root) / a, (-b + root) / a]
}

fn terms(near: f64, strictness: f64) -> Terms {
    [1.0, near - HIGHEST, strictness]
}

fn dot(a: &Terms, b: &Terms) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
