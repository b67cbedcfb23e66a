//! What an answer says, where a text is all that it says.

use serde_json::Value;

use crate::entry::Answer;

/// The text of an answer's one choice; `None` where there are several, or where the message is more than a text.
///
/// An answer that calls tools is never kept, so there is nothing to compare it with.
pub fn text(answer: &Answer) -> Option<String> {
    let whole: Value = serde_json::from_slice(&answer.body).ok()?;
    let [choice] = whole.get("choices")?.as_array()?.as_slice() else { return None };
    let message = choice.get("message")?;
    let more = ["tool_calls", "function_call", "audio", "refusal"].into_iter().any(|name| match message.get(name) {
        None | Some(Value::Null) => false,
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    });
    message.get("content")?.as_str().filter(|_| !more).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::Dialect;

    fn said(choices: &Value) -> Option<String> {
        let body = json!({"object": "chat.completion", "choices": choices}).to_string().into();
        text(&Answer { dialect: Dialect::OpenAi, body, model: String::new(), usage: None })
    }

    #[test]
    fn only_a_text_alone_is_what_is_said() {
        let alone = json!([{"message": {"role": "assistant", "content": "Hi.", "refusal": null, "tool_calls": []}}]);
        assert_eq!(said(&alone).as_deref(), Some("Hi."));
        for choices in [
            json!([]),
            json!([{"message": {"content": "a"}}, {"message": {"content": "b"}}]),
            json!([{"message": {"content": null}}]),
            json!([{"message": {"content": [{"type": "text", "text": "a"}]}}]),
            json!([{"message": {"content": "a", "tool_calls": [{"id": "c"}]}}]),
            json!([{"message": {"content": "a", "function_call": {"name": "f"}}}]),
            json!([{"message": {"content": "a", "refusal": "no"}}]),
            json!([{"message": {"content": "a", "audio": {"id": "x"}}}]),
            json!("text"),
        ] {
            assert_eq!(said(&choices), None, "{choices}");
        }
    }
}
