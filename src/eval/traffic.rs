//! Recorded prompts with their nearest earlier ones: what policies that learn are compared on.
//!
//! Embedded and judged once, so that many policies can be played over the same vectors in the same order.

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::cache::Cache;
use crate::embed::EmbedError;
use crate::eval::rows::StreamRow;
use crate::policy::evidence::Signals;
use crate::reason::BypassReason;

/// Earlier prompts that are remembered of each: a cache lacks those that were hits themselves, and looks further.
const KEPT: usize = 40;
/// The nearest of them that the engine's signals are asked about.
const JUDGED: usize = 8;
/// The least cosine of those.
const JUDGED_FROM: f32 = 0.6;
/// Texts that are embedded at once.
const AT_ONCE: usize = 8;

/// An earlier prompt near a later one.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    /// The earlier prompt's place.
    pub at: usize,
    /// Their cosine, 0 to 1.
    pub cosine: f64,
    /// What the engine sees of the pair; `None` when it was not asked, or the semantic tier does not read such texts.
    pub seen: Option<Seen>,
}

/// What the engine sees of a pair.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Cosine and probability.
    pub signals: Signals,
    /// The strictest `targetErrorRate` at which the verifier lets it pass; `None` when it had no say.
    pub target: Option<f64>,
    /// Did a guard object?
    pub vetoed: bool,
    /// Does the right answer move with time? Then two answers say nothing of the prompts.
    pub moves: bool,
}

/// A recorded stream.
#[derive(Debug)]
pub struct Traffic {
    /// The set's name.
    pub set: String,
    /// Each prompt's group: one answer serves a group.
    pub groups: Vec<String>,
    /// The earlier prompts near each, the nearest first.
    pub near: Vec<Vec<Near>>,
    /// Prompts whose text the embedder does not cover.
    pub uncovered: usize,
}

impl Traffic {
    /// Embeds `rows` in the order of their `t`, and judges those that are near each other; `tick` is called for each.
    ///
    /// # Errors
    /// When the embedder fails.
    pub async fn read(set: &str, mut rows: Vec<StreamRow>, cache: &Cache, tick: &impl Fn()) -> Result<Self, String> {
        rows.sort_by(|a, b| a.t.total_cmp(&b.t));
        let embedder = cache.embedder();
        let vectors = rows.iter().map(|row| async {
            match embedder.embed(&row.text).await {
                Ok(vector) => Ok(vector.as_slice().to_vec()),
                // A text that no embedder takes is near nothing.
                Err(EmbedError::Invalid(_)) => Ok(Vec::new()),
                Err(error) => Err(format!("{}: {error}", row.id)),
            }
        });
        let vectors: Vec<Vec<f32>> = stream::iter(vectors).buffered(AT_ONCE).try_collect().await?;
        let searching = move || (0..vectors.len()).map(|at| nearest(&vectors, at)).collect::<Vec<_>>();
        let found = tokio::task::spawn_blocking(searching).await.map_err(|error| error.to_string())?;
        let mut near = Vec::with_capacity(rows.len());
        for (row, found) in rows.iter().zip(found) {
            near.push(judged(cache, &rows, row, found).await);
            tick();
        }
        let uncovered = rows.iter().filter(|row| embedder.coverage(&row.text).is_err()).count();
        Ok(Self { set: set.to_owned(), groups: rows.into_iter().map(|row| row.group).collect(), near, uncovered })
    }

    /// How many prompts there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Does the answer to one serve the other?
    pub fn same(&self, one: usize, other: usize) -> bool {
        self.groups[one] == self.groups[other]
    }
}

fn nearest(vectors: &[Vec<f32>], at: usize) -> Vec<(usize, f32)> {
    let earlier = vectors[..at].iter().enumerate().filter(|(_, other)| other.len() == vectors[at].len());
    let mut found: Vec<(usize, f32)> = earlier.map(|(place, other)| (place, dot(&vectors[at], other))).collect();
    found.retain(|_| !vectors[at].is_empty());
    found.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    found.truncate(KEPT);
    found
}

/// In lanes, which the compiler makes vector instructions of.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a * b;
        }
    }
    let rest = a.len() / 8 * 8;
    let tail: f32 = a[rest..].iter().zip(&b[rest..]).map(|(a, b)| a * b).sum();
    (lanes.iter().sum::<f32>() + tail).clamp(0.0, 1.0)
}

async fn judged(cache: &Cache, rows: &[StreamRow], asked: &StreamRow, found: Vec<(usize, f32)>) -> Vec<Near> {
    let mut near = Vec::with_capacity(found.len());
    for (place, (at, cosine)) in found.into_iter().enumerate() {
        let worth = place < JUDGED && cosine >= JUDGED_FROM;
        let seen = if worth { seen(cache, &rows[at].text, &asked.text).await } else { None };
        near.push(Near { at, cosine: f64::from(cosine), seen });
    }
    near
}

/// What the engine sees of a pair. A question whose answer moves with time counts as one that a guard objects to; other
/// texts that the semantic tier leaves alone are not looked at.
async fn seen(cache: &Cache, stored: &str, asked: &str) -> Option<Seen> {
    let compared = cache.compare(stored, asked).await;
    let moves = compared.bypass == Some(BypassReason::Time);
    let readable = compared.bypass.is_none() || moves;
    let vetoed = moves || !compared.vetoes.is_empty();
    let signals = Signals { cosine: compared.cosine, probability: compared.probability };
    readable.then_some(Seen { signals, target: compared.target, vetoed, moves })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_earlier_ones_the_nearest_first() {
        let vectors: Vec<Vec<f32>> = [0.0_f32, 1.5, 0.2, 0.1].iter().map(|a| vec![a.cos(), a.sin()]).collect();
        let order = |at| nearest(&vectors, at).into_iter().map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!((order(0), order(1)), (vec![], vec![0]));
        assert_eq!(order(2), [0, 1]);
        assert_eq!(order(3)[2], 1);
    }

    #[test]
    fn lanes_add_up_to_the_product() {
        for length in [1, 7, 8, 9, 384] {
            let a = vec![1.0 / 384.0_f32.sqrt(); length];
            let expected = f32::from(u16::try_from(length).unwrap()) / 384.0;
            assert!((dot(&a, &a) - expected).abs() < 1e-5, "{length}");
        }
    }
}
