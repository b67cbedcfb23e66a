//! One model session: a text in, a vector out, with those of its tokens. Made and used on one worker thread.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fastembed::output::{OutputKey, SingleBatchOutput};
use fastembed::{InitOptionsUserDefined, Pooling, TextEmbedding, UserDefinedEmbeddingModel};
use ort::environment::Environment;
use ort::session::builder::AutoDevicePolicy;

use super::EmbedError;
use super::manifest::Loaded;
use super::{pool, runtime};
use crate::embedding::Embedding;
use crate::tokens::TokenVectors;

/// What a model makes of one text: not yet checked, not yet normalised.
#[derive(Debug)]
pub struct Raw {
    /// The text's vector.
    pub vector: Vec<f32>,
    /// The vectors of its tokens, where the model gives one for each.
    pub tokens: Option<TokenVectors>,
}

impl From<Vec<f32>> for Raw {
    fn from(vector: Vec<f32>) -> Self {
        Self { vector, tokens: None }
    }
}

/// Where the vectors are in a graph that does not say: fastembed's own order.
const USUAL_OUTPUTS: &[OutputKey] = &[
    OutputKey::OnlyOne,
    OutputKey::ByName("text_embeds"),
    OutputKey::ByName("last_hidden_state"),
    OutputKey::ByName("sentence_embedding"),
];

/// Computes the vectors of one text.
pub type Session = Box<dyn FnMut(&str) -> Result<Raw, String> + Send>;

/// A pool's session: its vectors are right or an error.
pub fn checked(mut session: Session, dimension: usize) -> pool::Session<Arc<str>, Arc<Embedding>> {
    Box::new(move |text| {
        let raw = session(text).map_err(EmbedError::Down)?;
        let embedding = Embedding::normalise(raw.vector, dimension).map_err(EmbedError::Invalid)?;
        let tokens = raw.tokens.filter(|tokens| tokens.dimension() == dimension);
        Ok(Arc::new(embedding.with_tokens(tokens)))
    })
}

/// Where a model's files come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A folder on this machine.
    Folder(PathBuf),
    /// A model that fastembed knows, from a model hub or its local cache.
    #[cfg(feature = "hub")]
    Hub(fastembed::EmbeddingModel),
}

impl Source {
    /// Reads and checks the files.
    ///
    /// # Errors
    /// Which file is missing or altered.
    pub fn load(&self) -> Result<Loaded, String> {
        match self {
            Self::Folder(folder) => Loaded::from_folder(folder).map_err(|problem| problem.to_string()),
            #[cfg(feature = "hub")]
            Self::Hub(model) => super::hub::load(model),
        }
    }
}

/// Loads `library` if that has not been done, and makes a session of `model`. Blocks.
///
/// # Errors
/// What failed, for people.
pub fn open(library: &std::path::Path, model: Loaded, limit: Duration) -> Result<Session, String> {
    let environment = runtime::environment(library, limit)?;
    let prefix = model.manifest.prefix.clone();
    let pooling = model.pooling();
    let outputs: Vec<OutputKey> = model.output.clone().map_or_else(|| USUAL_OUTPUTS.to_vec(), |named| vec![named]);
    let mut session = text_embedding(environment, model)?;
    Ok(Box::new(move |text| {
        let joined;
        let whole = if prefix.is_empty() {
            text
        } else {
            joined = format!("{prefix}{text}");
            &joined
        };
        run(&mut session, whole, &pooling, &outputs).map_err(|error| error.to_string())
    }))
}

/// The ids of all tokens of a text, the special ones too, and their vectors one after the other.
pub struct Sequence {
    /// The ids.
    pub ids: Vec<u32>,
    /// As many vectors of equal length.
    pub vectors: Vec<f32>,
}

/// Computes the token vectors of a text that may name special tokens.
pub type Sequencer = Box<dyn FnMut(&str) -> Result<Sequence, String> + Send>;

