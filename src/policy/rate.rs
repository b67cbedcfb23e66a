//! A share of cases, which never forgets of how many.
//!
//! A bare percentage hides whether it comes from ten cases or from ten thousand, and 0 % of nothing reads like 0 %.

use crate::policy::binomial::{lower_bound, upper_bound};

/// The confidence of [`Rate::interval`], two-sided.
pub const CONFIDENCE: f64 = 0.95;

/// `count` of `of` cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub count: u64,
    /// Of how many; at least `count`.
    pub of: u64,
}

/// The rates that a count is compatible with, both 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

impl Rate {
    /// `count` of `of`.
    pub fn new(count: u64, of: u64) -> Self {
        Self { count, of }
    }

    /// The observed share, 0 to 1; `None` of nothing.
    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.count as f64 / self.of as f64)
    }

    /// The exact two-sided interval at 95 % (Clopper and Pearson); 0 to 1 of nothing.
    pub fn interval(self) -> Interval {
        let each = f64::midpoint(1.0, CONFIDENCE);
        Interval { low: lower_bound(self.count, self.of, each), high: upper_bound(self.count, self.of, each) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_nothing_is_no_rate() {
        assert_eq!(Rate::new(0, 0).value(), None);
        let all = Rate::new(0, 0).interval();
        assert!(all.low < 1e-12 && all.high > 1.0 - 1e-12);
    }

    #[test]
    fn an_interval_holds_its_rate() {
        for (count, of) in [(0, 1), (0, 300), (7, 9), (9, 9), (500, 1000)] {
            let rate = Rate::new(count, of);
            let Interval { low, high } = rate.interval();
            assert!((low..=high).contains(&rate.value().unwrap()), "{rate:?}: {low} {high}");
        }
    }
}
