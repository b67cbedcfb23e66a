//! A fault in the cache costs a hit, never an answer.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Provider, Refrain, Reply, Step, ask, wait_until};

/// The configuration for an embedder behind `provider`.
fn remote(provider: &Provider) -> String {
    format!("[embedder]\ndeadline = \"1s\"\nremote = {{ base_url = {:?}, model = \"m\" }}", provider.base_url())
}

fn vector(values: &[f32]) -> Reply {
    Reply::json(200, &json!({"object": "list", "data": [{"index": 0, "embedding": values}], "model": "m"}))
}

/// A remote embedder that has told two texts apart, as the start asks.
async fn embedder() -> Provider {
    let embedder = Provider::start().await;
    embedder.next(vector(&[1.0, 0.0, 0.0])).next(vector(&[0.0, 1.0, 0.0]));
    embedder
}

async fn ready(refrain: &Refrain) -> Value {
    refrain.send("GET", "/readyz", &[], None).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedder_that_hangs_fails_or_lies_costs_at_most_its_deadline() {
    let provider = Provider::start().await;
    let embedder = embedder().await;
    let refrain = Refrain::start(&provider, &remote(&embedder)).await;
    assert_eq!(ready(&refrain).await["status"], "ready");
    let faults = [
        ("hangs", Reply::default().then(Step::Hang), "embedder-slow"),
        ("fails", Reply::json(500, &json!({"error": {}})), "embedder-down"),
    ];
    for (fault, reply, reason) in faults {
        embedder.next(reply);
        let began = Instant::now();
        let answer = refrain.chat(&ask(&format!("Define NAT. The embedder {fault}."))).await;
        assert!(began.elapsed() < Duration::from_secs(6), "{fault}: {:?}", began.elapsed());
        assert_eq!((answer.status, answer.outcome()), (200, "bypass"), "{fault}");
        assert!(answer.header("cache-status").contains(reason), "{fault}: {}", answer.header("cache-status"));
        // One good answer in between: faults in a row would count as down.
        embedder.next(vector(&[0.0, 0.6, 0.8]));
        assert_ne!(refrain.chat(&ask(&format!("Fine again after: {fault}"))).await.outcome(), "bypass", "{fault}");
    }
    let liars: [&[f32]; 3] = [&[0.0, 0.0, 0.0], &[], &[1.0, 0.0]];
    for values in liars {
        embedder.next(vector(values));
        let answer = refrain.chat(&ask(&format!("Define a vector of {values:?}."))).await;
        assert_eq!((answer.status, answer.outcome()), (200, "bypass"), "{values:?}");
        embedder.next(vector(&[0.0, 0.8, 0.6]));
        refrain.chat(&ask(&format!("Fine again after {values:?}"))).await;
    }
    wait_until("five entries without the bad vector", async || {
        let stats = refrain.send("GET", "/v1/caches/default/stats", &[], None).await.json();
        let [entries, vectors] = ["entries", "vectors"].map(|name| stats[name].as_u64().unwrap());
        entries - vectors == 5
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedder_that_goes_down_is_told_and_comes_back_without_a_restart() {
    let provider = Provider::start().await;
    let embedder = embedder().await;
    let refrain = Refrain::start(&provider, &remote(&embedder)).await;
    for number in 0..3 {
        embedder.next(Reply::json(503, &json!({})));
        refrain.chat(&ask(&format!("Define word {number}."))).await;
    }
    let down = ready(&refrain).await;
    assert_eq!((down["status"].as_str(), down["semantic"].as_bool()), (Some("degraded"), Some(false)));
    assert_eq!(refrain.chat(&ask("Define word 0.")).await.outcome(), "hit", "exact hits go on");
    embedder.next(vector(&[1.0, 0.0, 0.0])).next(vector(&[0.0, 1.0, 0.0]));
    wait_until("the recovery", async || ready(&refrain).await["status"] == "ready").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedder_that_comes_after_the_start_brings_the_semantic_tier() {
    let provider = Provider::start().await;
    let embedder = Provider::start().await;
    embedder.next(Reply::json(503, &json!({})));
    let refrain = Refrain::start(&provider, &remote(&embedder)).await;
    assert_eq!(ready(&refrain).await["semantic"], false);
    embedder.next(vector(&[1.0, 0.0, 0.0])).next(vector(&[0.0, 1.0, 0.0]));
    wait_until("the embedder", async || ready(&refrain).await["semantic"] == true).await;
    wait_until("the semantic tier", async || {
        embedder.next(vector(&[0.0, 0.0, 1.0])).next(vector(&[0.0, 0.0, 1.0]));
        refrain.chat_with(&[("cache-control", "no-cache")], &ask("How do I reset my password?")).await;
        let near = refrain.chat_with(&[("cache-control", "no-store")], &ask("How can I reset my password?")).await;
        near.header("x-refrain-tier") == "semantic"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_or_a_library_the_service_is_up_within_seconds_and_says_so() {
    let provider = Provider::start().await;
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libonnxruntime.so");
    std::fs::write(&library, "not a library").unwrap();
    let models = folder.path().join("models");
    std::fs::create_dir(&models).unwrap();
    let cases = [
        (format!("[embedder]\nruntime_library = {library:?}"), "not a library"),
        (format!("[embedder]\nruntime_library = {:?}", folder.path().join("none.so")), "no such file"),
        (format!("[embedder]\nmodels_dir = {models:?}"), "no such file"),
    ];
    for (config, reason) in cases {
        let began = Instant::now();
        let refrain = Refrain::start(&provider, &config).await;
        assert!(began.elapsed() < Duration::from_secs(10), "{config}");
        let state = ready(&refrain).await;
        assert_eq!(state["status"], "degraded");
        assert!(state["reasons"].to_string().contains(reason), "{state}");
        let question = ask(&format!("Define {reason}. {config}"));
        let first = refrain.chat(&question).await;
        assert_eq!(first.outcome(), "bypass");
        assert!(first.header("cache-status").contains("detail=embedder-down"), "{}", first.header("cache-status"));
        assert_eq!(refrain.chat(&question).await.header("x-refrain-tier"), "exact");
        assert!(refrain.log().contains("NO EMBEDDING MODEL"), "{}", refrain.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_verifier_the_service_goes_by_a_stricter_cosine_and_says_so() {
    let provider = Provider::start().await;
    let folder = tempfile::tempdir().unwrap();
    let policy = "[caches.default]\nverifier = \"builtin\"\nsimilarity_threshold = 0.6";
    let refrain = Refrain::start(&provider, &format!("[verifier]\nmodel = {:?}\n{policy}", folder.path())).await;
    let state = ready(&refrain).await;
    assert_eq!(
        (&state["status"], &state["semantic"], &state["verifier"]),
        (&json!("degraded"), &json!(true), &json!(false))
    );
    assert!(state["reasons"].to_string().contains("a stricter cosine: "), "{state}");
    assert!(state["reasons"].to_string().contains("no such file"), "{state}");
    assert_eq!(refrain.log().matches("NO VERIFIER").count(), 1, "{}", refrain.log());
    refrain.keep(&ask("How do I reset my password?")).await;
    let ask_with = async |text: &str| refrain.chat_with(&[("cache-control", "no-store")], &ask(text)).await;
    assert_eq!(ask_with("How can I reset my password?").await.header("x-refrain-tier"), "semantic");
    let (near, far) = ("What should I do when I forgot my password?", "Which bird lays the largest egg?");
    for (text, reason) in [(near, "verifier-down"), (far, "below-threshold")] {
        let answer = ask_with(text).await;
        let status = format!("{} {}", answer.header("cache-status"), answer.header("x-refrain-similarity"));
        assert!(status.contains(&format!("detail={reason}")), "{text}: {status}");
    }
    let body = json!({"request": ask(near), "explain": true});
    let told = refrain.post("/v1/caches/default/lookup", &body).await.json();
    assert_eq!(
        (&told["reason"], &told["candidates"][0]["verdict"]),
        (&json!("verifier-down"), &json!("verifier-down"))
    );
    let metrics = refrain.send("GET", "/metrics", &[], None).await.text().to_owned();
    assert!(metrics.contains("refrain_verifier_ready 0") && metrics.contains("reason=\"verifier-down\""), "{metrics}");
    // A policy that asks for none is not degraded, and its number is its own.
    refrain.send("PATCH", "/v1/caches/default", &[], Some(&json!({"verifier": "none"}))).await;
    assert_eq!(ready(&refrain).await["status"], "ready");
    assert!(!ask_with(near).await.header("cache-status").contains("verifier-down"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_verifier_stops_the_start() {
    let (code, said) = Refrain::fails_to_start("[verifier]\nmodel = \"oracle\"").await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("verifier.model") && said.contains("oracle"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_model_name_stops_the_start_and_names_the_known_ones() {
    let (code, said) = Refrain::fails_to_start("[embedder]\nmodel = \"gpt-embed\"").await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("gpt-embed") && said.contains("all-minilm-l6-v2-int8"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_embedder_never_meets_the_old_vectors() {
    let provider = Provider::start().await;
    let embedder = embedder().await;
    let mut refrain = Refrain::start(&provider, &remote(&embedder)).await;
    let [known, near] = ["How do I reset my password?", "How can I reset my password?"];
    let aside = [("cache-control", "no-store")];
    embedder.next(vector(&[0.0, 0.0, 1.0]));
    refrain.chat(&ask(known)).await;
    let restart = async |refrain: &mut Refrain, from: &str, to: &str, values: [&[f32]; 2]| {
        assert!(refrain.stop().success());
        refrain.edit_config(from, to);
        embedder.next(vector(values[0])).next(vector(values[1]));
        refrain.start_again().await;
        assert_eq!(refrain.chat(&ask(known)).await.header("x-refrain-tier"), "exact");
        let score: &[f32] = if values[0].len() == 3 { &[0.0, 0.0, 1.0] } else { &[0.0, 0.0, 1.0, 0.0] };
        embedder.next(vector(score));
        refrain.chat_with(&aside, &ask(near)).await.outcome().to_owned()
    };
    let three: [&[f32]; 2] = [&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0]];
    let four: [&[f32]; 2] = [&[1.0, 0.0, 0.0, 0.0], &[0.0, 1.0, 0.0, 0.0]];
    assert_eq!(restart(&mut refrain, "\"m\"", "\"m2\"", three).await, "miss", "another model, the same dimension");
    assert_eq!(restart(&mut refrain, "\"m2\"", "\"m3\"", four).await, "miss", "another dimension");
    assert_eq!(restart(&mut refrain, "\"m3\"", "\"m\"", three).await, "hit", "the first model again");
}
