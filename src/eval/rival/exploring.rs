//! The rule of vCache at work: each entry is tried until it has shown where it is right.

use crate::eval::rival::Player;
use crate::eval::rival::vcache::{Bands, Observed};
use crate::eval::traffic::Near;

/// Serves the nearest entry, or asks the model and observes that entry.
pub(super) struct Exploring {
    delta: f64,
    needed: usize,
    entries: Vec<Observed>,
    bands: Bands,
    dice: Dice,
    nearest: Option<Near>,
}

impl Exploring {
    /// For `prompts` prompts, with the error bound `delta`; an entry serves once it has `needed` observations.
    pub fn new(prompts: usize, delta: f64, needed: usize, seed: u64) -> Self {
        let entries = vec![Observed::default(); prompts];
        Self { delta, needed, entries, bands: Bands::default(), dice: Dice(seed), nearest: None }
    }
}

impl Player for Exploring {
    fn decide(&mut self, near: &[Near]) -> Option<usize> {
        self.nearest = near.first().copied();
        let nearest = self.nearest?;
        let entry = &self.entries[nearest.at];
        let thrown = self.dice.throw();
        let serve = entry.count() >= self.needed && thrown > entry.explore(nearest.cosine, self.delta, &self.bands);
        serve.then_some(nearest.at)
    }

    /// As in the paper: a fresh answer that the cached one would have served for is not kept.
    fn missed(&mut self, _: usize, right: &dyn Fn(usize) -> bool) -> bool {
        let Some(nearest) = self.nearest else { return true };
        let right = right(nearest.at);
        self.entries[nearest.at].add(nearest.cosine, right);
        !right
    }
}

/// Dice that fall the same way for the same seed: `SplitMix64` (Steele, Lea and Flood 2014).
struct Dice(u64);

impl Dice {
    /// 0 up to 1.
    fn throw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_are_even_and_fall_the_same_way_again() {
        let throws = |seed| {
            let mut dice = Dice(seed);
            (0..10_000).map(|_| dice.throw()).collect::<Vec<f64>>()
        };
        let first = throws(1);
        assert!(first.iter().all(|throw| (0.0..1.0).contains(throw)));
        assert!((first.iter().sum::<f64>() / 10_000.0 - 0.5).abs() < 0.02);
        assert_eq!(first, throws(1));
        assert_ne!(first, throws(2));
    }

    #[test]
    fn a_miss_shows_the_nearest_entry_and_is_kept_where_that_was_wrong() {
        let near = |at, cosine| Near { at, cosine, seen: None };
        let mut player = Exploring::new(4, 0.01, 0, 1);
        assert!(player.decide(&[]).is_none() && player.missed(0, &|_| true), "the first prompt is kept");
        assert!(player.decide(&[near(0, 0.2), near(1, 0.1)]).is_none());
        assert!(!player.missed(2, &|entry| entry == 0), "the cached answer would have served");
        assert!(player.decide(&[near(1, 0.2), near(0, 0.1)]).is_none());
        assert!(player.missed(3, &|entry| entry == 0));
        let seen: Vec<usize> = player.entries.iter().map(Observed::count).collect();
        assert_eq!(seen, [3, 3, 2, 2], "two that each starts with");
    }
}
