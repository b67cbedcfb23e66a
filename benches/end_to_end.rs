//! The whole service over HTTP, as ratios against baselines measured in the same run, turn by turn.
//!
//! `cargo bench --bench end_to_end [-- a b c d]`; `REFRAIN_BENCH_ENTRIES` (100,000) sizes part d, which takes minutes.
//! The service is the release binary in a process of its own; so is the bare axum handler that it is compared with.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::post;
use refrain::config::{self, Span};
use refrain::embed::Embedder;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const ROUNDS: usize = 3;
const CONNECTIONS: usize = 16;
/// About 30 tokens, as a question to a help desk has.
const QUESTION: &str =
    "I have forgotten the password of my account, how do I reset it without access to my old e-mail address?";
const NEAR: &str =
    "I have forgotten the password of my account, how can I reset it without access to my old email address?";

/// A child process that ends with its owner.
struct Running {
    child: Child,
    address: SocketAddr,
}

impl Running {
    /// Starts `command` and reads the address from its first line.
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its stdout")).read_line(&mut line).expect("its first line");
        let address = line.trim().rsplit('/').next().and_then(|address| address.parse().ok()).expect("an address");
        Self { child, address }
    }

    fn service(folder: &Path, provider: SocketAddr) -> Self {
        let config = folder.join("refrain.toml");
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n[store]\ndata_dir = {:?}\n[embedder]\nmodels_dir = {:?}\ncache_entries = 0\n\
             deadline = \"10s\"\n[caches.default]\nmax_entries = 1000000\n[log]\nfilter = \"error\"\n\
             [[upstreams]]\nname = \"bench\"\ndialect = \"openai\"\nbase_url = \"http://{provider}/v1\"\n",
            folder.join("data").display().to_string(),
            Path::new(env!("CARGO_MANIFEST_DIR")).join("models").display().to_string(),
        );
        std::fs::write(&config, text).expect("the configuration");
        Self::start(Command::new(env!("CARGO_BIN_EXE_refrain")).args(["serve", "--config"]).arg(config))
    }

    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("kilobytes") * 1024
    }

    fn stop(mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn chat(text: &str, stream: bool) -> String {
    json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": text}]}).to_string()
}

fn request(path: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A keep-alive connection that knows as much HTTP as it needs.
struct Line {
    socket: TcpStream,
    buffer: Vec<u8>,
}

struct Told {
    head: String,
    body: Vec<u8>,
    first_byte: Duration,
    whole: Duration,
}

impl Line {
    async fn open(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).await.expect("a connection");
        socket.set_nodelay(true).expect("no delay");
        Self { socket, buffer: Vec::with_capacity(64 << 10) }
    }

    async fn ask(&mut self, request: &[u8]) -> Told {
        self.buffer.clear();
        let began = Instant::now();
        self.socket.write_all(request).await.expect("sent");
        let mut first_byte = None;
        loop {
            if let Some((head, body)) = whole(&self.buffer) {
                let first_byte = first_byte.unwrap_or_default();
                return Told { head, body, first_byte, whole: began.elapsed() };
            }
            assert!(self.socket.read_buf(&mut self.buffer).await.expect("an answer") > 0, "the connection ended");
            let head = self.buffer.windows(4).any(|w| w == b"\r\n\r\n");
            if head && !self.buffer.ends_with(b"\r\n\r\n") {
                first_byte.get_or_insert_with(|| began.elapsed());
            }
        }
    }
}

/// Head and body of the answer in `bytes`, once it is whole.
fn whole(bytes: &[u8]) -> Option<(String, Vec<u8>)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..end]).ok()?.to_ascii_lowercase();
    let body = &bytes[end..];
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse::<usize>().ok());
    let done = length.map_or_else(|| body.ends_with(b"0\r\n\r\n"), |length| body.len() >= length);
    done.then(|| (head, body.to_vec()))
}

fn percentile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0
}

fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Requests a second over many connections.
async fn throughput(address: SocketAddr, request: &[u8], seconds: u64) -> f64 {
    let until = Instant::now() + Duration::from_secs(seconds);
    let workers = (0..CONNECTIONS).map(|_| async {
        let mut line = Line::open(address).await;
        let mut count = 0_u32;
        while Instant::now() < until {
            line.ask(request).await;
            count += 1;
        }
        count
    });
    let counts: Vec<u32> = futures_util::future::join_all(workers).await;
    f64::from(counts.iter().sum::<u32>()) / seconds as f64
}

