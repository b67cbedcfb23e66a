//! The tokens of every call to a provider are told once: as it counted them, or as an estimate that says so.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::support::provider::event;
use crate::support::{Provider, Refrain, Reply, Step, ask, ask_stream, completion, raw, wait_until, with};

/// The lines of the log that tell tokens.
fn told(refrain: &Refrain) -> Vec<String> {
    refrain.log().lines().filter(|line| line.contains("usage=")).map(str::to_owned).collect()
}

/// The one line that this call added, once it is there and no second one has come.
async fn only_line(refrain: &Refrain, before: usize, what: &str) -> String {
    wait_until(what, async || told(refrain).len() > before).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut lines = told(refrain).split_off(before);
    assert_eq!(lines.len(), 1, "{what}: {lines:?}");
    lines.remove(0)
}

fn tokens(line: &str, direction: &str) -> u64 {
    let field = line.split(&format!("{direction}_tokens=")).nth(1).expect("the field");
    field.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}

fn usage_event() -> String {
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13});
    format!("data: {}\n\n", json!({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": usage}))
}

fn begun() -> Reply {
    Reply::stream().chunk(event(&json!({"content": "x".repeat(80)}), None))
}

fn pause() -> Step {
    Step::Pause(Duration::from_millis(200))
}

fn ended(reply: Reply) -> Reply {
    reply.chunk(event(&json!({}), Some("stop")))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_heard_to_its_end_has_its_tokens_told_once() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.default]\nstrategies = [\"exact\"]").await;
    let mut uncounted = completion(&"x".repeat(80));
    uncounted.as_object_mut().unwrap().remove("usage");
    let done = "data: [DONE]\n\n";
    for (what, reply, source) in [
        ("a body that counts", Reply::text("So."), "reported"),
        ("a body that does not", Reply::json(200, &uncounted), "estimated"),
        ("events that count", ended(begun()).chunk(usage_event()).chunk(done).end(), "reported"),
        ("events that count after the end", ended(begun()).chunk(done).chunk(usage_event()).end(), "reported"),
        ("events that do not count", ended(begun()).chunk(done).end(), "estimated"),
        (
            "an end without an end",
            ended(begun()).chunk(done).then(Step::Pause(Duration::from_millis(600))).end(),
            "estimated",
        ),
    ] {
        let before = told(&refrain).len();
        provider.next(reply);
        let question = format!("Tell me about {what}.");
        let body = if what.starts_with("a body") { ask(&question) } else { ask_stream(&question) };
        let answer = refrain.chat(&body).await;
        let line = only_line(&refrain, before, what).await;
        assert!(line.contains(&format!("usage=\"{source}\"")), "{what}: {line}");
        assert!(line.contains(answer.header("x-refrain-lookup-id")), "{what}: {line}");
        let expected = if source == "reported" { (9, 4) } else { (question.len().div_ceil(4) as u64, 20) };
        assert_eq!((tokens(&line, "input"), tokens(&line, "output")), expected, "{what}: {line}");
        refrain.chat(&body).await;
    }
    assert_eq!(told(&refrain).len(), 6, "a hit calls nobody");
    provider.next(Reply::json(429, &json!({"error": {"message": "slow down"}})));
    refrain.chat(&ask("Tell me more.")).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(told(&refrain).len(), 6, "a refusal costs nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_broke_off_or_lost_its_caller_has_its_tokens_told_once() {
    let provider = Provider::start().await;
    let refrain =
        Refrain::start(&provider, "[fill]\nfinish_within = \"2s\"\n[caches.default]\nstrategies = [\"exact\"]").await;
    let no_store = [("cache-control", "no-store")];
    let rest = || ended(Reply::default().then(pause())).chunk(usage_event()).chunk("data: [DONE]\n\n").end();
    for (what, reply, kept, leaves, source) in [
        ("cut", begun().then(pause()).then(Step::Close), true, false, "estimated"),
        ("reset", begun().then(pause()).then(Step::Reset), false, false, "estimated"),
        ("cut after the count", begun().chunk(usage_event()).then(pause()).then(Step::Close), true, false, "reported"),
        ("left and finished", begun().then_reply(rest()), true, true, "reported"),
        ("left and not kept", begun().then(Step::Hang), false, true, "estimated"),
        ("left and never finished", begun().then(Step::Hang), true, true, "estimated"),
    ] {
        let before = told(&refrain).len();
        provider.next(reply);
        let question = format!("What is {what}?");
        let headers: &[(&str, &str)] = if kept { &[] } else { &no_store };
        let mut answer = refrain.open(headers, &ask_stream(&question)).await;
        answer.chunk().await.expect("a first piece");
        if !leaves {
            while let Ok(Some(_)) = answer.chunk().await {}
        }
        drop(answer);
        let line = only_line(&refrain, before, what).await;
        assert!(line.contains(&format!("usage=\"{source}\"")), "{what}: {line}");
        let expected = if source == "reported" { (9, 4) } else { (question.len().div_ceil(4) as u64, 20) };
        assert_eq!((tokens(&line, "input"), tokens(&line, "output")), expected, "{what}: {line}");
    }
    let metrics = refrain.send("GET", "/metrics", &[], None).await.text().to_owned();
    for line in [
        "refrain_provider_tokens_total{type=\"output\",source=\"estimated\"} 80",
        "refrain_provider_tokens_total{type=\"output\",source=\"reported\"} 8",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_cancelled_before_its_first_byte_is_estimated_by_its_prompt() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    provider.next(Reply::default().then(Step::Hang));
    let turns = json!([{"role": "system", "content": "x".repeat(40)}, {"role": "user", "content": "y".repeat(40)}]);
    let body = with(ask(""), json!({"messages": turns})).to_string();
    let mut leaving = raw::connect(&refrain.base).await;
    let head = raw::head("/v1/chat/completions", &[("content-length", &body.len().to_string())]);
    leaving.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await.unwrap();
    wait_until("the call", async || provider.calls() == 1).await;
    drop(leaving);
    let line = only_line(&refrain, 0, "a cancelled call").await;
    assert!(line.contains("usage=\"estimated\""), "{line}");
    assert_eq!((tokens(&line, "input"), tokens(&line, "output")), (20, 0), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_that_share_an_answer_share_its_tokens() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    provider.next(Reply::default().then(Step::Pause(Duration::from_millis(400))).then_reply(Reply::text("shared")));
    let body: Value = ask("Define NAT.");
    let (one, other) = tokio::join!(refrain.chat(&body), refrain.chat(&body));
    assert_eq!((one.said(), other.said()), ("shared".into(), "shared".into()));
    only_line(&refrain, 0, "a shared call").await;
}
