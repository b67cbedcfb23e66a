//! Bounds hold, and what is left is found.

use serde_json::{Value, json};

use crate::support::{Provider, Refrain, ask};

async fn stats(refrain: &Refrain, cache: &str) -> Value {
    refrain.send("GET", &format!("/v1/caches/{cache}/stats"), &[], None).await.json()
}

async fn keep(refrain: &Refrain, cache: &str, prompt: &str, response: &str) -> u16 {
    let body = json!({"prompt": prompt, "response": response});
    refrain.post(&format!("/v1/caches/{cache}/entries"), &body).await.status
}

async fn found(refrain: &Refrain, cache: &str, prompt: &str) -> Vec<Value> {
    let found = refrain.post(&format!("/v1/caches/{cache}/entries/search"), &json!({"prompt": prompt})).await;
    found.json()["data"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cap_on_entries_holds_and_the_last_are_found() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.small]\nmax_entries = 50").await;
    for number in 0..150 {
        assert_eq!(keep(&refrain, "small", &format!("Define word number {number}."), "so").await, 201);
        if number % 25 == 0 {
            assert!(stats(&refrain, "small").await["entries"].as_u64().unwrap() <= 50);
        }
    }
    let after = stats(&refrain, "small").await;
    assert_eq!((after["entries"].as_u64(), after["vectors"].as_u64()), (Some(50), Some(50)));
    assert_eq!(after["evictions"], 100);
    for number in [100, 125, 149] {
        assert_eq!(found(&refrain, "small", &format!("Define word number {number}.")).await.len(), 1, "{number}");
        assert_eq!(found(&refrain, "small", &format!("define the word number {number}")).await.len(), 1, "{number}");
    }
    assert!(found(&refrain, "small", "Define word number 12.").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cap_on_bytes_holds_and_a_giant_evicts_nobody() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.small]\nmax_bytes = 100000\nmax_answer_bytes = 200000").await;
    for number in 0..40 {
        assert_eq!(keep(&refrain, "small", &format!("Define word number {number}."), &"x".repeat(9_000)).await, 201);
        assert!(stats(&refrain, "small").await["bytes"].as_u64().unwrap() <= 100_000);
    }
    let before = stats(&refrain, "small").await;
    let refused = keep(&refrain, "small", "Define a giant.", &"x".repeat(150_000)).await;
    assert!((400..500).contains(&refused), "{refused}");
    assert_eq!(stats(&refrain, "small").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn misses_that_keep_nothing_leave_nothing() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for number in 0..100 {
        refrain.chat_with(&[("cache-control", "no-store")], &ask(&format!("Define word number {number}."))).await;
    }
    let after = stats(&refrain, "default").await;
    assert_eq!((after["entries"].as_u64(), after["bytes"].as_u64()), (Some(0), Some(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn near_duplicates_that_are_deleted_do_not_hide_the_one_that_is_left() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[index]\ngraph_from = 1\n[caches.faq]").await;
    let mut ids = Vec::new();
    for number in 0..30 {
        let body = json!({"prompt": "How do I reset my password?", "response": format!("{number}"),
            "attributes": {"copy": number.to_string()}});
        ids.push(refrain.post("/v1/caches/faq/entries", &body).await.json()["entryId"].as_str().unwrap().to_owned());
    }
    for id in &ids[1..] {
        let path = format!("/v1/caches/faq/entries/{id}");
        assert_eq!(refrain.send("DELETE", &path, &[], None).await.status, 204);
    }
    let left = found(&refrain, "faq", "How can I reset my password?").await;
    assert_eq!((left.len(), left[0]["id"].as_str()), (1, Some(ids[0].as_str())));
    let after = stats(&refrain, "faq").await;
    assert_eq!((after["entries"].as_u64(), after["vectors"].as_u64()), (Some(1), Some(1)));
}
