//! A stored answer as a live one would come: JSON or event stream, as this caller asked for it.

use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use uuid::Uuid;

use crate::cache::Hit;
use crate::dialect::replay::{self, Replay, Template};
use crate::entry::EntryKind;
use crate::error::Error;
use crate::policy::cache_status::CacheStatus;
use crate::prompt::Prompt;
use crate::types::Timestamp;

/// A fresh OpenAI-style completion id.
fn completion_id() -> String {
    format!("chatcmpl-{}", Uuid::new_v4().simple())
}

/// The answer of a hit as JSON, in OpenAI's chat dialect.
///
/// # Errors
/// When the stored form cannot be read: a fault of ours.
pub fn json_body(hit: &Hit, requested_model: &str, now: Timestamp) -> Result<Bytes, Error> {
    let (id, created) = (completion_id(), now.seconds());
    if let Some(template) = &hit.prepared.template {
        return Ok(template.json(&id, created));
    }
    let answer = completion(hit, requested_model)?;
    let template = Template::of(&answer).map_err(|e| Error::Internal(format!("stored answer: {e}")))?;
    Ok(template.json(&id, created))
}

fn stream_body(hit: &Hit, prompt: &Prompt, now: Timestamp) -> Result<Bytes, Error> {
    let answer = completion(hit, &prompt.model)?;
    let replay = Replay { answer: &answer, id: completion_id(), created: now.seconds() };
    let frames =
        replay.event_stream(prompt.include_usage).map_err(|e| Error::Internal(format!("stored answer: {e}")))?;
    let mut all = BytesMut::with_capacity(frames.iter().map(Bytes::len).sum());
    for frame in &frames {
        all.extend_from_slice(frame);
    }
    Ok(all.freeze())
}

/// The stored answer as a completion; a curated plain text becomes one under the requested model's name.
fn completion(hit: &Hit, requested_model: &str) -> Result<crate::entry::Answer, Error> {
    let entry = &hit.stored.entry;
    if entry.kind == EntryKind::Provider {
        return Ok(entry.answer.clone());
    }
    let text = std::str::from_utf8(&entry.answer.body)
        .map_err(|e| Error::Internal(format!("stored plain answer {}: {e}", entry.id)))?;
    Ok(replay::plain_completion(text, requested_model))
}

/// The whole response of a hit.
///
/// # Errors
/// When the stored form cannot be read: a fault of ours, on which the caller goes upstream (I6).
pub fn respond(hit: &Hit, prompt: &Prompt, now: Timestamp) -> Result<Response, Error> {
    let mut response = if prompt.stream {
        let body = stream_body(hit, prompt, now)?;
        let mut response = Response::new(Body::from_stream(stream::iter([Ok::<_, std::convert::Infallible>(body)])));
        event_stream_headers(response.headers_mut());
        response
    } else {
        let mut response = Response::new(Body::from(json_body(hit, &prompt.model, now)?));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    };
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    let status =
        CacheStatus { hit: true, ttl: Some(hit.ttl), detail: Some(hit.tier.as_str()), ..CacheStatus::default() };
    insert(headers, "cache-status", &status.render());
    insert(headers, "x-refrain-outcome", hit.outcome.as_str());
    insert(headers, "x-refrain-tier", hit.tier.as_str());
    insert(headers, "x-refrain-similarity", &hit.similarity.to_string());
    insert(headers, "x-refrain-entry-id", &hit.stored.entry.id.to_string());
    insert(headers, "x-refrain-lookup-id", &hit.lookup_id.to_string());
    headers.insert(header::AGE, HeaderValue::from(hit.age.as_secs()));
    Ok(response)
}

/// What an event stream needs so that no proxy on the way holds it back.
pub fn event_stream_headers(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    insert(headers, "x-accel-buffering", "no");
}

/// Sets a header whose value is made here and so is plain text.
pub fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
