//! What the head of a provider's answer says, and what of it is for one caller only.

use http::{HeaderMap, HeaderName, header};

use crate::cache::Head;
use crate::dialect::assemble;
use crate::http::pump::complete_status;

/// Can an answer with this head be one that is kept? What its body is shows later.
pub fn may_be_kept(head: &Head, limit: usize) -> bool {
    let length = head.headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let largest = u64::try_from(limit).unwrap_or(u64::MAX).saturating_mul(2).saturating_add(64 << 10);
    complete_status(head.status) && length.is_none_or(|length| (1..=largest).contains(&length))
}

/// What a provider says to one caller only.
pub fn remove_private(headers: &mut HeaderMap) {
    let private = |name: &str| {
        matches!(
            name,
            "set-cookie" | "x-request-id" | "openai-organization" | "openai-project" | "openai-processing-ms"
        ) || name.starts_with("x-ratelimit-")
            || name.starts_with("anthropic-ratelimit-")
    };
    let names: Vec<HeaderName> = headers.keys().filter(|name| private(name.as_str())).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Does it announce an event stream?
pub fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    assemble::looks_like_event_stream(content_type)
}
