//! The policies that are measured against each other, and where each of them decides.

use serde::Deserialize;

use crate::cache::Cache;
use crate::eval::pairs::Judged;
use crate::policy::calibrate;
use crate::settings::CachePolicy;

/// A way to decide whether a stored answer serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The cosine alone, as a plain semantic cache decides.
    Cosine,
    /// The cosine, where no guard and no bypass forbids.
    Guarded,
    /// The verifier at a target error rate, where no guard and no bypass forbids. Its score is 1 less the strictest
    /// target at which a pair is served, so that more is surer here as well.
    Verified,
}

impl Policy {
    /// All of them, the plainest first.
    pub const ALL: [Self; 3] = [Self::Cosine, Self::Guarded, Self::Verified];

    /// The name in tables, JSON and floors.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Guarded => "guarded",
            Self::Verified => "verified",
        }
    }

    /// The scores from which on the rows of a table serve.
    pub fn thresholds(self) -> &'static [f64] {
        match self {
            Self::Cosine | Self::Guarded => &[0.70, 0.75, 0.80, 0.85, 0.88, 0.90, 0.92, 0.94, 0.96, 0.98],
            Self::Verified => &[0.90, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999],
        }
    }

    /// The setting of a cache's policy that serves from this score on: a cosine, or a target error rate.
    pub fn setting(self, score: f64) -> f64 {
        match self {
            Self::Cosine | Self::Guarded => score,
            Self::Verified => ((1.0 - score) * 1e6).round() / 1e6,
        }
    }

    /// The name of that setting.
    pub fn setting_name(self) -> &'static str {
        match self {
            Self::Cosine | Self::Guarded => "similarityThreshold",
            Self::Verified => "targetErrorRate",
        }
    }

    /// The scores that `calibrate` tests, strictest first: those that a cache's policy can be set to.
    pub fn grid(self) -> Vec<f64> {
        match self {
            Self::Cosine | Self::Guarded => calibrate::grid(1000, 500),
            Self::Verified => calibrate::grid(999, 900),
        }
    }

    /// What this policy gives a pair, 0 to 1; `None` when it would never serve it.
    pub fn score(self, pair: &Judged, service: &Service) -> Option<f64> {
        let forbidden = pair.bypass.is_some() || !pair.vetoes.is_empty();
        match self {
            Self::Cosine => Some(pair.cosine),
            Self::Guarded => (!forbidden).then_some(pair.cosine),
            Self::Verified if forbidden || pair.cosine < service.verifier_floor => None,
            Self::Verified => pair.target.map(|target| 1.0 - target),
        }
    }
}

/// Where the service decides, by the policy of its cache.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// The least cosine of a hit without a verifier, 0 to 1.
    cosine: f64,
    /// The target error rate of a hit with one, 0 to 1.
    target: f64,
    /// Pairs below this cosine are not shown to the verifier.
    verifier_floor: f64,
}

impl Service {
    /// What a lookup in a cache of this policy goes by.
    pub fn of(cache: &Cache, policy: &CachePolicy) -> Self {
        let card = rounded(cache.embedder().calibrated_similarity());
        let cosine = policy.similarity_threshold.unwrap_or(card);
        let verifier_floor = cache.verified_from(policy).unwrap_or(0.0);
        Self { cosine, target: policy.target_error_rate, verifier_floor }
    }

    /// The score from which on the service serves: what is reported as shipped.
    pub fn shipped_threshold(&self, policy: Policy) -> f64 {
        match policy {
            Policy::Cosine | Policy::Guarded => self.cosine,
            Policy::Verified => 1.0 - self.target,
        }
    }
}

/// A model card's 0.93, and not the 0.930000007 that is the nearest f32.
fn rounded(value: f32) -> f64 {
    (f64::from(value) * 1e6).round() / 1e6
}
