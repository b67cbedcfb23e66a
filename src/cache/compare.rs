//! The engine's view of two prompts, without a store: what a lookup of one would say if the other were its neighbour.
//!
//! For measuring (`refrain eval`, `refrain calibrate`): every signal is computed, whatever an earlier one said.

use crate::cache::Cache;
use crate::cache::lookup::embed_bypass;
use crate::policy::guard::{self, Features, Veto};
use crate::reason::BypassReason;
use crate::settings::Guards;

/// All signals about one pair of prompts.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Why the semantic tier would not look at one of them; the other signals are then as if it did.
    pub bypass: Option<BypassReason>,
    /// Cosine of the two vectors, -1 to 1 clamped to 0 to 1; 0 when a text has no vector.
    pub cosine: f64,
    /// Every guard that forbids the pair.
    pub vetoes: Vec<Veto>,
    /// The verifier's probability that one answer serves both, 0 to 1; `None` without a verifier.
    pub probability: Option<f64>,
    /// Did the verifier ask its reader?
    pub read: bool,
}

impl Cache {
    /// Compares two prompts as a lookup of `asked` would with `stored` as its neighbour, every guard on.
    pub async fn compare(&self, stored: &str, asked: &str) -> Comparison {
        let (a, b) = (Features::of(stored), Features::of(asked));
        let verdicts = guard::verdicts(&a, &b, &Guards::default());
        let mut comparison = Comparison {
            bypass: self.compare_bypass(stored).or_else(|| self.compare_bypass(asked)),
            cosine: 0.0,
            vetoes: verdicts.into_iter().filter_map(|(_, veto)| veto).collect(),
            probability: None,
            read: false,
        };
        match (self.inner.embedder.embed(stored).await, self.inner.embedder.embed(asked).await) {
            (Ok(a), Ok(b)) => comparison.cosine = f64::from(a.similarity(&b).get()),
            (Err(error), _) | (_, Err(error)) => {
                comparison.bypass.get_or_insert_with(|| embed_bypass(&error));
            }
        }
        comparison
    }

    fn compare_bypass(&self, text: &str) -> Option<BypassReason> {
        if guard::time_sensitive(text).is_some() {
            return Some(BypassReason::Time);
        }
        if guard::has_hidden(text) {
            return Some(BypassReason::Hidden);
        }
        self.inner.embedder.coverage(text).err()
    }
}
