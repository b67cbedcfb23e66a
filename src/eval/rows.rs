//! Labelled data as JSON Lines. What is wrong with a row is said with its line and field; other members are ignored.

use serde_json::{Map, Value, json};

/// Two prompts and whether one answer serves both.
#[derive(Clone, Debug, PartialEq)]
pub struct PairRow {
    /// The row's `id`, or its line as `line 7`.
    pub id: String,
    /// The prompt that is stored.
    pub stored: String,
    /// The prompt that is asked.
    pub asked: String,
    /// Does the answer to one serve the other?
    pub same: bool,
    /// Where it comes from, when the row says: of a service's labels `feedback` or `shadow`.
    pub source: Option<String>,
}

/// A prompt of recorded traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRow {
    /// The row's `id`, or its line as `line 7`.
    pub id: String,
    /// Its place in time, in whatever unit.
    pub t: f64,
    /// The prompt.
    pub text: String,
    /// Rows of one group have one answer; the row's own `id` when it has none.
    pub group: String,
}

/// Two conversations and whether one answer serves both.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationRow {
    /// The row's `id`, or its line as `line 7`.
    pub id: String,
    /// The messages of the conversation that is stored, as chat completions take them.
    pub stored: Value,
    /// The messages of the one that is asked.
    pub asked: Value,
    /// Does the answer to one serve the other?
    pub same: bool,
    /// What kind of case it is; `-` when the row does not say.
    pub kind: String,
}

/// A kind of row.
pub trait Row: Sized {
    /// Reads one row.
    ///
    /// # Errors
    /// The field, what is wrong with it, and what is accepted.
    fn read(fields: &Fields) -> Result<Self, String>;
}

/// The members of one line.
pub struct Fields {
    map: Map<String, Value>,
    line: usize,
}

impl Fields {
    fn wrong(&self, field: &str, accepted: &str) -> String {
        match self.map.get(field) {
            None => format!("{field}: is missing; accepted: {accepted}"),
            Some(value) => {
                let shown: String = value.to_string().chars().take(60).collect();
                format!("{field}: {shown}; accepted: {accepted}")
            }
        }
    }

    fn text(&self, field: &str) -> Result<String, String> {
        match self.map.get(field).and_then(Value::as_str) {
            Some(text) if !text.trim().is_empty() => Ok(text.to_owned()),
            _ => Err(self.wrong(field, "a text that is not empty")),
        }
    }

    fn optional(&self, field: &str) -> Result<Option<String>, String> {
        match self.map.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.text(field).map(Some),
        }
    }

    fn label(&self) -> Result<bool, String> {
        match self.map.get("label") {
            Some(Value::Bool(label)) => Ok(*label),
            Some(label) if *label == json!(1) => Ok(true),
            Some(label) if *label == json!(0) => Ok(false),
            _ => Err(self.wrong("label", "0 or 1")),
        }
    }

    fn source(&self) -> Option<String> {
        self.map.get("source").and_then(Value::as_str).map(str::to_owned)
    }

    fn number(&self, field: &str) -> Result<f64, String> {
        self.map.get(field).and_then(Value::as_f64).ok_or_else(|| self.wrong(field, "a number"))
    }

    fn messages(&self, field: &str) -> Result<Value, String> {
        let role_and_content = |turn: &Value| turn["role"].is_string() && !turn["content"].is_null();
        match self.map.get(field) {
            Some(Value::Array(turns)) if !turns.is_empty() && turns.iter().all(role_and_content) => {
                Ok(Value::Array(turns.clone()))
            }
            _ => Err(self.wrong(field, "a list of messages with role and content")),
        }
    }

    fn id(&self) -> Result<String, String> {
        Ok(self.optional("id")?.unwrap_or_else(|| format!("line {}", self.line)))
    }
}

impl Row for PairRow {
    fn read(fields: &Fields) -> Result<Self, String> {
        let (stored, asked) = (fields.text("a")?, fields.text("b")?);
        Ok(Self { id: fields.id()?, stored, asked, same: fields.label()?, source: fields.source() })
    }
}

