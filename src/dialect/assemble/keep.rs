//! Which answers are kept: the one check that every answer passes, however it came.

use bytes::Bytes;
use serde::de::IgnoredAny;

use super::{Assembler, transport_limit};
use crate::dialect::json::{self, Object, Value};
use crate::entry::{Answer, TokenUsage};
use crate::types::Dialect;

/// Why an answer is relayed and not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotKept {
    /// Cut by the token limit.
    Truncated,
    /// Stopped or emptied by a content filter.
    Filtered,
    /// The model refused, and said so in the field for it.
    Refused,
    /// No choice, or no text in one.
    Empty,
    /// Larger than the policy's `maxAnswerBytes`.
    TooLarge,
    /// An error, whatever the status said.
    ErrorBody,
    /// The model calls a tool.
    ToolCalls,
    /// The answer is audio, parts, or anything else but a text.
    NotText,
    /// The stream broke off, or a choice has no end.
    Incomplete,
    /// Not an answer in this dialect, or one with two readings.
    Unreadable,
    /// JSON was asked for, and this does not parse.
    NotJson,
    /// Fewer choices than the request's `n` asks for, or more.
    Choices,
    /// The bytes are not UTF-8.
    InvalidUtf8,
}

impl NotKept {
    /// The label in headers, logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Filtered => "filtered",
            Self::Refused => "refused",
            Self::Empty => "empty",
            Self::TooLarge => "too-large",
            Self::ErrorBody => "error-body",
            Self::ToolCalls => "tool-calls",
            Self::NotText => "not-text",
            Self::Incomplete => "incomplete",
            Self::Unreadable => "unreadable",
            Self::NotJson => "not-json",
            Self::Choices => "choices",
            Self::InvalidUtf8 => "invalid-utf8",
        }
    }
}

impl std::fmt::Display for NotKept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an answer must be like to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The most bytes that its stored form may have.
    pub max_answer_bytes: usize,
    /// The text of every choice must parse as JSON.
    pub json_mode: bool,
    /// How many choices were asked for.
    pub choices: u64,
}

impl Expected {
    /// One choice of text, as most requests ask for.
    pub fn text(max_answer_bytes: usize) -> Self {
        Self { max_answer_bytes, json_mode: false, choices: 1 }
    }
}

/// Does this media type announce an event stream?
pub fn looks_like_event_stream(content_type: Option<&str>) -> bool {
    let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("text/event-stream")
}

/// Reads the whole decoded body of a 2xx answer: a JSON body, or an event stream that came in one piece.
pub fn complete(body: &[u8], content_type: Option<&str>, expected: Expected) -> Result<Answer, NotKept> {
    let start = body.trim_ascii_start();
    if looks_like_event_stream(content_type) || [&b"data:"[..], b"event:", b":"].iter().any(|it| start.starts_with(it))
    {
        let mut assembler = Assembler::new(expected);
        assembler.push(body);
        return assembler.finish(true);
    }
    if start.is_empty() {
        return Err(NotKept::Empty);
    }
    if body.len() > transport_limit(expected.max_answer_bytes) {
        return Err(NotKept::TooLarge);
    }
    if std::str::from_utf8(body).is_err() {
        return Err(NotKept::InvalidUtf8);
    }
    match json::read(body) {
        Ok(Value::Object(answer)) => keep(answer, expected),
        _ => Err(NotKept::Unreadable),
    }
}

/// Is this object an error, or does it carry one?
pub(super) fn is_error(object: &Object<'_>) -> bool {
    let named = |name| object.get(name).and_then(Value::as_str).is_some_and(names_error);
    object.present("error").is_some() || named("object") || named("type")
}

/// The name that events and objects bear when they are errors.
pub(super) fn names_error(name: &str) -> bool {
    name == "error"
}

/// Tokens as a `usage` object counts them.
pub(super) fn count_usage(usage: &Value<'_>) -> Option<TokenUsage> {
    let usage = usage.as_object()?;
    let count = |name| usage.get(name).and_then(Value::as_u64);
    let (input, output) = (count("prompt_tokens"), count("completion_tokens"));
    input.or(output).map(|_| TokenUsage { input: input.unwrap_or(0), output: output.unwrap_or(0) })
}

