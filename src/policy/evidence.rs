//! How much speaks for it that one answer serves two prompts, from what was seen of the pair.
//!
//! A cosine and a verifier's probability err on other pairs. They are weighed into log-odds by fixed weights, so that
//! pairs of one entry can be compared: with a larger cosine or a larger probability, the other being equal, there is
//! more of it.

/// The weight of the cosine's place above the card's.
const NEAR: f64 = 2.8;
/// The weight of the verifier's log-odds.
const JUDGED: f64 = 0.25;
/// What speaks for a pair at the card's cosine: the card calls that a safe one.
const BASE: f64 = 2.2;
/// A verifier's log-odds beyond this, either way, count as this.
const SURE: f64 = 6.0;

/// What was seen of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signals {
    /// The cosine, 0 to 1.
    pub cosine: f64,
    /// The verifier's probability that one answer serves both, 0 to 1; `None` when it had no say.
    pub probability: Option<f64>,
}

impl Signals {
    /// The log-odds that one answer serves both, for an embedder whose card calls the cosine `card` (0 to 1) a safe one.
    pub fn evidence(&self, card: f64) -> f64 {
        let (near, judged) = self.terms(card);
        BASE + NEAR * near + JUDGED * judged
    }

    /// What is weighed: the cosine's place above the card's, 1 at most, and the verifier's log-odds.
    fn terms(&self, card: f64) -> (f64, f64) {
        (place(self.cosine, card), self.probability.map_or(0.0, |p| log_odds(p).clamp(-SURE, SURE)))
    }
}

/// A cosine's place above the card's, in units of the room there: 0 at the card's, 1 for equal vectors. Both are 0 to 1.
pub fn place(cosine: f64, card: f64) -> f64 {
    // A card of 1 leaves no room above it.
    (cosine - card) / (1.0 - card).max(0.01)
}

/// The probability behind log-odds, 0 to 1.
pub fn logistic(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// The log-odds of a probability; finite for 0 and 1, too.
fn log_odds(probability: f64) -> f64 {
    let probability = probability.clamp(1e-12, 1.0 - 1e-12);
    (probability / (1.0 - probability)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(cosine: f64, probability: Option<f64>) -> Signals {
        Signals { cosine, probability }
    }

    #[test]
    fn more_of_each_signal_is_more_evidence() {
        let at = |signals: Signals| signals.evidence(0.93);
        assert!(at(seen(0.93, None)) > 2.0, "the card's cosine is a safe one");
        assert!(at(seen(0.94, None)) > at(seen(0.93, None)));
        assert!(at(seen(0.93, Some(0.9))) > at(seen(0.93, Some(0.8))));
        assert!((at(seen(0.93, Some(0.5))) - at(seen(0.93, None))).abs() < 1e-9, "half and half says nothing");
        assert!(at(seen(0.93, Some(1.0))).is_finite() && seen(1.0, Some(0.0)).evidence(1.0).is_finite());
    }
}
