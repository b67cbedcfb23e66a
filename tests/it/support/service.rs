//! The real binary, started as an operator starts it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::Provider;

/// The runtime library is fetched once for the whole test run.
fn provisioned() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        let fetched = Command::new(env!("CARGO_BIN_EXE_refrain"))
            .args(["models", "fetch"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("refrain models fetch runs");
        assert!(fetched.success(), "refrain models fetch failed");
    });
}

/// A running service with its own data folder.
pub struct Refrain {
    /// `http://127.0.0.1:PORT`
    pub base: String,
    http: reqwest::Client,
    child: Option<Child>,
    stderr: Arc<Mutex<String>>,
    folder: TempDir,
    config: PathBuf,
    env: Vec<(String, String)>,
}

/// Everything that came back.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Names in lower case.
    pub headers: reqwest::header::HeaderMap,
    /// The bytes of the body.
    pub body: Vec<u8>,
}

impl Answer {
    /// A header's value, empty when it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("a header of plain text"))
    }

    /// `hit`, `miss`, `stale` or `bypass`.
    pub fn outcome(&self) -> &str {
        self.header("x-refrain-outcome")
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body in UTF-8")
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {:?}", self.text()))
    }

    /// The events of a stream, `[DONE]` left out.
    pub fn events(&self) -> Vec<Value> {
        let lines = self.text().lines().filter_map(|line| line.strip_prefix("data: "));
        lines.filter(|data| data.trim() != "[DONE]").map(|data| serde_json::from_str(data).expect("JSON")).collect()
    }

    /// What the assistant said, whichever form it came in.
    pub fn said(&self) -> String {
        if self.header("content-type").starts_with("text/event-stream") {
            let events = self.events();
            return events.iter().filter_map(|e| e["choices"][0]["delta"]["content"].as_str()).collect();
        }
        self.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
    }
}

impl Refrain {
    /// Makes sure that the runtime library is there.
    pub fn provision() {
        provisioned();
    }

    /// Starts the service in front of `provider`; `more` is added to its configuration.
    pub async fn start(provider: &Provider, more: &str) -> Self {
        Self::start_with(provider, more, &[]).await
    }

    /// The same with environment variables.
    pub async fn start_with(provider: &Provider, more: &str, env: &[(&str, &str)]) -> Self {
        provisioned();
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("refrain.toml");
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
        let mut text = String::new();
        let mut section = |header: &str, lines: &str| {
            if !more.contains(header) {
                text.push_str(&format!("{header}\n{lines}\n"));
            }
        };
        section("[server]", "listen = \"127.0.0.1:0\"");
        section("[store]", &format!("data_dir = {:?}", folder.path().join("data")));
        section("[embedder]", &format!("models_dir = {models:?}\ndeadline = \"5s\""));
        section(
            "[[upstreams]]",
            &format!("name = \"scripted\"\ndialect = \"openai\"\nbase_url = {:?}", provider.base_url()),
        );
        std::fs::write(&config, text + more).expect("the configuration is written");
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        // An error says that another test's was first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        let stderr = Arc::default();
        let mut service = Self { base: String::new(), http, child: None, stderr, folder, config, env };
        service.spawn().await;
        service
    }

