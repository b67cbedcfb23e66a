//! The engine without HTTP: an exact hit, a semantic hit and the bare embedding in it, and the relay's copy of a stream.
//!
//! `cargo bench --bench engine`. Needs the runtime library (`refrain models fetch`).

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use refrain::app::Service;
use refrain::cache::{Lookup, Question};
use refrain::config::{Config, Secrets, Span};
use refrain::dialect::assemble::{self, Assembler, Expected};
use refrain::dialect::openai_chat;
use refrain::policy::directives::Directives;
use refrain::policy::partition::Scope;
use refrain::prompt::Prompt;
use refrain::types::{CacheId, Dialect};
use serde_json::json;
use tokio::runtime::Runtime;

const KNOWN: &str =
    "I have forgotten the password of my account, how do I reset it without access to my old e-mail address?";
const NEAR: &str =
    "I have forgotten the password of my account, how can I reset it without access to my old email address?";

fn prompt(text: &str) -> Prompt {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]}).to_string();
    openai_chat::parse(body.as_bytes()).expect("a request")
}

struct Bench {
    service: Service,
    directives: Directives,
}

impl Bench {
    async fn start(folder: &std::path::Path) -> Self {
        let mut config = Config::default();
        config.server.listen = "127.0.0.1:0".into();
        config.store.data_dir = folder.into();
        config.embedder.deadline = Span::seconds(10);
        // Every lookup computes its vector, as a new wording does.
        config.embedder.cache_entries = 0;
        let service = Service::start(config, Secrets::default()).await.expect("the service starts");
        Self { service, directives: Directives::default() }
    }

    async fn lookup(&self, prompt: &Prompt, refresh: bool) -> Lookup {
        let cache = self.service.cache();
        let scope = Scope {
            tenant: cache.tenant(None),
            cache: CacheId::default(),
            upstream: "".into(),
            dialect: Dialect::OpenAi,
            route: "chat/completions".into(),
            headers: Vec::new(),
            attributes: refrain::types::Attributes::default(),
        };
        let directives = Directives { no_cache: refresh, ..self.directives.clone() };
        let policy = cache.policies().get(&CacheId::default()).expect("the default policy");
        cache.lookup(Question { prompt, scope, directives: &directives, explain: false }, &policy).await
    }

    async fn keep(&self, text: &str) {
        let Lookup::Forward(forward) = self.lookup(&prompt(text), true).await else { unreachable!("no-cache") };
        let body = json!({"id": "a", "object": "chat.completion", "created": 1, "model": "m", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "So. ".repeat(200)}}]});
        let answer = assemble::complete(body.to_string().as_bytes(), Some("application/json"), Expected::text(1 << 20));
        self.service.cache().commit(*forward.keep.expect("a plan"), answer.expect("complete")).await.expect("kept");
    }
}

fn lookups(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("threads");
    let folder = tempfile::tempdir().expect("a folder");
    let bench = runtime.block_on(async {
        let bench = Bench::start(folder.path()).await;
        bench.keep(KNOWN).await;
        bench
    });
    let mut group = criterion.benchmark_group("lookup");
    group.measurement_time(Duration::from_secs(5));
    for (name, text) in [("exact hit", KNOWN), ("semantic hit", NEAR)] {
        let asked = prompt(text);
        group.bench_function(name, |b| {
            b.to_async(&runtime).iter(|| async {
                assert!(matches!(bench.lookup(black_box(&asked), false).await, Lookup::Hit(_)));
            });
        });
    }
    group.bench_function("the bare embedding of the same text", |b| {
        b.to_async(&runtime).iter(|| async { bench.service.cache().embedder().embed(black_box(NEAR)).await.unwrap() });
    });
    group.finish();
    runtime.block_on(bench.service.shutdown()).expect("a clean end");
}

fn relay(criterion: &mut Criterion) {
    let event = |delta: serde_json::Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!(
            "data: {}\n\n",
            json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})
        )
    };
    let mut stream: String = (0..1000).map(|n| event(json!({"content": format!("word {n} ")}), None)).collect();
    stream.push_str(&event(json!({}), Some("stop")));
    stream.push_str("data: [DONE]\n\n");
    let mut group = criterion.benchmark_group("relay");
    group.throughput(Throughput::Bytes(stream.len() as u64));
    group.bench_function("1,000 events assembled", |b| {
        b.iter(|| {
            let mut assembler = Assembler::new(Expected::text(1 << 20));
            for read in stream.as_bytes().chunks(180) {
                assembler.push(black_box(read));
            }
            assembler.finish(true).expect("a complete answer")
        });
    });
    group.finish();
}

criterion_group!(benches, lookups, relay);
criterion_main!(benches);
