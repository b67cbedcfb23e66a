//! Requests of `POST /v1/chat/completions`, read once.
//!
//! The rule is a deny-list: everything in the body tells two requests apart, unknown members included, but for
//! `stream` and `stream_options` (transport) and `cache_control` where it annotates a message, a content part or a
//! tool. A parameter of that name inside a tool's schema stays.
//!
//! The shape is the canonical form with the text of the last user turn cut out. `"content": "Hi"` and
//! `"content": [{"type": "text", "text": "Hi"}]` have one shape, so that the semantic tier takes one for the other;
//! their canonical forms differ, so that the exact tier does not.
//!
//! A request that cannot be answered by meaning is read all the same: it names its reason in `bypass`, and the exact
//! tier works for it.

use bytes::Bytes;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::Unreadable;
use super::canonical;
use super::json::{self, Object, Value};
use crate::policy::self_contained;
use crate::prompt::Prompt;
use crate::reason::BypassReason;
use crate::types::Dialect;

/// Members by which OpenAI and other servers of its API ask for an answer in a given form.
const FORMS: [&str; 8] = [
    "response_format",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "structured_outputs",
    "grammar",
    "json_schema",
];

/// Reads a chat completion request.
///
/// Fails when the body is not a JSON object that can be told apart from every other one (see [`json::read`]); such a
/// request is relayed and never shared.
pub fn parse(body: &[u8]) -> Result<Prompt, Unreadable> {
    let Value::Object(mut request) = json::read(body)? else {
        return Err(Unreadable("not a JSON object"));
    };
    let stream = request.take("stream") == Some(Value::Bool(true));
    let include_usage = request.take("stream_options").is_some_and(|options| {
        options.as_object().is_some_and(|options| options.get("include_usage") == Some(&Value::Bool(true)))
    });
    drop_annotations(&mut request);
    let request = Value::Object(request);
    let members = request.as_object().ok_or(Unreadable("not a JSON object"))?;
    let messages = members.get("messages").and_then(Value::as_array).unwrap_or_default();
    let turn = messages.iter().rfind(|message| is_from(message, "user")).map(Turn::of).unwrap_or_default();
    let printed = canonical::print(&request, &turn.cut);
    let bypass = bypass(members, messages, &turn.text);
    Ok(Prompt {
        dialect: Dialect::OpenAi,
        model: members.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
        canonical: printed.canonical,
        shape: printed.shape,
        plain: bypass.is_none() && is_plain(members, messages),
        bypass,
        text: turn.text,
        stream,
        include_usage,
        temperature: members.get("temperature").and_then(Value::as_f64),
        json_mode: format_type(members).is_some_and(|kind| kind.starts_with("json")),
        choices: choices(members),
        text_bytes: text_bytes(members, messages),
    })
}

/// Removes cache markers where they annotate a block, and nowhere else.
fn drop_annotations(request: &mut Object<'_>) {
    for list in ["messages", "tools"] {
        for block in elements_mut(request.get_mut(list)) {
            let Value::Object(block) = block else { continue };
            block.take("cache_control");
            if list == "messages" {
                for part in elements_mut(block.get_mut("content")) {
                    if let Value::Object(part) = part {
                        part.take("cache_control");
                    }
                }
            }
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is given out again")]
fn elements_mut<'v, 'a>(value: Option<&'v mut Value<'a>>) -> &'v mut [Value<'a>] {
    if let Some(Value::Array(elements)) = value { elements } else { &mut [] }
}

fn role<'v>(message: &'v Value<'_>) -> &'v str {
    message.as_object().and_then(|message| message.get("role")).and_then(Value::as_str).unwrap_or_default()
}

fn is_from(message: &Value<'_>, wanted: &str) -> bool {
    role(message) == wanted
}

fn content<'v, 'a>(message: &'v Value<'a>) -> Option<&'v Value<'a>> {
    message.as_object()?.present("content")
}

/// The text of a text part; `None` for every other part, known or not.
fn part_text<'v, 'a>(part: &'v Value<'a>) -> Option<&'v Value<'a>> {
    let part = part.as_object()?;
    let kind = part.get("type")?.as_str()?;
    part.get("text").filter(|text| matches!(kind, "text" | "input_text") && text.as_str().is_some())
}

/// The last user message: its text, and the values that hold it.
#[derive(Default)]
struct Turn<'v, 'a> {
    text: String,
    cut: Vec<&'v Value<'a>>,
}

impl<'v, 'a> Turn<'v, 'a> {
    fn of(message: &'v Value<'a>) -> Self {
        match content(message) {
            Some(content @ Value::String(text)) => Self { text: normal(text), cut: vec![content] },
            Some(content @ Value::Array(parts)) => Self::of_parts(content, parts),
            _ => Self::default(),
        }
    }

    fn of_parts(content: &'v Value<'a>, parts: &'v [Value<'a>]) -> Self {
        let texts: Vec<_> = parts.iter().filter_map(part_text).collect();
        let joined = texts.iter().filter_map(|text| text.as_str()).collect::<Vec<_>>().join("\n\n");
        let cut = match parts {
            _ if texts.len() < parts.len() => Vec::new(),
            [part] if is_bare_text(part) => vec![content],
            _ => texts,
        };
        Self { text: normal(&joined), cut }
    }
}

/// A text part that says no more than a plain string would.
fn is_bare_text(part: &Value<'_>) -> bool {
    part.as_object()
        .is_some_and(|part| part.get("type").and_then(Value::as_str) == Some("text") && part.iter().count() == 2)
}

fn normal(text: &str) -> String {
    let text = text.trim();
    let is_normal = text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes;
    if is_normal { text.to_owned() } else { text.nfc().collect() }
}

/// The first reason, in a fixed order, why this request may not be answered by meaning.
fn bypass(request: &Object<'_>, messages: &[Value<'_>], text: &str) -> Option<BypassReason> {
    let from_user = messages.last().is_some_and(|last| is_from(last, "user"));
    let reasons = [
        (offers_tools(request) || is_inside_tool_call(messages), BypassReason::Tools),
        (has_other_media(request, messages), BypassReason::NonText),
        (choices(request) != 1, BypassReason::ManyChoices),
        (asks_for_logprobs(request), BypassReason::LogProbs),
        (!from_user, BypassReason::NoUserTurn),
        (text.is_empty(), BypassReason::EmptyText),
    ];
    reasons.into_iter().find_map(|(applies, reason)| applies.then_some(reason))
}

