//! Wire formats: a request body becomes a [`crate::prompt::Prompt`], a provider's answer becomes a
//! [`crate::entry::Answer`], and an answer becomes bytes again.
//!
//! Everything here is pure: no async, no I/O, no clock, no randomness (fresh ids and times are arguments). No input can
//! make it panic: what it cannot read without doubt is [`Unreadable`] or not kept, which costs a hit and nothing else.
//! Reasons name the fault and never quote the text.
//!
//! | module | does |
//! |---|---|
//! | [`json`] | reads JSON without losing anything that tells two bodies apart |
//! | [`canonical`] | one spelling for all bodies that mean the same |
//! | [`openai_chat`] | chat completion requests |
//! | [`sse`] | event streams, split anywhere |
//! | [`assemble`] | provider's answers: complete, or why they are not kept |
//! | [`said`] | the text of an answer, for comparing two |
//! | [`replay`] | stored answers as JSON or as an event stream, and errors in the dialect's shape |

pub mod assemble;
pub mod canonical;
pub mod json;
pub mod openai_chat;
pub mod replay;
pub mod said;
pub mod sse;

/// Why bytes could not be read. Names the fault in the form and never quotes the content, so that it may be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub &'static str);
