//! The reader: a small cross-encoder that sees both prompts at once and says how likely one answer serves both.

use std::path::Path;
use std::time::Duration;

use fastembed::{RerankInitOptionsUserDefined, TextRerank, TokenizerFiles, UserDefinedRerankingModel};
use ort::session::builder::AutoDevicePolicy;

use crate::embed::pool::Session;
use crate::embed::{EmbedError, runtime};

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
