//! Boosted trees: a sum of small decision trees over a pair's signals (Friedman 2001). Trained elsewhere, run here.

use serde::Deserialize;

/// A trained sum of trees.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forest {
    base: f64,
    trees: Vec<Tree>,
}

/// One tree as parallel lists; node 0 is the root. A leaf's `left` and `right` are 0.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tree {
    signal: Vec<usize>,
    bound: Vec<f64>,
    left: Vec<usize>,
    right: Vec<usize>,
    value: Vec<f64>,
}

impl Tree {
    /// Children come after their parent, so every walk ends.
    fn check(&self, signals: usize) -> Result<(), String> {
        let nodes = self.value.len();
        let lists = [self.signal.len(), self.bound.len(), self.left.len(), self.right.len()];
        if nodes == 0 || lists != [nodes; 4] {
            return Err("a tree's lists differ in length".into());
        }
        let child = |at: usize, to: usize| to > at && to < nodes;
        let sound = (0..nodes).all(|at| match (self.left[at], self.right[at]) {
            (0, 0) => true,
            (left, right) => child(at, left) && child(at, right) && self.signal[at] < signals,
        });
        if sound { Ok(()) } else { Err("a tree points outside of itself".into()) }
    }

    fn value(&self, signals: &[f32]) -> f64 {
        let mut at = 0;
        while self.left[at] != 0 {
            let goes_left = f64::from(signals[self.signal[at]]) <= self.bound[at];
            at = if goes_left { self.left[at] } else { self.right[at] };
        }
        self.value[at]
    }
}

impl Forest {
    /// Checks that every walk over `signals` signals ends in a leaf.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, signals: usize) -> Result<(), String> {
        self.trees.iter().try_for_each(|tree| tree.check(signals))
    }

    /// The sum for these signals, in log-odds before calibration. The forest must have been checked for their number.
    pub fn sum(&self, signals: &[f32]) -> f64 {
        self.base + self.trees.iter().map(|tree| tree.value(signals)).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forest(json: &str) -> Forest {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_walk_goes_left_up_to_the_bound() {
        let json = r#"{"base":1.0,"trees":[{"signal":[1,0,0],"bound":[0.5,0,0],"left":[1,0,0],"right":[2,0,0],"value":[0,-2,3]}]}"#;
        let forest = forest(json);
        assert_eq!(forest.check(2), Ok(()));
        assert!((forest.sum(&[0.0, 0.5]) + 1.0).abs() < 1e-9);
        assert!((forest.sum(&[0.0, 0.6]) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn trees_that_would_not_end_are_refused() {
        let looping = r#"{"base":0,"trees":[{"signal":[0,0],"bound":[0,0],"left":[1,0],"right":[0,0],"value":[0,0]}]}"#;
        assert!(forest(looping).check(1).is_err());
        let short = r#"{"base":0,"trees":[{"signal":[0],"bound":[],"left":[0],"right":[0],"value":[0]}]}"#;
        assert!(forest(short).check(1).is_err());
        let wide =
            r#"{"base":0,"trees":[{"signal":[7,0,0],"bound":[0,0,0],"left":[1,0,0],"right":[2,0,0],"value":[0,0,0]}]}"#;
        assert!(forest(wide).check(2).is_err());
    }
}
