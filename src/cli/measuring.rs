//! What `eval` and `calibrate` share: their files, and an engine in a folder that is gone afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::app;
use crate::cache::Cache;
use crate::cli::fail;
use crate::config::{self, Config, Overrides, Secrets};
use crate::embed::{Embedder, Prober, State};
use crate::eval::rows::{self, Row};
use crate::settings::{CachePolicy, Mode, Strategy};
use crate::tasks::Tasks;
use crate::telemetry;
use crate::types::CacheId;
use crate::verify::Verifier;

/// How long a model may take to load.
const LOADS_WITHIN: Duration = Duration::from_mins(1);
/// An embedding's time in place of the service's deadline: a slow machine must not change what is measured.
const PATIENCE: Duration = Duration::from_mins(1);

/// Whose engine is measured.
#[derive(clap::Args)]
pub struct EngineArgs {
    /// The configuration whose embedder and policy are measured; the defaults without one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The cache whose policy is measured
    #[arg(long, value_name = "NAME", default_value = CacheId::DEFAULT)]
    cache: String,
}

/// An engine to measure. Its store is in a temporary folder.
pub struct Bench {
    /// The engine.
    pub cache: Cache,
    /// The cache that is measured.
    pub id: CacheId,
    /// Its policy.
    pub policy: Arc<CachePolicy>,
    tasks: Tasks,
    _folder: Folder,
}

/// Removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A labelled file, read.
pub struct Set<R> {
    /// The file's name up to the first dot.
    pub name: String,
    /// Its rows.
    pub rows: Vec<R>,
}

