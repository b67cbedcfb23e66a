//! A hit looks like a live answer in the caller's own transport.

use serde_json::{Value, json};

use crate::support::provider::event;
use crate::support::{Provider, Refrain, Reply, ask, ask_stream, completion, with};

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_came_as_json_is_replayed_as_a_stream_and_the_other_way_round() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let first = refrain.chat(&ask("Define RAM.")).await;
    assert_eq!((first.outcome(), first.said().as_str()), ("miss", "answer 1"));
    let streamed = refrain.chat(&ask_stream("Define RAM.")).await;
    assert_eq!((streamed.outcome(), streamed.said().as_str()), ("hit", "answer 1"));
    assert!(streamed.header("content-type").starts_with("text/event-stream"));
    assert!(streamed.text().ends_with("data: [DONE]\n\n"));
    let live = refrain.chat(&ask_stream("Define ROM.")).await;
    assert_eq!((live.outcome(), live.said().as_str()), ("miss", "answer 2"));
    for stream in [json!(false), json!(null)] {
        let whole = refrain.chat(&with(ask("Define ROM."), json!({"stream": stream}))).await;
        assert_eq!((whole.outcome(), whole.said().as_str()), ("hit", "answer 2"));
        assert_eq!(whole.header("content-type"), "application/json");
        assert_eq!(whole.json()["object"], "chat.completion");
    }
    assert_eq!(provider.calls(), 2);
}

