//! `refrain models`: the model files and the runtime library under `models/`, fetched, listed and verified.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::{fail, say};
use crate::embed::provision::{self, Presence, Role};
use crate::embed::{self, FileProblem, probe};

/// What `models` can be told.
#[derive(clap::Args)]
pub struct ModelsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Fetch the pinned ONNX Runtime library (through pip; once)
    #[command(after_help = "Example:\n  refrain models fetch")]
    Fetch {
        #[command(flatten)]
        place: Place,
        /// Fetch a model of the hub, too (HF_ENDPOINT, HF_HOME; needs a build with `--features hub`)
        #[arg(long, value_name = "NAME")]
        model: Option<String>,
    },
    /// List the models that a config can name, and whether their files are as pinned
    #[command(after_help = "Example:\n  refrain models list")]
    List(Place),
    /// Check size and SHA-256 of every file; exit 1 if one is missing or altered
    #[command(after_help = "Example:\n  refrain models verify")]
    Verify(Place),
    /// Load a runtime library and say what it is: how the service tries a library out of its own process
    #[command(hide = true)]
    Probe {
        #[arg(long)]
        library: PathBuf,
    },
}

#[derive(clap::Args)]
struct Place {
    /// Where model folders are; else `./models`, else beside the executable
    #[arg(long, value_name = "DIR")]
    models_dir: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &ModelsArgs) -> ExitCode {
    match &args.action {
        Action::Fetch { place, model } => fetch(place.models_dir.as_deref(), model.as_deref()),
        Action::List(place) => list(&provision::models_dir(place.models_dir.as_deref())),
        Action::Verify(place) => verify(&provision::models_dir(place.models_dir.as_deref())),
        Action::Probe { library } => probe::child(library),
    }
}

fn fetch(models_dir: Option<&Path>, model: Option<&str>) -> ExitCode {
    let fetched = fetch_runtime(models_dir).and_then(|place| {
        say(&format!("{} is there", place.display()));
        model.map_or(Ok(()), |name| embed::fetch_model(name, models_dir).inspect(|()| say(&format!("{name} is there"))))
    });
    match fetched {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => fail(&message, 1),
    }
}

/// Fetches the runtime library with a progress bar, when it is not there yet.
///
/// # Errors
/// Why it could not be fetched, and what to do.
pub fn fetch_runtime(models_dir: Option<&Path>) -> Result<PathBuf, String> {
    let style = ProgressStyle::with_template("ONNX Runtime {bar:40} {bytes}/{total_bytes} {bytes_per_sec}");
    let bar = ProgressBar::new(0).with_style(style.map_err(|error| error.to_string())?);
    let shown = |progress: provision::Progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    };
    let fetched = provision::fetch_runtime(&provision::models_dir(models_dir), shown);
    bar.finish_and_clear();
    fetched.map_err(|error| error.to_string())
}

fn list(models_dir: &Path) -> ExitCode {
    say(&format!("{:<28} {:<9} {:>9} {:<12} {:<8} {}", "model", "role", "dimension", "languages", "files", "folder"));
    for model in provision::models(models_dir) {
        let unknown = if model.role == Role::Verifier { "-" } else { "?" };
        let dimension = model.dimension.map_or_else(|| unknown.into(), |dimension| dimension.to_string());
        let (role, languages) = (model.role.as_str(), model.languages.join(","));
        let (status, path) = (model.status.as_str(), model.path.display());
        say(&format!("{:<28} {role:<9} {dimension:>9} {languages:<12} {status:<8} {path}", model.name));
    }
    let runtime = provision::runtime(models_dir);
    let path = runtime.path.map_or_else(|| "-".into(), |path| path.display().to_string());
    say(&format!("\nONNX Runtime {} for {}: {}, {path}", runtime.version, runtime.platform, runtime.status.as_str()));
    ExitCode::SUCCESS
}

fn verify(models_dir: &Path) -> ExitCode {
    let models = provision::models(models_dir);
    let runtime = provision::runtime(models_dir);
    let statuses = models.iter().map(|model| model.status).chain([runtime.status]);
    let whole = statuses.into_iter().all(|status| status == Presence::Present);
    let problems: Vec<&FileProblem> =
        models.iter().flat_map(|model| &model.problems).chain(&runtime.problems).collect();
    for problem in &problems {
        say(&problem.to_string());
    }
    if whole {
        say("every file is as pinned");
        return ExitCode::SUCCESS;
    }
    let hint = "model files belong to the repository; `refrain models fetch` fetches the runtime library";
    fail(&format!("{} file(s) missing or altered; {hint}", problems.len().max(1)), 1)
}
