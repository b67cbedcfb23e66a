//! The k largest of a stream of scored things.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[derive(Clone, Copy)]
struct Scored<T> {
    score: f32,
    item: T,
}

impl<T> PartialEq for Scored<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Scored<T> {}

impl<T> PartialOrd for Scored<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Scored<T> {
    /// The least score is the greatest, so that a max-heap gives up its worst member first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score)
    }
}

/// Keeps the best `k`.
pub(super) struct Top<T> {
    k: usize,
    heap: BinaryHeap<Scored<T>>,
}

impl<T: Copy> Top<T> {
    pub(super) fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::with_capacity(k.min(1024) + 1) }
    }

    /// A score that is not above this one changes nothing.
    pub(super) fn bar(&self) -> f32 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() >= self.k => worst.score,
            _ => f32::NEG_INFINITY,
        }
    }

    pub(super) fn offer(&mut self, score: f32, item: T) {
        if self.k > 0 && score > self.bar() {
            if self.heap.len() >= self.k {
                self.heap.pop();
            }
            self.heap.push(Scored { score, item });
        }
    }

    /// Best first.
    pub(super) fn into_sorted(self) -> Vec<(f32, T)> {
        self.heap.into_sorted_vec().into_iter().map(|scored| (scored.score, scored.item)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_the_rest_are_forgotten() {
        let mut top = Top::new(3);
        for (item, score) in [0.1, 0.9, 0.5, 0.7, 0.2].into_iter().enumerate() {
            top.offer(score, item);
        }
        let items: Vec<usize> = top.into_sorted().into_iter().map(|(_, item)| item).collect();
        assert_eq!(items, [1, 3, 2]);
    }

    #[test]
    fn none_are_kept_when_none_are_wanted() {
        let mut top = Top::new(0);
        top.offer(1.0, ());
        assert!(top.into_sorted().is_empty());
    }
}
