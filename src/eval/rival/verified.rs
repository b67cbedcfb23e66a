//! What the service does: guards, the verifier, and each entry's record of wrong hits.

use crate::eval::rival::Player;
use crate::eval::traffic::{Near, Seen};
use crate::policy::record::{Observation, Record};

/// Serves the nearest entry that passes the guards, the verifier's line for a target, and its own record.
///
/// A lookup of the service reads the three likeliest neighbours at most; here all that were judged have been read.
pub(super) struct Verified {
    target: f64,
    card: f64,
    told: bool,
    records: Vec<Record<usize>>,
    served: Option<(usize, Seen)>,
}

impl Verified {
    /// For `prompts` prompts, by the policy's `targetErrorRate`; untold of wrong hits, its records stay empty.
    pub fn new(prompts: usize, card: f64, target: f64, told: bool) -> Self {
        Self { target, card, told, records: vec![Record::default(); prompts], served: None }
    }
}

impl Player for Verified {
    fn decide(&mut self, near: &[Near]) -> Option<usize> {
        let passes = |at: usize, seen: &Seen| {
            let trusted = seen.target.is_some_and(|strictest| strictest <= self.target);
            trusted && !seen.vetoed && !self.records[at].forbids(&seen.signals, self.card)
        };
        let mut seen = near.iter().filter_map(|one| Some((one.at, one.seen?)));
        self.served = seen.find(|(at, seen)| passes(*at, seen));
        self.served.map(|(at, _)| at)
    }

    fn blamed(&mut self, asked: usize) {
        if let Some((at, seen)) = self.served.filter(|_| self.told) {
            self.records[at].note(asked, Observation { signals: seen.signals, right: false });
        }
    }
}
