//! What a second opinion costs: lookups of rewordings beside the bare embedding of the same texts, taking turns in one run,
//! with each embedding model that Refrain ships and its verifier.
//!
//! `cargo bench --bench verify`. Needs the runtime library (`refrain models fetch`). Prints medians and ratios, the memory
//! that each model takes, and ends with 1 when the default model breaks a bound: decided by the cheap stage, a lookup takes
//! at most 1.3 times the embedding; one reading adds at most 2 embeddings; the median semantic hit takes at most 3 and under
//! 10 ms.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use refrain::cache::{Cache, Policies};
use refrain::config::{self, Span};
use refrain::embed::{Embedder, Prober, State};
use refrain::eval::caller::{Answered, Caller, label};
use refrain::prompt::Prompt;
use refrain::settings::CachePolicy;
use refrain::store::{Store, StoreOptions};
use refrain::types::{CacheId, Clock, Timestamp};
use refrain::verify::Verifier;
use serde_json::{Value, json};

/// Every pair is measured this often.
const ROUNDS: usize = 5;
/// Tokens of the asked prompt, the two special ones included.
const TOKENS: std::ops::RangeInclusive<usize> = 12..=48;

/// What became of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    CheapHit,
    ReadHit,
    Refused,
    NothingNear,
}

/// Resident memory in MiB, as Linux tells.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}

async fn engine(dir: &std::path::Path, model: &str) -> Cache {
    let (deadline, model) = (Span::seconds(10), Some(model.to_owned()));
    let settings = config::Embedder { model, cache_entries: 0, deadline, threads: 1, ..config::Embedder::default() };
    let before = resident();
    let embedder = Embedder::start(&settings, None).await.expect("an embedder");
    let between = resident();
    let verifier = config::Verifier { cache_entries: 0, deadline, threads: 1, ..config::Verifier::default() };
    let verifier = Verifier::start(&verifier, &settings, Prober::find()).await.expect("a verifier");
    println!(
        "memory: embedder {:.0} MiB, verifier {:.0} MiB (one thread each)",
        between - before,
        resident() - between
    );
    assert_eq!(embedder.state(), State::Ready);
    let (store, _) = Store::open(StoreOptions {
        dir: dir.into(),
        index: config::Index::default(),
        memory_bytes: 64 << 20,
        fingerprint: embedder.fingerprint(),
        dimension: embedder.dimension().unwrap_or(0),
    })
    .expect("a store");
    let policies = Policies::load(&store, std::iter::empty::<(CacheId, _)>().collect());
    let cache = Cache::new(store, (embedder, verifier), policies, Clock::system(Timestamp(0)), [0; 32]);
    assert_eq!(cache.verifier_state(), State::Ready);
    cache
}

fn prompt(text: &str) -> Prompt {
    Caller::prompt(&json!([{"role": "user", "content": text}])).expect("a prompt")
}

fn pairs() -> Vec<(String, String)> {
    let read = |name: &str| std::fs::read_to_string(format!("data/eval/{name}.jsonl")).expect("data/eval");
    let rows = read("help_desk") + &read("fow_questions");
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row"));
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    rows.filter(|row| row["label"] == 1).map(|row| (text(&row, "a"), text(&row, "b"))).collect()
}

async fn kind(cache: &Cache, policy: &CachePolicy, answered: &Answered, asked: &str) -> Kind {
    let Answered::Hit(hit) = answered else { return Kind::Refused };
    let read = cache.would(&cache.compare(&hit.stored, asked).await, policy).read;
    if read { Kind::ReadHit } else { Kind::CheapHit }
}

