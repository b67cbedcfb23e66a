//! The same request is the same request, however it is spelled; and a hit is not missed silently.

use serde_json::{Value, json};

use crate::support::provider::event;
use crate::support::{Provider, Refrain, Reply, Step, ask, ask_stream, raw};

#[tokio::test(flavor = "multi_thread")]
async fn one_miss_then_hits_in_every_spelling_and_after_a_restart() {
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, "").await;
    let spellings = [
        r#"{"model":"alpha-small","temperature":1,"messages":[{"role":"user","content":"Où est le café?"}]}"#,
        r#"{"messages":[{"content":"Où est le café?","role":"user"}],"temperature":1.0,"model":"alpha-small"}"#,
        r#"{"model":"alpha-small","temperature":1e0,"messages":[{"role":"user","content":"O\u00f9 est le caf\u00E9?"}]}"#,
        "{ \"model\" : \"alpha\\u002dsmall\",\n\t\"temperature\":1.00, \"messages\":[ {\"role\":\"user\",\"content\":\"Où est le café?\"} ] }",
    ];
    for (index, body) in spellings.iter().cycle().take(20).enumerate() {
        let answer = refrain.send_raw_json("/v1/chat/completions", body).await;
        assert_eq!(answer.outcome() == "hit", index > 0, "{body}");
        assert!(index == 0 || answer.header("x-refrain-tier") == "exact");
    }
    assert!(refrain.stop().success());
    refrain.start_again().await;
    for body in spellings {
        assert_eq!(refrain.send_raw_json("/v1/chat/completions", body).await.outcome(), "hit");
    }
    assert_eq!(provider.calls(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_of_members_in_tools_has_no_say_and_the_order_of_tools_has() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let tool = |number: usize, turned: bool| {
        let mut names: Vec<usize> = (0..6).collect();
        if turned {
            names.reverse();
        }
        let properties: serde_json::Map<String, Value> =
            names.iter().map(|name| (format!("p{name}"), json!({"type": "string"}))).collect();
        json!({"type": "function", "function": {"name": format!("f{number}"), "parameters": {"properties": properties}}})
    };
    let body = |turned: bool, order: &mut dyn Iterator<Item = usize>| {
        let mut body = ask("Plan my day.");
        body["tools"] = order.map(|number| tool(number, turned)).collect();
        body
    };
    refrain.chat(&body(false, &mut (0..8))).await;
    assert_eq!(refrain.chat(&body(true, &mut (0..8))).await.outcome(), "hit");
    assert_ne!(refrain.chat(&body(false, &mut (0..8).rev())).await.outcome(), "hit");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_saw_the_end_of_a_stream_finds_it_kept() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for (number, ending) in [true, false].into_iter().enumerate() {
        let reply = Reply::stream()
            .chunk(event(&json!({"content": "Tunnel."}), None))
            .chunk(event(&json!({}), Some("stop")))
            .chunk("data: [DONE]\n\n");
        // A provider that ends its body well, and one that keeps the connection open after its last event.
        provider.next(if ending { reply.end() } else { reply.then(Step::Hang) });
        let body = ask_stream(&format!("Define VPN number {number}."));
        let mut first = refrain.open(&[], &body).await;
        let mut seen = Vec::new();
        while !seen.ends_with(b"data: [DONE]\n\n") {
            seen.extend_from_slice(&first.chunk().await.unwrap().unwrap());
        }
        drop(first);
        let second = refrain.chat(&body).await;
        assert_eq!((second.outcome(), second.said().as_str()), ("hit", "Tunnel."));
    }
    assert_eq!(provider.calls(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_endpoints_are_relayed_and_say_so() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for (method, path) in
        [("GET", "/v1/models"), ("POST", "/v1/embeddings"), ("POST", "/v1/responses"), ("GET", "/v1/files/f?limit=2")]
    {
        for _ in 0..2 {
            let body = (method == "POST").then(|| json!({"model": "alpha-small", "input": "x"}));
            provider.next(Reply::body(200, &[("content-type", "application/json")], "{\"as\": \"it came\"}"));
            let answer = refrain.send(method, path, &[], body.as_ref()).await;
            assert_eq!((answer.status, answer.text()), (200, "{\"as\": \"it came\"}"));
            assert_eq!(answer.outcome(), "bypass");
            assert!(answer.header("cache-status").contains("fwd=bypass"), "{}", answer.header("cache-status"));
            assert!(answer.header("cache-status").contains("detail=endpoint"), "{}", answer.header("cache-status"));
        }
        assert!(provider.seen().last().unwrap().line.ends_with(path));
    }
    assert_eq!(provider.calls(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_relayed_as_it_was_sent_and_climbs_nowhere() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for path in ["/v1/models/org%2Fname%3Fx%23y", "/v1/files/a%20b?purpose=%2F"] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
        raw::exchange(&refrain.base, request.as_bytes()).await;
        assert_eq!(provider.seen().last().unwrap().line, format!("GET {path}"));
    }
    let calls = provider.calls();
    for path in
        ["/v1/../admin", "/v1/%2e%2E/admin", "/v1/files/..", "/v1/./x", "/caches/default/v1/..%2fx/..", "/v1/a\\..\\b"]
    {
        let request = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
        let answer = raw::exchange(&refrain.base, request.as_bytes()).await;
        assert_eq!((answer.status, provider.calls()), (400, calls), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_url_chooses_the_cache() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.faq]").await;
    let path = "/caches/faq/v1/chat/completions";
    assert_eq!(refrain.send("POST", path, &[], Some(&ask("Define NAT."))).await.outcome(), "miss");
    assert_eq!(refrain.chat(&ask("Define NAT.")).await.outcome(), "miss");
    assert_eq!(refrain.chat_with(&[("x-refrain-cache", "faq")], &ask("Define NAT.")).await.said(), "answer 1");
    assert_eq!(refrain.send("POST", path, &[], Some(&ask("Define NAT."))).await.said(), "answer 1");
    let unknown = refrain.send("POST", "/caches/nope/v1/chat/completions", &[], Some(&ask("Define NAT."))).await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.json()["error"]["message"].as_str().unwrap().contains("nope"));
    assert_eq!(refrain.chat_with(&[("x-refrain-cache", "nope")], &ask("Define NAT.")).await.status, 404);
    assert_eq!(provider.calls(), 2);
}
