//! Turns text into vectors.
//!
//! The model runs on this machine (`local`, ONNX Runtime) or behind an OpenAI-compatible API (`remote`). Whatever
//! happens to it is a [`State`] or an [`EmbedError`], told within the deadline: no hang and no panic of a model, library
//! or server gets past this module, and no vector that is not finite, of unit length and of the right dimension.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::sync::Cache;

use crate::config;
use crate::embedding::Embedding;
use crate::error::Invalid;
use crate::reason::BypassReason;
use crate::types::Fingerprint;

mod coverage;
#[cfg(feature = "hub")]
mod hub;
mod loading;
mod local;
mod manifest;
pub(crate) mod pool;
pub mod probe;
pub mod provision;
mod remote;
pub(crate) mod runtime;
mod self_test;
pub(crate) mod session;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use coverage::MAX_BYTES;
pub(crate) use loading::Loading;
use local::{Local, Plan};
pub(crate) use local::{library, try_library};
#[cfg(test)]
pub(crate) use manifest::sha256_hex;
pub use manifest::{FileProblem, Loaded as Model, Pinned, TOKENIZER, UNMEASURED_SIMILARITY};
pub use probe::Prober;
use remote::Remote;
use session::Source;

/// How the embedder is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It works.
    Ready,
    /// Its model is still being loaded.
    Loading,
    /// It does not work, and why. A remote one comes back by itself.
    Degraded(String),
}

/// A config that cannot be started with. Everything else that can go wrong with a model is a [`State::Degraded`].
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Nobody knows this model.
    #[error("embedder.model: there is no model named {name:?}; accepted: {}, or a folder", known.join(", "))]
    UnknownModel {
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A model of the hub, in a build without it.
    #[error(
        "embedder.model: {name:?} comes from a model hub; build with `--features hub`, or name a folder with its files"
    )]
    NeedsHub {
        /// The name that was given.
        name: String,
    },
    /// Nobody knows this verifier.
    #[error("verifier.model: there is no verifier named {name:?}; accepted: {}, or a folder", known.join(", "))]
    UnknownVerifier {
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A value out of its range.
    #[error("{0}")]
    Invalid(#[from] Invalid),
}

/// Why there is no vector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// It did not come in time.
    #[error("the embedding did not come within its deadline")]
    Deadline,
    /// Too many texts wait already.
    #[error("too many texts wait for the embedder")]
    Busy,
    /// The embedder does not work, and why.
    #[error("the embedder does not work: {0}")]
    Down(String),
    /// The model gave no usable vector, or the text is none for it.
    #[error("{0}")]
    Invalid(Invalid),
}

/// A handle to the embedder; clones share it.
#[derive(Clone)]
pub struct Embedder(Arc<Inner>);

struct Inner {
    kind: Kind,
    recent: Cache<pool::Key, Arc<Embedding>>,
    deadline: Duration,
}

enum Kind {
    Local(Local),
    Remote(Remote),
    Off(String),
}

impl Embedder {
    /// Starts what `config` names and waits for it, for at most ten seconds. `key` is a remote model's.
    ///
    /// # Errors
    /// An unknown model name or a bad config. A model that does not work is not an error: see [`Embedder::state`].
    pub async fn start(config: &config::Embedder, key: Option<&str>) -> Result<Self, StartError> {
        Self::start_with(config, key, Prober::find()).await
    }

    /// [`Embedder::start`] with a say in what tries the runtime library before it is loaded; `None` loads it untried.
    ///
    /// # Errors
    /// As [`Embedder::start`].
    pub async fn start_with(
        config: &config::Embedder,
        key: Option<&str>,
        prober: Option<Prober>,
    ) -> Result<Self, StartError> {
        let kind = match (&config.remote, &config.model) {
            (Some(_), Some(_)) => {
                return Err(Invalid::new("embedder", "both `model` and `remote` are set", "one of them").into());
            }
            (Some(there), None) => match Remote::start(there, key, config).await {
                Ok(remote) => Kind::Remote(remote),
                Err(reason) => return Ok(Self::off(reason)),
            },
            (None, model) => Kind::Local(Local::start(plan(config, model.as_deref(), prober)?).await),
        };
        Ok(Self::new(kind, config))
    }

    /// An embedder that never has a vector, and why: exact matches only.
    pub fn off(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        tracing::error!(reason, "NO EMBEDDER: exact matches only");
        Self::new(Kind::Off(reason), &config::Embedder { cache_entries: 0, ..config::Embedder::default() })
    }

    fn new(kind: Kind, config: &config::Embedder) -> Self {
        Self(Arc::new(Inner { kind, recent: Cache::new(config.cache_entries), deadline: config.deadline.0 }))
    }

    /// How it is.
    pub fn state(&self) -> State {
        match &self.0.kind {
            Kind::Local(local) => local.state(),
            Kind::Remote(remote) => remote.state(),
            Kind::Off(reason) => State::Degraded(reason.clone()),
        }
    }

