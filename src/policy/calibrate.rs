//! From labelled pairs to a threshold whose false-hit rate is bounded, or to the number of labels that are missing.
//!
//! The rate of false hits among pairs that need different answers is tested at one threshold after the other, on a grid
//! that was fixed before the data were seen, from the strictest one down, until a test fails (fixed-sequence testing:
//! Angelopoulos et al., "Learn then Test", arXiv 2110.01052). Each test is exact (Clopper and Pearson, 1934), and since
//! the walk ends at the first failure, no price is paid for the many thresholds: with the stated confidence, the rate
//! behind the returned threshold is at most the target, for traffic like the labelled pairs. No label, no bound.

use std::fmt;

use crate::error::Invalid;
use crate::policy::binomial::{tail, trials_needed, upper_bound};
use crate::policy::rate::Rate;

/// A labelled pair, scored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Labelled {
    /// 0 to 1, larger is more alike; `None` when no threshold would serve the pair (a guard forbids it).
    pub score: Option<f64>,
    /// Does one answer serve both?
    pub same: bool,
}

/// What a threshold has to promise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aim {
    target: f64,
    confidence: f64,
}

impl Aim {
    /// The confidence when none is named.
    pub const CONFIDENCE: f64 = 0.95;

    /// A false-hit rate of at most `target`, with `confidence`; both above 0 and below 1.
    ///
    /// # Errors
    /// The one that is out of range.
    pub fn new(target: f64, confidence: f64) -> Result<Self, Invalid> {
        for (field, value) in [("target", target), ("confidence", confidence)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(Invalid::new(field, format!("{value} is out of range"), "above 0 and below 1"));
            }
        }
        Ok(Self { target, confidence })
    }

    /// The highest rate of false hits, 0 to 1.
    pub fn target(self) -> f64 {
        self.target
    }

    /// How sure that must be, 0 to 1.
    pub fn confidence(self) -> f64 {
        self.confidence
    }
}

/// What the labels say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Calibration {
    /// A threshold that keeps the promise.
    Found(Bounded),
    /// None is proved to.
    NotEnough(Shortage),
}

/// The loosest threshold that keeps the promise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    /// Pairs that score this or more are served.
    pub threshold: f64,
    /// Hits among the pairs that one answer serves.
    pub hits: Rate,
    /// Hits among the others.
    pub false_hits: Rate,
    /// The rate of false hits is at most this, with the confidence that was asked for.
    pub bound: f64,
}

/// Why there is no threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shortage {
    /// False hits at the strictest threshold.
    pub false_hits: Rate,
    /// What they bound the rate by, 0 to 1; 1 without labels.
    pub bound: f64,
    /// About how many more pairs of label 0 are needed, when not one of them is a false hit.
    pub more: u64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rate { count, of } = self.false_hits;
        let without = if count == 0 { "without a false hit" } else { "without another false hit" };
        write!(
            f,
            "not enough labels: {count} false hits among {of} pairs of label 0 at the strictest threshold; \
             need about {} more pairs of label 0, {without}",
            self.more
        )
    }
}

/// Thresholds to test: `highest` down to `lowest`, both in thousandths, in steps of one.
pub fn grid(highest: u32, lowest: u32) -> Vec<f64> {
    (lowest..=highest).rev().map(|thousandths| f64::from(thousandths) / 1000.0).collect()
}

/// The loosest threshold of `grid` that keeps `aim`, by the labels of `pairs`.
///
/// # Errors
/// A score that is not 0 to 1, or a grid that is empty or does not fall.
pub fn calibrate(pairs: &[Labelled], grid: &[f64], aim: Aim) -> Result<Calibration, Invalid> {
    check(pairs, grid)?;
    let at = |threshold: f64| (counted(pairs, true, threshold), counted(pairs, false, threshold));
    let holds = |rate: Rate| rate.of > 0 && tail(rate.count, rate.of, aim.target) <= 1.0 - aim.confidence;
    let steps = grid.iter().map(|threshold| (*threshold, at(*threshold)));
    let bound = |rate: Rate| upper_bound(rate.count, rate.of, aim.confidence);
    if let Some((threshold, (hits, false_hits))) = steps.take_while(|(_, (_, wrong))| holds(*wrong)).last() {
        return Ok(Calibration::Found(Bounded { threshold, hits, false_hits, bound: bound(false_hits) }));
    }
    let (_, false_hits) = at(grid[0]);
    let needed = trials_needed(false_hits.count, aim.target, aim.confidence);
    let more = needed.saturating_sub(false_hits.of).max(1);
    Ok(Calibration::NotEnough(Shortage { false_hits, bound: bound(false_hits), more }))
}

fn check(pairs: &[Labelled], grid: &[f64]) -> Result<(), Invalid> {
    let in_range = |score: f64| (0.0..=1.0).contains(&score);
    if let Some(score) = pairs.iter().filter_map(|pair| pair.score).find(|score| !in_range(*score)) {
        return Err(Invalid::new("score", format!("{score} is out of range"), "0 to 1"));
    }
    if grid.is_empty() || grid.windows(2).any(|two| two[0] <= two[1]) || !grid.iter().all(|t| in_range(*t)) {
        return Err(Invalid::new(
            "grid",
            "is not a falling row of thresholds",
            "at least one, strictest first, 0 to 1",
        ));
    }
    Ok(())
}

fn counted(pairs: &[Labelled], same: bool, threshold: f64) -> Rate {
    pairs.iter().filter(|pair| pair.same == same).fold(Rate::new(0, 0), |rate, pair| {
        Rate::new(rate.count + u64::from(pair.score.is_some_and(|score| score >= threshold)), rate.of + 1)
    })
}

#[cfg(test)]
mod tests;
