//! Fetches the runtime library: pip downloads the pinned wheel, the library is taken out of it.
//!
//! Whole or not at all: everything happens in a folder of its own under a file lock, sums are compared before the
//! library is moved to its place in one step, and what an interrupted run left behind is cleared by the next.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::pins::{self, RuntimePin, SUPPORTED_PLATFORMS, VERSION, runtime_pin};
use crate::embed::manifest::FileProblem;

/// A download that does not grow for so long has failed.
const STALLED: Duration = Duration::from_mins(2);
const LOOK_EVERY: Duration = Duration::from_millis(100);
const WORK_PREFIX: &str = ".fetch-";

/// How far a download is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes so far.
    pub done: u64,
    /// Bytes in the end.
    pub total: u64,
}

/// Why the runtime library could not be fetched, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Nothing is pinned for this system.
    #[error(
        "no ONNX Runtime is pinned for {platform} (there is one for {}); install ONNX Runtime 1.24 or later \
         and set embedder.runtime_library = PATH",
        SUPPORTED_PLATFORMS.join(", ")
    )]
    Platform {
        /// Operating system and processor.
        platform: String,
    },
    /// Python or pip is not there.
    #[error(
        "fetching needs Python 3 with pip ({0}); install it (Debian: apt-get install python3-pip), \
         or set embedder.runtime_library = PATH to an ONNX Runtime 1.24 or later"
    )]
    NoPip(String),
    /// pip said no.
    #[error("pip could not download onnxruntime {VERSION}: {0}")]
    Pip(String),
    /// The wheel or the library is not the pinned one.
    #[error("the download is not the pinned one and was thrown away: {0}")]
    Altered(#[from] FileProblem),
    /// The wheel cannot be unpacked.
    #[error("the wheel cannot be unpacked: {0}")]
    Unpack(String),
    /// The disk said no.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// The system's error.
        source: io::Error,
    },
}

fn io_error(what: &str, path: &Path) -> impl FnOnce(io::Error) -> FetchError {
    let what = format!("cannot {what} {}", path.display());
    move |source| FetchError::Io { what, source }
}

/// Puts the pinned runtime library in its place under `models_dir` and says where it is. Does nothing when it is there.
///
/// Blocks: for milliseconds when there is nothing to do, else for the download. `progress` is called about ten times a
/// second meanwhile.
///
/// # Errors
/// See [`FetchError`]; the place is then as it was.
pub fn fetch_runtime(models_dir: &Path, progress: impl Fn(Progress)) -> Result<PathBuf, FetchError> {
    let pin = runtime_pin().ok_or_else(|| FetchError::Platform { platform: pins::platform() })?;
    fetch(pin, models_dir, "python3", &progress)
}

fn fetch(
    pin: &RuntimePin,
    models_dir: &Path,
    python: &str,
    progress: &dyn Fn(Progress),
) -> Result<PathBuf, FetchError> {
    let place = pin.path(models_dir);
    if pin.library.read(&place).is_ok() {
        return Ok(place);
    }
    let root = models_dir.join("runtime");
    fs::create_dir_all(&root).map_err(io_error("create", &root))?;
    let lock_path = root.join(".lock");
    let lock = File::create(&lock_path).map_err(io_error("create", &lock_path))?;
    lock.lock().map_err(io_error("lock", &lock_path))?;
    // Another process may have fetched it while this one waited for the lock.
    if pin.library.read(&place).is_ok() {
        return Ok(place);
    }
    let work = Work::new(&root)?;
    download(pin, &work.0, python, progress)?;
    let wheel = work.0.join(&pin.wheel.name);
    pin.wheel.read(&wheel)?;
    let library = work.0.join(&pin.library.name);
    unpack(&wheel, &pin.member, &library)?;
    pin.library.read(&library)?;
    let folder = place.parent().unwrap_or(&root);
    fs::create_dir_all(folder).map_err(io_error("create", folder))?;
    fs::rename(&library, &place).map_err(io_error("move the library to", &place))?;
    Ok(place)
}

/// A folder for one fetch, gone when the fetch ends.
struct Work(PathBuf);

