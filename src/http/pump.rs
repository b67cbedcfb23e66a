//! The relay: upstream's answer to whoever listens, piece by piece as it comes, and a copy to the store.
//!
//! A pump is a task of its own, so that a caller who leaves does not take a half-paid answer along: before the first
//! byte the provider's call is cancelled, after it the fill goes on for a bounded time. Nothing here waits for the
//! whole answer before passing on a piece, and nothing but a proven complete answer is kept (I2).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use crate::cache::{Break, Head, Keep, Lead};
use crate::dialect::assemble::{Expected, NotKept};
use crate::dialect::replay;
use crate::entry::Answer;
use crate::http::bill::Bill;
use crate::http::capture::{Capture, Captured};
use crate::http::state::App;
use crate::metrics;
use crate::upstream::{Upstream, UpstreamError, end_to_end};

/// The request to send, and what is to become of the answer.
pub struct Errand {
    /// The provider.
    pub upstream: Arc<Upstream>,
    /// The caller's method.
    pub method: Method,
    /// Path under the provider's base URL, with the query string.
    pub path: String,
    /// Headers that travel on.
    pub headers: HeaderMap,
    /// The caller's bytes, untouched.
    pub body: Bytes,
    /// How to keep the answer; `None` relays only.
    pub keep: Option<Box<Keep>>,
    /// The tokens to account for; `None` on endpoints whose answers are not read.
    pub bill: Option<Bill>,
}

/// How long a provider may keep its connection open after the terminal event before the answer is kept regardless.
const LINGER: Duration = Duration::from_millis(200);

/// Runs an errand to its end.
pub async fn run(app: App, errand: Errand, mut lead: Lead, head: oneshot::Sender<Result<Arc<Head>, UpstreamError>>) {
    let Errand { upstream, method, path, headers, body, keep, bill } = errand;
    let asked = Instant::now();
    let answer = tokio::select! {
        answer = upstream.send(method, &path, headers, body) => answer,
        () = unheard(&mut lead) => {
            metrics::upstream_request(&upstream.name, "cancelled");
            return;
        }
    };
    metrics::upstream_first_byte(&upstream.name, asked.elapsed());
    let response = match answer {
        Ok(response) => response,
        Err(error) => {
            metrics::upstream_request(&upstream.name, if error.is_timeout() { "timeout" } else { "unreachable" });
            if let Some(bill) = bill.filter(|_| !error.is_timeout()) {
                bill.waive();
            }
            let _ = head.send(Err(error));
            return;
        }
    };
    metrics::upstream_request(&upstream.name, response.status().as_str());
    let came = Arc::new(Head { status: response.status(), headers: end_to_end(response.headers()) });
    let success = complete_status(came.status);
    lead.open(Arc::clone(&came), success && keep.is_some());
    let expected = keep.as_ref().map_or(Expected::text(0), |keep| keep.expected());
    let bill = match bill {
        Some(refused) if !success => {
            refused.waive();
            None
        }
        bill => bill,
    };
    let capture = bill.as_ref().map(|_| Capture::new(&came.headers, expected));
    let _ = head.send(Ok(came));
    let relay = Relay { idle: upstream.idle, keep, capture, bill, tail: Tail::default(), app };
    relay.run(response, lead).await;
}

/// A success that can carry a whole answer: not an empty one, and not a part.
pub fn complete_status(status: http::StatusCode) -> bool {
    status.is_success() && !matches!(status.as_u16(), 204..=206)
}

/// Resolves when nobody listens any more and nobody can join.
async fn unheard(lead: &mut Lead) {
    loop {
        lead.abandoned().await;
        if lead.withdraw() {
            return;
        }
    }
}

struct Relay {
    app: App,
    idle: Duration,
    keep: Option<Box<Keep>>,
    capture: Option<Capture>,
    bill: Option<Bill>,
    tail: Tail,
}

impl Drop for Relay {
    /// A relay that a shutdown ends has its tokens told too.
    fn drop(&mut self) {
        self.captured(false);
    }
}

/// How a body ended.
enum End {
    Clean,
    Broken(String),
    /// Nobody is left to hear it, and its time to finish is over.
    Cancelled,
}

