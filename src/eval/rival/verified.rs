//! What the service does: guards, the verifier, each entry's record of wrong hits, and what misses have shown.

use crate::eval::rival::Player;
use crate::eval::traffic::{Near, Seen};
use crate::policy::agreement::Agreement;
use crate::policy::evidence;
use crate::policy::learned::{Learned, Lesson, NEAREST_FROM};
use crate::policy::record::{Observation, Record};

/// How it plays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    /// The policy's `targetErrorRate`.
    pub target: f64,
    /// It is told of wrong hits; else its records stay empty.
    pub told: bool,
    /// Misses move the target.
    pub learns: bool,
}

/// Serves the nearest entry that passes the guards, the verifier's line for a target, and its own record.
///
/// A lookup of the service reads the three likeliest neighbours at most; here all that were judged have been read.
pub(super) struct Verified {
    ways: Ways,
    card: f64,
    learned: Learned,
    records: Vec<Record<usize>>,
    served: Option<(usize, Seen)>,
    nearest: Option<(usize, Seen)>,
}

impl Verified {
    /// For `prompts` prompts; `card` is the cosine that the embedder's card calls safe.
    pub fn new(prompts: usize, card: f64, ways: Ways) -> Self {
        let (learned, records) = (Learned::default(), vec![Record::default(); prompts]);
        Self { ways, card, learned, records, served: None, nearest: None }
    }

    fn place(&self, seen: &Seen) -> f64 {
        evidence::place(seen.signals.cosine, self.card)
    }

    fn passes(&self, at: usize, seen: &Seen) -> bool {
        let usual = self.ways.target;
        let target = if self.ways.learns { self.learned.target(self.place(seen), usual) } else { usual };
        let trusted = seen.target.is_some_and(|strictest| strictest <= target);
        trusted && !seen.vetoed && !self.records[at].forbids(&seen.signals, self.card)
    }
}

impl Player for Verified {
    fn decide(&mut self, near: &[Near]) -> Option<usize> {
        let seen = |one: &Near| Some((one.at, one.seen?));
        self.nearest = near.first().and_then(seen);
        self.served = near.iter().filter_map(seen).find(|(at, seen)| self.passes(*at, seen));
        self.served.map(|(at, _)| at)
    }

    fn missed(&mut self, _: usize, right: &dyn Fn(usize) -> bool) -> bool {
        let learns = |seen: &Seen| self.ways.learns && !seen.moves && !seen.vetoed && self.place(seen) >= NEAREST_FROM;
        if let Some((at, seen)) = self.nearest.filter(|(_, seen)| learns(seen))
            && let Some(target) = seen.target
        {
            let lesson = Lesson { near: self.place(&seen), target };
            self.learned.learn(&lesson, if right(at) { Agreement::Same } else { Agreement::Other });
        }
        true
    }

    fn blamed(&mut self, asked: usize) {
        if let Some((at, seen)) = self.served.filter(|_| self.ways.told) {
            self.records[at].note(asked, Observation { signals: seen.signals, right: false });
        }
    }
}
