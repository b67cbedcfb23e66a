//! Prints what the verifier sees of labelled pairs, for training a judge (`models/train/train_judge.py`).
//!
//!     cargo run --release --example pair_signals -- VERIFIER_FOLDER [EMBEDDER] < pairs.jsonl > signals.jsonl
//!
//! Each input line is `{"a", "b", ...}`; it comes out with `bypass`, `cosine`, `vetoes`, `signals` and the reader's
//! log-odds (`read`) and the kind of change (`change`) added. The very code of the service computes them, so that what is
//! trained is what runs.

use std::io::{BufRead, Write};

use refrain::cache::{Cache, Policies};
use refrain::config;
use refrain::embed::{Embedder, Prober, State};
use refrain::store::{Store, StoreOptions};
use refrain::types::{CacheId, Clock};
use refrain::verify::Verifier;
use serde_json::{Value, json};

async fn engine(
    folder: &str,
    embedder: Option<String>,
    dir: &std::path::Path,
) -> Result<Cache, Box<dyn std::error::Error>> {
    let settings = config::Embedder { model: embedder, ..config::Embedder::default() };
    let embedder = Embedder::start(&settings, None).await?;
    let verifier = config::Verifier { model: Some(folder.into()), ..config::Verifier::default() };
    let verifier = Verifier::start(&verifier, &settings, Prober::find()).await?;
    if embedder.state() != State::Ready {
        return Err(format!("the embedder: {:?}", embedder.state()).into());
    }
    let (store, _) = Store::open(StoreOptions {
        dir: dir.into(),
        index: config::Index::default(),
        memory_bytes: 1 << 20,
        fingerprint: embedder.fingerprint(),
        dimension: embedder.dimension().unwrap_or(0),
    })?;
    let policies = Policies::load(&store, std::iter::empty::<(CacheId, _)>().collect());
    let cache = Cache::new(store, (embedder, verifier), policies, Clock::system(refrain::types::Timestamp(0)), [0; 32]);
    match cache.verifier_state() {
        State::Ready => Ok(cache),
        other => Err(format!("the verifier: {other:?}").into()),
    }
}

fn text<'a>(row: &'a Value, name: &str) -> Result<&'a str, String> {
    row[name].as_str().ok_or_else(|| format!("{name} is not a string in {row}"))
}

async fn line(cache: &Cache, row: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut row: Value = serde_json::from_str(row)?;
    let compared = cache.compare(text(&row, "a")?, text(&row, "b")?).await;
    let read = cache.verifier().log_odds(text(&row, "a")?, text(&row, "b")?).await.ok();
    row["bypass"] = json!(compared.bypass.map(refrain::reason::BypassReason::as_str));
    row["cosine"] = json!(compared.cosine);
    row["vetoes"] = compared.vetoes.iter().map(|veto| veto.guard.as_str()).collect();
    row["signals"] = json!(compared.glance.as_ref().map(refrain::verify::Glance::signals));
    row["read"] = json!(read);
    row["change"] = json!(compared.glance.as_ref().map(|glance| glance.kind.change.as_str()));
    Ok(row.to_string())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: pair_signals VERIFIER_FOLDER [EMBEDDER] < pairs.jsonl")?;
    let dir = tempfile::tempdir()?;
    let cache = engine(&folder, arguments.next(), dir.path()).await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", json!({"names": refrain::verify::signals::names()}))?;
    for row in std::io::stdin().lock().lines() {
        writeln!(out, "{}", line(&cache, &row?).await?)?;
    }
    Ok(())
}
