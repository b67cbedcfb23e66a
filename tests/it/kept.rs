//! Only a complete and good answer is kept.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::provider::{Step, event};
use crate::support::{Provider, Refrain, Reply, ask, ask_stream, completion, raw, with};

/// Each of these as first answer: the second request must reach the provider all the same.
async fn is_not_kept(replies: Vec<(&str, Reply)>, body: impl Fn(&str) -> Value) {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.default]\nstrategies = [\"exact\"]").await;
    for (index, (what, reply)) in replies.into_iter().enumerate() {
        let body = body(&format!("What is an ISBN? ({what})"));
        provider.next(reply);
        raw::post(&refrain.base, "/v1/chat/completions", &[], &body).await;
        let second = refrain.chat(&body).await;
        assert_ne!(second.outcome(), "hit", "{what}");
        assert_eq!(provider.calls(), 2 * (index + 1), "{what}");
    }
}

fn finished(reason: &str, text: &str) -> Value {
    let mut answer = completion(text);
    answer["choices"][0]["finish_reason"] = json!(reason);
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_empty_answers_and_other_shapes_are_not_kept() {
    let text = |status: u16, kind: &str, body: &str| Reply::body(status, &[("content-type", kind)], body);
    let mut tool_only = completion("");
    tool_only["choices"][0]["message"]["content"] = Value::Null;
    let mut refused = completion("No.");
    refused["choices"][0]["message"]["refusal"] = json!("I cannot do that.");
    let mut half = completion("one");
    half["choices"].as_array_mut().unwrap().push(json!({"index": 1, "finish_reason": "length",
        "message": {"role": "assistant", "content": "tw"}}));
    let spaced = "{ \"choices\" : [ {\"index\":0, \"message\":{\"role\":\"assistant\",\"content\":\"DNS is a\"}, \
                  \"finish_reason\"  :  \"length\" } ], \"object\":\"chat.completion\",\"id\":\"x\",\"created\":1,\"model\":\"m\" }";
    is_not_kept(
        vec![
            ("400", Reply::json(400, &json!({"error": {"message": "bad model"}}))),
            ("401", Reply::json(401, &json!({}))),
            ("429", Reply::json(429, &json!({"error": {"message": "slow down"}}))),
            ("500", text(500, "text/plain", "oops")),
            ("503", text(503, "text/html", "<html>busy</html>")),
            ("error in 200", Reply::json(200, &json!({"error": {"message": "backend failed"}}))),
            ("html in 200", text(200, "text/html", "<html>login</html>")),
            ("no choices", Reply::json(200, &json!({"choices": []}))),
            ("nothing", text(200, "application/json", "")),
            ("half a document", text(200, "application/json", "{\"choices\":[{\"index\":0")),
            ("empty text", Reply::text("")),
            ("blank text", Reply::text(" \n")),
            ("text without width", Reply::text("\u{200b}")),
            ("a part", Reply::json(206, &completion("So."))),
            ("null text", Reply::json(200, &tool_only)),
            ("length", Reply::json(200, &finished("length", "DNS is a"))),
            ("length, spelled loosely", text(200, "application/json", spaced)),
            ("one choice cut", Reply::json(200, &half)),
            ("filtered", Reply::json(200, &finished("content_filter", ""))),
            ("filtered with text", Reply::json(200, &finished("content_filter", "With"))),
            ("refused", Reply::json(200, &refused)),
            ("tool calls", Reply::json(200, &finished("tool_calls", "Wait."))),
            ("no reason", Reply::json(200, &finished("", "So."))),
        ],
        ask,
    )
    .await;
}

/// A provider's answer with these texts, one choice each.
fn choices(texts: &[&str]) -> Value {
    let mut answer = completion("");
    let choice = |(index, text): (usize, &&str)| {
        json!({"index": index, "finish_reason": "stop",
        "message": {"role": "assistant", "content": text}})
    };
    answer["choices"] = texts.iter().enumerate().map(choice).collect();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_with_other_than_the_number_of_choices_asked_for_is_not_kept() {
    let three = json!({"n": 3});
    let json = vec![
        ("one of three", Reply::text("red")),
        ("two of three", Reply::json(200, &choices(&["red", "blue"]))),
        ("four of three", Reply::json(200, &choices(&["red", "blue", "yellow", "green"]))),
    ];
    is_not_kept(json, |text| with(ask(text), three.clone())).await;
    let finish = |index: u64, text: &str| {
        let chunk = json!({"choices": [{"index": index, "delta": {"content": text}, "finish_reason": "stop"}]});
        format!("data: {chunk}\n\n")
    };
    let two = Reply::stream().chunk(finish(0, "red")).chunk(finish(2, "blue")).chunk("data: [DONE]\n\n").end();
    let events = vec![("one of three", Reply::says(&["red"])), ("two of three", two)];
    is_not_kept(events, |text| with(ask_stream(text), three.clone())).await;
    is_not_kept(vec![("two of one", Reply::json(200, &choices(&["red", "blue"])))], ask).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_end_badly_are_not_kept() {
    let begun = || Reply::stream().chunk(event(&json!({"content": "Half"}), None));
    let done = "data: [DONE]\n\n";
    is_not_kept(
        vec![
            ("cut", begun().chunk(event(&json!({}), Some("length"))).chunk(done).end()),
            ("filtered", begun().chunk(event(&json!({}), Some("content_filter"))).chunk(done).end()),
            ("no end at all", begun().end()),
            ("done without a reason", begun().chunk(done).end()),
            (
                "error event",
                begun().chunk("data: {\"error\":{\"code\":429,\"message\":\"quota\"}}\n\n").chunk(done).end(),
            ),
            ("refusal", begun().chunk(event(&json!({"refusal": "no"}), Some("stop"))).chunk(done).end()),
            (
                "tool call",
                begun()
                    .chunk(event(
                        &json!({"tool_calls": [{"index": 0, "id": "c", "type": "function",
                "function": {"name": "f", "arguments": "{}"}}]}),
                        Some("tool_calls"),
                    ))
                    .chunk(done)
                    .end(),
            ),
            ("broken connection", begun().then(Step::Close)),
            ("no text", Reply::stream().chunk(event(&json!({}), Some("stop"))).chunk(done).end()),
        ],
        ask_stream,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_reaches_the_caller_as_the_provider_said_it() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let headers = [("content-type", "application/json"), ("retry-after", "2"), ("x-ratelimit-remaining-tokens", "0")];
    let body = "{\"error\": {\"message\":\"slow down\", \"type\":\"rate_limit\"} }";
    provider.next(Reply::body(429, &headers, body));
    let answer = refrain.chat(&ask("What is an ISBN?")).await;
    assert_eq!((answer.status, answer.text()), (429, body));
    assert_eq!((answer.header("retry-after"), answer.header("x-ratelimit-remaining-tokens")), ("2", "0"));
    assert_eq!(answer.outcome(), "miss");
    assert!(!answer.header("cache-status").contains("stored"), "{}", answer.header("cache-status"));
    assert!(answer.header("cache-status").contains("fwd-status=429"), "{}", answer.header("cache-status"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_its_caller_left_is_kept_whole_or_not_at_all() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let mut reply = Reply::stream();
    for word in 0..20 {
        reply = reply
            .chunk(event(&json!({"content": format!("{word} ")}), None))
            .then(Step::Pause(Duration::from_millis(20)));
    }
    provider.next(reply.chunk(event(&json!({}), Some("stop"))).chunk("data: [DONE]\n\n").end());
    let body = ask_stream("Tell a long story.");
    let mut leaving = refrain.open(&[], &body).await;
    leaving.chunk().await.unwrap();
    leaving.chunk().await.unwrap();
    drop(leaving);
    let whole = refrain.chat(&body).await;
    let story: String = (0..20).map(|word| format!("{word} ")).collect();
    assert_eq!(whole.said(), story);
    assert!(whole.text().ends_with("data: [DONE]\n\n"));
    assert_eq!(provider.calls(), 1, "the fill was finished and shared");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_over_the_cap_is_relayed_and_not_kept() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.default]\nmax_answer_bytes = 2000").await;
    let long = "word ".repeat(1000);
    provider.next(Reply::text(&long));
    assert_eq!(refrain.chat(&ask("Tell a long story.")).await.said(), long);
    assert_ne!(refrain.chat(&ask("Tell a long story.")).await.outcome(), "hit");
    let mut stream = Reply::stream();
    for _ in 0..100 {
        stream = stream.chunk(event(&json!({"content": "word ".repeat(20)}), None));
    }
    provider.next(stream.chunk(event(&json!({}), Some("stop"))).chunk("data: [DONE]\n\n").end());
    assert_eq!(refrain.chat(&ask_stream("Tell a longer story.")).await.said().len(), 10_000);
    assert_ne!(refrain.chat(&ask_stream("Tell a longer story.")).await.outcome(), "hit");
    assert_eq!(provider.calls(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn json_mode_that_does_not_parse_is_not_kept() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let body = with(ask("Describe a bottle as JSON."), json!({"response_format": {"type": "json_object"}}));
    provider.next(Reply::text("{\"colour\": \"gre")).next(Reply::text("{\"colour\": \"green\"}"));
    refrain.chat(&body).await;
    assert_eq!(refrain.chat(&body).await.said(), "{\"colour\": \"green\"}");
    let hit = refrain.chat(&body).await;
    assert_eq!((hit.outcome(), hit.said().as_str()), ("hit", "{\"colour\": \"green\"}"));
}
