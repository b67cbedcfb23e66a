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
        let shipped = shipped(policy, judged, service, &curve);
        let mut rows: Vec<Point> = policy.thresholds().iter().map(|threshold| curve.at(*threshold)).collect();
        rows.retain(|row| row.threshold != shipped.threshold);
        rows.push(shipped);
        rows.sort_by(|a, b| a.threshold.partial_cmp(&b.threshold).unwrap_or(std::cmp::Ordering::Equal));
        Self {
            set: set.to_owned(),
            policy,
            pairs: judged.len() as u64,
            positives: judged.iter().filter(|pair| pair.same).count() as u64,
            shipped,
            rows,
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
            .map(|(risk, best)| (risk.to_string(), json!(best.as_ref().map(|best| point(self.policy, best)))))
            .collect();
        json!({
            "set": self.set, "policy": self.policy.as_str(), "pairs": self.pairs, "positives": self.positives,
            "setting": self.policy.setting_name(), "shipped": point(self.policy, &self.shipped), "auc": self.auc, "bestAt": best,
        })
    }
}

/// What the service serves: with a verifier, by the very rules of a lookup.
fn shipped(policy: Policy, judged: &[Judged], service: &Service, curve: &Curve) -> Point {
    let point = curve.at(service.shipped_threshold(policy));
    if policy != Policy::Verified {
        return point;
    }
    let served = |same: bool| judged.iter().filter(|pair| pair.would.serve && pair.same == same).count() as u64;
    Point {
        hit_rate: Rate::new(served(true), point.hit_rate.of),
        false_hit_rate: Rate::new(served(false), point.false_hit_rate.of),
        ..point
    }
}

fn point(policy: Policy, point: &Point) -> Value {
    let precision = point.precision();
    json!({
        "threshold": point.threshold.map(|score| policy.setting(score)), "hitRate": point.hit_rate.value(),
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
