//! One model session: a text in, a vector out. Made and used on one worker thread.

use std::path::PathBuf;
use std::time::Duration;

use fastembed::{InitOptionsUserDefined, TextEmbedding, UserDefinedEmbeddingModel};
use ort::environment::Environment;
use ort::session::builder::AutoDevicePolicy;

use super::manifest::Loaded;
use super::runtime;

/// Computes the vector of one text, as the model gives it: not yet checked, not yet normalised.
pub type Session = Box<dyn FnMut(&str) -> Result<Vec<f32>, String> + Send>;

/// Makes a session; asked again whenever one is lost.
pub type Factory = dyn Fn() -> Result<Session, String> + Send + Sync;

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
    let mut session = text_embedding(environment, model)?;
    Ok(Box::new(move |text| {
        let joined;
        let whole = if prefix.is_empty() {
            text
        } else {
            joined = format!("{prefix}{text}");
            &joined
        };
        let mut vectors = session.embed([whole], None).map_err(|error| error.to_string())?;
        vectors.pop().ok_or_else(|| "the model gave no vector".into())
    }))
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