async fn timed<T>(work: impl Future<Output = T>) -> (Duration, T) {
    let began = Instant::now();
    let out = work.await;
    (began.elapsed(), out)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Times of lookups and of the embeddings beside them, in milliseconds.
type Times = BTreeMap<Kind, Vec<(f64, f64)>>;

async fn measure(cache: &Cache) -> Times {
    let policy = Arc::new(CachePolicy::default());
    let caller = Caller::new(cache, CacheId::default(), policy.clone());
    let (here, elsewhere) = (label(1), label(2));
    let mut asked = Vec::new();
    for (stored, wanted) in pairs() {
        let tokens = cache.embedder().embed(&wanted).await.expect("a vector").tokens().map_or(0, |tokens| tokens.len());
        if TOKENS.contains(&tokens) && stored != wanted {
            caller.ask(&prompt(&stored), &here, Some("so")).await.expect("kept");
            asked.push(wanted);
        }
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let mut times = Times::new();
    for _ in 0..ROUNDS {
        for text in &asked {
            let request = prompt(text);
            let (bare, _) = timed(cache.embedder().embed(text)).await;
            let (took, answered) = timed(caller.ask(&request, &here, None)).await;
            let kind = kind(cache, &policy, &answered.expect("an answer"), text).await;
            times.entry(kind).or_default().push((ms(took), ms(bare)));
            let (bare, _) = timed(cache.embedder().embed(text)).await;
            let (took, _) = timed(caller.ask(&request, &elsewhere, None)).await;
            times.entry(Kind::NothingNear).or_default().push((ms(took), ms(bare)));
        }
    }
    times
}

fn show(times: &Times) -> BTreeMap<Kind, (f64, f64)> {
    println!("{:<14}{:>8}{:>12}{:>14}{:>8}", "lookup", "number", "median ms", "embedding ms", "ratio");
    let mut ratios = BTreeMap::new();
    for (kind, times) in times {
        let took = median(times.iter().map(|(took, _)| *took).collect());
        let bare = median(times.iter().map(|(_, bare)| *bare).collect());
        let ratio = median(times.iter().map(|(took, bare)| took / bare).collect());
        println!("{:<14}{:>8}{took:>12.2}{bare:>14.2}{ratio:>8.2}", format!("{kind:?}"), times.len());
        ratios.insert(*kind, (took, ratio));
    }
    ratios
}

/// The weights of a model of this repository, in megabytes.
fn weights(model: &str) -> f64 {
    let file = std::fs::metadata(format!("models/{model}/model.onnx")).expect("a model of this repository");
    f64::from(u32::try_from(file.len()).expect("a small file")) / 1e6
}

/// Measures a model with its verifier; the bounds that it breaks.
async fn run(model: &str) -> Vec<String> {
    println!("\n{model}: {:.1} MB", weights(model));
    let dir = tempfile::tempdir().expect("a folder");
    let cache = engine(dir.path(), model).await;
    let times = measure(&cache).await;
    refrain::app::close(cache).await.expect("closed");
    let ratios = show(&times);
    let hits = times.iter().filter(|(kind, _)| matches!(kind, Kind::CheapHit | Kind::ReadHit)).flat_map(|(_, t)| t);
    let (all, ratio): (Vec<f64>, Vec<f64>) = hits.map(|(took, bare)| (*took, took / bare)).unzip();
    let (median_hit, median_ratio) = (median(all), median(ratio));
    println!("median semantic hit: {median_hit:.2} ms, {median_ratio:.2} embeddings");
    let ratio = |kind: Kind| ratios.get(&kind).map_or(0.0, |(_, ratio)| *ratio);
    let bounds = [
        ("decided by the cheap stage", ratio(Kind::CheapHit), 1.3),
        ("with a reading", ratio(Kind::ReadHit), 3.3),
        ("nothing near", ratio(Kind::NothingNear), 1.3),
        ("median semantic hit", median_ratio, 3.0),
        ("median semantic hit, ms", median_hit, 10.0),
    ];
    let broken = bounds.iter().filter(|(_, value, most)| value > most);
    broken.map(|(what, value, most)| format!("BROKEN {what}: {value:.2} > {most}")).collect()
}

#[tokio::main]
async fn main() -> ExitCode {
    let [(default, _), (multilingual, _)] = config::Verifier::PAIRS;
    let broken = run(default).await;
    run(multilingual).await;
    for line in &broken {
        println!("{line}");
    }
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
