//! How the deltas of a stream grow into one message.
//!
//! Known members have known rules. Unknown ones are kept when there is one way to read them: strings are pieces of one
//! string, numbers and flags replace each other, indexed arrays are merged element by element. Where there are two
//! readings the answer is not kept: better a miss than a message that no provider wrote.

use std::borrow::Cow;

use super::keep::{NotKept, is_error};
use crate::dialect::json::{Object, Value};

/// Members that name a thing rather than carry a piece of text, so that a second one replaces the first.
const NAMING: [&str; 6] = ["type", "id", "index", "format", "name", "role"];

/// What a choice or a member counts beside its content.
const OVERHEAD: usize = 32;

/// An object that grows, with a running count of what it holds.
#[derive(Debug, Default)]
pub(super) struct Collected {
    object: Object<'static>,
    weight: usize,
}

impl Collected {
    /// Roughly the bytes held.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    pub(super) fn into_object(self) -> Object<'static> {
        self.object
    }

    /// A member beside the choices. Filter-only events come with an empty id, model and time: those say nothing.
    pub(super) fn head_member(&mut self, name: &str, value: Value<'_>) {
        let says_nothing = match &value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Number(_) => name == "created" && value.as_u64() == Some(0),
            _ => false,
        };
        let is_settled = matches!(name, "id" | "created") && self.object.get(name).is_some();
        if !says_nothing && !is_settled {
            self.replace(name, value);
        }
    }

    /// The last value that says anything wins.
    pub(super) fn replace(&mut self, name: &str, value: Value<'_>) {
        if value.is_null() {
            return;
        }
        let value = value.into_owned();
        self.weight += value.weight();
        if let Some(slot) = self.object.get_mut(name) {
            self.weight = self.weight.saturating_sub(slot.weight());
            *slot = value;
        } else {
            self.weight += name.len() + OVERHEAD;
            self.object.set(name.to_owned(), value);
        }
    }

    /// A member of a delta.
    fn delta_member(&mut self, name: &str, value: Value<'_>) -> Result<(), NotKept> {
        let weight = value.weight();
        match (self.object.get_mut(name), value) {
            (_, Value::Null) => return Ok(()),
            (None, value) | (Some(_), value @ (Value::Bool(_) | Value::Number(_))) => self.replace(name, value),
            (Some(_), value) if matches!(name, "role" | "tool_calls" | "function_call") => self.replace(name, value),
            (Some(Value::String(known)), Value::String(more)) => {
                known.to_mut().push_str(&more);
                self.weight += weight;
            }
            (Some(Value::Array(known)), Value::Array(more)) => {
                merge_indexed(known, more)?;
                self.weight += weight;
            }
            (Some(known), value) if *known == value => {}
            _ => return Err(NotKept::Unreadable),
        }
        Ok(())
    }
}

/// One choice of a streamed answer.
#[derive(Debug, Default)]
pub(super) struct Choice {
    message: Collected,
    finish_reason: Option<String>,
    rest: Collected,
}

impl Choice {
    pub(super) fn weight(&self) -> usize {
        self.message.weight + self.rest.weight + 2 * OVERHEAD
    }

    /// Takes in one chunk's choice, its index and usage already taken out.
    pub(super) fn take_in(&mut self, choice: Object<'_>) -> Result<(), NotKept> {
        for (name, value) in choice {
            match (name.as_ref(), value) {
                ("delta", Value::Object(delta)) if is_error(&delta) => return Err(NotKept::ErrorBody),
                ("delta", Value::Object(delta)) => {
                    for (name, value) in delta {
                        self.message.delta_member(&name, value)?;
                    }
                }
                (_, Value::Null) => {}
                ("delta" | "message", _) => return Err(NotKept::Unreadable),
                ("finish_reason", Value::String(reason)) if reason.is_empty() => {}
                ("finish_reason", Value::String(reason)) => self.finish_reason = Some(reason.into_owned()),
                ("logprobs", Value::Object(more)) => self.logprobs(more)?,
                (name, value) => self.rest.replace(name, value),
            }
        }
        Ok(())
    }

    /// Log probabilities come token by token, in lists that follow each other.
    fn logprobs(&mut self, more: Object<'_>) -> Result<(), NotKept> {
        let Some(Value::Object(known)) = self.rest.object.get_mut("logprobs") else {
            self.rest.replace("logprobs", Value::Object(more));
            return Ok(());
        };
        for (name, value) in more {
            self.rest.weight += value.weight();
            match (known.get_mut(&name), value) {
                (_, Value::Null) => {}
                (Some(Value::Array(known)), Value::Array(more)) => {
                    known.extend(more.into_iter().map(Value::into_owned));
                }
                (None | Some(Value::Null), value) => {
                    known.set(name.into_owned(), value.into_owned());
                }
                _ => return Err(NotKept::Unreadable),
            }
        }
        Ok(())
    }

    /// The choice as it would have come without streaming.
    pub(super) fn into_value(self, index: u64) -> Value<'static> {
        let mut grown = self.message.object;
        let mut message = Object::default();
        message.set("role", grown.take("role").unwrap_or(Value::from("assistant")));
        message.set("content", grown.take("content").unwrap_or(Value::Null));
        message.set("refusal", grown.take("refusal").unwrap_or(Value::Null));
        for (name, value) in grown {
            message.set(name, value);
        }
        let mut rest = self.rest.object;
        let mut choice = Object::default();
        choice.set("index", Value::from(index));
        choice.set("message", Value::Object(message));
        choice.set("logprobs", rest.take("logprobs").unwrap_or(Value::Null));
        choice.set("finish_reason", self.finish_reason.map_or(Value::Null, Value::from));
        for (name, value) in rest {
            choice.set(name, value);
        }
        Value::Object(choice)
    }
}

/// Merges arrays whose elements all say which one they continue.
fn merge_indexed(known: &mut Vec<Value<'static>>, more: Vec<Value<'_>>) -> Result<(), NotKept> {
    let index =
        |element: &Value<'_>| element.as_object().and_then(|object| object.get("index")).and_then(Value::as_u64);
    for element in more {
        let wanted = index(&element).ok_or(NotKept::Unreadable)?;
        if known.iter().any(|element| index(element).is_none()) {
            return Err(NotKept::Unreadable);
        }
        match (known.iter_mut().find(|element| index(element) == Some(wanted)), element) {
            (Some(Value::Object(known)), Value::Object(more)) => merge_element(known, more),
            (_, element) => known.push(element.into_owned()),
        }
    }
    Ok(())
}

fn merge_element(known: &mut Object<'static>, more: Object<'_>) {
    for (name, value) in more {
        match (known.get_mut(&name), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(piece)) if !NAMING.contains(&name.as_ref()) => {
                text.to_mut().push_str(&piece);
            }
            (_, value) => {
                known.set(Cow::Owned(name.into_owned()), value.into_owned());
            }
        }
    }
}
