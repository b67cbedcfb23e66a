//! Tries a runtime library where it can do no harm: in a child process with a time limit.
//!
//! Loading a library runs its code. A broken one can crash, hang, or deadlock the process so that not even `exit` works;
//! in a child all of that is only a verdict. What can be seen from outside (no file, no library at all) is told first.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The word with which a child that loaded the library begins its one line.
const LOADED: &str = "loaded";
/// No build of ONNX Runtime is smaller.
const SMALLEST: u64 = 1 << 20;
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The program that tries a library, before the library's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prober {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments; the path follows.
    pub args: Vec<OsString>,
}

impl Prober {
    /// `refrain models probe --library`, run by the executable at `refrain`.
    pub fn refrain(refrain: impl Into<PathBuf>) -> Self {
        Self { program: refrain.into(), args: ["models", "probe", "--library"].map(OsString::from).to_vec() }
    }

    /// This process's own executable when it is `refrain`, else a `refrain` beside it or one folder up (where a build
    /// puts it, seen from a test). `None` when there is neither: the library is then loaded untried.
    pub fn find() -> Option<Self> {
        let name = format!("refrain{}", std::env::consts::EXE_SUFFIX);
        let own = std::env::current_exe().ok()?;
        if own.file_name().is_some_and(|file| *file == *name) {
            return Some(Self::refrain(own));
        }
        own.ancestors().skip(1).take(2).map(|folder| folder.join(&name)).find(|path| path.is_file()).map(Self::refrain)
    }
}

/// Tries `library` within `limit`; the answer is the library's own description. Blocks.
///
/// # Errors
/// Why it cannot be used, for people.
pub fn probe(prober: &Prober, library: &Path, limit: Duration) -> Result<String, String> {
    look(library)?;
    let said = |problem: String| format!("{}: {problem}", library.display());
    let mut child = Command::new(&prober.program)
        .args(&prober.args)
        .arg(library)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| said(format!("cannot be tried with {}: {error}", prober.program.display())))?;
    let status = wait(&mut child, limit).map_err(|error| said(error.to_string()))?;
    let Some(status) = status else {
        return Err(said(format!("loading it did not end within {} s", limit.as_secs_f32())));
    };
    // A process that crashed may have left its pipes to others: what it said is read, never waited for.
    let output = output_of(child);
    let loaded = output.lines().find_map(|line| line.trim().strip_prefix(LOADED));
    match loaded {
        Some(description) if status.success() => Ok(description.trim().into()),
        _ => Err(said(format!("it cannot be loaded ({status}); {}", last_line(&output)))),
    }
}

/// The child's side: loads `library`, says what it is, and leaves without running any exit handler of its.
pub fn child(library: &Path) -> ExitCode {
    use std::io::Write as _;
    let outcome = ort::init_from(library)
        .map_err(|error| error.to_string())
        .and_then(|builder| builder.with_name("probe").build().map_err(|error| error.to_string()));
    let mut out = io::stdout();
    let written = match outcome {
        Ok(_environment) => {
            let written = writeln!(out, "{LOADED} {}", ort::info()).and_then(|()| out.flush());
            if written.is_ok() {
                std::process::exit(0);
            }
            written
        }
        Err(error) => writeln!(io::stderr(), "{error}"),
    };
    drop(written);
    ExitCode::FAILURE
}

/// What can be said without loading anything.
fn look(library: &Path) -> Result<(), String> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => format!("{}: no such file", library.display()),
        _ => format!("{}: {error}", library.display()),
    };
    let mut file = File::open(library).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let mut magic = [0; 4];
    let known = file.read_exact(&mut magic).is_ok()
        && match magic {
            // ELF, Mach-O (64 bits, either order; universal), PE.
            [0x7F, b'E', b'L', b'F'] => cfg!(target_os = "linux"),
            [0xCF, 0xFA, 0xED, 0xFE] | [0xCA, 0xFE, 0xBA, 0xBE] => cfg!(target_os = "macos"),
            [b'M', b'Z', ..] => cfg!(windows),
            _ => false,
        };
    if !known {
        return Err(format!("{}: is not a library for {}", library.display(), std::env::consts::OS));
    }
    if length < SMALLEST {
        return Err(format!("{}: {length} bytes are too few for ONNX Runtime", library.display()));
    }
    Ok(())
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn output_of(mut child: Child) -> String {
    let (sender, receiver) = std::sync::mpsc::channel();
    let (out, err) = (child.stdout.take(), child.stderr.take());
    thread::spawn(move || {
        let mut said = Vec::new();
        let _ = out.map(|mut pipe| pipe.read_to_end(&mut said));
        said.push(b'\n');
        let _ = err.map(|mut pipe| pipe.read_to_end(&mut said));
        let _ = sender.send(said);
    });
    let said = receiver.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
    String::from_utf8_lossy(&said).into_owned()
}

fn last_line(output: &str) -> &str {
    output.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it said nothing")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::testing;

    fn sh(script: &str) -> Prober {
        Prober { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()] }
    }

    #[test]
    fn a_child_loads_the_real_library_and_tells_its_version() {
        // Started by the lines below, this test is the child: the library's path is then the last argument.
        if let Some(library) = std::env::args_os().skip(1).last().filter(|last| Path::new(last).is_absolute()) {
            let code = child(Path::new(&library));
            std::process::exit(i32::from(code != ExitCode::SUCCESS));
        }
        let said = probe(&testing::prober(), &testing::runtime(), Duration::from_secs(10)).unwrap();
        assert!(said.contains("Build"), "{said}");
    }

    #[test]
    fn a_library_that_is_not_onnx_runtime_is_refused() {
        let own = std::env::current_exe().unwrap();
        let error = probe(&testing::prober(), &own, Duration::from_secs(10)).unwrap_err();
        assert!(error.contains("cannot be loaded"), "{error}");
    }

    #[test]
    fn a_missing_file_a_text_file_and_a_short_file_are_refused_without_a_child() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lib.so");
        let refusal = || probe(&sh("echo loaded anything"), &path, Duration::from_secs(1)).unwrap_err();
        assert!(refusal().contains("no such file"));
        std::fs::write(&path, "hello").unwrap();
        assert!(refusal().contains("is not a library"));
        std::fs::write(&path, [0x7F, b'E', b'L', b'F', 0, 0]).unwrap();
        assert!(refusal().contains(if cfg!(target_os = "linux") { "too few" } else { "is not a library" }));
    }

    #[test]
    fn a_crash_a_refusal_and_a_silent_end_are_verdicts() {
        let library = testing::runtime();
        let verdict = |script: &str| probe(&sh(script), &library, Duration::from_secs(5)).unwrap_err();
        assert!(verdict("kill -SEGV $$").contains("signal: 11"));
        assert!(verdict("echo too old >&2; exit 1").contains("too old"));
        assert!(verdict("exit 0").contains("said nothing"));
    }

    #[test]
    fn a_hang_ends_with_the_limit() {
        let start = Instant::now();
        let error = probe(&sh("sleep 30"), &testing::runtime(), Duration::from_millis(300)).unwrap_err();
        assert!(error.contains("did not end"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
