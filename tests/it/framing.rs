//! The relay: bytes as they came, when they came; and what becomes of streams that are odd or break.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::provider::event;
use crate::support::raw::{self, Response};
use crate::support::{Gate, Provider, Refrain, Reply, Step, ask, ask_stream};

fn plain_chunk(content: &str, finish: Option<&str>) -> String {
    let delta = if content.is_empty() { json!({}) } else { json!({"content": content}) };
    let chunk = json!({"id": "c1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "alpha-small",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    chunk.to_string()
}

/// Relays `reads` as a stream and compares every byte; what the next caller is told, if it was kept.
async fn relayed(refrain: &Refrain, provider: &Provider, name: &str, reads: &[&[u8]]) -> Option<String> {
    let mut reply = Reply::stream();
    for read in reads {
        reply = reply.chunk(read).then(Step::Pause(Duration::from_millis(2)));
    }
    provider.next(reply.end());
    let body = ask_stream(&format!("Define {name}."));
    let first = refrain.chat(&body).await;
    assert_eq!(first.body, reads.concat(), "{name}");
    let again = refrain.chat(&ask(&format!("Define {name}."))).await;
    (again.outcome() == "hit").then(|| again.said())
}

#[tokio::test(flavor = "multi_thread")]
async fn characters_cut_by_reads_arrive_whole_and_are_kept_whole() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let stream =
        format!("data: {}\n\ndata: {}\n\ndata: [DONE]\n\n", plain_chunk("北🙂é", None), plain_chunk("", Some("stop")));
    let bytes = stream.as_bytes();
    let at = stream.find('北').unwrap();
    let cut = [&bytes[..=at], &bytes[at + 1..at + 5], &bytes[at + 5..at + 8], &bytes[at + 8..]];
    assert_eq!(relayed(&refrain, &provider, "a cut", &cut).await.as_deref(), Some("北🙂é"));
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(relayed(&refrain, &provider, "single bytes", &single).await.as_deref(), Some("北🙂é"));
    let broken = [&bytes[..=at], b"\xff", &bytes[at + 3..]].concat();
    assert_eq!(relayed(&refrain, &provider, "broken text", &[&broken]).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_spelling_of_an_event_stream_is_relayed_and_understood() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let (ok, stop) = (plain_chunk("ok", None), plain_chunk("", Some("stop")));
    let lf = format!("data: {ok}\n\ndata: {stop}\n\ndata: [DONE]\n\n");
    let halves = ok.replacen(",\"", ",\ndata: \"", 1);
    let variants = [
        ("CRLF", lf.replace('\n', "\r\n")),
        ("CR", lf.replace('\n', "\r")),
        ("mixed ends", format!("data: {ok}\r\n\r\ndata: {stop}\n\ndata: [DONE]\r\r")),
        ("no space", lf.replace("data: ", "data:")),
        ("a byte order mark", format!("\u{feff}{lf}")),
        ("other fields", format!("retry: 10\nid: 7\nevent: message\n: a comment\n{lf}")),
        ("two data lines", format!("data: {halves}\n\ndata: {stop}\n\ndata: [DONE]\n\n")),
        ("no last blank line", lf.trim_end().to_owned()),
        ("a space after DONE", lf.replace("[DONE]", "[DONE] ")),
    ];
    for (name, stream) in &variants {
        let told = relayed(&refrain, &provider, name, &[stream.as_bytes()]).await;
        assert_eq!(told.as_deref(), Some("ok"), "{name}");
    }
    let crlf = lf.replace('\n', "\r\n");
    let at = crlf.find('\n').unwrap();
    let cut = [&crlf.as_bytes()[..at], &crlf.as_bytes()[at..]];
    assert_eq!(relayed(&refrain, &provider, "CR LF cut", &cut).await.as_deref(), Some("ok"));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_without_choices_or_delta_do_no_harm() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let filter = json!({"id": "", "object": "", "created": 0, "model": "", "choices": [],
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": false}}}]});
    let offsets = json!({"id": "", "object": "", "created": 0, "model": "",
        "choices": [{"index": 0, "finish_reason": null, "content_filter_offsets": {"start_offset": 0}}]});
    let stream = format!(
        "data: {filter}\n\ndata: {}\n\ndata: {offsets}\n\ndata: {}\n\ndata: [DONE]\n\n",
        plain_chunk("ok", None),
        plain_chunk("", Some("stop"))
    );
    assert_eq!(relayed(&refrain, &provider, "Azure", &[stream.as_bytes()]).await.as_deref(), Some("ok"));
    let hit = refrain.chat(&ask("Define Azure.")).await;
    assert_eq!(hit.json()["model"], "alpha-small");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_chunk_arrives_before_the_provider_sends_its_second() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let gates: Vec<Gate> = (0..3).map(|_| Gate::default()).collect();
    let mut reply = Reply::stream();
    for (number, gate) in gates.iter().enumerate() {
        reply = reply.chunk(event(&json!({"content": number.to_string()}), None)).wait(gate);
    }
    provider.next(reply.chunk(event(&json!({}), Some("stop"))).chunk("data: [DONE]\n\n").end());
    let mut live = refrain.open(&[], &ask_stream("Count.")).await;
    let headers = live.headers().clone();
    assert_eq!(headers.get("x-accel-buffering").unwrap(), "no");
    assert_eq!(headers.get("cache-control").unwrap(), "no-cache");
    assert!(headers.get("content-length").is_none());
    for (number, gate) in gates.iter().enumerate() {
        let chunk =
            tokio::time::timeout(Duration::from_secs(5), live.chunk()).await.expect("in time").unwrap().unwrap();
        let expected = event(&json!({"content": number.to_string()}), None);
        assert_eq!(chunk, expected.as_bytes(), "each read is forwarded as it came");
        gate.open();
    }
}

/// The head's status and the body of a stream that breaks after `reply`.
async fn broken(reply: Reply) -> (Response, Provider, Refrain) {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    provider.next(reply);
    let answer = raw::post(&refrain.base, "/v1/chat/completions", &[], &ask_stream("Go on.")).await;
    (answer, provider, refrain)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_break_in_mid_stream_is_told_and_nothing_is_kept() {
    let begun = || {
        Reply::stream()
            .chunk(event(&json!({"role": "assistant"}), None))
            .chunk(event(&json!({"content": "partial "}), None))
    };
    for (name, end) in [("reset", Step::Reset), ("no final chunk", Step::Close)] {
        let (answer, provider, refrain) = broken(begun().then(Step::Pause(Duration::from_millis(50))).then(end)).await;
        let body = answer.text();
        assert_eq!(answer.status, 200, "{name}");
        assert!(body.contains("partial "), "{name}: {body}");
        assert!(!body.contains("[DONE]"), "{name}: {body}");
        let last: Value = serde_json::from_str(body.trim_end().rsplit("data: ").next().unwrap()).unwrap();
        assert!(last["error"]["message"].is_string(), "{name}: {body}");
        assert!(!answer.ended_well, "{name}: the connection is cut, not ended");
        assert_eq!(refrain.chat(&ask_stream("Go on.")).await.outcome(), "miss", "{name}");
        assert_eq!(provider.calls(), 2, "{name}");
    }
    let half = "data: {\"id\": \"c1\", \"obj";
    let (answer, ..) = broken(begun().chunk(half).then(Step::Pause(Duration::from_millis(50))).then(Step::Reset)).await;
    assert!(answer.text().ends_with(half), "no event of ours in the middle of another: {}", answer.text());
    assert!(!answer.ended_well);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_of_a_broken_json_answer_is_passed_on() {
    for _ in 0..10 {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n";
        let (answer, ..) = broken(Reply::raw(format!("{head}{{\"choices\": [")).then(Step::Close)).await;
        assert_eq!((answer.text().as_str(), answer.ended_well), ("{\"choices\": [", false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_break_before_the_first_byte_is_an_error_in_the_callers_dialect() {
    for reply in [Reply::default().then(Step::Reset), Reply::default().then(Step::Close)] {
        let (answer, _, refrain) = broken(reply).await;
        assert_eq!(answer.status, 502, "{}", answer.text());
        assert_eq!(answer.all("x-refrain-outcome"), ["miss"]);
        assert_eq!(answer.all("cache-status"), ["refrain; fwd=miss; detail=upstream-error"]);
        let body: Value = serde_json::from_str(&answer.text()).unwrap();
        assert!(body["error"]["message"].is_string() && body["error"]["type"].is_string(), "{body}");
        assert_eq!(refrain.chat(&ask_stream("Go on.")).await.outcome(), "miss");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caches_line_before_ours_is_kept() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let headers = [("content-type", "application/json"), ("cache-status", "edge; hit")];
    provider.next(Reply::body(200, &headers, crate::support::completion("So.").to_string()));
    let status = refrain.chat(&ask("Define NAT.")).await.header("cache-status").to_owned();
    assert!(status.starts_with("edge; hit, refrain; fwd=miss"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_falls_silent_is_named_and_a_slow_one_is_waited_for() {
    let provider = Provider::start().await;
    let upstream = format!(
        "[[upstreams]]\nname = \"scripted\"\ndialect = \"openai\"\nbase_url = {:?}\nfirst_byte_timeout = \"1s\"\nidle_timeout = \"1s\"",
        provider.base_url()
    );
    let refrain = Refrain::start(&provider, &upstream).await;
    provider.next(Reply::default().then(Step::Hang));
    let silent = refrain.chat(&ask("Are you there?")).await;
    assert_eq!(silent.status, 504, "{}", silent.text());
    assert!(silent.text().contains("first_byte_timeout"), "{}", silent.text());
    let mut slow = Reply::stream();
    for word in 0..6 {
        slow = slow
            .chunk(event(&json!({"content": format!("{word} ")}), None))
            .then(Step::Pause(Duration::from_millis(400)));
    }
    provider.next(slow.chunk(event(&json!({}), Some("stop"))).chunk("data: [DONE]\n\n").end());
    assert_eq!(refrain.chat(&ask_stream("Slowly, please.")).await.said(), "0 1 2 3 4 5 ");
    provider.next(Reply::stream().chunk(event(&json!({"content": "Half"}), None)).then(Step::Hang));
    let stuck = raw::post(&refrain.base, "/v1/chat/completions", &[], &ask_stream("Do not stop.")).await;
    assert!(stuck.text().contains("idle_timeout"), "{}", stuck.text());
    assert!(!stuck.text().contains("[DONE]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_provider_is_an_error_and_the_cache_goes_on() {
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, "").await;
    refrain.chat(&ask("Define NAT.")).await;
    assert!(refrain.stop().success());
    provider.stop_listening();
    refrain.start_again().await;
    let failed = refrain.chat(&ask("Define VPN.")).await;
    assert_eq!(failed.status, 502, "{}", failed.text());
    assert!(failed.json()["error"]["message"].is_string());
    assert_eq!(refrain.chat(&ask("Define NAT.")).await.outcome(), "hit");
}