/// Bytes of what the model wrote in a whole answer, kept or not; `None` when it cannot be read.
pub fn written_in(body: &[u8]) -> Option<usize> {
    let answer = json::read(body).ok()?;
    answer.as_object()?.get("choices").map(|choices| written(choices, "message"))
}

/// Bytes of what the model wrote in these choices: text, reasoning, calls.
pub(super) fn written(choices: &Value<'_>, message: &str) -> usize {
    let choices = choices.as_array().unwrap_or_default().iter();
    let messages = choices.filter_map(|choice| choice.as_object()?.get(message)?.as_object());
    let parts = messages.flatten().filter(|(name, _)| name != "role").map(|(_, part)| match part {
        Value::String(text) => text.len(),
        Value::Array(_) | Value::Object(_) => part.weight(),
        _ => 0,
    });
    parts.sum()
}

/// Turns a whole `chat.completion` into its stored form, if it is complete and is text.
pub(super) fn keep(mut answer: Object<'_>, expected: Expected) -> Result<Answer, NotKept> {
    if is_error(&answer) {
        return Err(NotKept::ErrorBody);
    }
    let choices = answer.get("choices").and_then(Value::as_array).ok_or(NotKept::Unreadable)?;
    if choices.is_empty() {
        return Err(NotKept::Empty);
    }
    choices.iter().try_for_each(|choice| check_choice(choice, expected.json_mode))?;
    check_indices(choices)?;
    if choices.len() as u64 != expected.choices {
        return Err(NotKept::Choices);
    }
    let usage = answer.present("usage").or_else(|| choices[0].as_object()?.present("usage")).and_then(count_usage);
    let model = answer.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    answer.set("object", Value::from("chat.completion"));
    let mut body = Vec::new();
    answer.print(&mut body);
    if body.len() > expected.max_answer_bytes {
        return Err(NotKept::TooLarge);
    }
    Ok(Answer { dialect: Dialect::OpenAi, body: Bytes::from(body), model, usage })
}

/// Choices are told apart by their index when they are replayed as a stream.
fn check_indices(choices: &[Value<'_>]) -> Result<(), NotKept> {
    let mut seen: Vec<Option<u64>> = choices.iter().map(|choice| choice.as_object()?.get("index")?.as_u64()).collect();
    seen.sort_unstable();
    let are_told_apart = choices.len() == 1 || (seen[0].is_some() && seen.windows(2).all(|pair| pair[0] != pair[1]));
    if are_told_apart { Ok(()) } else { Err(NotKept::Unreadable) }
}

fn check_choice(choice: &Value<'_>, json_mode: bool) -> Result<(), NotKept> {
    let choice = choice.as_object().ok_or(NotKept::Unreadable)?;
    let message = choice.get("message").and_then(Value::as_object).ok_or(NotKept::Unreadable)?;
    if is_error(choice) || is_error(message) {
        return Err(NotKept::ErrorBody);
    }
    match choice.present("finish_reason").map(|reason| reason.as_str().unwrap_or_default()) {
        Some("stop") => check_message(message, json_mode),
        Some("length" | "max_tokens") => Err(NotKept::Truncated),
        Some("content_filter") => Err(NotKept::Filtered),
        Some("tool_calls" | "function_call") => Err(NotKept::ToolCalls),
        Some("error") => Err(NotKept::ErrorBody),
        _ => Err(NotKept::Incomplete),
    }
}

/// White space, or a character without width.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}' | '\u{AD}')
}

fn check_message(message: &Object<'_>, json_mode: bool) -> Result<(), NotKept> {
    let calls =
        |name| message.present(name).is_some_and(|calls| calls.as_array().is_none_or(|calls| !calls.is_empty()));
    if message.present("refusal").is_some() {
        return Err(NotKept::Refused);
    }
    if calls("tool_calls") || calls("function_call") {
        return Err(NotKept::ToolCalls);
    }
    if message.present("audio").is_some() {
        return Err(NotKept::NotText);
    }
    match message.present("content") {
        None => Err(NotKept::Empty),
        Some(Value::String(text)) if text.chars().all(is_blank) => Err(NotKept::Empty),
        Some(Value::String(text)) if json_mode && serde_json::from_str::<IgnoredAny>(text).is_err() => {
            Err(NotKept::NotJson)
        }
        Some(Value::String(_)) => Ok(()),
        Some(_) => Err(NotKept::NotText),
    }
}
