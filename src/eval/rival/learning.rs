//! A prior that follows the labels of misses, and what each entry was wrong for.

use crate::eval::rival::Player;
use crate::eval::rival::prior::Prior;
use crate::eval::traffic::{Near, Seen};

/// Neighbours that are looked at.
const LOOKED_AT: usize = 4;
/// How much likelier than what it was wrong for a prompt must be for an entry to serve it, in log-odds: as in the
/// service's record, but weighed by the prior and so on its scale.
const MARGIN: f64 = 1.0;

/// Serves the likeliest entry of the nearest few that was not wrong for something as likely.
///
/// Wrong hits are noted with the entry only: labels of which the right half is missing would teach the prior that all
/// hits are wrong.
pub(super) struct Learning {
    least: f64,
    told: bool,
    prior: Prior,
    /// What each entry was, or would have been, wrong for.
    wrong: Vec<Vec<Seen>>,
    likeliest: Option<(usize, Seen)>,
}

impl Learning {
    /// For `prompts` prompts, by the least log-odds of a hit; `told` of wrong hits or not.
    pub fn new(prompts: usize, card: f64, least: f64, told: bool) -> Self {
        Self { least, told, prior: Prior::new(card), wrong: vec![Vec::new(); prompts], likeliest: None }
    }
}

impl Player for Learning {
    fn decide(&mut self, near: &[Near]) -> Option<usize> {
        let looked_at = near.iter().take(LOOKED_AT).filter_map(|one| Some((one.at, one.seen?)));
        let weighed = looked_at.map(|(at, seen)| {
            let likely = self.prior.log_odds(&seen);
            let free = self.wrong[at].iter().all(|wrong| likely > self.prior.log_odds(wrong) + MARGIN);
            (free, likely, (at, seen))
        });
        let best = weighed.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.likeliest = best.map(|(.., entry)| entry);
        best.filter(|(free, weight, _)| *free && *weight >= self.least).map(|(.., (at, _))| at)
    }

    fn missed(&mut self, _: usize, right: &dyn Fn(usize) -> bool) -> bool {
        if let Some((at, seen)) = self.likeliest {
            let right = right(at);
            self.prior.learn(&seen, right);
            if !right {
                self.wrong[at].push(seen);
            }
        }
        true
    }

    fn blamed(&mut self, _: usize) {
        if let Some((at, seen)) = self.likeliest.filter(|_| self.told) {
            self.wrong[at].push(seen);
        }
    }
}