/// As [`open`], for what reads token vectors alone, of at most `max_tokens` tokens; the model's prefix is left out.
/// The id of the token `separator` comes with it. Blocks.
///
/// # Errors
/// What failed, for people; or that the model knows no such token.
pub fn open_sequencer(
    library: &std::path::Path,
    mut model: Loaded,
    max_tokens: usize,
    separator: &str,
    limit: Duration,
) -> Result<(Sequencer, u32), String> {
    let environment = runtime::environment(library, limit)?;
    let outputs: Vec<OutputKey> = model.output.clone().map_or_else(|| USUAL_OUTPUTS.to_vec(), |named| vec![named]);
    model.manifest.max_tokens = max_tokens;
    let mut session = text_embedding(environment, model)?;
    let id = session.tokenizer.token_to_id(separator).ok_or("the model does not know the separating token")?;
    let run = move |text: &str| {
        let encoding = session.tokenizer.encode(text, true).map_err(|error| error.to_string())?;
        let batches = session.transform([text], None).map_err(|error| error.to_string())?.into_raw();
        let batch = batches.first().ok_or("the model gave no vector")?;
        let all = batch.select_output(&outputs.as_slice()).map_err(|error| error.to_string())?;
        let vectors = all.as_slice().ok_or("the model's vectors are not in one piece")?.to_vec();
        Ok(Sequence { ids: encoding.get_ids().to_vec(), vectors })
    };
    Ok((Box::new(run), id))
}

fn run(
    session: &mut TextEmbedding,
    text: &str,
    pooling: &Pooling,
    outputs: &[OutputKey],
) -> Result<Raw, fastembed::Error> {
    let encoding = session.tokenizer.encode(text, true).map_err(|error| fastembed::Error::Other(error.to_string()))?;
    let batches = session.transform([text], None)?.into_raw();
    let batch = batches.first().ok_or_else(|| fastembed::Error::Other("the model gave no vector".into()))?;
    let pooled = batch.select_and_pool_output(&outputs, Some(pooling.clone()))?;
    let vector = pooled.row(0).to_vec();
    Ok(Raw { vector, tokens: tokens(batch, outputs, encoding.get_ids(), encoding.get_special_tokens_mask()) })
}

/// The vectors of the tokens that are not special, if the model gives one for every token.
fn tokens(batch: &SingleBatchOutput, outputs: &[OutputKey], ids: &[u32], special: &[u32]) -> Option<TokenVectors> {
    let all = batch.select_output(&outputs).ok()?;
    let [1, rows, width] = *all.shape() else { return None };
    let flat = all.as_slice().filter(|_| rows == ids.len())?;
    let rows = ids.iter().zip(special).zip(flat.chunks_exact(width));
    TokenVectors::of(rows.filter(|((_, special), _)| **special == 0).map(|((id, _), row)| (*id, row)))
}

fn text_embedding(environment: Environment, model: Loaded) -> Result<TextEmbedding, String> {
    let (name, max_tokens, pooling) = (model.manifest.name.clone(), model.manifest.max_tokens, model.pooling());
    let mut definition = UserDefinedEmbeddingModel::new(model.onnx, model.tokenizer)
        .with_pooling(pooling)
        .with_quantization(model.quantization);
    definition.output_key = model.output;
    for (file_name, bytes) in model.external {
        definition = definition.with_external_initializer(file_name, bytes);
    }
    // The arena keeps the largest block of every length it ever saw, spinning burns a core while idle, and automatic
    // devices would make vectors differ from machine to machine.
    let options = InitOptionsUserDefined::new()
        .with_environment(environment)
        .with_execution_providers(vec![ort::ep::CPU::default().with_arena_allocator(false).build()])
        .with_auto_device(AutoDevicePolicy::PreferCPU)
        .with_session_config("session.intra_op.allow_spinning", "0")
        .with_max_length(max_tokens)
        .with_intra_threads(1);
    TextEmbedding::try_new_from_user_defined(definition, options)
        .map_err(|error| format!("the model {name} cannot be loaded: {error}"))
}
