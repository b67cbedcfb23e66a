//! One line a request, written when its body has ended; and the request's metrics. Never any prompt text.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tower_service::Service;

use crate::cache::Shadow;
use crate::http::state::App;
use crate::http::unread;
use crate::metrics;
use crate::types::{CacheId, LookupId};

/// What a handler knows of a request's fate; it is left in the response's extensions, which takes `Clone`.
#[derive(Clone, Debug, Default)]
pub struct Fate {
    /// The cache that was asked.
    pub cache: Option<CacheId>,
    /// The requested model.
    pub model: String,
    /// `hit`, `stale`, `miss`, `bypass`.
    pub outcome: &'static str,
    /// `exact`, `semantic` or empty.
    pub tier: &'static str,
    /// The reason's label.
    pub reason: &'static str,
    /// The best cosine, when one was scored.
    pub similarity: Option<f32>,
    /// The decision's name.
    pub lookup_id: Option<LookupId>,
    /// The upstream that was asked, if one was.
    pub upstream: String,
    /// The request joined another's fill.
    pub collapsed: bool,
    /// What mode `on` would have come to, in shadow mode.
    pub shadow: Option<Shadowed>,
}

/// The labels of what a request in shadow mode would have come to.
#[derive(Clone, Copy, Debug)]
pub struct Shadowed {
    /// `hit`, `stale`, `miss`, `bypass`.
    pub outcome: &'static str,
    /// `exact`, `semantic` or empty.
    pub tier: &'static str,
    /// The reason's label.
    pub reason: &'static str,
}

impl Shadowed {
    /// The labels of `shadow`.
    pub fn of(shadow: &Shadow) -> Self {
        Self { outcome: shadow.outcome.as_str(), tier: shadow.tier(), reason: shadow.reason }
    }
}

/// The outermost layer. A service by itself: one of axum's own would be boxed and cloned for every request.
#[derive(Clone)]
pub struct Recorded {
    app: App,
    routes: Router,
}

impl Recorded {
    /// Records every request to `routes`.
    pub fn new(app: App, routes: Router) -> Self {
        Self { app, routes }
    }
}

impl Service<Request> for Recorded {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        Box::pin(record(self.clone(), request))
    }
}

async fn record(Recorded { app, mut routes }: Recorded, request: Request) -> Result<Response, Infallible> {
    let started = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let mut response = routes.call(unread::taken_off(&app, request)).await?;
    let fate = response.extensions_mut().remove::<Fate>().unwrap_or_default();
    if let Some(cache) = &fate.cache {
        app.cache.count(cache, fate.outcome);
        if let Some(shadow) = &fate.shadow {
            app.cache.count_shadow(cache, shadow.outcome);
        }
    }
    let line = Line { method, path, status: response.status().as_u16(), started, head: started.elapsed(), fate };
    let length = response.headers().get(http::header::CONTENT_LENGTH);
    let promised = length.and_then(|value| value.to_str().ok()?.parse().ok());
    Ok(response.map(|body| Body::new(Logged { body, line: Some(line), bytes: 0, promised, ended: false })))
}

struct Line {
    method: http::Method,
    path: String,
    status: u16,
    started: Instant,
    head: Duration,
    fate: Fate,
}

impl Line {
    fn write(&self, bytes: u64, complete: bool) {
        let (fate, total) = (&self.fate, self.started.elapsed());
        if !fate.outcome.is_empty() {
            let request = metrics::Request {
                cache: fate.cache.clone(),
                route: route(&self.path),
                outcome: fate.outcome,
                tier: fate.tier,
                reason: fate.reason,
            };
            if let Some(Shadowed { outcome, tier, reason }) = fate.shadow {
                metrics::shadow_request(&metrics::Request { outcome, tier, reason, ..request.clone() });
            }
            metrics::request(request, total);
        }
        if is_probe(&self.path) {
            return;
        }
        tracing::info!(
            method = %self.method,
            path = %self.path,
            status = self.status,
            cache = fate.cache.as_ref().map_or("", CacheId::as_str),
            model = %fate.model,
            outcome = fate.outcome,
            tier = fate.tier,
            reason = fate.reason,
            similarity = fate.similarity,
            upstream = %fate.upstream,
            collapsed = fate.collapsed,
            shadow = fate.shadow.map(|shadow| shadow.outcome),
            shadow_tier = fate.shadow.map(|shadow| shadow.tier),
            lookup_id = fate.lookup_id.map(tracing::field::display),
            first_byte_ms = millis(self.head),
            total_ms = millis(total),
            bytes,
            complete,
            "request"
        );
    }
}

fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100_000.0).round() / 100.0
}

/// Health checks and scrapes come every few seconds and say nothing.
fn is_probe(path: &str) -> bool {
    matches!(path, "/livez" | "/readyz" | "/metrics")
}

/// The metric's label: few values, whatever paths callers make up.
fn route(path: &str) -> &'static str {
    if path.ends_with("/v1/chat/completions") {
        "chat/completions"
    } else if path.ends_with("/lookup") {
        "lookup"
    } else if path.ends_with("/search") {
        "search"
    } else {
        "other"
    }
}

/// A body that writes its request's line when it has ended, or is dropped before that.
struct Logged {
    body: Body,
    line: Option<Line>,
    bytes: u64,
    /// What the head promised: the server asks a body with a length for no more than that.
    promised: Option<u64>,
    ended: bool,
}

impl HttpBody for Logged {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => self.bytes += frame.data_ref().map_or(0, |data| data.len() as u64),
            Poll::Ready(None) => self.ended = true,
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            line.write(self.bytes, self.ended || self.promised == Some(self.bytes) || self.body.is_end_stream());
        }
    }
}