/// A stream that counts to five, with a role chunk and usage at the end.
fn counting() -> Reply {
    let usage = json!({"id": "c1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "alpha-small",
        "choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": 30, "total_tokens": 38,
        "completion_tokens_details": {"reasoning_tokens": 12}, "prompt_tokens_details": {"cached_tokens": 3}}});
    Reply::stream()
        .chunk(event(&json!({"role": "assistant", "content": ""}), None))
        .chunk(event(&json!({"content": "1 2 "}), None))
        .chunk(event(&json!({"content": "3 4 5"}), None))
        .chunk(event(&json!({}), Some("stop")))
        .chunk(format!("data: {usage}\n\n"))
        .chunk("data: [DONE]\n\n")
        .end()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_stream_has_the_order_and_identity_of_a_live_one() {
    let provider = Provider::start().await;
    provider.next(counting());
    let refrain = Refrain::start(&provider, "").await;
    let live = refrain.chat(&ask_stream("Count to five.")).await;
    let replay = refrain.chat(&ask_stream("Count to five.")).await;
    assert_eq!((replay.outcome(), replay.said()), ("hit", live.said()));
    let events = replay.events();
    let (first, last) = (&events[0], &events[events.len() - 1]);
    assert_eq!(first["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(
        (last["choices"][0]["finish_reason"].as_str(), &last["choices"][0]["delta"]),
        (Some("stop"), &json!({}))
    );
    for event in &events[..events.len() - 1] {
        assert_eq!(event["choices"][0]["finish_reason"], Value::Null);
    }
    for event in &events {
        assert_eq!(event["object"], "chat.completion.chunk");
        assert_eq!(event["model"], "alpha-small");
        assert_eq!((&event["id"], &event["created"]), (&first["id"], &first["created"]));
        assert!(event.get("usage").is_none_or(Value::is_null), "nobody asked for usage: {event}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_replayed_to_who_asks_for_it_and_whole() {
    let provider = Provider::start().await;
    provider.next(counting());
    let refrain = Refrain::start(&provider, "").await;
    let asking = with(ask_stream("Count to five."), json!({"stream_options": {"include_usage": true}}));
    refrain.chat(&asking).await;
    let replay = refrain.chat(&asking).await;
    assert_eq!(replay.outcome(), "hit");
    let events = replay.events();
    let last = events.last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["completion_tokens_details"]["reasoning_tokens"], 12);
    let whole = refrain.chat(&ask("Count to five.")).await;
    assert_eq!((whole.outcome(), &whole.json()["usage"]), ("hit", &last["usage"]));
    let not_asking = refrain.chat(&ask_stream("Count to five.")).await;
    assert!(not_asking.events().iter().all(|event| event["choices"] != json!([])));
    assert_eq!(provider.calls(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_that_never_came_is_not_invented() {
    let provider = Provider::start().await;
    provider.next(Reply::says(&["Yes."]));
    let refrain = Refrain::start(&provider, "").await;
    refrain.chat(&ask_stream("Is water wet?")).await;
    let whole = refrain.chat(&ask("Is water wet?")).await;
    assert_eq!((whole.outcome(), whole.json().get("usage")), ("hit", None));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_hit_has_an_identity_of_its_own_and_says_where_it_comes_from() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let miss = refrain.chat(&ask("Define CPU.")).await;
    assert_ne!(miss.header("cache-status"), "");
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let hits = [refrain.chat(&ask("Define CPU.")).await, refrain.chat(&ask("Define CPU.")).await];
    let [one, other] = hits.each_ref().map(super::support::service::Answer::json);
    assert_ne!(one["id"], other["id"]);
    assert_ne!(one["id"], "up-1");
    assert!(one["created"].as_u64().unwrap() > 1_700_000_000);
    assert_eq!(one["model"], "alpha-small");
    let hit = &hits[0];
    assert!(hit.header("cache-status").starts_with("refrain; hit; ttl="), "{}", hit.header("cache-status"));
    assert!(hit.header("age").parse::<u64>().unwrap() >= 1);
    assert_ne!(hit.header("x-refrain-entry-id"), "");
    assert_ne!(hit.header("x-refrain-lookup-id"), hits[1].header("x-refrain-lookup-id"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_has_our_own_framing_and_none_of_the_providers_headers() {
    let provider = Provider::start().await;
    let headers = [
        ("content-type", "application/json"),
        ("set-cookie", "session=1"),
        ("x-ratelimit-remaining-requests", "7"),
        ("x-request-id", "req-1"),
        ("openai-processing-ms", "12"),
        ("date", "Mon, 01 Jan 2024 00:00:00 GMT"),
    ];
    provider.next(Reply::body(200, &headers, completion("So.").to_string()));
    let refrain = Refrain::start(&provider, "").await;
    let miss = refrain.chat(&ask("Define RAM.")).await;
    assert_eq!(miss.header("x-ratelimit-remaining-requests"), "7");
    let hit = refrain.chat(&ask("Define RAM.")).await;
    assert_eq!(hit.outcome(), "hit");
    for name in ["set-cookie", "x-ratelimit-remaining-requests", "x-request-id", "openai-processing-ms"] {
        assert_eq!(hit.header(name), "", "{name}");
    }
    assert_ne!(hit.header("date"), headers[5].1);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_members_of_a_message_survive() {
    let provider = Provider::start().await;
    let mut answer = completion("Blue.");
    answer["choices"][0]["message"]["annotations"] = json!([{"type": "url_citation", "url": "https://example.org"}]);
    answer["choices"][0]["message"]["reasoning_content"] = json!("The sky scatters.");
    answer["system_fingerprint"] = json!("fp_1");
    provider.next(Reply::json(200, &answer));
    let refrain = Refrain::start(&provider, "").await;
    refrain.chat(&ask("Which colour is the sky?")).await;
    let hit = refrain.chat(&ask("Which colour is the sky?")).await;
    assert_eq!(hit.json()["choices"], answer["choices"]);
    assert_eq!(hit.json()["system_fingerprint"], "fp_1");
    let deltas: Vec<Value> = refrain.chat(&ask_stream("Which colour is the sky?")).await.events();
    assert!(deltas.iter().any(|event| event["choices"][0]["delta"]["reasoning_content"] == "The sky scatters."));
    assert!(deltas.iter().any(|event| event["choices"][0]["delta"]["annotations"].is_array()));
}
