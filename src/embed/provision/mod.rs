//! Where model files and the runtime library are, and whether they are what they should be.
//!
//! Looking is all that the service does here: only [`fetch_runtime`] opens a connection (through pip), and only
//! `refrain models fetch`, the demo and the test harness call it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::manifest::{FileProblem, MANIFEST, Manifest};
use crate::config;
use crate::verify::files::{MANIFEST as VERIFIER_MANIFEST, Manifest as VerifierManifest};

mod fetch;
mod pins;

pub use fetch::{FetchError, Progress, fetch_runtime};
pub use pins::{RuntimePin, SUPPORTED_PLATFORMS, runtime_pin};

/// Models that this version knows by name even when their folder is not there.
pub const BUILT_IN: [&str; 2] = [config::Verifier::PAIRS[0].0, config::Verifier::PAIRS[1].0];

/// The folder of the models: `configured`, else `./models`, else `models` beside the executable or up to two folders
/// above it (a build's `target/release` lies two under the repository).
pub fn models_dir(configured: Option<&Path>) -> PathBuf {
    if let Some(folder) = configured {
        return folder.into();
    }
    let here = PathBuf::from("models");
    if here.is_dir() {
        return here;
    }
    let executable = std::env::current_exe().unwrap_or_default();
    let beside = executable.ancestors().skip(1).take(3).map(|folder| folder.join("models"));
    beside.into_iter().find(|folder| folder.is_dir()).unwrap_or(here)
}

/// What is there of a model or of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Everything, as promised.
    Present,
    /// Something is not there.
    Missing,
    /// Something is not as promised.
    Altered,
}

impl Presence {
    /// The word in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Missing => "missing",
            Self::Altered => "altered",
        }
    }

    fn of(problems: &[FileProblem]) -> Self {
        match problems {
            [] => Self::Present,
            some if some.iter().any(|problem| !problem.path.exists()) => Self::Missing,
            _ => Self::Altered,
        }
    }
}

/// What a model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It turns texts into vectors: `embedder.model`.
    Embedder,
    /// It judges candidates: `verifier.model`.
    Verifier,
}

impl Role {
    /// The word in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Embedder => "embedder",
            Self::Verifier => "verifier",
        }
    }
}

/// A line of `refrain models list`.
#[derive(Clone, Debug, Serialize)]
pub struct ModelStatus {
    /// The name that a config may use.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// Its folder.
    pub path: PathBuf,
    /// Components of a vector; a verifier makes none.
    pub dimension: Option<usize>,
    /// Languages that it covers.
    pub languages: Vec<String>,
    /// Whether its files are there.
    pub status: Presence,
    /// Every file that is not as promised.
    pub problems: Vec<FileProblem>,
}

/// The runtime's line of `refrain models list`.
#[derive(Clone, Debug, Serialize)]
pub struct RuntimeStatus {
    /// Version of ONNX Runtime.
    pub version: &'static str,
    /// For which system and processor.
    pub platform: String,
    /// Where it is, or belongs; absent where none is pinned for this platform.
    pub path: Option<PathBuf>,
    /// Whether it is there.
    pub status: Presence,
    /// What is not as promised.
    pub problems: Vec<FileProblem>,
}

/// The models that can be named: the built-in ones, and every folder of `models_dir` with a manifest; the embedders
/// first. Reads every file.
pub fn models(models_dir: &Path) -> Vec<ModelStatus> {
    let embedders = names(models_dir).into_iter().map(|name| status(models_dir, name));
    let verifiers = verifier_names(models_dir).into_iter().map(|name| verifier_status(models_dir, name));
    embedders.chain(verifiers).collect()
}

/// The names of the embedding models among [`models`], without reading the files.
pub fn names(models_dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = BUILT_IN.map(String::from).into_iter().collect();
    names.extend(folders_with(models_dir, MANIFEST));
    names.sort();
    names.dedup();
    names
}

/// The verifiers that can be named: every folder of `models_dir` with a verifier's manifest.
pub fn verifier_names(models_dir: &Path) -> Vec<String> {
    let mut names = folders_with(models_dir, VERIFIER_MANIFEST);
    names.sort();
    names
}

fn folders_with(models_dir: &Path, manifest: &str) -> Vec<String> {
    let folders = fs::read_dir(models_dir).into_iter().flatten().flatten();
    let found = folders.filter(|folder| folder.path().join(manifest).is_file());
    found.filter_map(|folder| folder.file_name().into_string().ok()).collect()
}

