//! What this module's tests share: the real model and the real runtime library.

use std::fs;
use std::path::{Path, PathBuf};

use super::probe::Prober;
use super::provision;
use crate::config;

/// The repository's own models.
pub fn models_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models")
}

/// The default model's folder.
pub fn model_folder() -> PathBuf {
    models_dir().join(config::Embedder::DEFAULT_MODEL)
}

/// The runtime library, fetched when it is not there.
pub fn runtime() -> PathBuf {
    provision::fetch_runtime(&models_dir(), |_| ()).unwrap()
}

/// Runs the child's side of the probe: a test of this very executable.
pub fn prober() -> Prober {
    let args = ["embed::probe::tests::a_child_loads_the_real_library_and_tells_its_version", "--exact", "--nocapture"];
    Prober { program: std::env::current_exe().unwrap(), args: args.map(Into::into).to_vec() }
}

/// A copy of the default model that a test may spoil.
pub fn copy_model(to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(model_folder()).unwrap() {
        let from = entry.unwrap().path();
        fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
    }
}

/// A config that names the model at `folder`.
pub fn config(folder: &Path) -> config::Embedder {
    config::Embedder {
        model: Some(folder.to_string_lossy().into_owned()),
        models_dir: Some(models_dir()),
        ..config::Embedder::default()
    }
}
