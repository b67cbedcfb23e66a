//! A stored answer as a live one would come, and errors in the dialect's own shape.
//!
//! The stored form is a `chat.completion` object whatever transport brought it. Replayed, it has a fresh `id` and
//! `created`, one value each across all chunks (both are arguments: this module knows neither chance nor time), and
//! everything else as the provider wrote it.
//!
//! Invariant: the deltas of a replayed stream put together are the stored message, its text byte for byte.

use std::ops::Range;

use bytes::Bytes;

use super::Unreadable;
use super::json::{self, Object, Value, print_string};
use crate::entry::Answer;
use crate::types::Dialect;

/// A chunk holds at least this many characters while the text has them.
const CHUNK_CHARS: usize = 200;

/// Long texts get longer chunks rather than more.
const MAX_CHUNKS: usize = 64;

/// Members beside the choices that providers repeat on every chunk; others stand on the first.
const ON_EVERY_CHUNK: [&str; 2] = ["system_fingerprint", "service_tier"];

/// One hit on a stored answer.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    /// What is replayed.
    pub answer: &'a Answer,
    /// The fresh id, `chatcmpl-` and some 24 characters of chance.
    pub id: String,
    /// The moment of the hit, in seconds since the Unix epoch.
    pub created: u64,
}

impl Replay<'_> {
    /// The answer as one `chat.completion` object.
    ///
    /// Fails only on an answer that no assembler made.
    pub fn json(&self) -> Result<Bytes, Unreadable> {
        Ok(Template::of(self.answer)?.json(&self.id, self.created))
    }

    /// The answer as the frames of an event stream, `[DONE]` included; the frames share one buffer.
    ///
    /// With `include_usage` there is a usage chunk when the provider counted, and the other chunks say `"usage":null`.
    pub fn event_stream(&self, include_usage: bool) -> Result<Vec<Bytes>, Unreadable> {
        let answer = stored(self.answer)?;
        let choices = answer.get("choices").and_then(Value::as_array).ok_or(Unreadable("no choices"))?;
        let mut frames = Frames::new(self, &answer, include_usage);
        for (at, choice) in choices.iter().enumerate() {
            frames.text_of(at, choice)?;
        }
        for (at, choice) in choices.iter().enumerate() {
            frames.end_of(at, choice)?;
        }
        if let (true, Some(usage)) = (include_usage, answer.present("usage")) {
            frames.usage(usage);
        }
        Ok(frames.done())
    }
}

/// A stored answer made ready for many replays as JSON: all but `id` and `created` is printed once.
#[derive(Clone, Debug)]
pub struct Template {
    tail: Bytes,
}

impl Template {
    /// Prepares `answer`.
    ///
    /// Fails only on an answer that no assembler made.
    pub fn of(answer: &Answer) -> Result<Self, Unreadable> {
        let mut object = stored(answer)?;
        for name in ["id", "object", "created"] {
            object.take(name);
        }
        let mut tail = Vec::with_capacity(answer.body.len());
        object.print(&mut tail);
        // The members before it end without a comma, and so does an object without any other.
        tail[0] = if tail.len() > 2 { b',' } else { b' ' };
        Ok(Self { tail: tail.into() })
    }

    /// The `chat.completion` object with this `id` and `created` (seconds since the Unix epoch).
    pub fn json(&self, id: &str, created: u64) -> Bytes {
        let mut out = Vec::with_capacity(self.tail.len() + id.len() + 80);
        out.extend_from_slice(b"{\"id\":");
        print_string(id, &mut out);
        out.extend_from_slice(b",\"object\":\"chat.completion\",\"created\":");
        out.extend_from_slice(created.to_string().as_bytes());
        out.extend_from_slice(&self.tail);
        out.into()
    }
}

