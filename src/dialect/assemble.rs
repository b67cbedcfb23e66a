//! A provider's answer, put together from its event stream, or why it is not kept.
//!
//! The assembler reads a copy of what is relayed, so it never stops a stream: a fault only decides that nothing is
//! stored. Both ways that an answer can come (events, one JSON body) end in one check, `keep`, so that a stream cannot
//! store what a body could not.
//!
//! Invariants: what `finish` gives is complete (every choice ended with `stop`, and the stream ended with `[DONE]` or
//! cleanly); memory stays within a small multiple of `max_answer_bytes`, and is let go as soon as the answer is lost.

use std::collections::BTreeMap;

use super::json::{self, Object, Value};
use super::sse::{SseDecoder, SseError, SseEvent};
use crate::entry::{Answer, TokenUsage};

mod keep;
mod merge;

pub use keep::{Expected, NotKept, complete, looks_like_event_stream, written_in};
use keep::{count_usage, is_error, keep, names_error, written};
use merge::{Choice, Collected};

/// More choices than any provider gives; a stream with more is not an answer.
const MAX_CHOICES: usize = 128;

/// How much an undecoded answer may be larger than the decoded one: `\u4e2d` for a character of three bytes doubles it,
/// and the members around the text have their share.
fn transport_limit(max_answer_bytes: usize) -> usize {
    max_answer_bytes.saturating_mul(2).saturating_add(64 * 1024)
}

/// Puts one streamed answer together.
#[derive(Debug)]
pub struct Assembler {
    /// `None` once the stream cannot be decoded any further.
    decoder: Option<SseDecoder>,
    expected: Expected,
    failed: Option<NotKept>,
    done: bool,
    /// `id`, `created`, `model` and what else stands beside the choices.
    head: Collected,
    usage: Option<Value<'static>>,
    choices: BTreeMap<u64, Choice>,
    written: usize,
}

impl Assembler {
    /// An assembler for an answer that is kept if it is as expected.
    pub fn new(expected: Expected) -> Self {
        Self {
            decoder: Some(SseDecoder::new(transport_limit(expected.max_answer_bytes))),
            expected,
            failed: None,
            done: false,
            head: Collected::default(),
            usage: None,
            choices: BTreeMap::new(),
            written: 0,
        }
    }

    /// Takes the next bytes of the stream, cut anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        if let Some(decoder) = &mut self.decoder {
            let events = decoder.push(bytes);
            self.events(events);
        }
    }

    /// The tokens that the provider counted, as far as it said so.
    pub fn usage(&self) -> Option<TokenUsage> {
        self.usage.as_ref().and_then(count_usage)
    }

    /// Bytes of what the model has written so far, kept or not.
    pub fn written(&self) -> usize {
        self.written
    }

    /// Has `[DONE]` come? Known even when the answer is not kept, unless the stream could not be decoded.
    pub fn done(&self) -> bool {
        self.done
    }

    /// Ends the stream. `clean_end`: the body ended as its transport promised, neither reset nor cut.
    pub fn finish(mut self, clean_end: bool) -> Result<Answer, NotKept> {
        if clean_end && let Some(decoder) = &mut self.decoder {
            let events = decoder.finish();
            self.events(events);
        }
        if let Some(why) = self.failed {
            return Err(why);
        }
        if !self.done && !clean_end {
            return Err(NotKept::Incomplete);
        }
        let expected = self.expected;
        keep(self.completion(), expected)
    }

    fn events(&mut self, events: Result<Vec<SseEvent>, SseError>) {
        match events {
            Ok(events) => events.iter().for_each(|event| self.event(event)),
            Err(error) => {
                self.decoder = None;
                self.fail(match error {
                    SseError::Overflow => NotKept::TooLarge,
                    SseError::InvalidUtf8 => NotKept::InvalidUtf8,
                });
            }
        }
    }

    /// The first fault is the one that is told.
    fn fail(&mut self, why: NotKept) {
        self.failed.get_or_insert(why);
        self.head = Collected::default();
        self.choices = BTreeMap::new();
    }

    fn event(&mut self, event: &SseEvent) {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.done = true;
        } else if self.done {
            // Some servers count only after the end; nothing else that late is part of the answer.
            if let Ok(Value::Object(mut chunk)) = json::read(data.as_bytes()) {
                self.note_usage(chunk.take("usage"));
            }
        } else if names_error(&event.event) {
            self.fail(NotKept::ErrorBody);
        } else if !data.is_empty()
            && let Err(why) = self.chunk(data)
        {
            self.fail(why);
        }
    }

    fn chunk(&mut self, data: &str) -> Result<(), NotKept> {
        let Ok(Value::Object(mut chunk)) = json::read(data.as_bytes()) else { return Err(NotKept::Unreadable) };
        if is_error(&chunk) {
            return Err(NotKept::ErrorBody);
        }
        self.note_usage(chunk.take("usage"));
        let choices = chunk.take("choices");
        self.written += choices.as_ref().map_or(0, |choices| written(choices, "delta"));
        if self.failed.is_some() {
            return Ok(());
        }
        for (name, value) in chunk {
            self.head.head_member(&name, value);
        }
        match choices {
            Some(Value::Array(choices)) => choices.into_iter().try_for_each(|choice| self.choice(choice))?,
            None | Some(Value::Null) => {}
            Some(_) => return Err(NotKept::Unreadable),
        }
        let held = self.head.weight() + self.choices.values().map(Choice::weight).sum::<usize>();
        if held > self.expected.max_answer_bytes { Err(NotKept::TooLarge) } else { Ok(()) }
    }

    fn choice(&mut self, choice: Value<'_>) -> Result<(), NotKept> {
        let Value::Object(mut choice) = choice else { return Err(NotKept::Unreadable) };
        if is_error(&choice) {
            return Err(NotKept::ErrorBody);
        }
        let index = match choice.take("index") {
            None | Some(Value::Null) => 0,
            Some(index) => index.as_u64().ok_or(NotKept::Unreadable)?,
        };
        self.note_usage(choice.take("usage"));
        let known = self.choices.entry(index).or_default();
        known.take_in(choice)?;
        if self.choices.len() > MAX_CHOICES { Err(NotKept::Unreadable) } else { Ok(()) }
    }

    fn note_usage(&mut self, usage: Option<Value<'_>>) {
        if let Some(usage @ Value::Object(_)) = usage {
            self.usage = Some(usage.into_owned());
        }
    }

    /// The answer as it would have come without streaming.
    fn completion(self) -> Object<'static> {
        let mut rest = self.head.into_object();
        let mut body = Object::default();
        for name in ["id", "object", "created", "model"] {
            let value = rest.take(name);
            body.set(name, value.unwrap_or(Value::Null));
        }
        let choices = self.choices.into_iter().map(|(index, choice)| choice.into_value(index));
        body.set("choices", Value::Array(choices.collect()));
        if let Some(usage) = self.usage {
            body.set("usage", usage);
        }
        for (name, value) in rest {
            body.set(name, value);
        }
        body
    }
}

#[cfg(test)]
mod tests;
