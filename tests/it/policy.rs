//! Policies over HTTP: whole, at once, and for good.

use serde_json::{Value, json};

use crate::support::{Provider, Refrain, ask, with};

async fn change(refrain: &Refrain, method: &str, cache: &str, body: &Value) -> (u16, Value) {
    let answer = refrain.send(method, &format!("/v1/caches/{cache}"), &[], Some(body)).await;
    (answer.status, if answer.body.is_empty() { Value::Null } else { answer.json() })
}

async fn policy(refrain: &Refrain, cache: &str) -> Value {
    refrain.send("GET", &format!("/v1/caches/{cache}"), &[], None).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_value_names_its_field_and_changes_nothing() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let before = policy(&refrain, "default").await;
    for (field, value) in [
        ("mode", json!("sometimes")),
        ("strategies", json!([])),
        ("strategies", json!(["magic"])),
        ("similarityThreshold", json!(1.2)),
        ("similarityThreshold", json!("high")),
        ("ttl", json!(-1)),
        ("ttl", json!(604_801)),
        ("ttl", json!(1.5)),
        ("maxTtl", json!("1h")),
        ("sharing", json!("world")),
        ("maxEntries", json!(-5)),
        ("maxBytes", json!("1GB")),
        ("maxAnswerBytes", json!(-1)),
        ("guards", json!(7)),
        ("maxTemperature", json!(3)),
        ("curated", json!("yes")),
        ("staleWhileRevalidate", json!(60)),
        ("verifier", json!("oracle")),
        ("targetErrorRate", json!(0)),
        ("targetErrorRate", json!("low")),
        ("colour", json!("blue")),
    ] {
        for method in ["PATCH", "PUT"] {
            let (status, problem) = change(&refrain, method, "default", &json!({"maxEntries": 5, field: value})).await;
            assert_eq!(status, 422, "{method} {field} {value}: {problem}");
            assert!(problem.to_string().contains(field), "{field}: {problem}");
        }
    }
    let (status, problem) = change(&refrain, "PATCH", "default", &json!({"guards": {"numbers": "yes"}})).await;
    assert_eq!(status, 422);
    assert!(problem.to_string().contains("guards.numbers"), "{problem}");
    assert_eq!(policy(&refrain, "default").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_names_no_text_is_refused_in_the_routes_dialect() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for (method, path, kind) in [
        ("PUT", "/v1/caches/%ff", "application/problem+json"),
        ("POST", "/v1/caches/%ff/lookup", "application/problem+json"),
        ("POST", "/v1/caches/%ff/entries/search", "application/json"),
        ("DELETE", "/v1/caches/faq/entries/%ff", "application/json"),
    ] {
        let answer = refrain.send(method, path, &[], Some(&json!({}))).await;
        assert_eq!((answer.status, answer.header("content-type")), (400, kind), "{method} {path}");
        assert_eq!(answer.json()["field"], "the path", "{}", answer.json());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_is_there_twice_is_refused_by_name() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let before = policy(&refrain, "default").await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for (method, body, field) in [
        (reqwest::Method::PATCH, r#"{"ttl": 5, "ttl": 6}"#, "ttl"),
        (reqwest::Method::PATCH, r#"{"guards": {"names": true, "names": false}}"#, "guards.names"),
        (reqwest::Method::PUT, r#"{"mode": "on", "mode": "off"}"#, "mode"),
    ] {
        let url = format!("{}/v1/caches/default", refrain.base);
        let request = http.request(method, url).header("content-type", "application/json").body(body);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 422, "{body}");
        let problem: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        assert_eq!(problem["field"], field, "{problem}");
    }
    assert_eq!(policy(&refrain, "default").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_is_made_listed_changed_counted_and_deleted() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let (status, made) = change(&refrain, "PUT", "faq", &json!({"ttl": 100, "guards": {"names": false}})).await;
    assert_eq!((status, &made["ttl"], &made["guards"]["names"]), (201, &json!(100), &json!(false)));
    assert_eq!(change(&refrain, "PUT", "faq", &json!({"ttl": 200})).await.0, 200);
    let (status, patched) =
        change(&refrain, "PATCH", "faq", &json!({"guards": {"numbers": false}, "similarityThreshold": 0.9})).await;
    assert_eq!((status, &patched["ttl"], &patched["guards"]["names"]), (200, &json!(200), &json!(true)));
    assert_eq!((&patched["guards"]["numbers"], &patched["similarityThreshold"]), (&json!(false), &json!(0.9)));
    assert_eq!(
        change(&refrain, "PATCH", "faq", &json!({"similarityThreshold": null})).await.1["similarityThreshold"],
        Value::Null
    );
    let listed = refrain.send("GET", "/v1/caches", &[], None).await.json();
    let names: Vec<&str> = listed["data"].as_array().unwrap().iter().filter_map(|cache| cache["id"].as_str()).collect();
    assert_eq!(names, ["default", "faq"]);
    refrain.chat_with(&[("x-refrain-cache", "faq")], &ask("Define NAT.")).await;
    crate::support::wait_until("the entry", async || {
        refrain.send("GET", "/v1/caches/faq/stats", &[], None).await.json()["entries"] == 1
    })
    .await;
    refrain.chat_with(&[("x-refrain-cache", "faq")], &ask("Define NAT.")).await;
    let counted = refrain.send("GET", "/v1/caches/faq/stats", &[], None).await.json();
    assert_eq!((&counted["hits"], &counted["misses"], &counted["hitRate"]), (&json!(1), &json!(1), &json!(0.5)));
    assert_eq!(refrain.send("DELETE", "/v1/caches/faq", &[], None).await.status, 204);
    assert_eq!(refrain.send("GET", "/v1/caches/faq", &[], None).await.status, 404);
    assert_eq!(change(&refrain, "PATCH", "faq", &json!({"ttl": 1})).await.0, 404);
    assert_eq!(change(&refrain, "PUT", "faq", &json!({})).await.0, 201);
    let anew = refrain.chat_with(&[("x-refrain-cache", "faq")], &ask("Define NAT.")).await;
    assert_eq!(anew.outcome(), "miss", "the entries went with the cache");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_has_its_effect_on_the_next_request() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let set = async |patch: Value| assert_eq!(change(&refrain, "PATCH", "default", &patch).await.0, 200, "{patch}");
    let outcome = async |body: &Value| {
        let answer = refrain.chat_with(&[("cache-control", "no-store")], body).await;
        (answer.outcome().to_owned(), answer.header("cache-status").to_owned())
    };
    let (known, near) = (ask("How do I reset my password?"), ask("How can I reset my password?"));
    refrain.keep(&known).await;
    assert_eq!(outcome(&near).await.0, "hit");

    set(json!({"mode": "off"})).await;
    assert_eq!(outcome(&known).await.0, "bypass");
    assert!(outcome(&known).await.1.contains("detail=mode-off"));
    set(json!({"mode": "on"})).await;

    set(json!({"strategies": ["exact"]})).await;
    assert_eq!((outcome(&known).await.0.as_str(), outcome(&near).await.0.as_str()), ("hit", "bypass"));
    set(json!({"strategies": ["semantic"]})).await;
    assert_eq!(outcome(&near).await.0, "hit");
    set(json!({"strategies": ["exact", "semantic"]})).await;

    set(json!({"similarityThreshold": 0.9999})).await;
    assert_eq!(outcome(&near).await.0, "miss");
    set(json!({"similarityThreshold": null})).await;
    assert_eq!(outcome(&near).await.0, "hit");

    set(json!({"maxTemperature": 0.5})).await;
    assert!(outcome(&known).await.1.contains("detail=temperature"));
    let cool = with(known.clone(), json!({"temperature": 0.2}));
    assert_eq!(outcome(&cool).await.0, "miss");
    set(json!({"maxTemperature": null})).await;

    refrain.keep(&ask("How do I enable guest access?")).await;
    let opposite = ask("How do I disable guest access?");
    assert_eq!(outcome(&opposite).await.0, "miss");
    set(json!({"guards": {"negation": false}, "similarityThreshold": 0.7})).await;
    assert_eq!(outcome(&opposite).await.0, "miss", "the verifier knows an opposite, too");
    set(json!({"verifier": "none"})).await;
    assert_eq!(outcome(&opposite).await.0, "hit");
    set(json!({"guards": {"negation": true, "time": "off"}, "verifier": "builtin"})).await;
    assert_eq!(outcome(&opposite).await.0, "miss");
    assert_eq!(outcome(&ask("What is on the menu today?")).await.0, "miss");
    set(json!({"guards": {"time": "bypass"}})).await;
    assert_eq!(outcome(&ask("What is on the menu today?")).await.0, "bypass");

    set(json!({"maxAnswerBytes": 10})).await;
    refrain.chat(&ask("Define VPN.")).await;
    assert_eq!(outcome(&ask("Define VPN.")).await.0, "miss");
    set(json!({"maxAnswerBytes": 100_000})).await;

    set(json!({"maxEntries": 1})).await;
    crate::support::wait_until("the cache within its limit", async || {
        refrain.send("GET", "/v1/caches/default/stats", &[], None).await.json()["entries"].as_u64().unwrap() <= 1
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_guard_of_seconds_lets_such_answers_live_that_long() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let patch = json!({"guards": {"time": 2}});
    assert_eq!(change(&refrain, "PATCH", "default", &patch).await.0, 200);
    refrain.chat(&ask("What is on the menu today?")).await;
    assert_eq!(refrain.chat(&ask("What is on the menu today?")).await.outcome(), "hit");
    tokio::time::sleep(std::time::Duration::from_millis(2100)).await;
    assert_ne!(refrain.chat(&ask("What is on the menu today?")).await.outcome(), "hit");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_caches_are_checked_and_the_default_one_stays() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for bad in ["UPPER%20CASE", "a%2Fb", "..", "%00", &"x".repeat(200)] {
        let status = change(&refrain, "PUT", bad, &json!({})).await.0;
        assert!((400..=422).contains(&status), "{bad}: {status}");
    }
    change(&refrain, "PATCH", "default", &json!({"ttl": 5})).await;
    assert_eq!(refrain.send("DELETE", "/v1/caches/default", &[], None).await.status, 204);
    assert_eq!(policy(&refrain, "default").await["ttl"], 86_400);
}
