//! The LangCache REST API, down to its errors.

use serde_json::{Value, json};

use crate::support::{Answer, Provider, Refrain, ask};

const ENTRIES: &str = "/v1/caches/default/entries";
const SEARCH: &str = "/v1/caches/default/entries/search";

async fn keep(refrain: &Refrain, prompt: &str, response: &str, attributes: Value) -> String {
    let body = json!({"prompt": prompt, "response": response, "attributes": attributes});
    let answer = refrain.post(ENTRIES, &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["entryId"].as_str().unwrap().to_owned()
}

async fn search(refrain: &Refrain, body: Value) -> Vec<Value> {
    let answer = refrain.post(SEARCH, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_is_stored_found_in_both_ways_and_deleted() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let id = keep(&refrain, "How long is the warranty?", "Three years.", json!({"lang": "en"})).await;
    let exact = search(&refrain, json!({"prompt": "How long is the warranty?"})).await;
    assert_eq!(
        exact,
        [json!({"id": id, "prompt": "How long is the warranty?", "response": "Three years.",
            "attributes": {"lang": "en"}, "similarity": 1.0, "searchStrategy": "exact"})]
    );
    let near = search(&refrain, json!({"prompt": "How long is the warranty, please?"})).await;
    assert_eq!((near[0]["searchStrategy"].as_str(), &near[0]["id"]), (Some("semantic"), &json!(id)));
    let only_exact = json!({"prompt": "How long is the warranty, please?", "searchStrategies": ["exact"]});
    assert!(search(&refrain, only_exact).await.is_empty());
    let path = format!("{ENTRIES}/{id}");
    assert_eq!(refrain.send("DELETE", &path, &[], None).await.status, 204);
    assert!(search(&refrain, json!({"prompt": "How long is the warranty?"})).await.is_empty());
    assert_eq!(refrain.send("DELETE", &path, &[], None).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_filter_and_an_entry_with_more_of_them_still_matches() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    keep(&refrain, "How long is the warranty?", "en", json!({"lang": "en", "doc": "a"})).await;
    keep(&refrain, "How long is the warranty?", "de", json!({"lang": "de", "doc": "a"})).await;
    let with =
        |attributes: Value| json!({"prompt": "How long is the warranty?", "attributes": attributes, "maxResults": 5});
    let responses = async |body: Value| {
        let mut found: Vec<String> =
            search(&refrain, body).await.iter().map(|entry| entry["response"].as_str().unwrap().to_owned()).collect();
        found.sort();
        found
    };
    assert_eq!(responses(with(json!({"lang": "de"}))).await, ["de"]);
    assert_eq!(responses(with(json!({"doc": "a"}))).await, ["de", "en"]);
    assert_eq!(responses(with(json!({}))).await, ["de", "en"]);
    assert!(responses(with(json!({"lang": "fr"}))).await.is_empty());
    let deleted = refrain.send("DELETE", ENTRIES, &[], Some(&json!({"attributes": {"lang": "de"}}))).await;
    assert_eq!((deleted.status, deleted.json()), (200, json!({"deletedEntriesCount": 1})));
    assert_eq!(responses(with(json!({"doc": "a"}))).await, ["en"]);
    assert_eq!(refrain.post("/v1/caches/default/flush", &json!({})).await.status, 204);
    assert!(responses(with(json!({}))).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_does_not_count_what_had_expired() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    keep(&refrain, "How long is the warranty?", "Three years.", json!({"doc": "a"})).await;
    let soon =
        json!({"prompt": "Where is the depot?", "response": "Here.", "attributes": {"doc": "a"}, "ttlMillis": 300});
    assert_eq!(refrain.post(ENTRIES, &soon).await.status, 201);
    tokio::time::sleep(std::time::Duration::from_millis(400)).await;
    let of_a = json!({"attributes": {"doc": "a"}});
    let deleted = refrain.send("DELETE", ENTRIES, &[], Some(&of_a)).await;
    assert_eq!(deleted.json(), json!({"deletedEntriesCount": 1}));
    let stats = refrain.send("GET", "/v1/caches/default/stats", &[], None).await.json();
    assert_eq!(stats["entries"], 0, "the expired one went too");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exact_search_finds_an_entry_with_more_attributes_too() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    keep(&refrain, "How long is the warranty?", "Three years.", json!({"doc": "a", "rev": "7"})).await;
    for attributes in [json!({}), json!({"doc": "a"}), json!({"doc": "a", "rev": "7"})] {
        let body =
            json!({"prompt": "How long is the warranty?", "attributes": attributes, "searchStrategies": ["exact"]});
        let found = search(&refrain, body).await;
        assert_eq!((found.len(), found[0]["searchStrategy"].as_str()), (1, Some("exact")), "{attributes}");
    }
    let near = json!({"prompt": "How long is the warranty, please?", "searchStrategies": ["exact"]});
    assert!(search(&refrain, near).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_policy_keeps_not_is_refused_on_every_door() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(
        &provider,
        "[caches.off]\nmode = \"off\"\n[caches.zero]\nttl = 0\n[caches.menu]\nguards = { time = 1 }",
    )
    .await;
    let entry = json!({"prompt": "What is on the menu today?", "response": "Soup."});
    for cache in ["off", "zero"] {
        let answer = refrain.post(&format!("/v1/caches/{cache}/entries"), &entry).await;
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.text().contains("keeps nothing"), "{}", answer.text());
    }
    let mut lasting = entry.clone();
    lasting["ttlMillis"] = json!(60_000);
    assert_eq!(refrain.post("/v1/caches/menu/entries", &lasting).await.status, 201);
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let found = refrain.post("/v1/caches/menu/entries/search", &json!({"prompt": "What is on the menu today?"})).await;
    assert_eq!(found.json()["data"], json!([]), "no wish outlives the time guard");
}

#[tokio::test(flavor = "multi_thread")]
async fn guards_hold_on_a_search_whatever_its_threshold() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    keep(&refrain, "How do I enable guest access?", "So.", json!({})).await;
    let opposite = json!({"prompt": "How do I disable guest access?", "similarityThreshold": 0});
    assert!(search(&refrain, opposite).await.is_empty());
    let near = json!({"prompt": "How can I enable guest access?", "similarityThreshold": 1});
    assert!(search(&refrain, near).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_its_statuses_and_types() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let bad = |answer: &Answer, word: &str| {
        let body = answer.json();
        assert!(body["title"].is_string() && body["type"].is_string(), "{body}");
        assert_eq!(body["status"].as_u64(), Some(u64::from(answer.status)), "{body}");
        assert!(body.to_string().contains(word), "{word}: {body}");
    };
    for (path, body, status, word) in [
        (SEARCH, json!({}), 400, "prompt"),
        (SEARCH, json!({"prompt": ""}), 400, "prompt"),
        (SEARCH, json!({"prompt": "x", "similarityThreshold": 1.01}), 400, "similarityThreshold"),
        (SEARCH, json!({"prompt": "x", "maxResults": 0}), 400, "maxResults"),
        (SEARCH, json!({"prompt": "x", "searchStrategies": ["magic"]}), 400, "magic"),
        (SEARCH, json!({"prompt": "x", "searchStrategies": []}), 400, "searchStrategies"),
        (ENTRIES, json!({"prompt": "x"}), 400, "response"),
        (ENTRIES, json!({"prompt": "x", "response": "y", "ttlMillis": -5}), 400, "ttlMillis"),
        (ENTRIES, json!({"prompt": "x", "response": "y", "ttl": 5}), 400, "ttl"),
        ("/v1/caches/nope/entries/search", json!({"prompt": "x"}), 404, "nope"),
    ] {
        let answer = refrain.post(path, &body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        bad(&answer, word);
    }
    let malformed = refrain.send_raw_json(SEARCH, "{\"prompt\": ").await;
    assert_eq!(malformed.status, 400);
    bad(&malformed, "EOF");
    let unknown = refrain.send("DELETE", &format!("{ENTRIES}/not-an-id"), &[], None).await;
    assert!(matches!(unknown.status, 400 | 404), "{}", unknown.text());
    bad(&unknown, "not-an-id");
    assert_eq!(refrain.send("DELETE", ENTRIES, &[], Some(&json!({"attributes": {}}))).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_searched_by_its_last_prompt_only_when_nothing_came_before() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    keep(&refrain, "How long is the warranty?", "Three years.", json!({})).await;
    let path = "/v1/caches/default/conversations/search";
    let alone = refrain.post(path, &json!({"prompt": "How long is the warranty?"})).await.json();
    assert_eq!(
        (alone["actualPrompt"].as_str(), alone["data"].as_array().unwrap().len()),
        (Some("How long is the warranty?"), 1)
    );
    let leaning = json!({"prompt": "How long is the warranty?", "context": ["Tell me about the pen."]});
    assert_eq!(refrain.post(path, &leaning).await.json()["data"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_entries_answer_chat_only_in_a_curated_cache() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.faq]\ncurated = true").await;
    keep(&refrain, "How long is the warranty?", "Three years.", json!({})).await;
    let question = ask("How long is the warranty?");
    assert_eq!(refrain.chat(&question).await.outcome(), "miss");
    let body = json!({"prompt": "How long is the warranty?", "response": "Three years."});
    assert_eq!(refrain.post("/v1/caches/faq/entries", &body).await.status, 201);
    let faq = [("x-refrain-cache", "faq"), ("authorization", "Bearer anybody")];
    let hit = refrain.chat_with(&faq, &question).await;
    assert_eq!((hit.outcome(), hit.said().as_str()), ("hit", "Three years."));
    assert!(hit.json().get("usage").is_none(), "{}", hit.text());
    assert_eq!(hit.json()["model"], "alpha-small");
}
