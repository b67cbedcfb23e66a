//! One policy on one set: the numbers, and their JSON.

use serde_json::{Map, Value, json};

use crate::eval::curve::{Curve, Point};
use crate::eval::pairs::Judged;
use crate::eval::policy::{Policy, Service};
use crate::policy::rate::{Interval, Rate};

/// The false-hit rates for which the best threshold is shown.
pub const RISKS: [f64; 3] = [0.01, 0.005, 0.001];

/// What a policy does on a set.
#[derive(Clone, Debug)]
pub struct Report {
    /// The set's name.
    pub set: String,
    /// The policy.
    pub policy: Policy,
    /// Labelled pairs.
    pub pairs: u64,
    /// Those that one answer serves.
    pub positives: u64,
    /// Where the service decides.
    pub shipped: Point,
    /// The table's rows, loosest first, the shipped one among them.
    pub rows: Vec<Point>,
    /// See [`Curve::auc`].
    pub auc: Option<f64>,
    /// The best point for each of [`RISKS`], `None` without pairs to be wrong about.
    pub best: [Option<Point>; 3],
    /// All points, for the plot.
    pub curve: Vec<Point>,
}

impl Report {
    /// Measures a policy.
    pub fn of(set: &str, policy: Policy, judged: &[Judged], service: &Service) -> Self {
        let curve = Curve::of(judged.iter().map(|pair| pair.scored(policy, service)));
        let shipped = service.shipped_threshold(policy);
        let mut thresholds = policy.thresholds().to_vec();
        if !thresholds.contains(&shipped) {
            thresholds.push(shipped);
        }
        thresholds.sort_unstable_by(f64::total_cmp);
        Self {
            set: set.to_owned(),
            policy,
            pairs: judged.len() as u64,
            positives: judged.iter().filter(|pair| pair.same).count() as u64,
            shipped: curve.at(shipped),
            rows: thresholds.into_iter().map(|threshold| curve.at(threshold)).collect(),
            auc: curve.auc(),
            best: RISKS.map(|risk| curve.best_at(risk)),
            curve: curve.points(),
        }
    }

    /// The report for other programs.
    pub fn to_json(&self) -> Value {
        let best: Map<String, Value> = RISKS
            .iter()
            .zip(&self.best)
            .map(|(risk, best)| (risk.to_string(), json!(best.as_ref().map(point))))
            .collect();
        json!({
            "set": self.set, "policy": self.policy.as_str(), "pairs": self.pairs, "positives": self.positives,
            "shipped": point(&self.shipped), "auc": self.auc, "bestAt": best,
        })
    }
}

fn point(point: &Point) -> Value {
    let precision = point.precision();
    json!({
        "threshold": point.threshold, "hitRate": point.hit_rate.value(),
        "falseHitRate": point.false_hit_rate.value(), "precision": precision.value(),
        "interval": {
            "hitRate": interval(point.hit_rate), "falseHitRate": interval(point.false_hit_rate),
            "precision": interval(precision),
        },
    })
}

/// The 95 % interval of a rate as JSON: `[low, high]`.
pub fn interval(rate: Rate) -> Value {
    let Interval { low, high } = rate.interval();
    json!([low, high])
}
