//! A stored answer as a live one would come: JSON or event stream, as this caller asked for it.

use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use uuid::Uuid;

use crate::cache::{Hit, Moves, Shadow};
use crate::dialect::replay::{self, Replay, Template};
use crate::entry::EntryKind;
use crate::error::Error;
use crate::policy::cache_status::CacheStatus;
use crate::prompt::Prompt;
use crate::types::Timestamp;

/// A fresh OpenAI-style completion id.
fn completion_id() -> String {
    let mut id = String::with_capacity(48);
    id.push_str("chatcmpl-");
    id.push_str(Uuid::new_v4().simple().encode_lower(&mut Uuid::encode_buffer()));
    id
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
    let mut headers = HeaderMap::with_capacity(12);
    let body = if prompt.stream {
        event_stream_headers(&mut headers);
        let body = stream_body(hit, prompt, now)?;
        Body::from_stream(stream::iter([Ok::<_, std::convert::Infallible>(body)]))
    } else {
        label(&mut headers, header::CONTENT_TYPE, "application/json");
        Body::from(json_body(hit, &prompt.model, now)?)
    };
    let status =
        CacheStatus { hit: true, ttl: Some(hit.ttl), detail: Some(hit.tier.as_str()), ..CacheStatus::default() };
    insert(&mut headers, CACHE_STATUS, status.render());
    label(&mut headers, OUTCOME, hit.outcome.as_str());
    label(&mut headers, TIER, hit.tier.as_str());
    insert(&mut headers, SIMILARITY, hit.similarity.to_string());
    insert(&mut headers, ENTRY_ID, hit.stored.entry.id.to_string());
    insert(&mut headers, LOOKUP_ID, hit.lookup_id.to_string());
    headers.insert(header::AGE, HeaderValue::from(hit.age.as_secs()));
    moves(&mut headers, hit.moves);
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    Ok(response)
}

/// What an event stream needs so that no proxy on the way holds it back.
fn event_stream_headers(headers: &mut HeaderMap) {
    label(headers, header::CONTENT_TYPE, "text/event-stream; charset=utf-8");
    label(headers, header::CACHE_CONTROL, "no-cache");
    label(headers, ACCEL_BUFFERING, "no");
}

/// `Cache-Status` (RFC 9211)
pub const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");
/// `hit`, `stale`, `miss` or `bypass`
pub const OUTCOME: HeaderName = HeaderName::from_static("x-refrain-outcome");
/// `exact` or `semantic`
pub const TIER: HeaderName = HeaderName::from_static("x-refrain-tier");
/// The best candidate's cosine.
pub const SIMILARITY: HeaderName = HeaderName::from_static("x-refrain-similarity");
/// The entry that answers.
pub const ENTRY_ID: HeaderName = HeaderName::from_static("x-refrain-entry-id");
/// The decision's name.
pub const LOOKUP_ID: HeaderName = HeaderName::from_static("x-refrain-lookup-id");
/// `no`: a proxy on the way must not hold events back.
pub const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What the policy makes of a prompt whose right answer moves with time.
const TIME: HeaderName = HeaderName::from_static("x-refrain-time-sensitive");

/// In shadow mode: what mode `on` would have come to, `hit`, `stale`, `miss` or `bypass`.
const SHADOW: HeaderName = HeaderName::from_static("x-refrain-shadow");
/// In shadow mode: the tier that would have answered.
const SHADOW_TIER: HeaderName = HeaderName::from_static("x-refrain-shadow-tier");

/// Says what mode `on` would have come to.
pub fn shadow(headers: &mut HeaderMap, shadow: Option<&Shadow>) {
    let Some(shadow) = shadow else { return };
    label(headers, SHADOW, shadow.outcome.as_str());
    if shadow.hit.is_some() {
        label(headers, SHADOW_TIER, shadow.tier());
    }
}

/// Says that the right answer moves with time, and what the policy makes of that.
pub fn moves(headers: &mut HeaderMap, moves: Option<Moves>) {
    if let Some(moves) = moves {
        insert(headers, TIME, moves.guard.to_string());
    }
}

/// Sets a header whose value is made here and so is plain text.
pub fn insert(headers: &mut HeaderMap, name: HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

/// Sets a header to one of our own words.
pub fn label(headers: &mut HeaderMap, name: HeaderName, word: &'static str) {
    headers.insert(name, HeaderValue::from_static(word));
}
