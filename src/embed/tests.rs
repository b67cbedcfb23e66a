//! The embedder as its users see it: the real model, spoilt copies of it, and a remote one over a socket.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;

use super::*;
use crate::config::Span;

async fn start(config: &config::Embedder) -> Embedder {
    testing::runtime();
    let embedder = Embedder::start_with(config, None, Some(testing::prober())).await.unwrap();
    // A busy machine takes longer to load a model than a service waits for it.
    for _ in 0..600 {
        if embedder.state() != State::Loading {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    embedder
}

async fn real() -> Embedder {
    let mut config = testing::config(&testing::model_folder());
    config.deadline = Span::seconds(20);
    start(&config).await
}

fn reason(embedder: &Embedder) -> String {
    match embedder.state() {
        State::Degraded(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_model_tells_paraphrases_from_strangers() {
    let embedder = real().await;
    assert_eq!(embedder.state(), State::Ready);
    assert_eq!(embedder.dimension(), Some(384));
    let question = embedder.embed("How do I reset my password?").await.unwrap();
    let paraphrase = embedder.embed("I forgot my password, how can I reset it?").await.unwrap();
    let stranger = embedder.embed("Which bird lays the largest egg?").await.unwrap();
    assert!(question.similarity(&paraphrase).get() > 0.8);
    assert!(question.similarity(&stranger).get() < 0.3);
    embedder.shutdown();
    assert!(matches!(embedder.embed("after the end").await, Err(EmbedError::Down(_))));
    assert!(embedder.embed("How do I reset my password?").await.is_ok(), "a recent text needs no model");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_past_the_window_and_other_scripts_are_refused() {
    let embedder = real().await;
    assert_eq!(embedder.coverage("How do I reset my password?"), Ok(()));
    assert_eq!(embedder.coverage("如何重置密码？"), Err(BypassReason::Script));
    assert_eq!(embedder.coverage(&"word ".repeat(300)), Err(BypassReason::TooLong));
    let huge = "x".repeat(MAX_BYTES + 1);
    assert_eq!(embedder.coverage(&huge), Err(BypassReason::TooLong));
    assert!(matches!(embedder.embed(&huge).await, Err(EmbedError::Invalid(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_name_stops_the_start_and_a_hub_name_says_what_it_needs() {
    let named = |name: &str| config::Embedder { model: Some(name.into()), ..testing::config(Path::new("x")) };
    let error = Embedder::start(&named("gpt-embed"), None).await.err().unwrap().to_string();
    assert!(error.contains("gpt-embed") && error.contains("all-minilm-l6-v2-int8"), "{error}");
    if cfg!(not(feature = "hub")) {
        let error = Embedder::start(&named("Xenova/bge-small-en-v1.5"), None).await.err().unwrap().to_string();
        assert!(error.contains("--features hub"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_altered_or_short_model_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    testing::copy_model(folder.path());
    let model = folder.path().join("model.onnx");
    let mut bytes = fs::read(&model).unwrap();
    bytes[1000] ^= 1;
    fs::write(&model, &bytes).unwrap();
    let config = testing::config(folder.path());
    assert!(reason(&start(&config).await).contains("sha256"));
    fs::write(&model, &bytes[..5000]).unwrap();
    assert!(reason(&start(&config).await).contains("5000 bytes"));
    fs::remove_file(&model).unwrap();
    let embedder = start(&config).await;
    assert!(reason(&embedder).contains("no such file"));
    assert!(matches!(embedder.embed("hello").await, Err(EmbedError::Down(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_broken_library_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libonnxruntime.so");
    let mut config = testing::config(&testing::model_folder());
    config.runtime_library = Some(library.clone());
    assert!(reason(&start(&config).await).contains("no such file"));
    let real = fs::read(testing::runtime()).unwrap();
    fs::write(&library, &real[..real.len() / 2]).unwrap();
    assert!(reason(&start(&config).await).contains("cannot be loaded"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_without_a_manifest_is_taken_with_cautious_defaults() {
    let folder = tempfile::tempdir().unwrap();
    testing::copy_model(folder.path());
    fs::remove_file(folder.path().join("model.toml")).unwrap();
    let embedder = start(&testing::config(folder.path())).await;
    assert_eq!(embedder.state(), State::Ready);
    assert_eq!(embedder.dimension(), Some(384));
    assert!((embedder.calibrated_similarity() - UNMEASURED_SIMILARITY).abs() < f32::EPSILON);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_of_another_dimension_or_other_references_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    testing::copy_model(folder.path());
    let manifest = folder.path().join("model.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("dimension = 384", "dimension = 768")).unwrap();
    assert!(reason(&start(&testing::config(folder.path())).await).contains("384 components"));
    fs::write(&manifest, text.replace("pooling = \"mean\"", "pooling = \"cls\"")).unwrap();
    assert!(reason(&start(&testing::config(folder.path())).await).contains("self-test"));
}

/// A remote embedder that answers with what `vector` makes of the request's number, counted from 0.
async fn remote(vector: fn(usize) -> Option<&'static str>) -> (SocketAddr, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let answer = move || async move {
        match vector(counted.fetch_add(1, Ordering::SeqCst)) {
            Some(vector) => (StatusCode::OK, format!(r#"{{"data":[{{"embedding":{vector}}}]}}"#)),
            None => (StatusCode::INTERNAL_SERVER_ERROR, String::new()),
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/v1/embeddings", post(answer));
    #[allow(clippy::disallowed_methods, reason = "it ends with the test")]
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, calls)
}

fn at(address: SocketAddr) -> config::Embedder {
    config::Embedder {
        remote: Some(config::Remote { base_url: format!("http://{address}/v1"), model: "m".into(), api_key_env: None }),
        deadline: Span::seconds(5),
        ..config::Embedder::default()
    }
}

async fn outcomes(vector: fn(usize) -> Option<&'static str>) -> (Embedder, Result<Embedding, EmbedError>) {
    let (address, _) = remote(vector).await;
    let embedder = Embedder::start(&at(address), None).await.unwrap();
    let outcome = embedder.embed("hello").await;
    (embedder, outcome)
}

#[tokio::test]
async fn a_remote_models_dimension_is_that_of_its_first_answer() {
    let (embedder, vector) = outcomes(|n| Some(if n % 2 == 0 { "[3.0, 4.0]" } else { "[4.0, -3.0]" })).await;
    assert_eq!((embedder.state(), embedder.dimension()), (State::Ready, Some(2)));
    assert_eq!(vector.unwrap().as_slice(), [0.6, 0.8]);
    let (embedder, vector) = outcomes(|n| Some(["[1.0, 0.0]", "[0.0, 1.0]", "[1.0, 0.0, 0.0]"][n.min(2)])).await;
    assert_eq!(embedder.dimension(), Some(2));
    assert!(matches!(vector, Err(EmbedError::Invalid(_))));
}

#[tokio::test]
async fn a_remote_model_that_fails_or_gives_degenerate_vectors_is_degraded_at_once() {
    for vector in [|_| None, |_| Some("[1.0, 1.0]"), |_| Some("[0.0, 0.0]"), |_| Some("[]"), |_| Some("\"text\"")] {
        let (embedder, outcome) = outcomes(vector).await;
        reason(&embedder);
        assert!(matches!(outcome, Err(EmbedError::Down(_))));
    }
}

#[tokio::test]
async fn a_remote_model_that_was_down_at_the_start_comes_back_by_itself() {
    let (address, calls) = remote(|n| match n {
        0..=1 => None,
        n if n % 2 == 0 => Some("[1.0, 0.0]"),
        _ => Some("[0.0, 1.0]"),
    })
    .await;
    let embedder = Embedder::start(&at(address), None).await.unwrap();
    assert_eq!(embedder.fingerprint(), None);
    for _ in 0..100 {
        if embedder.state() == State::Ready {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(embedder.state(), State::Ready, "after {} calls", calls.load(Ordering::SeqCst));
    assert!(embedder.fingerprint().is_some());
    assert!(embedder.embed("hello").await.is_ok());
}

#[tokio::test]
async fn nobody_listening_is_a_reason_within_seconds() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let embedder = Embedder::start(&at(closed), None).await.unwrap();
    assert!(reason(&embedder).contains("refused"), "{}", reason(&embedder));
}
