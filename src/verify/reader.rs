//! The reader: a small cross-encoder that sees both prompts at once and says how likely one answer serves both.

use std::path::Path;
use std::time::Duration;

use fastembed::{RerankInitOptionsUserDefined, TextRerank, TokenizerFiles, UserDefinedRerankingModel};
use ort::session::builder::AutoDevicePolicy;

use super::head::Head;
use crate::embed::pool::Session;
use crate::embed::session::{Sequence, open_sequencer};
use crate::embed::{EmbedError, Model, runtime};

/// A library that another part has loaded is here at once.
const LIBRARY_WITHIN: Duration = Duration::from_secs(3);

/// Two prompts, the one that sorts first first: a pair is read the same way whoever asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    first: String,
    second: String,
}

impl Pair {
    /// The pair of two prompts, whichever comes first.
    pub fn of(a: &str, b: &str) -> Self {
        let (first, second) = if a <= b { (a, b) } else { (b, a) };
        Self { first: first.into(), second: second.into() }
    }

    /// Names the pair; equal keys are equal pairs.
    pub fn key(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.first.len() as u64).to_le_bytes());
        hasher.update(self.first.as_bytes()).update(self.second.as_bytes());
        hasher.finalize().into()
    }
}

/// Makes a reader of the embedder's own network, that of `model`: both prompts in one run, `separator` between them, and
/// `head` compares the sides. Blocks.
///
/// # Errors
/// What failed, for people.
pub fn open_shared(
    library: &Path,
    model: Model,
    head: Head,
    separator: &str,
    max_tokens: usize,
) -> Result<Session<Pair, f32>, String> {
    let (mut run, end) = open_sequencer(library, model, max_tokens, separator, LIBRARY_WITHIN)?;
    let separator = separator.to_owned();
    Ok(Box::new(move |pair: &Pair| {
        let sequence = run(&format!("{}{separator}{}", pair.first, pair.second)).map_err(EmbedError::Down)?;
        let (first, second) = sides(&sequence, end, head.width()).map_err(|why| EmbedError::Down(why.into()))?;
        let odds = head.log_odds(&first, &second).filter(|odds| odds.is_finite());
        odds.ok_or_else(|| EmbedError::Down("the reader gave no number".into()))
    }))
}

/// The sums of the token vectors of the two sides; the first ends with the first separator.
fn sides(sequence: &Sequence, end: u32, width: usize) -> Result<(Vec<f32>, Vec<f32>), &'static str> {
    if sequence.vectors.len() != sequence.ids.len() * width {
        return Err("the network's vectors are not the head's");
    }
    let split = sequence.ids.iter().position(|id| *id == end).ok_or("the pair is too long to be read")? + 1;
    // The last token ends the text: another separator before it would be the texts' own.
    if split >= sequence.ids.len() || sequence.ids.iter().filter(|id| **id == end).count() != 2 {
        return Err("the pair does not read as two texts");
    }
    let sum = |rows: &[f32]| {
        let mut sum = vec![0.0_f32; width];
        for row in rows.chunks_exact(width) {
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        sum
    };
    let (first, second) = sequence.vectors.split_at(split * width);
    Ok((sum(first), sum(second)))
}

/// Makes a session that gives a pair's log-odds before calibration. Blocks.
///
/// # Errors
/// What failed, for people.
pub fn open(
    library: &Path,
    onnx: Vec<u8>,
    tokenizer: TokenizerFiles,
    max_tokens: usize,
) -> Result<Session<Pair, f32>, String> {
    let environment = runtime::environment(library, LIBRARY_WITHIN)?;
    // As the embedder's session, and for its reasons.
    let options = RerankInitOptionsUserDefined::new()
        .with_environment(environment)
        .with_execution_providers(vec![ort::ep::CPU::default().with_arena_allocator(false).build()])
        .with_auto_device(AutoDevicePolicy::PreferCPU)
        .with_session_config("session.intra_op.allow_spinning", "0")
        .with_max_length(max_tokens)
        .with_intra_threads(1);
    let model = UserDefinedRerankingModel::new(onnx, tokenizer);
    let mut session = TextRerank::try_new_from_user_defined(model, options)
        .map_err(|error| format!("the reader cannot be loaded: {error}"))?;
    Ok(Box::new(move |pair: &Pair| {
        let read = session.rerank(pair.first.as_str(), [pair.second.as_str()], false, None);
        let read = read.map_err(|error| EmbedError::Down(error.to_string()))?;
        let score = read.first().map(|result| result.score).filter(|score| score.is_finite());
        score.ok_or_else(|| EmbedError::Down("the reader gave no number".into()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(ids: &[u32]) -> Sequence {
        let vectors = ids.iter().flat_map(|id| [f32::from(u16::try_from(*id).unwrap()), 1.0]).collect();
        Sequence { ids: ids.to_vec(), vectors }
    }

    #[test]
    fn the_sides_are_summed_apart() {
        let (first, second) = sides(&sequence(&[0, 7, 8, 2, 9, 2]), 2, 2).unwrap();
        assert_eq!((first, second), (vec![17.0, 4.0], vec![11.0, 2.0]));
    }

    #[test]
    fn a_text_that_holds_the_separator_or_was_cut_is_not_read() {
        for ids in [&[0, 7, 2, 8, 2, 9, 2][..], &[0, 7, 8][..], &[0, 7, 2][..]] {
            assert!(sides(&sequence(ids), 2, 2).is_err(), "{ids:?}");
        }
        assert!(sides(&sequence(&[0, 7, 2, 8, 2]), 2, 3).is_err());
    }
}
