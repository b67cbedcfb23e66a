//! A model on this machine: made ready on a thread of its own, served by a [`Pool`].
//!
//! Nothing here opens a connection (but for a hub model that is not in the hub's local cache yet).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::coverage::Coverage;
use super::loading::Loading;
use super::pool::{Factory, Key, Pool, Size};
use super::probe::{Prober, probe};
use super::session::{self, Source};
use super::{EmbedError, State, provision, self_test};
use crate::embedding::Embedding;
use crate::reason::BypassReason;
use crate::types::Fingerprint;

/// A library that takes longer to load in a child hangs.
const PROBE_WITHIN: Duration = Duration::from_secs(6);
/// And one that a child could load is loaded here sooner than this, or hangs.
const LIBRARY_WITHIN: Duration = Duration::from_secs(3);

/// What it takes to make a local model ready.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The model's files.
    pub source: Source,
    /// Where models are.
    pub models_dir: PathBuf,
    /// The runtime library that was configured.
    pub library: Option<PathBuf>,
    /// What tries the library first.
    pub prober: Option<Prober>,
    /// Worker threads.
    pub threads: usize,
    /// Texts that may wait.
    pub queue: usize,
}

/// A model that works.
struct Ready {
    pool: Pool<Arc<str>, Arc<Embedding>>,
    coverage: Coverage,
    fingerprint: Fingerprint,
    dimension: usize,
    calibrated: f32,
}

/// A local model, whatever has become of it.
pub struct Local(Loading<Ready>);

impl Local {
    /// Begins to make the model ready and waits for it, for at most ten seconds.
    pub async fn start(plan: Plan) -> Self {
        Self(Loading::start("model", move || ready(&plan), report).await)
    }

    /// How it is.
    pub fn state(&self) -> State {
        match self.0.get() {
            None => State::Loading,
            Some(Err(reason)) => State::Degraded(reason.into()),
            Some(Ok(ready)) if ready.pool.is_hanging() => State::Degraded("the embedding model hangs".into()),
            Some(Ok(_)) => State::Ready,
        }
    }

    /// What made its vectors; `None` until it is ready.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.0.ready().map(|ready| ready.fingerprint)
    }

    /// Components of a vector; `None` until it is ready.
    pub fn dimension(&self) -> Option<usize> {
        self.0.ready().map(|ready| ready.dimension)
    }

    /// The model card's calibrated cosine; `None` until it is ready.
    pub fn calibrated_similarity(&self) -> Option<f32> {
        self.0.ready().map(|ready| ready.calibrated)
    }

    /// Whether the model may judge `text`. Everything passes until it is ready: [`Local::embed`] then says why not.
    pub fn coverage(&self, text: &str) -> Result<(), BypassReason> {
        self.0.ready().map_or(Ok(()), |ready| ready.coverage.check(text))
    }

    /// The vector of `text`, by `until`.
    pub async fn embed(&self, key: Key, text: &str, until: Instant) -> Result<Arc<Embedding>, EmbedError> {
        match self.0.get() {
            None => Err(EmbedError::Down("the embedding model is still loading".into())),
            Some(Err(reason)) => Err(EmbedError::Down(reason.into())),
            Some(Ok(ready)) => ready.pool.run(key, text.into(), until).await,
        }
    }

    /// Waits for the loader and the workers, for a bounded time each. Blocks.
    pub fn shutdown(&self) {
        self.0.finish();
        if let Some(ready) = self.0.ready() {
            ready.pool.shutdown();
        }
    }
}

fn report(made: &Result<Ready, String>) {
    match made {
        Ok(ready) => tracing::info!(
            fingerprint = %ready.fingerprint, dimension = ready.dimension, "the embedding model is ready"
        ),
        Err(reason) => tracing::error!(
            reason,
            "NO EMBEDDING MODEL: exact matches only. `refrain models verify` checks the files, \
             `refrain models fetch` fetches the runtime library"
        ),
    }
}

/// Does it all in order of cost: files, then the library in a child, then the library here, then the model.
fn ready(plan: &Plan) -> Result<Ready, String> {
    let library = library(plan.library.as_deref(), &plan.models_dir)?;
    let model = plan.source.load()?;
    try_library(plan.prober.as_ref(), &library)?;
    let manifest = model.manifest.clone();
    let tokenizer = &model.tokenizer.tokenizer_file;
    let coverage = Coverage::new(tokenizer, &manifest.prefix, manifest.max_tokens, &manifest.languages)?;
    let references = model.self_test.clone();
    let mut first = session::open(&library, model, LIBRARY_WITHIN)?;
    let dimension = self_test::run(&mut first, manifest.dimension, references.as_deref())
        .map_err(|problem| format!("the model {}: {problem}", manifest.name))?;
    let first = session::checked(first, dimension);
    let pool = Pool::start("embed", first, factory(plan, library, dimension), Size::new(plan.threads, plan.queue));
    let calibrated = manifest.calibrated_similarity;
    Ok(Ready { pool, coverage, fingerprint: manifest.fingerprint(dimension), dimension, calibrated })
}

/// Makes a worker's session from the files as they are then, checked again.
fn factory(plan: &Plan, library: PathBuf, dimension: usize) -> Box<Factory<Arc<str>, Arc<Embedding>>> {
    let source = plan.source.clone();
    Box::new(move || Ok(session::checked(session::open(&library, source.load()?, LIBRARY_WITHIN)?, dimension)))
}

/// Loads the library in a child process, where its crash or hang is only a verdict.
pub fn try_library(prober: Option<&Prober>, library: &Path) -> Result<(), String> {
    let Some(prober) = prober else {
        tracing::warn!("no refrain executable to try the runtime library with: it is loaded untried");
        return Ok(());
    };
    let said = probe(prober, library, PROBE_WITHIN)?;
    tracing::debug!(library = %library.display(), said, "the library loads");
    Ok(())
}

/// The library to load: the configured one as it is, or the fetched one if it is as pinned.
pub fn library(configured: Option<&Path>, models_dir: &Path) -> Result<PathBuf, String> {
    if let Some(library) = configured {
        return absolute(library);
    }
    let Some(pin) = provision::runtime_pin() else {
        return Err("no ONNX Runtime is pinned for this platform: set embedder.runtime_library".into());
    };
    let place = pin.path(models_dir);
    pin.library.read(&place).map_err(|problem| format!("the runtime library: {problem}"))?;
    absolute(&place)
}

/// The binding looks for a relative path beside the executable first: it must not get one.
fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))
}
