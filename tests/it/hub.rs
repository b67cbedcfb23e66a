//! A model of a hub: fetched once from a loopback hub, then served without it.

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::path::Path as FilePath;

use crate::support::service::run_with;
use crate::support::{Provider, Refrain, ask};

const MODEL: &str = "Qdrant/all-MiniLM-L6-v2-onnx";

/// Answers as a hub does, with the repository's own model under every name.
async fn file(Path((_, _, name)): Path<(String, String, String)>, headers: HeaderMap) -> Response {
    let folder = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("models/all-minilm-l6-v2-int8");
    let Ok(bytes) = std::fs::read(folder.join(&name)) else { return StatusCode::NOT_FOUND.into_response() };
    let range = headers.get("range").and_then(|value| value.to_str().ok()?.strip_prefix("bytes="));
    let (from, to) = range.and_then(|range| range.split_once('-')).unwrap_or(("0", ""));
    let from: usize = from.parse().unwrap();
    let to: usize = to.parse().unwrap_or(bytes.len() - 1).min(bytes.len() - 1);
    let headers = [
        ("content-range", format!("bytes {from}-{to}/{}", bytes.len())),
        ("x-repo-commit", "0123456789abcdef".to_owned()),
        ("etag", format!("\"{name}\"")),
    ];
    (StatusCode::PARTIAL_CONTENT, headers, bytes[from..=to].to_vec()).into_response()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_model_is_fetched_by_the_command_and_served_from_its_cache() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hub = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/{owner}/{model}/resolve/main/{name}", get(file));
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    let home = tempfile::tempdir().unwrap();
    let env = [("HF_ENDPOINT", hub.as_str()), ("HF_HOME", home.path().to_str().unwrap())];
    let provider = Provider::start().await;
    let config = format!("[embedder]\nmodel = {MODEL:?}\ndeadline = \"5s\"");

    let refrain = Refrain::start_with(&provider, &config, &env).await;
    let state = refrain.send("GET", "/readyz", &[], None).await.json();
    assert_eq!(state["semantic"], false);
    assert!(state["reasons"].to_string().contains("models fetch --model"), "{state}");
    drop(refrain);

    let (code, said) = run_with(&["models", "fetch", "--model", MODEL], &env).await;
    assert_eq!(code, Some(0), "{said}");
    serving.abort();

    let refrain = Refrain::start_with(&provider, &config, &env).await;
    refrain.keep(&ask("How do I reset my password?")).await;
    let near = refrain.chat(&ask("How can I reset my password?")).await;
    assert_eq!((near.outcome(), near.header("x-refrain-tier")), ("hit", "semantic"));
    let (code, said) = run_with(&["models", "fetch", "--model", "nobody/nothing"], &env).await;
    assert_eq!(code, Some(1), "{said}");
}
