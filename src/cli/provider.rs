//! The demo's simulated provider: real HTTP on loopback, with a provider's delays. Part of the demo only.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::stream;
use http::header;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::tasks::Tasks;

/// How long the simulated provider takes.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Time to the first token.
    pub first_token: Duration,
    /// Tokens a second after it.
    pub tokens_per_second: u32,
}

/// A running provider.
pub struct Provider {
    /// Where it listens.
    pub address: SocketAddr,
    calls: Arc<AtomicU64>,
}

struct Desk {
    pace: Pace,
    answers: HashMap<String, String>,
    calls: Arc<AtomicU64>,
}

impl Provider {
    /// Starts a provider that answers the questions of `answers`, and any other with a sentence of its own.
    ///
    /// # Errors
    /// When no loopback port can be had.
    pub async fn start(tasks: &Tasks, pace: Pace, answers: HashMap<String, String>) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let calls = Arc::new(AtomicU64::new(0));
        let desk = Arc::new(Desk { pace, answers, calls: Arc::clone(&calls) });
        let routes = Router::new().route("/v1/chat/completions", post(complete)).with_state(desk);
        let closing = tasks.closing();
        tasks.spawn("demo-provider", async move {
            let server = axum::serve(listener, routes).with_graceful_shutdown(async move { closing.cancelled().await });
            if let Err(error) = server.await {
                tracing::error!(%error, "the simulated provider ended");
            }
        });
        Ok(Self { address, calls })
    }

    /// How many calls it has had.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

async fn complete(State(desk): State<Arc<Desk>>, Json(request): Json<Value>) -> Response {
    let call = desk.calls.fetch_add(1, Ordering::Relaxed) + 1;
    let question = request["messages"]
        .as_array()
        .and_then(|turns| turns.last())
        .map_or("", |turn| turn["content"].as_str().unwrap_or_default());
    let answer = desk
        .answers
        .get(question)
        .cloned()
        .unwrap_or_else(|| format!("Our team answers this one in person: {question}"));
    let (model, id) = (request["model"].clone(), format!("chatcmpl-demo-{call}"));
    let tokens: Vec<String> = answer.split_inclusive(' ').map(str::to_owned).collect();
    let usage = json!({
        "prompt_tokens": question.split_whitespace().count(),
        "completion_tokens": tokens.len(),
        "total_tokens": question.split_whitespace().count() + tokens.len(),
    });
    let gap = Duration::from_secs(1) / desk.pace.tokens_per_second.max(1);
    if request["stream"] == json!(true) {
        return events(desk.pace.first_token, gap, &tokens, &id, &model);
    }
    sleep(desk.pace.first_token + gap * u32::try_from(tokens.len()).unwrap_or(u32::MAX)).await;
    let message = json!({"role": "assistant", "content": answer});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let body = json!({
        "id": id, "object": "chat.completion", "created": 0, "model": model, "choices": [choice], "usage": usage,
    });
    Json(body).into_response()
}

fn events(first: Duration, gap: Duration, tokens: &[String], id: &str, model: &Value) -> Response {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let chunk = json!({
            "id": id, "object": "chat.completion.chunk", "created": 0, "model": model, "choices": [choice],
        });
        format!("data: {chunk}\n\n")
    };
    let mut frames = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    frames.extend(tokens.iter().map(|token| chunk(json!({"content": token}), Value::Null)));
    frames.push(chunk(json!({}), json!("stop")));
    frames.push("data: [DONE]\n\n".into());
    let paced = stream::unfold((frames.into_iter(), first), move |(mut frames, wait)| async move {
        let frame = frames.next()?;
        sleep(wait).await;
        Some((Ok::<_, Infallible>(frame), (frames, gap)))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(paced)).into_response()
}