/// The shape that a request has without the turns before the last one, instructions kept; `None` when there are no such
/// turns, or when one of them may bear on the last one.
///
/// Reads the canonical form again: few policies ask for this, and no other request shall pay for it.
pub fn alone(prompt: &Prompt) -> Option<Bytes> {
    let request = json::read(prompt.canonical.get(1..)?).ok()?;
    let messages = request.as_object()?.get("messages").and_then(Value::as_array)?;
    let (last, before) = messages.split_last()?;
    let turns: Vec<&Value<'_>> = before.iter().filter(|message| !instructs(message)).collect();
    let last = Turn::of(last);
    let bears = |message: &&Value<'_>| {
        is_from(message, "user") && !self_contained::is_over(&Turn::of(message).text, &last.text)
    };
    let talk = turns.iter().all(|message| matches!(role(message), "user" | "assistant"));
    let called =
        turns.iter().any(|message| message.as_object().is_some_and(|turn| turn.present("tool_calls").is_some()));
    (!turns.is_empty() && talk && !called && !turns.iter().any(bears))
        .then(|| canonical::shape_without(&request, &last.cut, &turns))
}

fn instructs(message: &Value<'_>) -> bool {
    matches!(role(message), "system" | "developer")
}

/// Any tool in play: offered, chosen, or run by the provider itself.
fn offers_tools(request: &Object<'_>) -> bool {
    let offered = |name| request.present(name).is_some_and(|tools| !is_empty_list(tools));
    let chosen = |name| request.present(name).is_some_and(|choice| choice.as_str() != Some("none"));
    offered("tools")
        || offered("functions")
        || chosen("tool_choice")
        || chosen("function_call")
        || request.present("web_search_options").is_some()
}

fn is_empty_list(value: &Value<'_>) -> bool {
    value.as_array().is_some_and(<[_]>::is_empty)
}

/// Does a tool call or its result follow the last user message?
fn is_inside_tool_call(messages: &[Value<'_>]) -> bool {
    messages.iter().rev().take_while(|message| !is_from(message, "user")).any(|message| {
        let calls = |name| {
            message.as_object().and_then(|message| message.present(name)).is_some_and(|calls| !is_empty_list(calls))
        };
        matches!(role(message), "tool" | "function") || calls("tool_calls") || calls("function_call")
    })
}

/// Anything that is not text in the messages, or asked for in the answer.
fn has_other_media(request: &Object<'_>, messages: &[Value<'_>]) -> bool {
    let odd_message = |message: &Value<'_>| match message.as_object() {
        Some(members) => members.present("audio").is_some() || !content(message).is_none_or(is_text),
        None => true,
    };
    let odd_answer = request.present("modalities").is_some_and(|kinds| {
        kinds.as_array().is_none_or(|kinds| kinds.iter().any(|kind| kind.as_str() != Some("text")))
    });
    odd_answer || request.present("prediction").is_some() || messages.iter().any(odd_message)
}

fn is_text(content: &Value<'_>) -> bool {
    match content {
        Value::String(_) => true,
        Value::Array(parts) => parts.iter().all(|part| part_text(part).is_some()),
        _ => false,
    }
}

fn text_bytes(request: &Object<'_>, messages: &[Value<'_>]) -> usize {
    let text = |value: &Value<'_>| value.as_str().map_or(0, str::len);
    let said = messages.iter().filter_map(content).map(|content| match content {
        Value::Array(parts) => parts.iter().filter_map(part_text).map(text).sum(),
        content => text(content),
    });
    said.sum::<usize>() + request.present("tools").map_or(0, Value::weight)
}

/// How many choices `n` asks for; 0, which no answer has, when it is not a count.
fn choices(request: &Object<'_>) -> u64 {
    match request.present("n") {
        None => 1,
        Some(Value::Number(text)) => canonical::whole_number(text).unwrap_or(0),
        Some(_) => 0,
    }
}

fn asks_for_logprobs(request: &Object<'_>) -> bool {
    let asked = request.present("logprobs").is_some_and(|flag| *flag != Value::Bool(false));
    asked || request.present("top_logprobs").is_some()
}

fn format_type<'v>(request: &'v Object<'_>) -> Option<&'v str> {
    request.present("response_format")?.as_object()?.get("type")?.as_str()
}

/// One user turn of text with at most instructions before it, and no form asked for. The caller has checked `bypass`.
fn is_plain(request: &Object<'_>, messages: &[Value<'_>]) -> bool {
    let free_form = FORMS.iter().all(|name| {
        request.present(name).is_none() || (*name == "response_format" && format_type(request) == Some("text"))
    });
    let before = messages.split_last().map(|(_, before)| before).unwrap_or_default();
    free_form && before.iter().all(instructs)
}

#[cfg(test)]
mod tests;
