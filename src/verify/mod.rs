//! A second opinion on a candidate: does one answer serve both prompts?
//!
//! Cosine says how near two prompts are, and an opposite is near. The verifier looks at the pair instead: at how their
//! tokens align, how they are worded and what the guards find ([`signals`]), and where that does not settle it, a small
//! cross-encoder reads both texts ([`reader`]). What it gives is a calibrated probability; a policy's target says from
//! where on that is a yes ([`judge`]). It never has a say before the guards' vetoes.
//!
//! A verifier belongs to one embedder: it judges that one's token vectors. Whatever happens to it is a [`State`] or an
//! error within a deadline; the caller then goes by a stricter cosine.

pub mod files;
mod forest;
mod head;
pub mod judge;
mod judges;
mod lines;
pub mod reader;
pub mod signals;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use moka::sync::Cache;

use crate::config;
use crate::embed::pool::{Factory, Pool, Session, Size};
use crate::embed::{EmbedError, Loading, Prober, StartError, State, library, provision, try_library};
use crate::metrics;
use crate::types::Fingerprint;

use files::{Loaded, Reading};
use judges::Judges;
pub use lines::{Change, Kind, Lines, Mark, Marks, Settled};
use reader::Pair;
pub use signals::Side;

/// What the cheap stage says of a pair.
#[derive(Clone, Debug)]
pub struct Glance {
    signals: Vec<f32>,
    /// The probability by the signals alone, 0 to 1.
    pub probability: f64,
    /// Which lines are its.
    pub kind: Kind,
}

impl Glance {
    /// The signals behind it, under [`signals::names`].
    pub fn signals(&self) -> &[f32] {
        &self.signals
    }
}

/// A handle to the verifier; clones share it.
#[derive(Clone)]
pub struct Verifier(Arc<Inner>);

struct Inner {
    part: Part,
    recent: Cache<[u8; 32], f32>,
    deadline: Duration,
    /// The last reading failed.
    failing: AtomicBool,
}

enum Part {
    Local(Loading<Ready>),
    Off(String),
}

struct Ready {
    pool: Pool<Pair, f32>,
    judges: Judges,
    weights: Vec<u8>,
    embedder: String,
    mark: String,
}

/// What it takes to make a verifier ready.
#[derive(Clone, Debug)]
struct Plan {
    folder: PathBuf,
    models_dir: PathBuf,
    embedder: config::Embedder,
    prober: Option<Prober>,
    threads: usize,
    queue: usize,
}

impl Verifier {
    /// Starts the verifier that `config` names and waits for it, for at most ten seconds. It shares the embedder's
    /// runtime library and models' folder.
    ///
    /// # Errors
    /// An unknown name. A verifier that does not work is not an error: see [`Verifier::state`].
    pub async fn start(
        config: &config::Verifier,
        embedder: &config::Embedder,
        prober: Option<Prober>,
    ) -> Result<Self, StartError> {
        if config.model.as_deref() == Some(config::Verifier::NONE) {
            return Ok(Self::off("verifier.model is none"));
        }
        if embedder.remote.is_some() {
            return Ok(Self::off("a remote embedder gives no token vectors to verify with"));
        }
        let plan = plan(config, embedder, prober)?;
        let loading = Loading::start("verifier", move || ready(&plan), report).await;
        Ok(Self::new(Part::Local(loading), config))
    }

    /// A verifier that never has an opinion, and why.
    pub fn off(reason: impl Into<String>) -> Self {
        Self::new(Part::Off(reason.into()), &config::Verifier { cache_entries: 0, ..config::Verifier::default() })
    }

    fn new(part: Part, config: &config::Verifier) -> Self {
        let (recent, failing) = (Cache::new(config.cache_entries), AtomicBool::new(false));
        Self(Arc::new(Inner { part, recent, deadline: config.deadline.0, failing }))
    }

    fn ready(&self) -> Option<&Ready> {
        match &self.0.part {
            Part::Local(loading) => loading.ready(),
            Part::Off(_) => None,
        }
    }

    /// The parts, when they work with this embedder's token vectors.
    fn ready_for(&self, embedder: &Fingerprint) -> Option<&Ready> {
        self.ready().filter(|_| self.state(Some(embedder)) == State::Ready)
    }

    /// Is there one at all? Without one nobody needs token vectors.
    pub fn is_there(&self) -> bool {
        matches!(self.0.part, Part::Local(_))
    }