    async fn spawn(&mut self) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_refrain"))
            .args(["serve", "--config"])
            .arg(&self.config)
            .envs(self.env.iter().cloned())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut errors = child.stderr.take().expect("its stderr");
        let log = Arc::clone(&self.stderr);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n) = errors.read(&mut piece) {
                if n == 0 {
                    return;
                }
                log.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..n]));
            }
        });
        let lines = BufReader::new(child.stdout.take().expect("its stdout"));
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        self.child = Some(child);
        let line = tokio::task::spawn_blocking(move || receiver.recv_timeout(Duration::from_mins(1))).await.unwrap();
        let line = line.unwrap_or_else(|_| panic!("it never listened: {}", self.log()));
        line.rsplit_once(' ').expect("the listening line").1.clone_into(&mut self.base);
    }

    /// Starts it with a configuration that it should refuse: the exit code and what it said on stderr.
    pub async fn fails_to_start(config: &str) -> (Option<i32>, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("refrain.toml");
        let mut text = String::new();
        for (header, line) in [
            ("[server]", "listen = \"127.0.0.1:0\"".to_owned()),
            ("[store]", format!("data_dir = {:?}", folder.path().join("data"))),
        ] {
            if !config.contains(header) {
                text.push_str(&format!("{header}\n{line}\n"));
            }
        }
        std::fs::write(&path, text + config).expect("the configuration is written");
        run(&["serve", "--config", path.to_str().expect("a path of text")]).await
    }

    /// Everything on stderr so far.
    pub fn log(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// The folder with configuration and data.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Resident memory of the process.
    pub fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("kilobytes") * 1024
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("a running service").id()
    }

    /// Sends a request to `path`.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Answer {
        let mut request = self.http.request(method.parse().unwrap(), format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        answer(request).await
    }

    /// A chat request.
    pub async fn chat(&self, body: &Value) -> Answer {
        self.chat_with(&[], body).await
    }

    /// A chat request with headers.
    pub async fn chat_with(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.send("POST", "/v1/chat/completions", headers, Some(body)).await
    }

    /// A chat request whose answer is kept: returns when lookups of other prompts see it.
    pub async fn keep(&self, body: &Value) -> Answer {
        self.keep_with(&[], body).await
    }

    /// The same with headers.
    pub async fn keep_with(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        let entries = async || {
            let stats = self.send("GET", "/v1/caches/default/stats", &[], None).await.json();
            stats["entries"].as_u64().expect("a count")
        };
        let before = entries().await;
        let answer = self.chat_with(headers, body).await;
        super::wait_until("the entry", async || entries().await > before).await;
        answer
    }

    /// A POST of these very characters as JSON.
    pub async fn send_raw_json(&self, path: &str, body: &str) -> Answer {
        self.send_bytes(path, body.as_bytes()).await
    }

    /// A POST of these very bytes as JSON.
    pub async fn send_bytes(&self, path: &str, body: &[u8]) -> Answer {
        let request = self.http.post(format!("{}{path}", self.base)).header("content-type", "application/json");
        answer(request.body(body.to_vec())).await
    }

    /// A POST of JSON to one of Refrain's own routes.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[], Some(body)).await
    }

    /// A chat request whose answer is read piece by piece.
    pub async fn open(&self, headers: &[(&str, &str)], body: &Value) -> reqwest::Response {
        let mut request = self.http.post(format!("{}/v1/chat/completions", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await
            .expect("an answer's head")
    }

    /// Stops with SIGTERM, waits for the end.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait_end()
    }

    /// Ends it as `kill -9` does.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("a running service");
        child.kill().expect("the process can be killed");
        child.wait().expect("the process ends");
    }

    /// Starts it again on the same folder.
    pub async fn start_again(&mut self) {
        self.spawn().await;
    }

    /// Changes the configuration of the next start.
    pub fn edit_config(&self, from: &str, to: &str) {
        let text = std::fs::read_to_string(&self.config).expect("the configuration");
        assert!(text.contains(from), "{from:?} is not in {text}");
        std::fs::write(&self.config, text.replace(from, to)).expect("the configuration is written");
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Asks it to end, as an operator does.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Waits for the end.
    pub fn wait_end(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("a running service");
        let until = Instant::now() + Duration::from_secs(40);
        loop {
            if let Some(status) = child.try_wait().expect("its status") {
                return status;
            }
            assert!(Instant::now() < until, "it did not end: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Runs a command to its end, which must come within 20 s: the exit code, and stdout with stderr.
pub async fn run(arguments: &[&str]) -> (Option<i32>, String) {
    run_with(arguments, &[]).await
}

/// The same with environment variables.
pub async fn run_with(arguments: &[&str], env: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_refrain"));
    let child = command.args(arguments).envs(env.iter().copied()).kill_on_drop(true).output();
    let output = tokio::time::timeout(Duration::from_secs(20), child).await.expect("an end").expect("the binary runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

async fn answer(request: reqwest::RequestBuilder) -> Answer {
    let response = request.timeout(Duration::from_mins(1)).send().await.expect("an answer");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = response.bytes().await.expect("a whole body").to_vec();
    Answer { status, headers, body }
}

impl Drop for Refrain {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let log = self.log();
        if std::thread::panicking() {
            eprintln!("--- the service's log ---\n{log}");
        } else {
            assert!(!log.contains("panicked"), "the service panicked: {log}");
        }
    }
}