/// A curated text as the answer of `model`, so that it can be replayed as JSON or as a stream. Nobody counted tokens.
pub fn plain_completion(text: &str, model: &str) -> Answer {
    let object = |members: Vec<(&'static str, Value<'static>)>| {
        Value::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
    };
    let message = object(vec![
        ("role", Value::from("assistant")),
        ("content", Value::from(text.to_owned())),
        ("refusal", Value::Null),
    ]);
    let choice = object(vec![
        ("index", Value::from(0)),
        ("message", message),
        ("logprobs", Value::Null),
        ("finish_reason", Value::from("stop")),
    ]);
    let completion = object(vec![
        ("id", Value::from("")),
        ("object", Value::from("chat.completion")),
        ("created", Value::from(0)),
        ("model", Value::from(model.to_owned())),
        ("choices", Value::Array(vec![choice])),
    ]);
    let mut body = Vec::with_capacity(text.len() + 256);
    completion.print(&mut body);
    Answer { dialect: Dialect::OpenAi, body: body.into(), model: model.to_owned(), usage: None }
}

/// The event that tells a client that its stream broke.
pub fn error_event(message: &str, kind: &str) -> Bytes {
    let mut out = b"data: ".to_vec();
    print_error(message, kind, None, None, &mut out);
    out.extend_from_slice(b"\n\n");
    out.into()
}

/// An error body in OpenAI's shape.
pub fn error_body(message: &str, kind: &str, code: Option<&str>, param: Option<&str>) -> Bytes {
    let mut out = Vec::new();
    print_error(message, kind, code, param, &mut out);
    out.into()
}

fn print_error(message: &str, kind: &str, code: Option<&str>, param: Option<&str>, out: &mut Vec<u8>) {
    let members = [("message", Some(message)), ("type", Some(kind)), ("param", param), ("code", code)];
    for (at, (name, value)) in members.into_iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"{\"error\":{" } else { b"," });
        print_string(name, out);
        out.push(b':');
        match value {
            Some(text) => print_string(text, out),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.extend_from_slice(b"}}");
}

fn stored(answer: &Answer) -> Result<Object<'_>, Unreadable> {
    match json::read(&answer.body)? {
        Value::Object(object) => Ok(object),
        _ => Err(Unreadable("a stored answer is not an object")),
    }
}

/// The frames under way: one buffer, and where each frame ends in it.
struct Frames {
    out: Vec<u8>,
    ends: Vec<usize>,
    /// `data: {"id":...,"model":...` up to the members that differ.
    opening: Vec<u8>,
    /// Members that stand on the first chunk only, each with its comma before it.
    first: Vec<u8>,
    include_usage: bool,
}

impl Frames {
    fn new(replay: &Replay<'_>, answer: &Object<'_>, include_usage: bool) -> Self {
        let mut opening = b"data: {\"id\":".to_vec();
        print_string(&replay.id, &mut opening);
        opening.extend_from_slice(b",\"object\":\"chat.completion.chunk\",\"created\":");
        opening.extend_from_slice(replay.created.to_string().as_bytes());
        opening.extend_from_slice(b",\"model\":");
        print_string(&replay.answer.model, &mut opening);
        let mut first = Vec::new();
        for (name, value) in answer {
            match name.as_ref() {
                "id" | "object" | "created" | "model" | "choices" | "usage" => {}
                every if ON_EVERY_CHUNK.contains(&every) => print_member(name, value, &mut opening),
                _ => print_member(name, value, &mut first),
            }
        }
        Self {
            out: Vec::with_capacity(replay.answer.body.len() * 2 + 1024),
            ends: Vec::new(),
            opening,
            first,
            include_usage,
        }
    }

