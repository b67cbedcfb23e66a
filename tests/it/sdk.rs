//! The official clients, unmodified, as their users have them: pinned in `tests/sdk`, installed here when they are not
//! there yet. A client that cannot be installed fails its test; nothing is skipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::json;

use crate::support::{Provider, Refrain, Reply};

fn pinned() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk")
}

/// Where clients are installed: a build product, so beside the others.
fn installed() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("sdk")
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&said));
}

/// Installs once for each state of the pinning file, under a lock that other test processes honour.
fn install(name: &str, pins: &str, steps: impl FnOnce(&Path)) -> PathBuf {
    let folder = installed().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let lock = std::fs::File::create(folder.join(".lock")).unwrap();
    lock.lock().unwrap();
    let stamp = folder.join(".installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|done| done == pins) {
        return folder;
    }
    steps(&folder);
    std::fs::write(stamp, pins).unwrap();
    folder
}

fn python() -> PathBuf {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    let install = || {
        let pins = pinned().join("requirements.txt");
        let folder = install("python", &std::fs::read_to_string(&pins).unwrap(), |folder| {
            run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder.join("venv")));
            let python = folder.join("venv/bin/python");
            run(Command::new(python).args(["-m", "pip", "install", "--quiet", "--no-deps", "-r"]).arg(&pins));
        });
        folder.join("venv/bin/python")
    };
    PYTHON.get_or_init(install).clone()
}

fn node() -> PathBuf {
    static NODE: OnceLock<PathBuf> = OnceLock::new();
    let install = || {
        let pins = std::fs::read_to_string(pinned().join("package-lock.json")).unwrap();
        install("node", &pins, |folder| {
            for file in ["package.json", "package-lock.json", ".npmrc"] {
                std::fs::copy(pinned().join(file), folder.join(file)).unwrap();
            }
            run(Command::new("npm").args(["ci", "--silent"]).current_dir(folder));
        })
    };
    NODE.get_or_init(install).clone()
}

async fn succeeds(mut command: Command) {
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().expect("the client runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.contains("ok"), "{said}");
}

async fn python_script(name: &str, base: &str) {
    let python = tokio::task::spawn_blocking(python).await.unwrap();
    let mut command = Command::new(python);
    command.arg(pinned().join(name)).arg(base);
    succeeds(command).await;
}

async fn node_script(name: &str, base: &str) {
    let folder = tokio::task::spawn_blocking(node).await.unwrap();
    // Modules are looked for beside the script.
    std::fs::copy(pinned().join(name), folder.join(name)).unwrap();
    let mut command = Command::new("node");
    command.arg(folder.join(name)).arg(base);
    succeeds(command).await;
}

/// A provider that says 429 to a question that asks for it, and knows its models.
async fn provider() -> Provider {
    let provider = Provider::start().await;
    let slow_down = json!({"error": {"message": "slow down", "type": "rate_limit", "param": null, "code": null}});
    let refusal =
        Reply::body(429, &[("content-type", "application/json"), ("retry-after", "2")], slow_down.to_string());
    let models =
        json!({"object": "list", "data": [{"id": "alpha-small", "object": "model", "created": 1, "owned_by": "x"}]});
    provider.when("fail with 429", refusal).when("GET /v1/models", Reply::json(200, &models));
    provider
}

#[tokio::test(flavor = "multi_thread")]
async fn the_openai_client_for_python_gets_cached_answers() {
    let provider = provider().await;
    let refrain = Refrain::start(&provider, "[caches.faq]").await;
    python_script("openai_client.py", &refrain.base).await;
    assert_eq!(provider.calls(), 5, "two misses, one in another cache, one refusal, one shared by eight");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_openai_client_for_node_gets_cached_answers() {
    let provider = provider().await;
    let refrain = Refrain::start(&provider, "").await;
    node_script("openai_client.mjs", &refrain.base).await;
    assert_eq!(provider.calls(), 4, "two misses, one refusal, one list of models");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_langcache_client_for_python_works_unmodified() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.faq]").await;
    python_script("langcache_client.py", &refrain.base).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_langcache_client_for_node_works_unmodified() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.faq]").await;
    node_script("langcache_client.mjs", &refrain.base).await;
}
