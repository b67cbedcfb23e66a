//! Contents that are more than a text, or less than a request.

use serde_json::{Value, json};

use crate::support::{Provider, Refrain, Reply};

fn parts(parts: Value) -> Value {
    json!({"model": "alpha-small", "messages": [{"role": "user", "content": parts}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn another_image_is_another_question() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let seen = |text: &str, part: Value| parts(json!([{"type": "text", "text": text}, part]));
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let audio = json!({"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}});
    let bodies = [
        seen("Describe this image.", image("data:image/png;base64,iVBORw0KGgoAAAA1")),
        seen("Describe this image.", image("data:image/png;base64,iVBORw0KGgoAAAA2")),
        seen("Describe this image!", image("data:image/png;base64,iVBORw0KGgoAAAA1")),
        seen("Describe this image.", image("https://example.org/a.png")),
        seen("Describe this image.", audio),
        seen("Describe this image.", json!({"type": "file", "file": {"file_id": "f-1"}})),
        parts(json!("Describe this image.")),
    ];
    for body in &bodies {
        let answer = refrain.chat(body).await;
        assert_ne!(answer.outcome(), "hit", "{body}");
    }
    assert_eq!(provider.calls(), bodies.len());
    let again = refrain.chat(&bodies[0]).await;
    assert_eq!((again.outcome(), again.header("x-refrain-tier"), again.said().as_str()), ("hit", "exact", "answer 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_odd_body_is_the_providers_to_judge() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let bodies = [
        r#"{"model":"alpha-small","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}"#,
        r#"{"model":"alpha-small","messages":[{"role":"system","content":"x"},{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"text","text":"there"}]}]}"#,
        r#"{"model":"alpha-small","messages":[{"role":"assistant","content":null,"tool_calls":[]},{"role":"user","content":"Hi"}]}"#,
        r#"{"model":"alpha-small","messages":[{"role":"user"}]}"#,
        r#"{"model":"alpha-small","messages":[{"role":"user","content":[]}]}"#,
        r#"{"model":"alpha-small","messages":[{"role":"user","content":["bare string"]}]}"#,
        r#"{"model":"alpha-small","messages":[{"role":"user","content":[{"type":"future_part","x":1}]}]}"#,
        r#"{"model":"alpha-small","messages":[]}"#,
        r#"{"model":"alpha-small"}"#,
        r#"{"model":7,"messages":"Hi"}"#,
        r#"{"model":"alpha-small","model":"beta","messages":[{"role":"user","content":"Hi"}]}"#,
        r"[1, 2, 3]",
        "null",
        "",
        "{",
        "not json",
        "\u{feff}{}",
    ];
    for body in bodies {
        provider.next(Reply::json(422, &json!({"error": {"message": "the provider's verdict"}})));
        let answer = refrain.send_raw_json("/v1/chat/completions", body).await;
        assert_eq!(answer.status, 422, "{body}");
        assert!(answer.text().contains("the provider's verdict"), "{body}");
        assert_eq!(provider.seen().last().unwrap().body, body.as_bytes(), "forwarded untouched");
    }
    assert_eq!(provider.calls(), bodies.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_nesting_and_broken_text_are_forwarded() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(refrain.send_raw_json("/v1/chat/completions", &deep).await.outcome(), "bypass");
    let lone = r#"{"model":"alpha-small","messages":[{"role":"user","content":"\ud83d"}]}"#;
    assert_eq!(refrain.send_raw_json("/v1/chat/completions", lone).await.status, 200);
    let broken =
        [b"{\"model\":\"alpha-small\",\"messages\":[{\"role\":\"user\",\"content\":\"".as_slice(), b"\xff\xfe\"}]}"]
            .concat();
    let answer = refrain.send_bytes("/v1/chat/completions", &broken).await;
    assert_eq!((answer.status, answer.outcome()), (200, "bypass"));
    assert_eq!(provider.seen().last().unwrap().body, broken);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_passes_and_one_past_the_limit_is_named() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[server]\nlisten = \"127.0.0.1:0\"\nmax_body_bytes = 6000000").await;
    let image = format!("data:image/png;base64,{}", "A".repeat(5_000_000));
    let big =
        parts(json!([{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": image}}]));
    assert_eq!(refrain.chat(&big).await.status, 200);
    assert_eq!(refrain.chat(&big).await.outcome(), "hit");
    let bigger = parts(json!("A".repeat(6_100_000)));
    let refused = refrain.chat(&bigger).await;
    assert_eq!((refused.status, provider.calls()), (413, 1));
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("6000000"), "{}", refused.text());
}