    /// The role, what the message has beside its text (reasoning comes before the text in a live stream too), the text.
    fn text_of(&mut self, at: usize, choice: &Value<'_>) -> Result<(), Unreadable> {
        let (index, choice) = numbered(at, choice)?;
        let message = choice.get("message").and_then(Value::as_object).ok_or(Unreadable("no message"))?;
        let role = message.get("role").and_then(Value::as_str).unwrap_or("assistant");
        self.delta(index, |out| {
            out.extend_from_slice(b"\"role\":");
            print_string(role, out);
            out.extend_from_slice(b",\"content\":\"\"");
        });
        let others: Object<'_> = message
            .iter()
            .filter(|(name, value)| !matches!(name.as_ref(), "role" | "content") && !value.is_null())
            .cloned()
            .collect();
        if others.iter().next().is_some() {
            self.delta(index, |out| {
                let start = out.len();
                others.print(out);
                out.remove(start);
                out.pop();
            });
        }
        let text = message.get("content").and_then(Value::as_str).unwrap_or_default();
        for range in pieces(text) {
            self.delta(index, |out| {
                out.extend_from_slice(b"\"content\":");
                print_string(&text[range], out);
            });
        }
        Ok(())
    }

    /// The finish reason, with whatever the provider said about the choice.
    fn end_of(&mut self, at: usize, choice: &Value<'_>) -> Result<(), Unreadable> {
        let (index, choice) = numbered(at, choice)?;
        self.open_choice(index);
        self.out.extend_from_slice(b"}");
        if choice.get("logprobs").is_none() {
            self.out.extend_from_slice(b",\"logprobs\":null");
        }
        for (name, value) in choice {
            if !matches!(name.as_ref(), "index" | "message" | "finish_reason" | "usage") {
                print_member(name, value, &mut self.out);
            }
        }
        print_member("finish_reason", choice.get("finish_reason").unwrap_or(&Value::Null), &mut self.out);
        self.close_choice();
        Ok(())
    }

    fn delta(&mut self, index: u64, print: impl FnOnce(&mut Vec<u8>)) {
        self.open_choice(index);
        print(&mut self.out);
        self.out.extend_from_slice(b"},\"logprobs\":null,\"finish_reason\":null");
        self.close_choice();
    }

    fn open_choice(&mut self, index: u64) {
        self.out.extend_from_slice(&self.opening);
        self.out.append(&mut self.first);
        self.out.extend_from_slice(b",\"choices\":[{\"index\":");
        self.out.extend_from_slice(index.to_string().as_bytes());
        self.out.extend_from_slice(b",\"delta\":{");
    }

    fn close_choice(&mut self) {
        self.out.extend_from_slice(if self.include_usage { b"}],\"usage\":null}\n\n" } else { b"}]}\n\n" });
        self.ends.push(self.out.len());
    }

    fn usage(&mut self, usage: &Value<'_>) {
        self.out.extend_from_slice(&self.opening);
        self.out.extend_from_slice(b",\"choices\":[],\"usage\":");
        usage.print(&mut self.out);
        self.out.extend_from_slice(b"}\n\n");
        self.ends.push(self.out.len());
    }

    fn done(mut self) -> Vec<Bytes> {
        self.out.extend_from_slice(b"data: [DONE]\n\n");
        self.ends.push(self.out.len());
        let all = Bytes::from(self.out);
        let mut start = 0;
        self.ends.iter().map(|&end| all.slice(std::mem::replace(&mut start, end)..end)).collect()
    }
}

fn numbered<'v, 'a>(at: usize, choice: &'v Value<'a>) -> Result<(u64, &'v Object<'a>), Unreadable> {
    let choice = choice.as_object().ok_or(Unreadable("a choice is not an object"))?;
    Ok((choice.get("index").and_then(Value::as_u64).unwrap_or(at as u64), choice))
}

fn print_member(name: &str, value: &Value<'_>, out: &mut Vec<u8>) {
    out.push(b',');
    print_string(name, out);
    out.push(b':');
    value.print(out);
}

/// Cuts a text into pieces, between characters.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let size = CHUNK_CHARS.max(text.chars().count().div_ceil(MAX_CHUNKS));
    let starts: Vec<usize> = text.char_indices().step_by(size).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

#[cfg(test)]
mod tests;
