//! What callers say of answers: a wrong one is not served to that prompt again, and everything said is a label.

use serde_json::{Value, json};

use crate::support::service::run;
use crate::support::{Answer, Provider, Refrain, ask, completion};

const STORED: &str = "How do I reset my password?";
const ASKED: &str = "How can I reset my password?";
const PATH: &str = "/v1/caches/default/feedback";

async fn say(refrain: &Refrain, lookup: &str, verdict: &str) -> Value {
    let answer = refrain.post(PATH, &json!({"lookupId": lookup, "verdict": verdict})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// Asks without keeping the answer.
async fn probe(refrain: &Refrain, text: &str) -> Answer {
    refrain.chat_with(&[("cache-control", "no-store")], &ask(text)).await
}

async fn labels(refrain: &Refrain) -> Vec<Value> {
    let answer = refrain.send("GET", PATH, &[], None).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/x-ndjson"));
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn id(answer: &Answer) -> String {
    answer.header("x-refrain-lookup-id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_answer_is_never_served_to_that_prompt_again() {
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, "").await;
    refrain.keep(&ask(STORED)).await;
    let hit = probe(&refrain, ASKED).await;
    assert_eq!((hit.outcome(), hit.header("x-refrain-tier")), ("hit", "semantic"));
    assert_eq!(say(&refrain, &id(&hit), "wrong").await, json!({"verdict": "wrong", "effect": "pair-refused"}));
    for restarted in [false, true] {
        if restarted {
            refrain.kill();
            refrain.start_again().await;
        }
        for wording in [ASKED, "how can I  reset my PASSWORD?"] {
            let refused = probe(&refrain, wording).await;
            assert_eq!(refused.outcome(), "miss", "{wording}, restarted: {restarted}");
            assert!(refused.header("cache-status").contains("detail=wrong"), "{}", refused.header("cache-status"));
        }
        assert_eq!(probe(&refrain, STORED).await.outcome(), "hit", "its own prompt is answered");
        let body = json!({"request": ask(ASKED), "explain": true});
        let told = refrain.post("/v1/caches/default/lookup", &body).await.json();
        assert_eq!((&told["reason"], &told["candidates"][0]["verdict"]), (&json!("wrong"), &json!("wrong")));
        let told = labels(&refrain).await;
        assert_eq!(told.len(), 1);
        assert_eq!((&told[0]["a"], &told[0]["b"], &told[0]["label"]), (&json!(STORED), &json!(ASKED), &json!(0)));
    }
    let metrics = refrain.send("GET", "/metrics", &[], None).await;
    assert!(metrics.text().contains("reason=\"wrong\""), "{}", metrics.text());
    refrain.keep(&ask(ASKED)).await;
    assert_eq!(probe(&refrain, ASKED).await.header("x-refrain-tier"), "exact", "its own answer is served");
    let after = refrain.post("/v1/caches/default/lookup", &json!({"request": ask(STORED)})).await.json();
    assert_eq!(after["tier"], "exact");
}

const NEIGHBOUR: &str = "How could I reset my password?";

async fn explained(refrain: &Refrain, text: &str) -> Value {
    let body = json!({"request": ask(text), "explain": true});
    refrain.post("/v1/caches/default/lookup", &body).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_answer_tightens_its_entry() {
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, "").await;
    refrain.keep(&ask(STORED)).await;
    assert_eq!(probe(&refrain, NEIGHBOUR).await.outcome(), "hit");
    let hit = id(&probe(&refrain, ASKED).await);
    say(&refrain, &hit, "wrong").await;
    for restarted in [false, true] {
        if restarted {
            refrain.kill();
            refrain.start_again().await;
        }
        let refused = probe(&refrain, NEIGHBOUR).await;
        assert_eq!(refused.outcome(), "miss", "restarted: {restarted}");
        assert!(refused.header("cache-status").contains("detail=tightened"), "{}", refused.header("cache-status"));
        let told = explained(&refrain, NEIGHBOUR).await;
        assert_eq!((&told["reason"], &told["candidates"][0]["verdict"]), (&json!("tightened"), &json!("tightened")));
        assert_eq!(told["candidates"][0]["entryObservations"], json!({"right": 0, "wrong": 1}));
        assert_eq!(probe(&refrain, STORED).await.header("x-refrain-tier"), "exact", "its own prompt is answered");
    }
    // Another answer is another entry, which nobody has called wrong.
    let fresh = refrain.chat_with(&[("cache-control", "no-cache")], &ask(STORED)).await;
    assert_eq!(fresh.outcome(), "miss");
    crate::support::wait_until("the new entry", async || probe(&refrain, NEIGHBOUR).await.outcome() == "hit").await;
    assert_eq!(explained(&refrain, NEIGHBOUR).await["candidates"][0]["entryObservations"]["wrong"], 0);
    assert_eq!(probe(&refrain, ASKED).await.outcome(), "miss", "the pair stays refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pair_that_was_called_right_is_served_by_a_tightened_entry() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    refrain.keep(&ask(STORED)).await;
    let right = id(&probe(&refrain, NEIGHBOUR).await);
    let wrong = id(&probe(&refrain, ASKED).await);
    say(&refrain, &wrong, "wrong").await;
    assert_eq!(probe(&refrain, NEIGHBOUR).await.outcome(), "miss");
    say(&refrain, &right, "right").await;
    assert_eq!(probe(&refrain, NEIGHBOUR).await.outcome(), "hit");
    let told = explained(&refrain, NEIGHBOUR).await;
    assert_eq!(told["candidates"][0]["entryObservations"], json!({"right": 1, "wrong": 1}));
    // The last word counts for the record, too.
    say(&refrain, &wrong, "right").await;
    let told = explained(&refrain, ASKED).await;
    assert_eq!(told["candidates"][0]["entryObservations"], json!({"right": 2, "wrong": 0}));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_entry_may_still_answer() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    refrain.keep(&ask(STORED)).await;
    refrain.send("PATCH", "/v1/caches/default", &[], Some(&json!({"similarityThreshold": 1.0}))).await;
    refrain.keep(&ask("How could I reset my password?")).await;
    refrain.send("PATCH", "/v1/caches/default", &[], Some(&json!({"similarityThreshold": null}))).await;
    let first = probe(&refrain, ASKED).await;
    say(&refrain, &id(&first), "wrong").await;
    let second = probe(&refrain, ASKED).await;
    assert_eq!(second.outcome(), "hit");
    assert_ne!(second.header("x-refrain-entry-id"), first.header("x-refrain-entry-id"));
    say(&refrain, &id(&second), "wrong").await;
    let third = probe(&refrain, ASKED).await;
    assert!(third.header("cache-status").contains("detail=wrong"), "{}", third.header("cache-status"));
    assert_eq!(labels(&refrain).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_word_counts_and_saying_it_twice_changes_nothing() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    refrain.keep(&ask(STORED)).await;
    let hit = id(&probe(&refrain, ASKED).await);
    for (verdict, effect, outcome) in [
        ("right", "labelled", "hit"),
        ("wrong", "pair-refused", "miss"),
        ("wrong", "pair-refused", "miss"),
        ("right", "labelled", "hit"),
        ("right", "labelled", "hit"),
    ] {
        assert_eq!(say(&refrain, &hit, verdict).await["effect"], effect);
        assert_eq!(probe(&refrain, ASKED).await.outcome(), outcome, "after {verdict}");
        let told = labels(&refrain).await;
        assert_eq!(told.len(), 1, "one label a pair: {told:?}");
        assert_eq!(told[0]["label"], json!(u8::from(verdict == "right")));
    }
    let metrics = refrain.send("GET", "/metrics", &[], None).await;
    assert!(metrics.text().contains("refrain_feedback_total{verdict=\"right\"} 3"), "{}", metrics.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_answer_to_the_very_prompt_goes() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for strategies in [json!(["exact", "semantic"]), json!(["semantic"])] {
        refrain.send("PATCH", "/v1/caches/default", &[], Some(&json!({"strategies": strategies}))).await;
        refrain.keep(&ask(STORED)).await;
        let hit = probe(&refrain, STORED).await;
        assert_eq!(say(&refrain, &id(&hit), "right").await["effect"], "noted");
        for _ in 0..2 {
            assert_eq!(say(&refrain, &id(&hit), "wrong").await["effect"], "entry-removed");
        }
        assert_eq!(probe(&refrain, STORED).await.outcome(), "miss", "{strategies}");
        let again = refrain.keep(&ask(STORED)).await;
        assert_eq!(again.outcome(), "miss");
        say(&refrain, &id(&hit), "wrong").await;
        assert_eq!(probe(&refrain, STORED).await.outcome(), "hit", "the next answer is another one");
        refrain.send("POST", "/v1/caches/default/flush", &[], None).await;
    }
    assert!(labels(&refrain).await.is_empty(), "one prompt is no pair");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_of_the_gateway_can_be_spoken_of() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    refrain.keep(&ask(STORED)).await;
    let found = refrain.post("/v1/caches/default/lookup", &json!({"request": ask(ASKED)})).await.json();
    assert_eq!(say(&refrain, found["lookupId"].as_str().unwrap(), "wrong").await["effect"], "pair-refused");
    let after = refrain.post("/v1/caches/default/lookup", &json!({"request": ask(ASKED)})).await.json();
    assert_eq!((&after["outcome"], &after["reason"]), (&json!("miss"), &json!("wrong")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_taken_is_refused_and_says_why() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.faq]").await;
    let miss = refrain.keep(&ask(STORED)).await;
    let hit = id(&probe(&refrain, ASKED).await);
    let unknown = "018f3f5e-0000-7000-8000-000000000000";
    for (path, body, status, words) in [
        (PATH, json!({"lookupId": unknown, "verdict": "wrong"}), 404, "lookupId"),
        (PATH, json!({"lookupId": "no-such-id", "verdict": "wrong"}), 404, "lookupId"),
        (PATH, json!({"lookupId": id(&miss), "verdict": "wrong"}), 404, "it was a miss"),
        ("/v1/caches/faq/feedback", json!({"lookupId": hit, "verdict": "wrong"}), 404, "another cache's"),
        ("/v1/caches/nope/feedback", json!({"lookupId": hit, "verdict": "wrong"}), 404, "no cache"),
        (PATH, json!({"lookupId": hit, "verdict": "maybe"}), 422, r#"\"right\" or \"wrong\""#),
        (PATH, json!({"lookupId": hit, "verdict": "Wrong"}), 422, r#"\"right\" or \"wrong\""#),
        (PATH, json!({"lookupId": hit, "verdict": null}), 422, r#"\"right\" or \"wrong\""#),
        (PATH, json!({"lookupId": hit, "verdict": ["wrong"]}), 422, r#"\"right\" or \"wrong\""#),
        (PATH, json!({"lookupId": hit}), 400, "verdict"),
        (PATH, json!({"verdict": "wrong"}), 400, "lookupId"),
        (PATH, json!({"lookupId": 7, "verdict": "wrong"}), 400, "lookupId"),
        (PATH, json!({"lookupId": hit, "verdict": "wrong", "why": "x"}), 400, "why"),
        (PATH, json!([]), 400, "JSON"),
    ] {
        let answer = refrain.post(path, &body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        assert_eq!(answer.header("content-type"), "application/problem+json", "{body}");
        assert!(answer.text().contains(words), "{words}: {}", answer.text());
    }
    let other = [("authorization", "Bearer somebody-else")];
    let body = json!({"lookupId": hit, "verdict": "wrong"});
    assert_eq!(refrain.send("POST", PATH, &other, Some(&body)).await.status, 404, "another caller's hit");
    assert_eq!(refrain.send("DELETE", PATH, &[], None).await.status, 405);
    assert_eq!(probe(&refrain, ASKED).await.outcome(), "hit", "nothing of it had an effect");
    say(&refrain, &hit, "wrong").await;
    assert!(refrain.send("GET", PATH, &other, None).await.text().is_empty(), "labels are their tenant's");
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_neither_lose_nor_see_each_others_pairs() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let (alice, bob) = ([("authorization", "Bearer tenant-A")], [("authorization", "Bearer tenant-B")]);
    for caller in [&alice, &bob] {
        refrain.keep_with(caller, &ask(STORED)).await;
    }
    let hit = refrain.chat_with(&alice, &ask(ASKED)).await;
    let body = json!({"lookupId": id(&hit), "verdict": "wrong"});
    assert_eq!(refrain.send("POST", PATH, &bob, Some(&body)).await.status, 404);
    assert_eq!(refrain.send("POST", PATH, &alice, Some(&body)).await.status, 200);
    assert_eq!(refrain.chat_with(&alice, &ask(ASKED)).await.outcome(), "miss");
    assert_eq!(refrain.chat_with(&bob, &ask(ASKED)).await.outcome(), "hit");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_keys_it_wants_one_as_every_route_does() {
    let provider = Provider::start().await;
    let key = "an-admin-key-of-24-chars";
    let config = "[auth]\nadmin_key_env = \"FEEDBACK_TEST_KEY\"";
    let refrain = Refrain::start_with(&provider, config, &[("FEEDBACK_TEST_KEY", key)]).await;
    let bearer = format!("Bearer {key}");
    let admin = [("authorization", bearer.as_str())];
    refrain.chat_with(&admin, &ask(STORED)).await;
    crate::support::wait_until("the hit", async || {
        let hit = refrain.chat_with(&[admin[0], ("cache-control", "no-store")], &ask(ASKED)).await;
        if hit.outcome() != "hit" {
            return false;
        }
        let body = json!({"lookupId": id(&hit), "verdict": "wrong"});
        assert_eq!(refrain.send("POST", PATH, &[], Some(&body)).await.status, 401);
        assert_eq!(refrain.send("GET", PATH, &[], None).await.status, 401);
        assert_eq!(refrain.send("POST", PATH, &admin, Some(&body)).await.status, 200);
        refrain.send("GET", PATH, &admin, None).await.text().lines().count() == 1
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_is_in_no_label_and_stays_refused() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let doc = json!({"doc": "handbook"});
    let store = async || {
        let body = json!({"request": ask(STORED), "response": completion("Click."), "attributes": doc});
        refrain.post("/v1/caches/default/store", &body).await.json()["entryId"].as_str().unwrap().to_owned()
    };
    let lookup = async |explain: bool| {
        let body = json!({"request": ask(ASKED), "attributes": doc, "explain": explain});
        refrain.post("/v1/caches/default/lookup", &body).await.json()
    };
    let path = "/v1/caches/default/entries";
    for way in ["by id", "by attributes", "flush"] {
        let entry = store().await;
        let hit = lookup(false).await["lookupId"].as_str().unwrap().to_owned();
        say(&refrain, &hit, "wrong").await;
        assert_eq!(labels(&refrain).await.len(), 1);
        let deleted = match way {
            "by id" => refrain.send("DELETE", &format!("{path}/{entry}"), &[], None).await,
            "by attributes" => refrain.send("DELETE", path, &[], Some(&json!({"attributes": doc}))).await,
            _ => refrain.send("POST", "/v1/caches/default/flush", &[], None).await,
        };
        assert!(deleted.status < 300, "{way}: {}", deleted.text());
        assert!(labels(&refrain).await.is_empty(), "{way} left a text");
        // Once the entry is gone, no more is kept than that the pair is wrong.
        say(&refrain, &hit, "wrong").await;
        assert!(labels(&refrain).await.is_empty(), "{way}");
        store().await;
        assert_eq!(lookup(true).await["reason"], "wrong", "{way}");
        say(&refrain, &hit, "right").await;
    }
    let hit = lookup(false).await["lookupId"].as_str().unwrap().to_owned();
    say(&refrain, &hit, "wrong").await;
    assert_eq!(refrain.send("DELETE", "/v1/caches/default", &[], None).await.status, 204);
    store().await;
    assert_eq!(lookup(false).await["outcome"], "hit", "a deleted cache begins anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vetted_answer_that_is_wrong_is_not_served_until_it_is_replaced() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.faq]\ncurated = true").await;
    let path = "/v1/caches/faq/entries";
    let set = async |answer: &str| {
        let told = refrain.post(path, &json!({"prompt": STORED, "response": answer})).await;
        assert_eq!(told.status, 201);
    };
    let chat = async || {
        let headers = [("x-refrain-cache", "faq"), ("cache-control", "no-store")];
        refrain.chat_with(&headers, &ask(STORED)).await
    };
    let found = async || {
        let body = json!({"prompt": STORED});
        refrain.post("/v1/caches/faq/entries/search", &body).await.json()["data"].as_array().unwrap().len()
    };
    set("Ask your aunt.").await;
    let hit = chat().await;
    assert_eq!(hit.said(), "Ask your aunt.");
    let body = json!({"lookupId": id(&hit), "verdict": "wrong"});
    let said = refrain.post("/v1/caches/faq/feedback", &body).await.json();
    assert_eq!(said["effect"], "pair-refused");
    let refused = chat().await;
    assert_eq!((refused.outcome(), found().await), ("miss", 0));
    assert!(refused.header("cache-status").contains("detail=wrong"), "{}", refused.header("cache-status"));
    set("Click the link.").await;
    assert_eq!((chat().await.said().as_str(), found().await), ("Click the link.", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_threshold_is_calibrated_with_what_was_said() {
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, "").await;
    refrain.keep(&ask(STORED)).await;
    let hit = probe(&refrain, ASKED).await;
    say(&refrain, &id(&hit), "wrong").await;
    let address = refrain.base.strip_prefix("http://").unwrap().to_owned();
    let models = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    let config = refrain.folder().join("calibrate.toml");
    let text = format!(
        "[server]\nlisten = {address:?}\n[store]\ndata_dir = {:?}\n[embedder]\nmodels_dir = {models:?}\n",
        refrain.folder().join("data")
    );
    std::fs::write(&config, text).unwrap();
    let calibrate = async |cache: &str| {
        let config = config.to_str().unwrap();
        run(&["calibrate", "--feedback", cache, "--config", config, "--target", "0.5", "--json"]).await
    };
    for running in [true, false] {
        if !running {
            assert!(refrain.stop().success());
        }
        let (code, told) = calibrate("default").await;
        assert_eq!(code, Some(1), "{told}");
        let found: Value = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
        assert_eq!(found[0]["falseHits"]["of"], 1, "running: {running}: {told}");
        assert!(found[0]["moreLabels"].as_u64().unwrap() > 0, "{told}");
    }
    let (code, told) = calibrate("another").await;
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("nothing was said of any pair in the cache another"), "{told}");
    std::fs::remove_file(refrain.folder().join("data/refrain.redb")).unwrap();
    let (code, told) = calibrate("default").await;
    assert!(code == Some(1) && told.contains("refrain.redb"), "{told}");
    assert_eq!(calibrate("no such name").await.0, Some(2));
}