    /// How it is, for the vectors of the embedder with this fingerprint.
    pub fn state(&self, embedder: Option<&Fingerprint>) -> State {
        match &self.0.part {
            Part::Off(reason) => State::Degraded(reason.clone()),
            Part::Local(loading) => match loading.get() {
                None => State::Loading,
                Some(Err(reason)) => State::Degraded(reason.into()),
                Some(Ok(ready)) if ready.pool.is_hanging() => State::Degraded("the reader hangs".into()),
                Some(Ok(ready)) => match embedder {
                    Some(made) if made.to_string() != ready.embedder => {
                        State::Degraded("it was made for the token vectors of another embedder".into())
                    }
                    _ => State::Ready,
                },
            },
        }
    }

    /// Names what it was made of, while it works with this embedder: numbers of another one are on another scale.
    pub fn mark(&self, embedder: &Fingerprint) -> Option<&str> {
        Some(&self.ready_for(embedder)?.mark)
    }

    /// The lines that a target draws, when the verifier works with this embedder.
    pub fn lines(&self, target: f64, embedder: &Fingerprint) -> Option<Lines> {
        Some(self.ready_for(embedder)?.judges.lines(target))
    }

    /// The cheap stage: microseconds. `None` when it does not work, or the token vectors do not belong together.
    pub fn glance(&self, a: &Side<'_>, b: &Side<'_>, cosine: f32) -> Option<Glance> {
        let ready = self.ready()?;
        let weight = |id: u32| {
            let weight = usize::try_from(id).ok().and_then(|id| ready.weights.get(id)).copied();
            f32::from(weight.unwrap_or(u8::MAX)) / 255.0
        };
        let signals = signals::of(a, b, cosine, &weight)?;
        let language = a.wording.language().both(b.wording.language());
        Some(ready.judges.glance(language, signals, a.wording.carries_the_same(b.wording)))
    }

    /// The full probability, once the reader has read both texts; within the configured deadline.
    ///
    /// # Errors
    /// Why the reader did not.
    pub async fn read(&self, a: &str, b: &str, glance: &Glance) -> Result<f64, EmbedError> {
        let Some(ready) = self.ready() else { return Err(EmbedError::Down("the verifier does not work".into())) };
        let pair = Pair::of(a, b);
        let key = pair.key();
        let read = if let Some(known) = self.0.recent.get(&key) {
            known
        } else {
            let read = ready.pool.run(key, pair, Instant::now() + self.0.deadline).await;
            self.note(read.as_ref().err());
            read?
        };
        self.0.recent.insert(key, read);
        Ok(ready.judges.full(glance, read))
    }

    /// The strictest target at which a pair is served, once it was read, above 0, at most 1. `None` when the verifier does
    /// not work.
    pub fn strictest(&self, glance: &Glance, full: f64) -> Option<f64> {
        self.ready().map(|ready| ready.judges.strictest(glance, full))
    }

    /// Counts failures, and tells of the first one and of the end of them.
    fn note(&self, failure: Option<&EmbedError>) {
        if let Some(error) = failure {
            metrics::verifier_failed(why(error));
        }
        let failing = failure.is_some();
        match (self.0.failing.swap(failing, Ordering::Relaxed), failure) {
            (false, Some(error)) => {
                let problem = match error {
                    EmbedError::Down(problem) => problem,
                    _ => why(error),
                };
                tracing::warn!(
                    problem,
                    "the verifier does not read: semantic hits need a stricter cosine until it does"
                );
            }
            (true, None) => tracing::info!("the verifier reads again"),
            _ => {}
        }
    }

    /// The reader's own log-odds, for training a judge.
    ///
    /// # Errors
    /// Why the reader did not read.
    pub async fn log_odds(&self, a: &str, b: &str) -> Result<f32, EmbedError> {
        let Some(ready) = self.ready() else { return Err(EmbedError::Down("the verifier does not work".into())) };
        let pair = Pair::of(a, b);
        ready.pool.run(pair.key(), pair, Instant::now() + Duration::from_mins(1)).await
    }

    /// Ends its threads. Blocks, for at most some ten seconds when a model hangs.
    pub fn shutdown(&self) {
        if let Part::Local(loading) = &self.0.part {
            loading.finish();
            if let Some(ready) = loading.ready() {
                ready.pool.shutdown();
            }
        }
    }
}