    /// What makes its vectors: two that differ must never be compared. `None` until the model is known to work.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        match &self.0.kind {
            Kind::Local(local) => local.fingerprint(),
            Kind::Remote(remote) => remote.fingerprint(),
            Kind::Off(_) => None,
        }
    }

    /// Components of a vector. `None` until the model is known to work.
    pub fn dimension(&self) -> Option<usize> {
        match &self.0.kind {
            Kind::Local(local) => local.dimension(),
            Kind::Remote(remote) => remote.dimension(),
            Kind::Off(_) => None,
        }
    }

    /// Cosine from which two texts count as the same when nothing else decides: measured, from the model's manifest, or
    /// [`UNMEASURED_SIMILARITY`].
    pub fn calibrated_similarity(&self) -> f32 {
        match &self.0.kind {
            Kind::Local(local) => local.calibrated_similarity().unwrap_or(UNMEASURED_SIMILARITY),
            Kind::Remote(_) | Kind::Off(_) => UNMEASURED_SIMILARITY,
        }
    }

    /// Whether the model may judge `text`; ask before [`Embedder::embed`], which cuts a text that is too long. A remote
    /// model's tokenizer is unknown here: only 16 KiB are its limit, and no script is. Takes microseconds.
    ///
    /// # Errors
    /// `TooLong` or `Script`.
    pub fn coverage(&self, text: &str) -> Result<(), BypassReason> {
        match &self.0.kind {
            Kind::Local(local) => local.coverage(text),
            Kind::Remote(_) | Kind::Off(_) if text.len() > MAX_BYTES => Err(BypassReason::TooLong),
            Kind::Remote(_) | Kind::Off(_) => Ok(()),
        }
    }

    /// The vector of `text`, within the configured deadline.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn embed(&self, text: &str) -> Result<Embedding, EmbedError> {
        if text.len() > MAX_BYTES {
            let problem = format!("{} bytes", text.len());
            return Err(EmbedError::Invalid(Invalid::new("text", problem, format!("at most {MAX_BYTES} bytes"))));
        }
        let until = Instant::now() + self.0.deadline;
        let key = *blake3::hash(text.as_bytes()).as_bytes();
        if let Some(known) = self.0.recent.get(&key) {
            return Ok(Embedding::clone(&known));
        }
        let vector = match &self.0.kind {
            Kind::Local(local) => local.embed(key, text, until).await?,
            Kind::Remote(remote) => Arc::new(remote.embed(text, until).await?),
            Kind::Off(reason) => return Err(EmbedError::Down(reason.clone())),
        };
        self.0.recent.insert(key, Arc::clone(&vector));
        Ok(Arc::unwrap_or_clone(vector))
    }

    /// Ends its threads or tasks. Blocks, for at most some ten seconds when a model hangs.
    pub fn shutdown(&self) {
        match &self.0.kind {
            Kind::Local(local) => local.shutdown(),
            Kind::Remote(remote) => remote.shutdown(),
            Kind::Off(_) => {}
        }
    }
}

fn plan(config: &config::Embedder, model: Option<&str>, prober: Option<Prober>) -> Result<Plan, StartError> {
    let models_dir = provision::models_dir(config.models_dir.as_deref());
    let name = model.unwrap_or(config::Embedder::DEFAULT_MODEL);
    Ok(Plan {
        source: source(name, &models_dir)?,
        models_dir,
        library: config.runtime_library.clone(),
        prober,
        threads: threads(config.threads),
        queue: config.queue,
    })
}

/// The files of the local model that `config` names.
///
/// # Errors
/// An unknown name, a remote model, or a file that is missing or altered.
pub(crate) fn load(config: &config::Embedder) -> Result<Model, String> {
    if config.remote.is_some() {
        return Err("a remote model has no files here".into());
    }
    plan(config, config.model.as_deref(), None).map_err(|error| error.to_string())?.source.load()
}

/// Two sessions are enough by default: a text takes milliseconds, and the rest of the service wants cores as well.
fn threads(configured: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if configured == 0 { cores.min(2) } else { configured }
}

/// Whether the configured model's name means anything, without loading it.
///
/// # Errors
/// As [`Embedder::start`].
pub fn check(config: &config::Embedder) -> Result<(), StartError> {
    match &config.remote {
        Some(_) => Ok(()),
        None => plan(config, config.model.as_deref(), None).map(drop),
    }
}

/// Fetches a hub's model into the hub's local cache. Blocks.
///
/// # Errors
/// An unknown name, a build without the hub, or what the hub said.
pub fn fetch_model(name: &str, models_dir: Option<&Path>) -> Result<(), String> {
    match source(name, &provision::models_dir(models_dir)).map_err(|error| error.to_string())? {
        Source::Folder(folder) => {
            Err(format!("{name:?} is the folder {}: there is nothing to fetch", folder.display()))
        }
        #[cfg(feature = "hub")]
        Source::Hub(model) => hub::fetch(&model),
    }
}

/// What a model's name means: one of the models' folder, any folder, or a hub's model.
fn source(name: &str, models_dir: &Path) -> Result<Source, StartError> {
    let known = provision::names(models_dir);
    if known.iter().any(|one| one == name) {
        return Ok(Source::Folder(models_dir.join(name)));
    }
    if Path::new(name).is_dir() || name.starts_with(['.', '/', '~']) || cfg!(windows) && name.contains('\\') {
        return Ok(Source::Folder(name.into()));
    }
    let of_a_hub = hub_model(name);
    #[cfg(feature = "hub")]
    if let Some(model) = of_a_hub {
        return Ok(Source::Hub(model));
    }
    #[cfg(not(feature = "hub"))]
    if of_a_hub.is_some() {
        return Err(StartError::NeedsHub { name: name.into() });
    }
    // A hub's models have a slash in their names: only now is it surely a folder's.
    if name.contains('/') {
        return Ok(Source::Folder(name.into()));
    }
    Err(StartError::UnknownModel { name: name.into(), known })
}

/// The model that fastembed calls `name`, by its code on the hub (`BAAI/bge-m3`) or its own name (`BGEM3`).
fn hub_model(name: &str) -> Option<fastembed::EmbeddingModel> {
    let all = fastembed::TextEmbedding::list_supported_models();
    let is_it = |model: &fastembed::ModelInfo<fastembed::EmbeddingModel>| {
        model.model_code.eq_ignore_ascii_case(name) || format!("{:?}", model.model).eq_ignore_ascii_case(name)
    };
    all.into_iter().find(is_it).map(|info| info.model)
}
