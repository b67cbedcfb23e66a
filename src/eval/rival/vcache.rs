//! The rule of the vCache policy.
//!
//! Written from its description (Schroeder et al., "vCache: Verified Semantic Prompt Caching", arXiv 2502.03771). An
//! entry keeps `(similarity, right?)` of the prompts whose nearest entry it was. To them a logistic curve
//! `L(s; t, g) = 1 / (1 + exp(-g (s - t)))` is fitted by maximum likelihood; `t'(e)` is the upper end of the
//! threshold's one-sided band at confidence `1 - e`. The model is asked with the probability
//! `min over e of (1 - d - (1 - e) L(s; t'(e), g)) / (1 - (1 - e) L(s; t'(e), g))`, at least 0, where `d` is the error
//! bound; otherwise the entry serves.
//!
//! As in the authors' own implementation, bands are those of a normal distribution whose variance the delta method
//! gives, `e` runs over 50 values, and every entry starts with a wrong observation at 0 and a right one at 1, without
//! which there is nothing to fit. Where right and wrong do not overlap, the likelihood has no maximum. The curve is then
//! a steep one in the middle of the gap, and the threshold's variance that of an even spread over the gap: unlike there,
//! where it comes from a table by the number of observations.

use crate::policy::evidence::logistic;

/// Confidences that are tried.
const STEPS: u32 = 50;
/// The steepest curve.
const STEEPEST: f64 = 200.0;
/// Newton's steps at most.
const MOST_STEPS: usize = 60;

/// The confidences `e` with their quantiles: what [`Observed::explore`] looks for its minimum over.
pub(super) struct Bands(Vec<(f64, f64)>);

impl Default for Bands {
    fn default() -> Self {
        let last = f64::from(STEPS - 1);
        let share = |step: u32| 1e-6 + (1.0 - 2e-6) * f64::from(step) / last;
        Self((0..STEPS).map(|step| (share(step), quantile(1.0 - share(step)))).collect())
    }
}

/// What an entry has observed.
#[derive(Clone, Debug)]
pub(super) struct Observed(Vec<(f64, bool)>);

impl Default for Observed {
    fn default() -> Self {
        Self(vec![(0.0, false), (1.0, true)])
    }
}

/// A fitted curve.
#[derive(Clone, Copy, Debug)]
struct Curve {
    threshold: f64,
    variance: f64,
    slope: f64,
}

impl Observed {
    /// Adds a prompt at this similarity, 0 to 1, and whether the entry's answer was right for it.
    pub fn add(&mut self, similarity: f64, right: bool) {
        self.0.push((similarity, right));
    }

    /// How many there are, with the two that every entry starts with.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The probability, 0 to 1, of asking the model about a prompt at `similarity` under the error bound `delta`.
    pub fn explore(&self, similarity: f64, delta: f64, bands: &Bands) -> f64 {
        let curve = self.fit();
        let spread = curve.variance.sqrt();
        let ask = |(share, quantile): &(f64, f64)| {
            let threshold = (curve.threshold + quantile * spread).clamp(0.0, 1.0);
            let right = (1.0 - share) * logistic(curve.slope * (similarity - threshold));
            (1.0 - delta - right) / (1.0 - right)
        };
        bands.0.iter().map(ask).fold(1.0, f64::min).max(0.0)
    }

    fn fit(&self) -> Curve {
        let of = |wanted: bool| self.0.iter().filter(move |(_, right)| *right == wanted).map(|(at, _)| *at);
        let (lowest_right, highest_wrong) = (of(true).fold(1.0, f64::min), of(false).fold(0.0, f64::max));
        if lowest_right > highest_wrong {
            let gap = lowest_right - highest_wrong;
            let threshold = f64::midpoint(lowest_right, highest_wrong);
            return Curve { threshold, variance: gap * gap / 12.0, slope: STEEPEST };
        }
        self.overlapping()
    }

    /// Newton's method on intercept and slope; the threshold's variance by the delta method.
    fn overlapping(&self) -> Curve {
        let (mut intercept, mut slope) = (-2.5, 5.0);
        let mut bend = Bend::default();
        for _ in 0..MOST_STEPS {
            bend = Bend::at(&self.0, intercept, slope);
            let (up, steeper) = bend.step();
            let longest = up.abs().max(steeper.abs());
            let scale = if longest > 20.0 { 20.0 / longest } else { 1.0 };
            intercept += scale * up;
            slope += scale * steeper;
            if longest < 1e-8 || slope > STEEPEST {
                break;
            }
        }
        let slope = slope.max(1e-6);
        let by = (-1.0 / slope, intercept / (slope * slope));
        Curve { threshold: (-intercept / slope).clamp(0.0, 1.0), variance: bend.variance(by), slope }
    }
}

/// Gradient and curvature of the log-likelihood.
#[derive(Clone, Copy, Debug, Default)]
struct Bend {
    gradient: (f64, f64),
    information: (f64, f64, f64),
}