/// Times of single requests at about 200 a second.
async fn light_load(address: SocketAddr, request: &[u8], count: usize) -> Vec<Duration> {
    let mut line = Line::open(address).await;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        times.push(line.ask(request).await.whole);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    times
}

async fn keep(service: &Running, text: &str) {
    let completion = json!({"id": "a", "object": "chat.completion", "created": 1, "model": "m",
        "usage": {"prompt_tokens": 20, "completion_tokens": 200, "total_tokens": 220}, "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "So be it. ".repeat(80)}}]});
    let body = json!({"request": serde_json::from_str::<Value>(&chat(text, false)).unwrap(), "response": completion});
    let told = Line::open(service.address).await.ask(&request("/v1/caches/default/store", "", &body.to_string())).await;
    assert!(told.head.starts_with("http/1.1 201"), "{}", told.head);
}

async fn exact_hits(service: &Running) {
    keep(service, QUESTION).await;
    let asked = request("/v1/chat/completions", "", &chat(QUESTION, false));
    let hit = Line::open(service.address).await.ask(&asked).await;
    assert!(hit.head.contains("x-refrain-tier: exact"), "{}", hit.head);
    let bare =
        Running::start(Command::new(std::env::current_exe().unwrap()).arg("--bare").arg(hit.body.len().to_string()));
    let (mut ratios, mut p99) = (Vec::new(), (Vec::new(), Vec::new()));
    for round in 1..=ROUNDS {
        let (theirs, ours) = (throughput(bare.address, &asked, 4).await, throughput(service.address, &asked, 4).await);
        let bare99 = percentile(&mut light_load(bare.address, &asked, 600).await, 99);
        let mut own = light_load(service.address, &asked, 600).await;
        let (own50, own99) = (percentile(&mut own, 50), percentile(&mut own, 99));
        println!(
            "(a) round {round}: bare axum {theirs:.0}/s p99 {bare99:.3} ms, exact hit {ours:.0}/s p50 {own50:.3} p99 {own99:.3} ms"
        );
        ratios.push(ours / theirs);
        p99.0.push(bare99);
        p99.1.push(own99);
    }
    println!(
        "(a) exact hit: {:.2} of a bare axum handler's throughput (aim 0.5); p99 at a light load {:.3} ms against {:.3} ms (aim under 1)",
        middle(ratios),
        middle(p99.1),
        middle(p99.0)
    );
}

async fn embedder() -> Embedder {
    let config = config::Embedder { cache_entries: 0, deadline: Span::seconds(10), ..config::Embedder::default() };
    Embedder::start(&config, None).await.expect("the embedder starts")
}

async fn bare_embeddings(embedder: &Embedder, count: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let began = Instant::now();
        embedder.embed(NEAR).await.expect("a vector");
        times.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    times
}

async fn semantic_hits(service: &Running, embedder: &Embedder) {
    keep(service, QUESTION).await;
    let asked = request("/v1/chat/completions", "cache-control: no-store\r\n", &chat(NEAR, false));
    let hit = Line::open(service.address).await.ask(&asked).await;
    assert!(hit.head.contains("x-refrain-tier: semantic"), "{}", hit.head);
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        let mut bare = bare_embeddings(embedder, 300).await;
        let mut own = light_load(service.address, &asked, 300).await;
        let (bare50, own50) = (percentile(&mut bare, 50), percentile(&mut own, 50));
        println!(
            "(b) round {round}: bare embedding {bare50:.2} ms, semantic hit over HTTP {own50:.2} ms (p99 {:.2})",
            percentile(&mut own, 99)
        );
        ratios.push(own50 / bare50);
    }
    println!("(b) semantic hit: {:.2} times the bare embedding (aim 1.25)", middle(ratios));
}

async fn first_bytes(service: &Running, provider: SocketAddr, embedder: &Embedder) {
    let (mut late, mut rest, mut texts) = (Vec::new(), Vec::new(), 0);
    for round in 1..=ROUNDS {
        let (mut direct, mut through, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        let (mut one, mut two) = (Line::open(provider).await, Line::open(service.address).await);
        for _ in 0..100 {
            texts += 1;
            let text = format!("{NEAR} My customer number is {texts}.");
            let asked = request("/v1/chat/completions", "cache-control: no-store\r\n", &chat(&text, true));
            direct.push(one.ask(&asked).await.first_byte);
            let told = two.ask(&asked).await;
            assert!(told.head.contains("x-refrain-outcome: miss"), "{}", told.head);
            through.push(told.first_byte);
            tokio::time::sleep(Duration::from_millis(20)).await;
            let began = Instant::now();
            embedder.embed(&text).await.expect("a vector");
            bare.push(began.elapsed());
        }
        let [direct, through, bare] = [&mut direct, &mut through, &mut bare].map(|times| percentile(times, 50));
        println!(
            "(c) round {round}: first byte from the provider {direct:.2} ms, through Refrain {through:.2} ms; \
             embedding of the same text {bare:.2} ms"
        );
        late.push(through - direct);
        rest.push(through - direct - bare);
    }
    let (late, rest) = (middle(late), middle(rest));
    println!(
        "(c) first byte of a streamed miss: {late:.2} ms later than the provider's, {rest:.2} ms without the embedding (aim 1)"
    );
}

const VERBS: [&str; 20] = [
    "open",
    "close",
    "share",
    "print",
    "rename",
    "export",
    "import",
    "encrypt",
    "restore",
    "archive",
    "translate",
    "merge",
    "split",
    "sort",
    "publish",
    "lock",
    "copy",
    "compress",
    "preview",
    "download",
];
const THINGS: [&str; 25] = [
    "note", "folder", "photo", "invoice", "contract", "calendar", "contact", "backup", "template", "report", "receipt",
    "diagram", "playlist", "letter", "map", "recipe", "ticket", "survey", "form", "sketch", "message", "poster",
    "table", "chart", "video",
];
const PLACES: [&str; 20] = [
    "on my phone",
    "in the browser",
    "at work",
    "without a network",
    "for a colleague",
    "with a pen",
    "by voice",
    "on a tablet",
    "from the desktop",
    "for my team",
    "in a meeting",
    "on the train",
    "with one hand",
    "for a customer",
    "in the archive",
    "at home",
    "from a link",
    "in dark mode",
    "on a shared computer",
    "for a friend",
];
const WHEN: [&str; 10] = [
    "before I sign it",
    "after the update",
    "while it is being edited",
    "when it is locked",
    "once it is old",
    "if it is empty",
    "though it is large",
    "because it is broken",
    "until it is approved",
    "as soon as it arrives",
];

/// A question of its own for every number, near to some others as real ones are.
fn numbered(n: usize) -> String {
    let (verb, thing) = (VERBS[n % 20], THINGS[n / 20 % 25]);
    format!("How do I {verb} a {thing} {} {}?", PLACES[n / 500 % 20], WHEN[n / 10_000 % 10])
}

async fn many_entries(folder: &Path, provider: SocketAddr) {
    let total: usize = std::env::var("REFRAIN_BENCH_ENTRIES").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let service = Running::service(folder, provider);
    let empty = service.resident();
    let began = Instant::now();
    let workers = (0..8).map(|worker| {
        let service = &service;
        async move {
            let mut line = Line::open(service.address).await;
            for n in (worker..total).step_by(8) {
                let completion = json!({"id": "a", "object": "chat.completion", "created": 1, "model": "m", "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": format!("Answer {n}. ").repeat(40)}}]});
                let body = json!({"request": serde_json::from_str::<Value>(&chat(&numbered(n), false)).unwrap(), "response": completion});
                let told = line.ask(&request("/v1/caches/default/store", "", &body.to_string())).await;
                assert!(told.head.starts_with("http/1.1 201"), "{}", told.head);
            }
        }
    });
    futures_util::future::join_all(workers).await;
    println!("(d) {total} entries stored over HTTP in {:.0} s", began.elapsed().as_secs_f64());
    wait_for_graph(&service).await;
    println!(
        "(d) resident memory {:.2} KB an entry",
        (service.resident().saturating_sub(empty)) as f64 / total as f64 / 1024.0
    );
    service.stop();
    let began = Instant::now();
    let service = Running::service(folder, provider);
    let ready = began.elapsed();
    println!("(d) restart to ready: {:.2} s (aim under 3)", ready.as_secs_f64());
    println!(
        "(d) resident memory after the restart {:.2} KB an entry",
        service.resident().saturating_sub(empty) as f64 / total as f64 / 1024.0
    );
    let mut line = Line::open(service.address).await;
    let (mut exact, mut semantic) = (Vec::new(), Vec::new());
    for n in (0..total).step_by((total / 500).max(1)) {
        let told =
            line.ask(&request("/v1/chat/completions", "cache-control: no-store\r\n", &chat(&numbered(n), false))).await;
        assert!(told.head.contains("x-refrain-tier: exact"), "{}", told.head);
        exact.push(told.whole);
        let near = numbered(n).replace("How do I", "How can I");
        let told = line.ask(&request("/v1/chat/completions", "cache-control: no-store\r\n", &chat(&near, false))).await;
        semantic.push((told.whole, told.head.contains("x-refrain-tier: semantic")));
    }
    let hits = semantic.iter().filter(|(_, hit)| *hit).count();
    let mut times: Vec<Duration> = semantic.iter().map(|(time, _)| *time).collect();
    println!(
        "(d) of {total} entries: exact hit p50 {:.2} p99 {:.2} ms; reworded lookup p50 {:.2} p99 {:.2} ms, {hits} of {} hit",
        percentile(&mut exact, 50),
        percentile(&mut exact, 99),
        percentile(&mut times, 50),
        percentile(&mut times, 99),
        times.len()
    );
    service.stop();
}