impl Relay {
    async fn run(mut self, mut response: reqwest::Response, mut lead: Lead) {
        let end = self.relay(&mut response, &mut lead).await;
        match end {
            End::Clean => {
                lead.closing();
                let kept = self.settle(true).await;
                lead.finish(kept);
            }
            End::Broken(why) => {
                let error_event = self.capture.as_ref().is_some_and(Capture::is_plain_event_stream);
                let kept = self.settle(false).await;
                tracing::warn!(reason = %why, kept, "the provider's answer broke off");
                self.break_off(lead, why, error_event).await;
            }
            // What had come may be complete: then it is kept after all.
            End::Cancelled => {
                self.settle(false).await;
            }
        }
    }

    async fn relay(&mut self, response: &mut reqwest::Response, lead: &mut Lead) -> End {
        let patience = self.app.config.server.write_timeout.0;
        let expected = response.content_length().filter(|_| self.capture.is_some());
        let mut received = 0_u64;
        let mut alone_until: Option<Instant> = None;
        loop {
            let done = self.capture.as_ref().is_some_and(Capture::done);
            let silence = if done && self.keep.is_some() { LINGER } else { self.idle };
            tokio::select! {
                next = timeout(silence, response.chunk()) => match next {
                    Ok(Ok(Some(piece))) => {
                        received += piece.len() as u64;
                        self.take(&piece);
                        let whole = expected == Some(received) || self.capture.as_ref().is_some_and(Capture::done);
                        if whole && self.keep.is_some() {
                            lead.closing();
                        }
                        lead.publish(piece, patience).await;
                    }
                    Ok(Ok(None)) => return End::Clean,
                    Ok(Err(error)) => return End::Broken(format!("the provider's answer broke off: {}", error.without_url())),
                    Err(_) if done => if self.settle(true).await {
                        lead.kept();
                    },
                    Err(_) => return End::Broken(format!("the provider sent nothing for {:?} (idle_timeout)", self.idle)),
                },
                () = lead.abandoned(), if alone_until.is_none() => {
                    let bound = if self.keep.is_some() { self.app.config.fill.finish_within.0 } else { Duration::ZERO };
                    alone_until = Some(Instant::now() + bound);
                }
                () = sleep_until(alone_until.unwrap_or_else(Instant::now)), if alone_until.is_some() => {
                    if lead.withdraw() {
                        return End::Cancelled;
                    }
                    alone_until = None;
                }
            }
        }
    }

    fn take(&mut self, piece: &Bytes) {
        self.tail.push(piece);
        if let Some(capture) = &mut self.capture {
            capture.push(piece);
        }
    }

    /// What was collected; at most once, and its tokens are told with it.
    fn captured(&mut self, clean_end: bool) -> Option<Result<Answer, NotKept>> {
        let Captured { answer, usage, written } = self.capture.take()?.finish(clean_end);
        if let Some(bill) = self.bill.take() {
            bill.settle(usage, written);
        }
        Some(answer)
    }

    /// Judges the collected answer and keeps it if it may be kept; at most once.
    async fn settle(&mut self, clean_end: bool) -> bool {
        let Some(answer) = self.captured(clean_end) else { return false };
        let Some(keep) = self.keep.take() else { return false };
        match answer {
            Ok(answer) => match self.app.cache.commit(*keep, answer).await {
                Ok(_) => true,
                Err(error) => {
                    tracing::warn!(%error, "an answer could not be kept");
                    metrics::not_stored("store");
                    false
                }
            },
            Err(why) => {
                metrics::not_stored(why.as_str());
                false
            }
        }
    }

    /// Tells every listener that the answer is not whole: an error event where one can be understood, then an abort.
    async fn break_off(&self, lead: Lead, why: String, error_event: bool) {
        let patience = self.app.config.server.write_timeout.0;
        if error_event && self.tail.between_events() {
            lead.publish(replay::error_event(&why, "upstream_error"), patience).await;
        }
        // An abort right behind them could overtake the last bytes in the connection's buffer.
        tokio::time::sleep(Duration::from_millis(20)).await;
        lead.break_off(Break(why), patience).await;
    }
}

/// The last bytes that passed, to know whether an event was cut.
#[derive(Default)]
struct Tail(Vec<u8>);

impl Tail {
    fn push(&mut self, piece: &[u8]) {
        let last = &piece[piece.len().saturating_sub(4)..];
        self.0.extend_from_slice(last);
        let surplus = self.0.len().saturating_sub(4);
        self.0.drain(..surplus);
    }

    fn between_events(&self) -> bool {
        let ends: [&[u8]; 3] = [b"\n\n", b"\r\n\r\n", b"\r\r"];
        self.0.is_empty() || ends.iter().any(|end| self.0.ends_with(end))
    }
}
