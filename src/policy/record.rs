//! What became of an entry's hits: the entry's own record, and what it forbids.
//!
//! Entries differ: around one, everything near asks the same; around another, the nearest question of all asks something
//! else. So an entry keeps what callers said of its hits, as the vCache policy does (Schroeder et al., arXiv
//! 2502.03771). Where that fits a threshold of its own to each entry and has to explore until there is enough to fit,
//! here the cache-wide bar serves from the start, and the record only takes away: once a pair was wrong,
//! **nothing is served from that entry whose evidence is not more than the wrong pair's by [`MARGIN`]**. Since evidence
//! at least as strong has failed there, anything weaker would be served on hope.
//!
//! Hits that were right are counted and loosen nothing: on recorded streams that won no hits at the same error, and it
//! would let one caller's praise lower the bar for another's question. A pair that somebody called right is served, though.

use std::collections::HashMap;
use std::hash::Hash;

use crate::policy::evidence::Signals;

/// How much stronger than that of a wrong pair evidence must be, in log-odds.
pub const MARGIN: f64 = 0.5;

/// One verdict on a hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// What was seen of the pair.
    pub signals: Signals,
    /// Did the answer serve?
    pub right: bool,
}

/// How often an entry was right and wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pairs whose last verdict was right.
    pub right: usize,
    /// Pairs whose last verdict was wrong.
    pub wrong: usize,
}

/// An entry's record: the last word on each of its pairs, named by `K`.
#[derive(Clone, Debug)]
pub struct Record<K>(HashMap<K, Observation>);

impl<K> Default for Record<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Record<K> {
    /// Notes the last word on a pair.
    pub fn note(&mut self, pair: K, observation: Observation) {
        self.0.insert(pair, observation);
    }

    /// Forgets what was said of a pair.
    pub fn forget(&mut self, pair: &K) {
        self.0.remove(pair);
    }

    /// Is nothing known?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How often it was right and wrong.
    pub fn counts(&self) -> Counts {
        let right = self.0.values().filter(|observation| observation.right).count();
        Counts { right, wrong: self.0.len() - right }
    }

    /// Does the record forbid to serve a pair with these signals? `card` is the embedder's calibrated cosine, 0 to 1.
    pub fn forbids(&self, signals: &Signals, card: f64) -> bool {
        let offered = signals.evidence(card);
        let mut wrong = self.0.values().filter(|observation| !observation.right);
        wrong.any(|observation| offered <= observation.signals.evidence(card) + MARGIN)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CARD: f64 = 0.93;

    fn seen(cosine: f64, probability: f64) -> Signals {
        Signals { cosine, probability: Some(probability) }
    }

    fn record(verdicts: &[(Signals, bool)]) -> Record<usize> {
        let mut record = Record::default();
        for (pair, (signals, right)) in verdicts.iter().enumerate() {
            record.note(pair, Observation { signals: *signals, right: *right });
        }
        record
    }

    #[test]
    fn a_wrong_pair_forbids_what_is_no_surer_than_it() {
        let wrong = record(&[(seen(0.95, 0.95), false)]);
        for (signals, forbidden) in [
            (seen(0.95, 0.95), true),
            (seen(0.9, 0.95), true),
            (seen(0.95, 0.9), true),
            (seen(0.96, 0.95), true),
            (seen(0.98, 0.95), false),
            (seen(0.96, 0.999), false),
            (seen(0.99, 0.9), false),
        ] {
            assert_eq!(wrong.forbids(&signals, CARD), forbidden, "{signals:?}");
        }
    }

    #[test]
    fn without_a_wrong_one_nothing_is_forbidden() {
        assert!(!record(&[]).forbids(&seen(0.1, 0.1), CARD));
        let right = record(&[(seen(0.9, 0.9), true), (seen(0.95, 0.99), true)]);
        assert!(!right.forbids(&seen(0.7, 0.5), CARD));
        assert_eq!(right.counts(), Counts { right: 2, wrong: 0 });
    }

    #[test]
    fn the_last_word_on_a_pair_counts() {
        let mut record = record(&[(seen(0.95, 0.95), false)]);
        record.note(0, Observation { signals: seen(0.95, 0.95), right: true });
        assert!(!record.forbids(&seen(0.9, 0.9), CARD));
        assert_eq!(record.counts(), Counts { right: 1, wrong: 0 });
        record.forget(&0);
        assert!(record.is_empty());
    }

    fn signals() -> impl Strategy<Value = Signals> {
        (0.5..1.0_f64, prop::option::of(0.0..1.0_f64)).prop_map(|(cosine, probability)| Signals { cosine, probability })
    }

    proptest! {
        #[test]
        fn another_wrong_verdict_never_serves_more(
            verdicts in prop::collection::vec((signals(), any::<bool>()), 0..12),
            another in signals(),
            asked in signals(),
        ) {
                let before = record(&verdicts);
            let mut after = before.clone();
            after.note(verdicts.len(), Observation { signals: another, right: false });
            prop_assert!(!before.forbids(&asked, CARD) || after.forbids(&asked, CARD));
            prop_assert!(after.forbids(&another, CARD), "the wrong pair itself");
        }

        #[test]
        fn what_is_less_sure_is_never_served_where_the_surer_is_not(
            verdicts in prop::collection::vec((signals(), any::<bool>()), 0..12),
            asked in signals(),
            less in 0.0..0.3_f64,
        ) {
                let record = record(&verdicts);
            let weaker = Signals { cosine: asked.cosine - less, ..asked };
            prop_assert!(!record.forbids(&asked, CARD) || record.forbids(&weaker, CARD));
        }
    }
}