/// Waits until the service has gone idle: the graph of the last entries is built then.
async fn wait_for_graph(service: &Running) {
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", service.child.id())).expect("its status");
        let fields: Vec<u64> =
            stat.rsplit(')').next().unwrap().split_whitespace().filter_map(|f| f.parse().ok()).collect();
        fields[10] + fields[11]
    };
    loop {
        let before = ticks();
        tokio::time::sleep(Duration::from_secs(6)).await;
        if ticks() - before < 30 {
            return;
        }
    }
}

/// A provider whose first event comes after 20 ms.
async fn provider() -> SocketAddr {
    let answer = |_: Bytes| async {
        let event = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\
                     \"delta\":{\"content\":\"So.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        tokio::time::sleep(Duration::from_millis(20)).await;
        ([("content-type", "text/event-stream")], Body::from(event))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/v1/chat/completions", post(answer));
    tokio::spawn(async move {
        axum::serve(
            axum::serve::ListenerExt::tap_io(listener, |s| {
                let _ = s.set_nodelay(true);
            }),
            router,
        )
        .await
    });
    address
}

/// The baseline: an axum handler that reads the request and answers with so many bytes.
async fn bare(length: usize) {
    let body = Bytes::from(vec![b'x'; length]);
    let answer = move |_: Bytes| async move { ([("content-type", "application/json")], body) };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("listening on http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/chat/completions", post(answer));
    axum::serve(
        axum::serve::ListenerExt::tap_io(listener, |s| {
            let _ = s.set_nodelay(true);
        }),
        router,
    )
    .await
    .unwrap();
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [flag, length] = arguments.as_slice()
        && flag == "--bare"
    {
        return bare(length.parse().expect("a length")).await;
    }
    let wanted = |part: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == part);
    let folder = tempfile::tempdir().expect("a folder");
    let provider = provider().await;
    if ["a", "b", "c"].into_iter().any(wanted) {
        let service = Running::service(folder.path(), provider);
        if wanted("a") {
            exact_hits(&service).await;
        }
        let embedder = embedder().await;
        if wanted("b") {
            semantic_hits(&service, &embedder).await;
        }
        if wanted("c") {
            first_bytes(&service, provider, &embedder).await;
        }
        embedder.shutdown();
        service.stop();
    }
    if wanted("d") {
        let folder = tempfile::tempdir().expect("a folder");
        many_entries(folder.path(), provider).await;
    }
}
