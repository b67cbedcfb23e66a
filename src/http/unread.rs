//! Request bodies that nobody read to their end.
//!
//! A refusal is often known from a request's head, while its body is still on the way. Were the body left there, the
//! connection would have to close under a caller that has been told nothing of it: its next request on that connection
//! is lost, and one that is still sending gets a reset and may never see the answer (RFC 9112, 9.6). So whoever drops a
//! body early has the rest read and thrown away for a while.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::{Version, header};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;

use crate::http::state::App;

/// How long the rest of a body is taken off the caller's hands.
const LINGER: Duration = Duration::from_secs(5);

/// Sees to it that the rest of the request's body is read when its handler does not.
pub fn taken_off(app: &App, request: Request) -> Request {
    // A caller that asked first sends nothing after a refusal, and HTTP/2 ends a stream without its connection.
    let leaves = request.headers().contains_key(header::EXPECT) || request.version() >= Version::HTTP_2;
    if leaves || request.body().is_end_stream() {
        return request;
    }
    request.map(|body| Body::new(Sent { app: app.clone(), body, ended: false }))
}

/// A request's body as its sender sends it.
struct Sent {
    app: App,
    body: Body,
    ended: bool,
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        this.ended |= matches!(polled, Poll::Ready(None | Some(Err(_))));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        if !self.ended && !self.body.is_end_stream() {
            linger(&self.app, std::mem::take(&mut self.body));
        }
    }
}

fn linger(app: &App, mut body: Body) {
    let closing = app.tasks.closing();
    app.tasks.spawn("linger", async move {
        let rest = async { while let Some(Ok(_)) = body.frame().await {} };
        tokio::select! {
            _ = tokio::time::timeout(LINGER, rest) => {}
            () = closing.cancelled() => {}
        }
    });
}