fn verifier_status(models_dir: &Path, name: String) -> ModelStatus {
    let path = models_dir.join(&name);
    let (languages, problems) = match VerifierManifest::read(&path) {
        Ok(manifest) => {
            let problems = manifest.problems(&path);
            (manifest.languages, problems)
        }
        Err(problem) => (Vec::new(), vec![problem]),
    };
    let status = Presence::of(&problems);
    ModelStatus { name, role: Role::Verifier, dimension: None, languages, status, problems, path }
}

fn status(models_dir: &Path, name: String) -> ModelStatus {
    let path = models_dir.join(&name);
    let (manifest, problems) = match Manifest::read(&path) {
        Ok(manifest) => {
            let problems = manifest.problems(&path);
            (Some(manifest), problems)
        }
        Err(problem) => (None, vec![problem]),
    };
    ModelStatus {
        name,
        role: Role::Embedder,
        dimension: manifest.as_ref().and_then(|manifest| manifest.dimension),
        languages: manifest.map(|manifest| manifest.languages).unwrap_or_default(),
        status: Presence::of(&problems),
        problems,
        path,
    }
}

/// Whether the fetched runtime library is there and as pinned.
pub fn runtime(models_dir: &Path) -> RuntimeStatus {
    let platform = pins::platform();
    let Some(pin) = runtime_pin() else {
        let status = Presence::Missing;
        return RuntimeStatus { version: pins::VERSION, platform, path: None, status, problems: Vec::new() };
    };
    let path = pin.path(models_dir);
    let problems: Vec<_> = pin.library.read(&path).err().into_iter().collect();
    let status = Presence::of(&problems);
    RuntimeStatus { version: pins::VERSION, platform, path: Some(path), status, problems }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::testing;
    use crate::verify::files::tests as files;

    #[test]
    fn a_configured_folder_wins_over_the_usual_places() {
        assert_eq!(models_dir(Some(Path::new("elsewhere"))), PathBuf::from("elsewhere"));
        assert_eq!(models_dir(None), PathBuf::from("models"), "tests run beside the repository's own models");
    }

    #[test]
    fn a_built_in_model_is_listed_even_when_its_folder_is_missing() {
        let empty = tempfile::tempdir().unwrap();
        let models = models(empty.path());
        let listed: Vec<_> = models.iter().map(|model| (model.name.as_str(), model.status)).collect();
        assert_eq!(listed, BUILT_IN.map(|name| (name, Presence::Missing)));
    }

    #[test]
    fn a_folder_with_a_manifest_is_listed_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        testing::copy_model(&folder.path().join("mine"));
        let models = models(folder.path());
        let mine = models.iter().find(|model| model.name == "mine").unwrap();
        assert_eq!((mine.dimension, mine.status, mine.problems.len()), (Some(384), Presence::Present, 0));
    }

    #[test]
    fn an_altered_file_is_named_with_what_was_expected_and_found() {
        let folder = tempfile::tempdir().unwrap();
        let mine = folder.path().join("mine");
        testing::copy_model(&mine);
        fs::write(mine.join("config.json"), "{}").unwrap();
        let models = models(folder.path());
        let status = models.iter().find(|model| model.name == "mine").unwrap();
        assert_eq!(status.status, Presence::Altered);
        let message = status.problems[0].to_string();
        assert!(message.contains("config.json") && message.contains("found 2 bytes"), "{message}");
        assert!(message.contains("expected 612 bytes"), "{message}");
    }

    #[test]
    fn a_verifiers_folder_is_listed_and_checked_as_a_models_is() {
        let folder = tempfile::tempdir().unwrap();
        let mine = folder.path().join("opinion");
        files::make(&mine, &files::judge());
        let verifier = || models(folder.path()).into_iter().find(|model| model.name == "opinion").unwrap();
        assert_eq!(
            (verifier().role, verifier().status, verifier().dimension),
            (Role::Verifier, Presence::Present, None)
        );
        assert_eq!(verifier_names(folder.path()), ["opinion"]);
        assert!(!names(folder.path()).contains(&"opinion".to_owned()), "it is no embedding model");
        fs::write(mine.join("reader.onnx"), "another one").unwrap();
        assert_eq!(verifier().status, Presence::Altered);
        assert!(verifier().problems[0].to_string().contains("reader.onnx: expected"), "{:?}", verifier().problems);
        fs::remove_file(mine.join("token_weights.bin")).unwrap();
        assert_eq!((verifier().status, verifier().problems.len()), (Presence::Missing, 2));
        fs::write(mine.join(VERIFIER_MANIFEST), "name = 7").unwrap();
        assert!(verifier().problems[0].to_string().contains("expected a manifest"), "{:?}", verifier().problems);
    }
}