/// Reads labelled files, at most `limit` rows of each.
///
/// # Errors
/// The file, line and field that are wrong, or two files of one name.
pub fn sets<R: Row>(files: &[PathBuf], limit: Option<usize>) -> Result<Vec<Set<R>>, String> {
    let mut names = BTreeSet::new();
    let read = |path: &PathBuf| {
        let at = |problem: String| format!("{}: {problem}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
        let rows = rows::read(&text, limit).map_err(at)?;
        let name = set_name(path);
        if names.insert(name.clone()) {
            Ok(Set { name, rows })
        } else {
            Err(at(format!("is a second set named {name}; accepted: one file for each name up to the first dot")))
        }
    };
    files.iter().map(read).collect()
}

fn set_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Runs `work` on an engine. Exit 2 for a bad configuration, 1 when the engine cannot be measured or `work` fails.
pub fn run(
    args: &EngineArgs,
    env: &BTreeMap<String, String>,
    work: impl AsyncFnOnce(&Bench) -> Result<ExitCode, String>,
) -> ExitCode {
    let (config, secrets, id) = match settings(args, env) {
        Ok(settings) => settings,
        Err(message) => return fail(&message, 2),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("no threads to run on: {error}"), 1),
    };
    let done = runtime.block_on(async {
        let bench = Bench::open(config, &secrets, id).await?;
        let result = tokio::select! {
            result = work(&bench) => result,
            _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
        };
        bench.close().await?;
        result
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    done.unwrap_or_else(|message| fail(&message, 1))
}

/// The configuration and its secrets, as they are given.
///
/// # Errors
/// What is wrong with it.
pub fn configuration(args: &EngineArgs, env: &BTreeMap<String, String>) -> Result<(Config, Secrets), String> {
    let overrides = Overrides { file: args.config.clone(), ..Overrides::default() };
    let config = config::load(&overrides, env).map_err(|error| error.to_string())?;
    let secrets = config::load_secrets(&config, env).map_err(|error| error.to_string())?;
    Ok((config, secrets))
}

fn settings(args: &EngineArgs, env: &BTreeMap<String, String>) -> Result<(Config, Secrets, CacheId), String> {
    let (mut config, secrets) = configuration(args, env)?;
    let id: CacheId = args.cache.parse().map_err(|invalid: crate::error::Invalid| invalid.at("--cache").to_string())?;
    if id.as_str() != CacheId::DEFAULT && !config.caches.contains_key(&id) {
        let known: Vec<&str> = config.caches.keys().map(CacheId::as_str).collect();
        return Err(format!("--cache: there is no cache {id}; accepted: default {}", known.join(" ")));
    }
    config.log.filter = "error".into();
    telemetry::init(&config.log).map_err(|error| error.to_string())?;
    config.embedder.deadline.0 = config.embedder.deadline.0.max(PATIENCE);
    config.verifier.deadline.0 = config.verifier.deadline.0.max(PATIENCE);
    Ok((config, secrets, id))
}

impl Bench {
    async fn open(mut config: Config, secrets: &Secrets, id: CacheId) -> Result<Self, String> {
        let embedder = Embedder::start(&config.embedder, secrets.remote_embedder_key.as_deref()).await;
        let embedder = embedder.map_err(|error| error.to_string())?;
        ready(&embedder).await?;
        let verifier = Verifier::start(&config.verifier, &config.embedder, Prober::find()).await;
        let verifier = verifier.map_err(|error| error.to_string())?;
        let folder = Folder(std::env::temp_dir().join(format!("refrain-eval-{}", uuid::Uuid::new_v4().simple())));
        config.store.data_dir.clone_from(&folder.0);
        let (cache, _) = app::engine(&config, (embedder, verifier)).await.map_err(|error| error.to_string())?;
        let policy = cache.policies().get(&id).unwrap_or_default();
        if policy.mode == Mode::Off || !policy.uses(Strategy::Semantic) {
            // The process must not end with a model's threads at work.
            app::close(cache).await.map_err(|error| error.to_string())?;
            return Err(format!("the policy of {id} answers nothing by meaning: there is nothing to measure"));
        }
        let policy = served(policy);
        let tasks = Tasks::default();
        cache.start_upkeep(&tasks, config.store.sweep_every.0);
        Ok(Self { cache, id, policy, tasks, _folder: folder })
    }

    async fn close(self) -> Result<(), String> {
        self.tasks.drain(Duration::from_secs(5)).await;
        app::close(self.cache).await.map_err(|error| error.to_string())
    }
}

/// What is measured of a cache in shadow mode is what it would serve.
fn served(policy: Arc<CachePolicy>) -> Arc<CachePolicy> {
    match policy.mode {
        Mode::Shadow => Arc::new(CachePolicy { mode: Mode::On, ..CachePolicy::clone(&policy) }),
        Mode::On | Mode::Off => policy,
    }
}

/// Waits for the embedder. Without it only equal prompts would be hits, and that is not what is measured.
async fn ready(embedder: &Embedder) -> Result<(), String> {
    let until = Instant::now() + LOADS_WITHIN;
    loop {
        let problem = match embedder.state() {
            State::Ready => return Ok(()),
            State::Degraded(reason) => reason,
            State::Loading if Instant::now() < until => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            State::Loading => "its model is still being loaded".into(),
        };
        return Err(format!(
            "the embedder does not work, so nothing can be measured: {problem}; \
             `refrain models fetch` fetches the runtime library, `refrain models verify` checks the files"
        ));
    }
}

/// A bar on stderr, when that is a terminal.
///
/// # Errors
/// Never in practice: when its template is wrong.
pub fn bar(name: &str, rows: usize) -> Result<ProgressBar, String> {
    let style = ProgressStyle::with_template("{prefix:<22} {bar:40} {pos}/{len} {eta}");
    let bar = ProgressBar::new(rows as u64).with_style(style.map_err(|error| error.to_string())?);
    Ok(bar.with_prefix(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_named_up_to_the_first_dot() {
        assert_eq!(set_name(Path::new("/data/fow_questions.dev.jsonl")), "fow_questions");
        assert_eq!(set_name(Path::new("mine")), "mine");
    }
}
