//! Callers that leave, callers that stall, and calls that are shared.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::provider::event;
use crate::support::{Gate, Provider, Refrain, Reply, Step, ask, ask_stream, raw, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_leaves_before_the_first_byte_cancels_the_call() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for body in [ask("Think hard."), ask_stream("Think harder.")] {
        provider.next(Reply::default().then(Step::Hang));
        let calls = provider.calls();
        let mut leaving = raw::connect(&refrain.base).await;
        let body = body.to_string();
        let head = raw::head("/v1/chat/completions", &[("content-length", &body.len().to_string())]);
        leaving.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await.unwrap();
        wait_until("the call", async || provider.calls() > calls).await;
        drop(leaving);
        let left = Instant::now();
        wait_until("the end of the call", async || provider.seen()[calls].closed).await;
        assert!(left.elapsed() < Duration::from_secs(3), "{:?}", left.elapsed());
    }
    assert_eq!(refrain.chat(&ask("Think hard.")).await.outcome(), "miss", "nothing is stuck");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fill_that_nobody_hears_ends_with_its_bound() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[fill]\nfinish_within = \"300ms\"").await;
    let reply = Reply::stream().chunk(event(&json!({"content": "Half"}), None)).then(Step::Hang);
    provider.next(reply);
    let mut leaving = refrain.open(&[], &ask_stream("Tell a long story.")).await;
    leaving.chunk().await.unwrap();
    drop(leaving);
    wait_until("the end of the call", async || provider.seen()[0].closed).await;
    assert_eq!(refrain.chat(&ask_stream("Tell a long story.")).await.outcome(), "miss");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uncached_stream_is_cancelled_with_its_caller() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    provider.next(Reply::stream().chunk(event(&json!({"content": "Half"}), None)).then(Step::Hang));
    let mut leaving = refrain.open(&[("cache-control", "no-store")], &ask_stream("Tell a story.")).await;
    leaving.chunk().await.unwrap();
    drop(leaving);
    wait_until("the end of the call", async || provider.seen()[0].closed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_stops_reading_holds_the_provider_back_and_is_given_up() {
    let provider = Provider::start().await;
    // Without the verifier, whose model may be loaded while the stream's memory is measured.
    let more = "[verifier]\nmodel = \"none\"\n[server]\nlisten = \"127.0.0.1:0\"\nwrite_timeout = \"1s\"\n[fill]\nfinish_within = \"0s\"\n[embedder]\nthreads = 1\ndeadline = \"5s\"";
    let refrain = Refrain::start(&provider, more).await;
    let piece = event(&json!({"content": "x".repeat(60_000)}), None);
    let mut flood = Reply::stream();
    for _ in 0..800 {
        flood = flood.chunk(&piece);
    }
    refrain.chat_with(&[("cache-control", "no-store")], &ask("Warm the model up.")).await;
    provider.next(flood.end());
    let before = refrain.resident_bytes();
    let mut stalled = raw::connect(&refrain.base).await;
    let body = ask_stream("Flood me.").to_string();
    let head = raw::head("/v1/chat/completions", &[("content-length", &body.len().to_string())]);
    stalled.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await.unwrap();
    let mut some = [0; 1024];
    stalled.read_exact(&mut some).await.unwrap();
    wait_until("the stalled caller is given up", async || provider.seen()[1].closed).await;
    let grown = refrain.resident_bytes().saturating_sub(before);
    assert!(grown < 24 << 20, "{grown} bytes of a stream of 48 MB were held");
}

#[tokio::test(flavor = "multi_thread")]
async fn identical_questions_at_once_make_one_call() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let gate = Gate::default();
    provider.next(Reply::default().wait(&gate).then_reply(Reply::text("shared")));
    let asks = (0..30).map(|_| async { refrain.chat(&ask("Define NAT.")).await });
    let all = futures_util::future::join_all(asks);
    let (answers, ()) = tokio::join!(all, async {
        wait_until("the call", async || provider.calls() == 1).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        gate.open();
    });
    assert!(answers.iter().all(|answer| answer.said() == "shared"));
    assert_eq!(provider.calls(), 1);
    let collapsed = answers.iter().filter(|answer| answer.header("cache-status").contains("collapsed")).count();
    assert!(collapsed >= 1, "{collapsed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_hears_a_stream_from_its_beginning() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let gate = Gate::default();
    let reply = Reply::stream().chunk(event(&json!({"content": "one "}), None)).wait(&gate);
    let rest = event(&json!({"content": "two"}), None);
    provider.next(reply.chunk(rest).chunk(event(&json!({}), Some("stop"))).chunk("data: [DONE]\n\n").end());
    let body = ask_stream("Count to two.");
    let mut leader = refrain.open(&[], &body).await;
    assert!(leader.chunk().await.unwrap().unwrap().ends_with(b"\n\n"));
    let mut follower = refrain.open(&[], &body).await;
    let first = follower.chunk().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&first).contains("one "));
    drop(leader);
    gate.open();
    let rest = follower.text().await.unwrap();
    assert!(rest.contains("two") && rest.ends_with("data: [DONE]\n\n"), "{rest}");
    assert_eq!(provider.calls(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_does_not_get_what_the_provider_said_to_the_leader_alone() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let gate = Gate::default();
    let headers =
        [("content-type", "application/json"), ("set-cookie", "s=1"), ("x-ratelimit-remaining-requests", "7")];
    let reply = Reply::body(200, &headers, crate::support::completion("shared").to_string());
    provider.next(Reply::default().wait(&gate).then_reply(reply));
    let body = ask("Define NAT.");
    let (one, other, ()) = tokio::join!(refrain.chat(&body), refrain.chat(&body), async {
        wait_until("the call", async || provider.calls() == 1).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        gate.open();
    });
    let with_cookie = [&one, &other].into_iter().filter(|answer| !answer.header("set-cookie").is_empty()).count();
    assert_eq!((with_cookie, provider.calls()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_longer_for_another_than_configured() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[fill]\nfollow_within = \"400ms\"").await;
    provider.next(Reply::default().then(Step::Hang));
    let body = ask("Define NAT.");
    let mut hanging = raw::connect(&refrain.base).await;
    let text = body.to_string();
    let head = raw::head("/v1/chat/completions", &[("content-length", &text.len().to_string())]);
    hanging.write_all(&[head.as_bytes(), text.as_bytes()].concat()).await.unwrap();
    wait_until("the call", async || provider.calls() == 1).await;
    let began = Instant::now();
    assert_eq!(refrain.chat(&body).await.said(), "answer 2");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leaders_failure_frees_its_followers() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for failure in [Reply::default().then(Step::Reset), Reply::json(500, &json!({"error": {"message": "oops"}}))] {
        let calls = provider.calls();
        let gate = Gate::default();
        provider.next(Reply::default().wait(&gate).then_reply(failure));
        let body = ask(&format!("Define NAT {calls}."));
        let (leader, follower, ()) = tokio::join!(refrain.chat(&body), refrain.chat(&body), async {
            wait_until("the call", async || provider.calls() > calls).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
            gate.open();
        });
        let mut statuses = [leader.status, follower.status];
        statuses.sort_unstable();
        assert!(statuses[0] == 200 && statuses[1] >= 500, "{statuses:?}");
        assert_eq!(provider.calls(), calls + 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_of_different_tenants_never_share_a_call() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    provider.next(Reply::default().then(Step::Pause(Duration::from_millis(200))).then_reply(Reply::text("a")));
    provider.next(Reply::default().then(Step::Pause(Duration::from_millis(200))).then_reply(Reply::text("b")));
    let question = ask("What is my balance?");
    let (a, b) = tokio::join!(
        refrain.chat_with(&[("authorization", "Bearer a")], &question),
        refrain.chat_with(&[("authorization", "Bearer b")], &question)
    );
    assert_eq!(provider.calls(), 2);
    assert_ne!(a.said(), b.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_paid_for_and_tokens_served_are_counted_apart() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    refrain.chat(&ask("Define NAT.")).await;
    refrain.chat(&ask("Define NAT.")).await;
    refrain.chat(&ask("Define NAT.")).await;
    let text = refrain.send("GET", "/metrics", &[], None).await.text().to_owned();
    for line in [
        "refrain_provider_tokens_total{type=\"input\",source=\"reported\"} 9",
        "refrain_provider_tokens_total{type=\"output\",source=\"reported\"} 4",
        "refrain_served_tokens_total{type=\"input\"} 18",
        "refrain_served_tokens_total{type=\"output\"} 8",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
}
