//! A model on this machine: made ready on a thread of its own, served by a [`Pool`].
//!
//! Nothing here opens a connection (but for a hub model that is not in the hub's local cache yet).

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::coverage::Coverage;
use super::pool::{Key, Pool, Size};
use super::probe::{Prober, probe};
use super::session::{self, Factory, Source};
use super::{EmbedError, State, provision, self_test};
use crate::embedding::Embedding;
use crate::reason::BypassReason;
use crate::types::Fingerprint;

/// A library that takes longer to load in a child hangs.
const PROBE_WITHIN: Duration = Duration::from_secs(6);
/// And one that a child could load is loaded here sooner than this, or hangs.
const LIBRARY_WITHIN: Duration = Duration::from_secs(3);
/// How long a start waits for the model; after that it loads on while the service runs.
const READY_WITHIN: Duration = Duration::from_secs(10);
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(5);

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
    pool: Pool,
    coverage: Coverage,
    fingerprint: Fingerprint,
    dimension: usize,
    calibrated: f32,
}

type Outcome = Arc<OnceLock<Result<Ready, String>>>;

/// A local model, whatever has become of it.
pub struct Local {
    outcome: Outcome,
    loader: Mutex<Option<JoinHandle<()>>>,
}

impl Local {
    /// Begins to make the model ready and waits for it, for at most ten seconds.
    pub async fn start(plan: Plan) -> Self {
        let outcome = Outcome::default();
        let (done, finished) = oneshot::channel::<()>();
        let slot = Arc::clone(&outcome);
        let loader = thread::Builder::new().name("refrain-model-load".into()).spawn(move || {
            let made = catch_unwind(|| ready(&plan)).unwrap_or_else(|_| Err("loading the model panicked".into()));
            report(&slot, made);
            let _ = done.send(());
        });
        let loader =
            loader.map_err(|error| report(&outcome, Err(format!("no thread to load the model: {error}")))).ok();
        if tokio::time::timeout(READY_WITHIN, finished).await.is_err() {
            tracing::warn!("the embedding model is still loading: exact matches only until it is ready");
        }
        Self { outcome, loader: Mutex::new(loader) }
    }

    fn ready(&self) -> Option<&Ready> {
        self.outcome.get()?.as_ref().ok()
    }

    /// How it is.
    pub fn state(&self) -> State {
        match self.outcome.get() {
            None => State::Loading,
            Some(Err(reason)) => State::Degraded(reason.clone()),
            Some(Ok(ready)) if ready.pool.is_hanging() => State::Degraded("the embedding model hangs".into()),
            Some(Ok(_)) => State::Ready,
        }
    }

    /// What made its vectors; `None` until it is ready.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.ready().map(|ready| ready.fingerprint)
    }

    /// Components of a vector; `None` until it is ready.
    pub fn dimension(&self) -> Option<usize> {
        self.ready().map(|ready| ready.dimension)
    }

    /// The model card's calibrated cosine; `None` until it is ready.
    pub fn calibrated_similarity(&self) -> Option<f32> {
        self.ready().map(|ready| ready.calibrated)
    }

    /// Whether the model may judge `text`. Everything passes until it is ready: [`Local::embed`] then says why not.
    pub fn coverage(&self, text: &str) -> Result<(), BypassReason> {
        self.ready().map_or(Ok(()), |ready| ready.coverage.check(text))
    }

    /// The vector of `text`, by `until`.
    pub async fn embed(&self, key: Key, text: &str, until: Instant) -> Result<Arc<Embedding>, EmbedError> {
        match self.outcome.get() {
            None => Err(EmbedError::Down("the embedding model is still loading".into())),
            Some(Err(reason)) => Err(EmbedError::Down(reason.clone())),
            Some(Ok(ready)) => ready.pool.embed(key, text, until).await,
        }
    }

    /// Waits for the loader and the workers, for a bounded time each. Blocks.
    pub fn shutdown(&self) {
        let loader = self.loader.lock().unwrap_or_else(PoisonError::into_inner).take();
        let until = Instant::now() + SHUTDOWN_WITHIN;
        while loader.as_ref().is_some_and(|loader| !loader.is_finished()) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        // A loader that is still at it would make workers for nobody.
        let _ = self.outcome.set(Err("shutting down".into()));
        if let Some(ready) = self.ready() {
            ready.pool.shutdown();
        }
    }
}

fn report(slot: &OnceLock<Result<Ready, String>>, made: Result<Ready, String>) {
    match &made {
        Ok(ready) => tracing::info!(
            fingerprint = %ready.fingerprint, dimension = ready.dimension, "the embedding model is ready"
        ),
        Err(reason) => tracing::error!(
            reason,
            "NO EMBEDDING MODEL: exact matches only. `refrain models verify` checks the files, \
             `refrain models fetch` fetches the runtime library"
        ),
    }
    // Set already only by a shutdown, and then the workers end with the value.
    let _ = slot.set(made);
}

/// Does it all in order of cost: files, then the library in a child, then the library here, then the model.
fn ready(plan: &Plan) -> Result<Ready, String> {
    let library = library(plan)?;
    let model = plan.source.load()?;
    if let Some(prober) = &plan.prober {
        let said = probe(prober, &library, PROBE_WITHIN)?;
        tracing::debug!(library = %library.display(), said, "the library loads");
    } else {
        tracing::warn!("no refrain executable to try the runtime library with: it is loaded untried");
    }
    let manifest = model.manifest.clone();
    let tokenizer = &model.tokenizer.tokenizer_file;
    let coverage = Coverage::new(tokenizer, &manifest.prefix, manifest.max_tokens, &manifest.languages)?;
    let references = model.self_test.clone();
    let mut first = session::open(&library, model, LIBRARY_WITHIN)?;
    let dimension = self_test::run(&mut first, manifest.dimension, references.as_deref())
        .map_err(|problem| format!("the model {}: {problem}", manifest.name))?;
    let pool = Pool::start(first, factory(plan, library), Size::new(dimension, plan.threads, plan.queue));
    let calibrated = manifest.calibrated_similarity;
    Ok(Ready { pool, coverage, fingerprint: manifest.fingerprint(dimension), dimension, calibrated })
}

/// Makes a worker's session from the files as they are then, checked again.
fn factory(plan: &Plan, library: PathBuf) -> Box<Factory> {
    let source = plan.source.clone();
    Box::new(move || session::open(&library, source.load()?, LIBRARY_WITHIN))
}

/// The library to load: the configured one as it is, or the fetched one if it is as pinned.
fn library(plan: &Plan) -> Result<PathBuf, String> {
    if let Some(library) = &plan.library {
        return absolute(library);
    }
    let Some(pin) = provision::runtime_pin() else {
        return Err("no ONNX Runtime is pinned for this platform: set embedder.runtime_library".into());
    };
    let place = pin.path(&plan.models_dir);
    pin.library.read(&place).map_err(|problem| format!("the runtime library: {problem}"))?;
    absolute(&place)
}

/// The binding looks for a relative path beside the executable first: it must not get one.
fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))
}
