//! What each threshold of a policy would serve.

use crate::policy::calibrate::Labelled;
use crate::policy::rate::Rate;

/// The scores of a set, each class in falling order.
#[derive(Clone, Debug)]
pub struct Curve {
    hits: Vec<f64>,
    false_hits: Vec<f64>,
    positives: u64,
    negatives: u64,
}

/// What one threshold serves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Pairs of this score and more are served; `None` when nothing is.
    pub threshold: Option<f64>,
    /// Hits among the pairs that one answer serves.
    pub hit_rate: Rate,
    /// Hits among the others.
    pub false_hit_rate: Rate,
}

impl Point {
    /// The share of hits that are right.
    pub fn precision(&self) -> Rate {
        Rate::new(self.hit_rate.count, self.hit_rate.count + self.false_hit_rate.count)
    }
}

fn counted(falling: &[f64], threshold: f64) -> u64 {
    falling.partition_point(|score| *score >= threshold) as u64
}

impl Curve {
    /// The curve of scored pairs.
    pub fn of(pairs: impl IntoIterator<Item = Labelled>) -> Self {
        let mut curve = Self { hits: Vec::new(), false_hits: Vec::new(), positives: 0, negatives: 0 };
        for pair in pairs {
            let (scores, count) = if pair.same {
                (&mut curve.hits, &mut curve.positives)
            } else {
                (&mut curve.false_hits, &mut curve.negatives)
            };
            *count += 1;
            scores.extend(pair.score);
        }
        curve.hits.sort_unstable_by(|a, b| b.total_cmp(a));
        curve.false_hits.sort_unstable_by(|a, b| b.total_cmp(a));
        curve
    }

    /// What this threshold serves.
    pub fn at(&self, threshold: f64) -> Point {
        Point {
            threshold: Some(threshold),
            hit_rate: Rate::new(counted(&self.hits, threshold), self.positives),
            false_hit_rate: Rate::new(counted(&self.false_hits, threshold), self.negatives),
        }
    }

    /// What a threshold beyond all scores serves: nothing.
    fn nothing(&self) -> Point {
        let (hit_rate, false_hit_rate) = (Rate::new(0, self.positives), Rate::new(0, self.negatives));
        Point { threshold: None, hit_rate, false_hit_rate }
    }

    /// Every threshold at which something changes, strictest first.
    pub fn points(&self) -> Vec<Point> {
        let mut scores: Vec<f64> = self.hits.iter().chain(&self.false_hits).copied().collect();
        scores.sort_unstable_by(|a, b| b.total_cmp(a));
        scores.dedup();
        scores.into_iter().map(|score| self.at(score)).collect()
    }

    /// The point with the most hits whose observed false-hit rate is at most `risk`; `None` without pairs to be wrong
    /// about. It is chosen on the pairs that it is reported for: what a bound promises is `policy::calibrate`'s to say.
    pub fn best_at(&self, risk: f64) -> Option<Point> {
        self.nothing().false_hit_rate.value()?;
        let within = |point: &Point| point.false_hit_rate.value().is_some_and(|rate| rate <= risk);
        let within: Vec<Point> = self.points().into_iter().take_while(within).collect();
        let most = within.last().map_or(0, |point| point.hit_rate.count);
        // Of all with as many hits, the strictest.
        let strictest = within.into_iter().find(|point| most > 0 && point.hit_rate.count == most);
        Some(strictest.unwrap_or_else(|| self.nothing()))
    }

    /// The chance that a pair that one answer serves scores higher than another pair, ties counted half; pairs without
    /// a score are below all others. `None` when one of the two kinds is missing.
    pub fn auc(&self) -> Option<f64> {
        if self.positives == 0 || self.negatives == 0 {
            return None;
        }
        let unscored = self.negatives - self.false_hits.len() as u64;
        let above = |score: f64| {
            let higher = self.false_hits.partition_point(|other| *other > score) as u64;
            let equal = counted(&self.false_hits, score) - higher;
            (self.false_hits.len() as u64 - higher - equal + unscored) as f64 + 0.5 * equal as f64
        };
        let wins: f64 = self.hits.iter().map(|score| above(*score)).sum();
        let ties = (self.positives - self.hits.len() as u64) as f64 * unscored as f64 * 0.5;
        Some((wins + ties) / (self.positives as f64 * self.negatives as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(pairs: &[(f64, bool)]) -> Curve {
        let labelled = |(score, same): &(f64, bool)| Labelled { score: (*score >= 0.0).then_some(*score), same: *same };
        Curve::of(pairs.iter().map(labelled))
    }

    #[test]
    fn a_threshold_serves_what_reaches_it() {
        let curve = curve(&[(0.9, true), (0.8, true), (-1.0, true), (0.8, false), (0.1, false)]);
        let point = curve.at(0.8);
        assert_eq!((point.hit_rate, point.false_hit_rate), (Rate::new(2, 3), Rate::new(1, 2)));
        assert_eq!(point.precision(), Rate::new(2, 3));
        assert_eq!(curve.at(0.95).precision().value(), None, "no hit, no precision");
    }

    #[test]
    fn the_best_point_is_the_strictest_of_those_with_most_hits() {
        let curve = curve(&[(0.9, true), (0.8, true), (0.75, false), (0.5, true), (0.3, false)]);
        let best = curve.best_at(0.01).unwrap();
        assert_eq!((best.threshold, best.hit_rate.count), (Some(0.8), 2));
        let half = curve.best_at(0.5).unwrap();
        assert_eq!((half.threshold, half.hit_rate.count), (Some(0.5), 3));
    }

    #[test]
    fn where_no_threshold_is_safe_nothing_is_served() {
        let curve = curve(&[(0.99, false), (0.8, true)]);
        let best = curve.best_at(0.01).unwrap();
        assert_eq!((best.threshold, best.hit_rate.count, best.precision().value()), (None, 0, None));
    }

    #[test]
    fn nothing_to_be_wrong_about_is_no_proof() {
        let curve = curve(&[(0.9, true)]);
        assert_eq!((curve.best_at(0.01), curve.auc()), (None, None));
        assert_eq!(curve.at(0.5).false_hit_rate.value(), None);
    }

    #[test]
    fn the_auc_counts_ties_half_and_forbidden_pairs_last() {
        let near = |curve: &Curve, value: f64| (curve.auc().unwrap() - value).abs() < 1e-12;
        assert!(near(&curve(&[(0.9, true), (0.1, false)]), 1.0));
        assert!(near(&curve(&[(0.5, true), (0.5, false)]), 0.5));
        assert!(near(&curve(&[(-1.0, true), (-1.0, false)]), 0.5));
        assert!(near(&curve(&[(-1.0, true), (0.1, false)]), 0.0));
        assert!(near(&curve(&[(0.1, true), (-1.0, false), (0.4, true), (0.2, false)]), 0.75));
    }
}
