//! ONNX Runtime inside this process: loaded once, for good.
//!
//! A library can be loaded only once in a process; who asks for another one later gets the first, which does the same
//! work. It is loaded on a thread of its own with a time limit, since even a library that a child could load may hang.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use ort::environment::Environment;

static LOADED: Mutex<Option<(PathBuf, Environment)>> = Mutex::new(None);

/// The environment that sessions are made in. Blocks, for at most `limit`.
///
/// # Errors
/// Why the library does not load, for people.
pub fn environment(library: &Path, limit: Duration) -> Result<Environment, String> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let path = library.to_owned();
    let loader = thread::Builder::new().name("refrain-onnx-load".into()).spawn(move || {
        let _ = sender.send(load(&path));
    });
    loader.map_err(|error| format!("no thread to load {} on: {error}", library.display()))?;
    match receiver.recv_timeout(limit) {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("{}: loading it panicked or did not end", library.display())),
    }
}

fn load(library: &Path) -> Result<Environment, String> {
    let mut loaded = LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((first, environment)) = &*loaded {
        if first != library {
            tracing::warn!(using = %first.display(), asked = %library.display(), "ONNX Runtime is already loaded");
        }
        return Ok(environment.clone());
    }
    let failed = |error: String| format!("{}: {error}", library.display());
    let builder = ort::init_from(library).map_err(|error| failed(error.to_string()))?;
    let environment = builder.with_name("refrain").build().map_err(|error| failed(error.to_string()))?;
    *loaded = Some((library.to_owned(), environment.clone()));
    Ok(environment)
}