impl Row for StreamRow {
    fn read(fields: &Fields) -> Result<Self, String> {
        let id = fields.id()?;
        let group = fields.optional("group")?.unwrap_or_else(|| id.clone());
        Ok(Self { t: fields.number("t")?, text: fields.text("text")?, id, group })
    }
}

impl Row for ConversationRow {
    fn read(fields: &Fields) -> Result<Self, String> {
        let (stored, asked) = (fields.messages("a")?, fields.messages("b")?);
        let kind = fields.optional("kind")?.unwrap_or_else(|| "-".into());
        Ok(Self { id: fields.id()?, stored, asked, same: fields.label()?, kind })
    }
}

/// Reads JSON Lines, at most `limit` rows of them; empty lines are skipped.
///
/// # Errors
/// The first line that is wrong, with its number and field; or that there is no row at all.
pub fn read<R: Row>(text: &str, limit: Option<usize>) -> Result<Vec<R>, String> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let rows: Vec<R> =
        lines.take(limit.unwrap_or(usize::MAX)).map(|(text, line)| row(text, line)).collect::<Result<_, _>>()?;
    if rows.is_empty() { Err("has no rows".into()) } else { Ok(rows) }
}

fn row<R: Row>(text: &str, line: usize) -> Result<R, String> {
    let read = match serde_json::from_str(text) {
        Ok(Value::Object(map)) => R::read(&Fields { map, line }),
        Ok(_) => Err("is not a JSON object".into()),
        Err(error) => Err(format!("is not JSON: {error}")),
    };
    read.map_err(|problem| format!("line {line}: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_needs_no_more_than_two_texts_and_a_label() {
        let rows: Vec<PairRow> =
            read("{\"a\":\"x\",\"b\":\"y\",\"label\":1}\n\n{\"id\":\"p\",\"a\":\"x\",\"b\":\"z\",\"label\":0,\"lang\":\"en\"}", None)
                .unwrap();
        assert_eq!((rows[0].id.as_str(), rows[0].same), ("line 1", true));
        assert_eq!((rows[1].id.as_str(), rows[1].same), ("p", false));
        let one: Vec<PairRow> = read("{\"a\":\"x\",\"b\":\"y\",\"label\":1}\n{broken", Some(1)).unwrap();
        assert_eq!(one.len(), 1, "rows beyond the limit are not read");
    }

    #[test]
    fn a_wrong_row_is_named_by_line_and_field() {
        for (text, words) in [
            ("{\"a\":\"x\",\"b\":\"y\",\"label\":2}", &["line 1: label: 2", "0 or 1"][..]),
            ("{\"a\":\"x\",\"b\":\"y\",\"label\":1}\n{\"a\":\"x\",\"label\":1}", &["line 2: b: is missing"]),
            ("{\"a\":\"x\",\"b\":\" \",\"label\":1}", &["line 1: b: \" \"", "not empty"]),
            ("[1]", &["line 1: is not a JSON object"]),
            ("{\"a\":", &["line 1: is not JSON"]),
            ("", &["has no rows"]),
        ] {
            let said = read::<PairRow>(text, None).unwrap_err();
            assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
        }
        assert!(read::<StreamRow>("{\"text\":\"x\"}", None).unwrap_err().contains("line 1: t: is missing"));
        let said = read::<ConversationRow>("{\"a\":[{\"role\":\"user\"}],\"b\":[],\"label\":1}", None).unwrap_err();
        assert!(said.contains("line 1: a: "), "{said}");
    }

    #[test]
    fn a_prompt_without_a_group_is_a_group_of_its_own() {
        let rows: Vec<StreamRow> = read("{\"id\":\"s1\",\"t\":0,\"text\":\"x\",\"group\":null}", None).unwrap();
        assert_eq!(rows[0].group, "s1");
    }
}
