//! A request, read once: what must be equal, what may be similar, and the bytes to forward.
//!
//! Made by `dialect` from a copy of the body; plain data, no behaviour of its own.

use bytes::Bytes;

use crate::reason::BypassReason;
use crate::types::Dialect;

/// A caller's request as the cache sees it.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The wire format.
    pub dialect: Dialect,
    /// The requested model, empty when none is named.
    pub model: String,
    /// Canonical JSON of the whole body less transport-only members: the exact tier's key and proof.
    pub canonical: Bytes,
    /// The same with the text of the last user turn cut out: equal for all prompts that may be similar.
    pub shape: Bytes,
    /// The text of the last user turn (NFC, trimmed), empty when there is none.
    pub text: String,
    /// Why this request may not be answered by meaning; `None` when it may.
    pub bypass: Option<BypassReason>,
    /// One user turn of text, at most system or developer text before it, no tools, no response format.
    pub plain: bool,
    /// The caller wants an event stream.
    pub stream: bool,
    /// The caller wants a usage chunk at the end of the stream.
    pub include_usage: bool,
    /// `temperature`, when the caller gives one.
    pub temperature: Option<f64>,
    /// The answer must parse as JSON (`response_format` of a JSON type).
    pub json_mode: bool,
    /// Bytes of text in all turns and in the tools: what an estimate of its tokens goes by.
    pub text_bytes: usize,
    /// How many choices the answer must have (`n`).
    pub choices: u64,
}
