//! One cosine for all entries.

use crate::eval::rival::Player;
use crate::eval::traffic::Near;

/// Serves the nearest entry from a cosine on.
pub(super) struct Threshold {
    pub least: f64,
    /// Only where no guard objects.
    pub guarded: bool,
}

impl Player for Threshold {
    fn decide(&mut self, near: &[Near]) -> Option<usize> {
        let allowed = |one: &Near| !self.guarded || one.seen.is_some_and(|seen| !seen.vetoed);
        let mut near = near.iter().take_while(|one| one.cosine >= self.least);
        // Without guards the nearest one decides, as in a plain semantic cache.
        near.find(|one| allowed(one)).map(|one| one.at)
    }
}
