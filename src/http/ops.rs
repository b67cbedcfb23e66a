//! For machines that watch Refrain: is it alive, does it work, what has it done.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

use crate::embed;
use crate::http::state::App;

/// `GET /livez`: the process answers.
pub async fn livez() -> &'static str {
    "ok"
}

/// `GET /readyz`: 200 while requests are answered, 503 while shutting down. An embedder that does not work costs
/// hits, not answers, and so does a verifier: `status` is `degraded` then, and `reasons` says why.
pub async fn readyz(State(app): State<App>) -> Response {
    let embedder = match app.cache.embedder().state() {
        embed::State::Ready => None,
        embed::State::Loading => Some("the model is loading; exact hits only until then".to_owned()),
        embed::State::Degraded(reason) => Some(format!("exact-only: {reason}")),
    };
    let mut reasons: Vec<String> = app.notices.clone();
    let semantic = embedder.is_none();
    reasons.extend(embedder);
    let second_opinion = match app.cache.verifier_state() {
        embed::State::Ready => None,
        // Without an embedder there is nothing to verify.
        _ if !semantic => None,
        embed::State::Loading => Some("the verifier is loading; a stricter cosine until then".to_owned()),
        embed::State::Degraded(reason) => Some(format!("no verifier, a stricter cosine: {reason}")),
    };
    let verified = semantic && second_opinion.is_none();
    reasons.extend(second_opinion.filter(|_| app.cache.wants_verifier()));
    let closing = app.tasks.closing().is_cancelled();
    let status = match (closing, reasons.is_empty()) {
        (true, _) => "shutting-down",
        (false, true) => "ready",
        (false, false) => "degraded",
    };
    let code = if closing { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    (code, Json(json!({"status": status, "semantic": semantic, "verifier": verified, "reasons": reasons})))
        .into_response()
}

/// `GET /metrics`, in Prometheus' text format.
pub async fn metrics(State(app): State<App>) -> Response {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    app.cache.set_gauges();
    ([(header::CONTENT_TYPE, kind)], app.metrics.render()).into_response()
}
