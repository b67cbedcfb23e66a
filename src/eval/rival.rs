//! Policies that decide on recorded traffic: a threshold for all, the rule of vCache, and Refrain's.
//!
//! All see the same prompts, vectors and order. What each is told:
//!
//! | policy | of a miss | of a hit |
//! |---|---|---|
//! | `static`, `guarded` | nothing | nothing |
//! | `vcache`, `vcache-6` | whether the nearest entry's answer would have been right | nothing |
//! | `verified` | nothing | that it was wrong, if so |
//! | `learned` | whether the nearest entry's answer would have been right | that it was wrong, if so |
//! | `verified-untold`, `learned-untold` | the same | nothing |
//!
//! `verified` is what the service does, `learned` where a cache's policy says `learning`: of a miss it finds out by
//! comparing the fresh answer with the cached one, as the paper has a policy do.

mod exploring;
mod threshold;
mod vcache;
mod verified;

use crate::eval::traffic::{Near, Traffic};

use exploring::Exploring;
use threshold::Threshold;
use verified::{Verified, Ways};

/// A policy, and what its knob is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rival {
    /// One cosine for all: serve the nearest entry from there on.
    Static,
    /// The same where no guard objects.
    Guarded,
    /// The paper's rule from an entry's first observation on, by its error bound.
    VCache,
    /// The paper's rule once an entry has six observations, as the authors' own implementation has it.
    VCacheSix,
    /// The verifier by its target where no guard objects, without entries' records.
    VerifiedUntold,
    /// The same with the records: as the service does.
    Verified,
    /// The same as `VerifiedUntold`, its target moved by what misses show.
    LearnedUntold,
    /// The same with the records: as the service does where a cache learns.
    Learned,
}

impl Rival {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Static,
        Self::Guarded,
        Self::VCache,
        Self::VCacheSix,
        Self::VerifiedUntold,
        Self::Verified,
        Self::LearnedUntold,
        Self::Learned,
    ];

    /// The name in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Guarded => "guarded",
            Self::VCache => "vcache",
            Self::VCacheSix => "vcache-6",
            Self::VerifiedUntold => "verified-untold",
            Self::Verified => "verified",
            Self::LearnedUntold => "learned-untold",
            Self::Learned => "learned",
        }
    }

    /// The settings that are played, the strictest first.
    pub fn knobs(self) -> Vec<f64> {
        match self {
            Self::Static | Self::Guarded => (0..80).map(|step| f64::from(995 - 5 * step) / 1000.0).collect(),
            Self::VCache | Self::VCacheSix => {
                vec![0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6]
            }
            Self::Verified | Self::VerifiedUntold | Self::Learned | Self::LearnedUntold => {
                (0..=44).map(|step| 1.2_f64.powi(step) / 3000.0).collect()
            }
        }
    }

    /// Does it throw dice?
    pub fn is_random(self) -> bool {
        matches!(self, Self::VCache | Self::VCacheSix)
    }

    /// A player of this policy at a setting; `card` is the cosine that the embedder's card calls safe.
    pub fn player(self, traffic: &Traffic, card: f64, knob: f64, seed: u64) -> Box<dyn Player> {
        let prompts = traffic.len();
        match self {
            Self::Static | Self::Guarded => Box::new(Threshold { least: knob, guarded: self == Self::Guarded }),
            Self::VCache => Box::new(Exploring::new(prompts, knob, 0, seed)),
            Self::VCacheSix => Box::new(Exploring::new(prompts, knob, 6, seed)),
            Self::Verified | Self::VerifiedUntold | Self::Learned | Self::LearnedUntold => {
                let learns = matches!(self, Self::Learned | Self::LearnedUntold);
                let told = matches!(self, Self::Verified | Self::Learned);
                Box::new(Verified::new(prompts, card, Ways { target: knob, told, learns }))
            }
        }
    }
}

/// A policy at work on one stream.
pub trait Player {
    /// The entry that serves a prompt, out of those cached near it, the nearest first; `None` asks the model.
    fn decide(&mut self, near: &[Near]) -> Option<usize>;

    /// What a miss showed; `right` says whether a cached answer would have been right. Is the fresh answer kept?
    fn missed(&mut self, _asked: usize, _right: &dyn Fn(usize) -> bool) -> bool {
        true
    }

    /// The entry that served `asked` last was wrong, says its caller.
    fn blamed(&mut self, _asked: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_go_from_strict_to_loose() {
        for rival in Rival::ALL {
            let knobs = rival.knobs();
            let is_error = !matches!(rival, Rival::Static | Rival::Guarded);
            let looser = |two: &[f64]| if is_error { two[0] < two[1] } else { two[0] > two[1] };
            assert!(knobs.windows(2).all(looser), "{rival:?}");
        }
    }
}
