//! The harness: a scripted provider that counts calls, the real binary, and a client that shows everything.

pub mod provider;
pub mod raw;
pub mod service;

use std::time::{Duration, Instant};

pub use provider::{Gate, Provider, Reply, Step};
pub use service::{Answer, Refrain};

use serde_json::{Value, json};

/// A single-turn chat request.
pub fn ask(text: &str) -> Value {
    json!({"model": "alpha-small", "messages": [{"role": "user", "content": text}]})
}

/// The same, as an event stream.
pub fn ask_stream(text: &str) -> Value {
    let mut body = ask(text);
    body["stream"] = json!(true);
    body
}

/// `base` with `changes` laid over its members.
pub fn with(mut base: Value, changes: Value) -> Value {
    for (name, value) in changes.as_object().expect("an object of changes") {
        base[name] = value.clone();
    }
    base
}

/// A provider's whole answer.
pub fn completion(text: &str) -> Value {
    json!({
        "id": "up-1", "object": "chat.completion", "created": 1_700_000_000, "model": "alpha-small",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13},
    })
}

/// Waits until `check` holds, at most ten seconds.
pub async fn wait_until(what: &str, mut check: impl AsyncFnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !check().await {
        assert!(Instant::now() < until, "never came true: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