impl Work {
    fn new(root: &Path) -> Result<Self, FetchError> {
        // Under the lock every such folder is an interrupted run's.
        for left in fs::read_dir(root).map_err(io_error("read", root))?.flatten() {
            if left.file_name().to_string_lossy().starts_with(WORK_PREFIX) {
                let _ = fs::remove_dir_all(left.path());
            }
        }
        let folder = root.join(format!("{WORK_PREFIX}{}", std::process::id()));
        fs::create_dir(&folder).map_err(io_error("create", &folder))?;
        // pip keeps a download in the temporary folder until it is whole: it must be one that we can watch.
        let folder = folder.canonicalize().map_err(io_error("find", &folder))?;
        Ok(Self(folder))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn download(pin: &RuntimePin, work: &Path, python: &str, progress: &dyn Fn(Progress)) -> Result<(), FetchError> {
    let said_path = work.join("pip.log");
    let said = File::create(&said_path).map_err(io_error("create", &said_path))?;
    let also = said.try_clone().map_err(io_error("open", &said_path))?;
    let child = Command::new(python)
        .args([
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--disable-pip-version-check",
            "--no-input",
        ])
        .args(["--implementation", "cp", "--python-version", "3.11", "--abi", "cp311", "--platform", pin.pip_platform])
        .args(["--progress-bar", "off", "--dest"])
        .arg(work)
        .arg(format!("onnxruntime=={VERSION}"))
        .env("TMPDIR", work)
        .stdin(Stdio::null())
        .stdout(said)
        .stderr(also)
        .spawn()
        .map_err(|error| FetchError::NoPip(format!("{python}: {error}")))?;
    let total = pin.wheel.size;
    let outcome = watch(child, || bytes_under(work), |bytes| progress(Progress { done: bytes.min(total), total }));
    let tail = || last_words(&said_path);
    match outcome.map_err(io_error("wait for pip in", work))? {
        Some(status) if status.success() => Ok(()),
        Some(_) if tail().contains("No module named pip") => Err(FetchError::NoPip(tail())),
        Some(_) => Err(FetchError::Pip(tail())),
        None => Err(FetchError::Pip(format!("nothing came for {} seconds; {}", STALLED.as_secs(), tail()))),
    }
}

/// Waits for `child` while `size` grows; `None` when it stalled and was ended.
fn watch(mut child: Child, size: impl Fn() -> u64, report: impl Fn(u64)) -> io::Result<Option<ExitStatus>> {
    let (mut known, mut since) = (0, Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            report(size());
            return Ok(Some(status));
        }
        let now = size();
        report(now);
        if now != known {
            (known, since) = (now, Instant::now());
        } else if since.elapsed() > STALLED {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn bytes_under(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => bytes_under(&entry.path()),
            Ok(_) => entry.metadata().map_or(0, |file| file.len()),
            Err(_) => 0,
        })
        .sum()
}

fn last_words(log: &Path) -> String {
    let said = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let kept = lines[lines.len().saturating_sub(4)..].join(" / ");
    if kept.is_empty() { "it said nothing".into() } else { kept }
}

fn unpack(wheel: &Path, member: &str, to: &Path) -> Result<(), FetchError> {
    let unpacking = |error: zip::result::ZipError| FetchError::Unpack(error.to_string());
    let file = File::open(wheel).map_err(io_error("open", wheel))?;
    let mut archive = zip::ZipArchive::new(file).map_err(unpacking)?;
    let mut packed = archive.by_name(member).map_err(unpacking)?;
    let mut library = File::create(to).map_err(io_error("create", to))?;
    io::copy(&mut packed, &mut library).map_err(io_error("write", to))?;
    library.flush().and_then(|()| library.sync_all()).map_err(io_error("write", to))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::embed::testing;

    /// A stand-in for Python that does what `script` says.
    fn python(folder: &Path, script: &str) -> String {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.join("python");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn pin() -> &'static RuntimePin {
        runtime_pin().unwrap()
    }

    fn nothing_is_left(models: &Path) -> bool {
        let left = fs::read_dir(models.join("runtime")).unwrap().flatten();
        left.map(|entry| entry.file_name()).all(|name| name == ".lock")
    }

    #[test]
    fn a_library_that_is_there_is_not_fetched_again() {
        testing::runtime();
        let progress = Cell::new(0);
        let place = fetch(pin(), &testing::models_dir(), "/nonexistent/python", &|_| progress.set(1)).unwrap();
        assert!(place.is_file());
        assert_eq!(progress.get(), 0);
    }

    #[test]
    fn a_missing_python_is_a_clear_error() {
        let models = tempfile::tempdir().unwrap();
        let error = fetch(pin(), models.path(), "/nonexistent/python", &|_| ()).unwrap_err();
        assert!(matches!(error, FetchError::NoPip(_)));
        assert!(error.to_string().contains("runtime_library"), "{error}");
        assert!(nothing_is_left(models.path()));
    }

    #[test]
    fn a_python_without_pip_is_a_clear_error() {
        let models = tempfile::tempdir().unwrap();
        let bin = tempfile::tempdir().unwrap();
        let python = python(bin.path(), "echo 'python3: No module named pip' >&2; exit 1");
        let error = fetch(pin(), models.path(), &python, &|_| ()).unwrap_err();
        assert!(matches!(error, FetchError::NoPip(_)), "{error}");
    }

    #[test]
    fn what_pip_says_is_passed_on() {
        let models = tempfile::tempdir().unwrap();
        let bin = tempfile::tempdir().unwrap();
        let python = python(bin.path(), "echo 'ERROR: no such host' >&2; exit 1");
        let error = fetch(pin(), models.path(), &python, &|_| ()).unwrap_err();
        assert!(error.to_string().contains("no such host"), "{error}");
    }

    #[test]
    fn a_wheel_of_other_bytes_is_thrown_away() {
        let models = tempfile::tempdir().unwrap();
        let bin = tempfile::tempdir().unwrap();
        let write_wheel = format!(
            "while [ \"$1\" != --dest ]; do shift; done; echo not-the-wheel > \"$2/{}\"; sleep 0.3",
            pin().wheel.name
        );
        let python = python(bin.path(), &write_wheel);
        let seen = Cell::new(0);
        let error = fetch(pin(), models.path(), &python, &|progress| seen.set(progress.done)).unwrap_err();
        assert!(matches!(error, FetchError::Altered(_)), "{error}");
        assert!(seen.get() > 0, "the download's size is reported");
        assert!(nothing_is_left(models.path()));
    }

    #[test]
    fn the_leftovers_of_an_interrupted_run_are_cleared() {
        let models = tempfile::tempdir().unwrap();
        fs::create_dir_all(models.path().join("runtime/.fetch-1/half")).unwrap();
        let _ = fetch(pin(), models.path(), "/nonexistent/python", &|_| ()).unwrap_err();
        assert!(nothing_is_left(models.path()));
    }
}