impl Bend {
    fn at(observed: &[(f64, bool)], intercept: f64, slope: f64) -> Self {
        let mut bend = Self { gradient: (0.0, 0.0), information: (1e-9, 0.0, 1e-9) };
        for (similarity, right) in observed {
            let expected = logistic(intercept + slope * similarity);
            let (off, weight) = (f64::from(u8::from(*right)) - expected, expected * (1.0 - expected));
            bend.gradient.0 += off;
            bend.gradient.1 += off * similarity;
            bend.information.0 += weight;
            bend.information.1 += weight * similarity;
            bend.information.2 += weight * similarity * similarity;
        }
        bend
    }

    fn determinant(&self) -> f64 {
        (self.information.0 * self.information.2 - self.information.1 * self.information.1).max(1e-18)
    }

    fn step(&self) -> (f64, f64) {
        let (a, b, c) = self.information;
        let (up, along) = self.gradient;
        ((c * up - b * along) / self.determinant(), (a * along - b * up) / self.determinant())
    }

    /// The variance of something that changes `by` this much with intercept and slope.
    fn variance(&self, by: (f64, f64)) -> f64 {
        let (a, b, c) = self.information;
        let sum = by.0 * by.0 * c - 2.0 * by.0 * by.1 * b + by.1 * by.1 * a;
        (sum / self.determinant()).max(0.0)
    }
}

/// The standard normal distribution below `z`, by Simpson's rule.
fn normal(z: f64) -> f64 {
    const PARTS: u32 = 400;
    let width = z / f64::from(PARTS);
    let density = |part: u32| (-0.5 * (width * f64::from(part)).powi(2)).exp();
    let inner: f64 = (1..PARTS).map(|part| density(part) * if part % 2 == 1 { 4.0 } else { 2.0 }).sum();
    0.5 + (density(0) + inner + density(PARTS)) * width / 3.0 / std::f64::consts::TAU.sqrt()
}

/// Where the standard normal distribution reaches `share`, above 0 and below 1, by halving.
fn quantile(share: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if normal(middle) < share { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(list: &[(f64, bool)]) -> Observed {
        let mut observed = Observed::default();
        for (similarity, right) in list {
            observed.add(*similarity, *right);
        }
        observed
    }

    #[test]
    fn quantiles_of_the_normal_distribution() {
        for (share, z) in [(0.5, 0.0), (0.975, 1.959_964), (0.999, 3.090_232), (0.1, -1.281_552)] {
            assert!((quantile(share) - z).abs() < 1e-5, "{share}: {}", quantile(share));
        }
    }

    #[test]
    fn an_entry_without_observations_explores() {
        let bands = Bands::default();
        assert!(Observed::default().explore(0.9, 0.01, &bands) > 0.8);
    }

    #[test]
    fn many_right_ones_lead_to_serving_and_a_wrong_one_back_to_asking() {
        let bands = Bands::default();
        let mut entry = observed(&[(0.65, false)]);
        for at in 0..12 {
            entry.add(0.7 + 0.02 * f64::from(at), true);
        }
        assert!(entry.explore(0.95, 0.02, &bands) < 0.01, "{}", entry.explore(0.95, 0.02, &bands));
        assert!(entry.explore(0.6, 0.02, &bands) > 0.9, "far below the threshold");
        entry.add(0.94, false);
        assert!(entry.explore(0.95, 0.02, &bands) > 0.5, "{}", entry.explore(0.95, 0.02, &bands));
    }

    #[test]
    fn a_looser_bound_never_asks_more() {
        let bands = Bands::default();
        let entry = observed(&[(0.8, false), (0.9, true), (0.85, true), (0.87, false)]);
        let asked: Vec<f64> = [0.001, 0.01, 0.1, 0.5].iter().map(|delta| entry.explore(0.92, *delta, &bands)).collect();
        assert!(asked.windows(2).all(|two| two[0] >= two[1]), "{asked:?}");
        assert!(asked.iter().all(|share| (0.0..=1.0).contains(share)));
    }

    #[test]
    fn an_overlapping_fit_is_at_its_maximum() {
        let entry = observed(&[(0.6, false), (0.8, true), (0.7, true), (0.75, false), (0.9, true)]);
        let curve = entry.fit();
        let likelihood = |threshold: f64, slope: f64| -> f64 {
            let log = |(at, right): &(f64, bool)| {
                let p = logistic(slope * (at - threshold));
                if *right { p.ln() } else { (1.0 - p).ln() }
            };
            entry.0.iter().map(log).sum()
        };
        let best = likelihood(curve.threshold, curve.slope);
        for (threshold, slope) in [(0.01, 0.0), (-0.01, 0.0), (0.0, 1.0), (0.0, -1.0)] {
            assert!(best >= likelihood(curve.threshold + threshold, curve.slope + slope), "{curve:?}");
        }
        assert!(curve.variance > 0.0);
    }
}