/// The label of a failure in metrics.
fn why(error: &EmbedError) -> &'static str {
    match error {
        EmbedError::Deadline => "slow",
        EmbedError::Busy => "busy",
        EmbedError::Down(_) | EmbedError::Invalid(_) => "down",
    }
}

fn plan(config: &config::Verifier, embedder: &config::Embedder, prober: Option<Prober>) -> Result<Plan, StartError> {
    let name = config.name(embedder.model.as_deref());
    let models_dir = provision::models_dir(embedder.models_dir.as_deref());
    let known = models_dir.join(name);
    let is_folder = Path::new(name).is_dir() || name.contains('/') || name.starts_with('.');
    // Those that ship are known; where their files are gone, they are degraded like any other whose files are.
    let ships = config::Verifier::PAIRS.iter().any(|(_, ours)| *ours == name);
    let folder = if known.join(files::MANIFEST).is_file() || ships {
        known
    } else if is_folder {
        name.into()
    } else {
        return Err(StartError::UnknownVerifier { name: name.into(), known: provision::verifier_names(&models_dir) });
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Plan {
        folder,
        models_dir,
        embedder: embedder.clone(),
        prober,
        threads: if config.threads == 0 { cores.min(2) } else { config.threads },
        queue: config.queue,
    })
}

/// Whether the configured verifier's name means anything, without loading it.
///
/// # Errors
/// As [`Verifier::start`].
pub fn check(config: &config::Verifier, embedder: &config::Embedder) -> Result<(), StartError> {
    if config.model.as_deref() == Some(config::Verifier::NONE) || embedder.remote.is_some() {
        return Ok(());
    }
    plan(config, embedder, None).map(drop)
}

fn ready(plan: &Plan) -> Result<Ready, String> {
    let loaded = Loaded::from_folder(&plan.folder)?;
    let library = library(plan.embedder.runtime_library.as_deref(), &plan.models_dir)?;
    try_library(plan.prober.as_ref(), &library)?;
    let mut first = open(&library, loaded.reading, &plan.embedder, loaded.manifest.max_tokens)?;
    self_test(&mut first)?;
    let pool = Pool::start("verify", first, factory(plan, library), Size::new(plan.threads, plan.queue));
    let mark = loaded.manifest.mark();
    Ok(Ready { pool, judges: loaded.judges, weights: loaded.weights, embedder: loaded.manifest.embedder, mark })
}

fn open(
    library: &Path,
    reading: Reading,
    embedder: &config::Embedder,
    max_tokens: usize,
) -> Result<Session<Pair, f32>, String> {
    match reading {
        Reading::Own { onnx, tokenizer } => reader::open(library, onnx, tokenizer, max_tokens),
        Reading::Shared { head, separator } => {
            reader::open_shared(library, crate::embed::load(embedder)?, head, &separator, max_tokens)
        }
    }
}

/// Makes a worker's session from the files as they are then, checked again.
fn factory(plan: &Plan, library: PathBuf) -> Box<Factory<Pair, f32>> {
    let plan = plan.clone();
    Box::new(move || {
        let loaded = Loaded::from_folder(&plan.folder)?;
        open(&library, loaded.reading, &plan.embedder, loaded.manifest.max_tokens)
    })
}

/// A reader that does not tell a paraphrase from an opposite is none.
fn self_test(session: &mut Session<Pair, f32>) -> Result<(), String> {
    let mut read =
        |a: &str, b: &str| session(&Pair::of(a, b)).map_err(|error| format!("the reader does not run: {error}"));
    let same = read("How do I reset my password?", "What are the steps to reset my password?")?;
    let other = read("How do I reset my password?", "Which bird lays the largest egg?")?;
    let opposite = read("How do I enable notifications?", "How do I disable notifications?")?;
    if same > other && same > opposite {
        return Ok(());
    }
    Err(format!("self-test: a paraphrase ({same:.2}) does not stand out from others ({other:.2}, {opposite:.2})"))
}

fn report(made: &Result<Ready, String>) {
    match made {
        Ok(_) => tracing::info!("the verifier is ready"),
        Err(reason) => tracing::error!(
            reason,
            "NO VERIFIER: semantic hits need the model card's stricter cosine. `refrain models verify` checks the files"
        ),
    }
}

#[cfg(test)]
mod tests;
