//! The lookup API: the provider surface's decision, without a call.

use serde_json::{Value, json};

use crate::support::{Provider, Refrain, ask, ask_stream, completion, with};

async fn lookup(refrain: &Refrain, body: Value) -> Value {
    let answer = refrain.post("/v1/caches/default/lookup", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_looks_up_calls_and_stores() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let request = ask("How do I reset my password?");
    let miss = lookup(&refrain, json!({"request": request})).await;
    assert_eq!((miss["outcome"].as_str(), miss["reason"].as_str()), (Some("miss"), Some("no-candidate")));
    assert!(miss["lookupId"].is_string() && miss.get("response").is_none(), "{miss}");
    let stored = refrain
        .post(
            "/v1/caches/default/store",
            &json!({"request": request, "response": completion("Click the link."), "lookupId": miss["lookupId"]}),
        )
        .await;
    assert_eq!(stored.status, 201, "{}", stored.text());
    let exact = lookup(&refrain, json!({"request": request})).await;
    assert_eq!((exact["outcome"].as_str(), exact["tier"].as_str()), (Some("hit"), Some("exact")));
    assert_eq!((&exact["entryId"], &exact["similarity"]), (&stored.json()["entryId"], &json!(1.0)));
    assert_eq!(exact["response"]["choices"][0]["message"]["content"], "Click the link.");
    assert!(exact["age"].is_u64() && exact["ttl"].as_u64().unwrap() > 86_000, "{exact}");
    let near = lookup(&refrain, json!({"request": ask("How can I reset my password?"), "explain": true})).await;
    assert_eq!((near["outcome"].as_str(), near["tier"].as_str()), (Some("hit"), Some("semantic")));
    assert_eq!(near["candidates"][0]["verdict"], "hit", "{near}");
    let by_proxy = refrain.chat(&ask_stream("How can I reset my password?")).await;
    assert_eq!((by_proxy.outcome(), by_proxy.said().as_str()), ("hit", "Click the link."));
    assert_eq!(provider.calls(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_names_each_candidate_and_the_guard_that_refused_it() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    refrain.keep(&ask("How do I enable guest access on the router?")).await;
    refrain.send("PATCH", "/v1/caches/default", &[], Some(&json!({"similarityThreshold": 0.8}))).await;
    let body = json!({"request": ask("How do I disable guest access on the router?"), "explain": true});
    let told = lookup(&refrain, body).await;
    assert_eq!((told["outcome"].as_str(), told["reason"].as_str()), (Some("miss"), Some("guard-negation")));
    let candidate = &told["candidates"][0];
    assert!(candidate["similarity"].as_f64().unwrap() > 0.8, "{told}");
    assert_eq!(candidate["guards"]["negation"]["verdict"], "veto");
    assert!(candidate["guards"]["negation"]["differs"].as_str().unwrap().contains("enable"), "{told}");
    assert_eq!(candidate["guards"]["numbers"]["verdict"], "pass");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_explanation_of_a_hit_shows_the_other_candidates_too() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for prompt in [
        "How do I enable guest access on the router?",
        "How can I enable guest access on the router?",
        "How do I disable guest access on the router?",
    ] {
        store(&refrain, prompt).await;
    }
    let body =
        json!({"request": ask("Could you tell me how I can enable guest access on the router?"), "explain": true});
    let told = lookup(&refrain, body).await;
    assert_eq!(told["outcome"], "hit", "{told}");
    let candidates = told["candidates"].as_array().unwrap();
    let with = |verdict: &str| candidates.iter().filter(|one| one["verdict"] == verdict).count();
    assert_eq!((with("hit"), with("not-needed"), with("guard-negation")), (1, 1, 1), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_shows_the_probability_beside_the_one_that_was_needed() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    refrain.keep(&ask("How do I reset my password?")).await;
    for (prompt, outcome) in [
        ("Could you tell me how I can reset my password?", "hit"),
        ("I need a new password, how do I get one?", "miss"),
    ] {
        let told = lookup(&refrain, json!({"request": ask(prompt), "explain": true})).await;
        let candidate = &told["candidates"][0];
        let number = |name: &str| candidate[name].as_f64().unwrap();
        assert_eq!(told["outcome"], outcome, "{told}");
        assert_eq!(number("probability") >= number("probabilityNeeded"), outcome == "hit", "{candidate}");
    }
    let body = json!({"request": ask("I need a new password, how do I get one?"), "explain": true});
    let needed = async || lookup(&refrain, body.clone()).await["candidates"][0]["probabilityNeeded"].as_f64().unwrap();
    let strict = needed().await;
    refrain.send("PATCH", "/v1/caches/default", &[], Some(&json!({"targetErrorRate": 0.1}))).await;
    assert!(needed().await < strict, "a looser target needs less");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_threshold_of_the_caller_tightens() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    refrain.keep(&ask("How do I reset my password?")).await;
    let near = ask("How can I reset my password?");
    let told = lookup(&refrain, json!({"request": near, "similarityThreshold": 0.999})).await;
    assert_eq!((told["outcome"].as_str(), told["reason"].as_str()), (Some("miss"), Some("below-threshold")));
    assert!(told["similarity"].as_f64().unwrap() > 0.95);
    assert_eq!(lookup(&refrain, json!({"request": near, "similarityThreshold": 0.1})).await["outcome"], "hit");
    let loose = json!({"request": ask("Where is my password?"), "similarityThreshold": 0});
    assert_eq!(lookup(&refrain, loose).await["outcome"], "miss", "never looser than the policy");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_kept_is_refused_with_its_reason() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let request = ask("What is an ISBN?");
    let mut cut = completion("An ISBN is");
    cut["choices"][0]["finish_reason"] = json!("length");
    for (response, word) in [
        (cut, "truncated"),
        (completion(""), "empty"),
        (json!({"error": {"message": "no"}}), "error"),
        (json!({}), "may not be kept"),
        (json!("text"), "may not be kept"),
    ] {
        let body = json!({"request": request, "response": response});
        let answer = refrain.post("/v1/caches/default/store", &body).await;
        assert_eq!(answer.status, 422, "{}", answer.text());
        assert_eq!(answer.header("content-type"), "application/problem+json");
        assert!(answer.text().contains(word), "{word}: {}", answer.text());
    }
    assert_eq!(lookup(&refrain, json!({"request": request})).await["outcome"], "miss");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_with_other_than_the_number_of_choices_asked_for_is_refused() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let mut two = completion("red");
    let second = json!({"index": 1, "message": {"role": "assistant", "content": "blue"}, "finish_reason": "stop"});
    two["choices"].as_array_mut().unwrap().push(second);
    for (n, response, status) in [
        (json!(3), &two, 422),
        (json!(2), &two, 201),
        (json!(2.0), &two, 201),
        (json!(1), &two, 422),
        (json!(null), &two, 422),
        (json!(1.0), &completion("red"), 201),
        (json!("1"), &completion("red"), 422),
    ] {
        let request = with(ask("Name a primary colour."), json!({"n": n}));
        let answer = refrain.post("/v1/caches/default/store", &json!({"request": request, "response": response})).await;
        assert_eq!(answer.status, status, "{n}: {}", answer.text());
        assert_eq!(answer.text().contains("choices"), status == 422, "{n}: {}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_problems_that_name_the_field() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let good = ask("Hi");
    for (path, body, status, word) in [
        ("/v1/caches/default/lookup", json!({}), 400, "request"),
        ("/v1/caches/default/lookup", json!({"request": good, "similarityThreshold": 1.5}), 400, "similarityThreshold"),
        ("/v1/caches/default/lookup", json!({"request": good, "treshold": 1}), 400, "treshold"),
        ("/v1/caches/default/lookup", json!({"request": 7}), 400, "request"),
        ("/v1/caches/default/lookup", json!({"request": good, "dialect": "morse"}), 400, "dialect"),
        ("/v1/caches/nope/lookup", json!({"request": good}), 404, "nope"),
        ("/v1/caches/default/store", json!({"request": good}), 400, "response"),
        (
            "/v1/caches/default/store",
            json!({"request": good, "response": completion("x"), "ttlMillis": 0}),
            400,
            "ttlMillis",
        ),
    ] {
        let answer = refrain.post(path, &body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        assert_eq!(answer.header("content-type"), "application/problem+json", "{body}");
        assert!(answer.text().contains(word), "{word}: {}", answer.text());
    }
    let text = refrain.send("POST", "/v1/caches/default/lookup", &[("content-type", "text/plain")], None).await;
    assert_eq!(text.status, 415);
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_must_be_equal_and_a_ttl_is_kept() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let request = ask("How long is the warranty?");
    let rev = |rev: &str| json!({"doc": "handbook", "rev": rev});
    let body =
        json!({"request": request, "response": completion("Three years."), "attributes": rev("7"), "ttlMillis": 3000});
    assert_eq!(refrain.post("/v1/caches/default/store", &body).await.status, 201);
    let ask_for = |attributes: Value| json!({"request": request, "attributes": attributes});
    assert_eq!(lookup(&refrain, ask_for(rev("7"))).await["outcome"], "hit");
    assert_eq!(lookup(&refrain, ask_for(rev("8"))).await["outcome"], "miss");
    assert_eq!(lookup(&refrain, ask_for(json!({"doc": "handbook"}))).await["outcome"], "miss");
    let header = [("x-refrain-attributes", "rev=7, doc=handbook")];
    assert_eq!(refrain.chat_with(&header, &request).await.said(), "Three years.");
    tokio::time::sleep(std::time::Duration::from_millis(3100)).await;
    assert_eq!(lookup(&refrain, ask_for(rev("7"))).await["outcome"], "miss");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_and_other_bypasses_are_named() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    for (change, reason) in [
        (json!({"tools": tools}), "tools"),
        (json!({"n": 2}), "n"),
        (json!({"logprobs": true}), "logprobs"),
        (json!({"messages": [{"role": "user", "content": " "}]}), "empty-text"),
        (json!({"messages": [{"role": "user", "content": "茶"}]}), "script"),
    ] {
        let told = lookup(&refrain, json!({"request": with(ask("Hi there, friend."), change)})).await;
        assert_eq!((told["outcome"].as_str(), told["reason"].as_str()), (Some("bypass"), Some(reason)));
    }
}

async fn store(refrain: &Refrain, prompt: &str) {
    let about = json!({"request": ask(prompt), "response": completion("Under settings.")});
    assert_eq!(refrain.post("/v1/caches/default/store", &about).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_entry_is_found_behind_forty_that_a_guard_refuses() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for number in (100..141).filter(|number| *number != 120) {
        store(&refrain, &format!("How do I connect the new colour printer to the office network at desk {number}?"))
            .await;
    }
    store(&refrain, "Somebody sits at desk 120 and wants the new colour printer on the office network, how?").await;
    let looser = json!({"verifier": "none", "similarityThreshold": 0.8});
    refrain.send("PATCH", "/v1/caches/default", &[], Some(&looser)).await;
    let asked = "How do I connect the new colour printer to the office network at desk 120?";
    let body = json!({"request": ask(asked), "explain": true});
    let told = lookup(&refrain, body).await;
    assert_eq!(told["outcome"], "hit", "{told}");
    let refused = told["candidates"].as_array().unwrap().iter().filter(|one| one["verdict"] == "guard-numbers");
    let nearer = refused.filter(|one| one["similarity"].as_f64() > told["similarity"].as_f64()).count();
    assert!(nearer > 32, "{nearer} {told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_three_candidates_are_read() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for prompt in [
        "How do I reset my password?",
        "Where do I set a new password?",
        "I forgot my password, what now?",
        "Can I get another password?",
        "What do I do to have a new password sent?",
        "How is a password replaced?",
        "My password is gone, how do I get in?",
    ] {
        store(&refrain, prompt).await;
    }
    let body = json!({"request": ask("I need a new password, how do I get one?"), "explain": true});
    let told = lookup(&refrain, body).await;
    let candidates = told["candidates"].as_array().unwrap();
    let read = candidates.iter().filter(|one| one["read"] == true).count();
    let judged = candidates.iter().filter(|one| one["verdict"] == "verifier").count();
    assert!(read == 3 && judged > 3, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_no_body_of_any_route() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for route in ["lookup", "store", "feedback", "conversations/search"] {
        let refused = refrain.post(&format!("/v1/caches/default/{route}"), &json!(["hi", "right", null, null])).await;
        assert_eq!(refused.status / 100, 4, "{route}: {}", refused.text());
        assert!(refused.text().contains("is a list"), "{route}: {}", refused.text());
    }
}
