//! A JSON tree that loses nothing which tells two documents apart.
//!
//! `serde_json::Value` keeps the last of two members with one name and rounds numbers to `f64` (12345678901234567890123
//! and ...124 become one, 1e-400 becomes 0). A cache key made from it could be equal for two requests that a provider
//! tells apart. So this reader keeps the text of numbers and refuses duplicate names. It borrows from its input: reading
//! a request allocates for containers and escaped strings only.
//!
//! Invariants: a tree that was read nests at most [`MAX_DEPTH`] deep, has no two members of one name in an object, and
//! its numbers are legal JSON with an exponent of at most nine digits.

use std::borrow::Cow;

use super::Unreadable;

mod read;

/// How deep arrays and objects may nest.
pub const MAX_DEPTH: usize = 128;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it was written.
    Number(Cow<'a, str>),
    /// A string, decoded.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object.
    Object(Object<'a>),
}

/// The members of an object in the order in which they were written; no two have one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

/// Reads one JSON document, white space around it allowed.
///
/// Fails on anything that RFC 8259 forbids, on invalid UTF-8, lone surrogates, duplicate member names, and nesting
/// deeper than [`MAX_DEPTH`].
pub fn read(bytes: &[u8]) -> Result<Value<'_>, Unreadable> {
    let text = std::str::from_utf8(bytes).map_err(|_| Unreadable("not UTF-8"))?;
    read::document(text)
}

impl<'a> Value<'a> {
    /// The decoded text of a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The elements of an array.
    pub fn as_array(&self) -> Option<&[Value<'a>]> {
        if let Self::Array(elements) = self { Some(elements) } else { None }
    }

    /// The members of an object.
    pub fn as_object(&self) -> Option<&Object<'a>> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// A number as `f64`, rounded; `None` past its range.
    pub fn as_f64(&self) -> Option<f64> {
        let Self::Number(text) = self else { return None };
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// A number that is written as a whole one and fits.
    pub fn as_u64(&self) -> Option<u64> {
        if let Self::Number(text) = self { text.parse().ok() } else { None }
    }

    /// Is it `null`?
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The same tree without its hold on the input.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(flag) => Value::Bool(flag),
            Self::Number(text) => Value::Number(Cow::Owned(text.into_owned())),
            Self::String(text) => Value::String(Cow::Owned(text.into_owned())),
            Self::Array(elements) => Value::Array(elements.into_iter().map(Value::into_owned).collect()),
            Self::Object(object) => Value::Object(object.into_owned()),
        }
    }

    /// Roughly the bytes that this tree takes when printed: what bounds on collected answers count.
    pub fn weight(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) => 4,
            Self::Number(text) => text.len(),
            Self::String(text) => text.len() + 2,
            Self::Array(elements) => 2 + elements.iter().map(|element| element.weight() + 1).sum::<usize>(),
            Self::Object(object) => {
                2 + object.iter().map(|(name, value)| name.len() + value.weight() + 4).sum::<usize>()
            }
        }
    }

    /// Prints compactly: members in their order, numbers as they were written.
    pub fn print(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Number(text) => out.extend_from_slice(text.as_bytes()),
            Self::String(text) => print_string(text, out),
            Self::Array(elements) => {
                out.push(b'[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    element.print(out);
                }
                out.push(b']');
            }
            Self::Object(object) => object.print(out),
        }
    }
}

impl From<&'static str> for Value<'static> {
    fn from(text: &'static str) -> Self {
        Self::String(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::String(Cow::Owned(text))
    }
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Number(Cow::Owned(number.to_string()))
    }
}

impl<'a> Object<'a> {
    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The value of a member that is there and not `null`.
    pub fn present(&self, name: &str) -> Option<&Value<'a>> {
        self.get(name).filter(|value| !value.is_null())
    }

    /// The value of a member, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value<'a>> {
        self.0.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Takes a member out.
    pub fn take(&mut self, name: &str) -> Option<Value<'a>> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    /// Sets a member, in its old place or at the end, and gives back its former value.
    pub fn set(&mut self, name: impl Into<Cow<'a, str>>, value: Value<'a>) -> Option<Value<'a>> {
        let name = name.into();
        if let Some(slot) = self.get_mut(&name) {
            return Some(std::mem::replace(slot, value));
        }
        self.0.push((name, value));
        None
    }

    /// Members in order.
    pub fn iter(&self) -> std::slice::Iter<'_, (Cow<'a, str>, Value<'a>)> {
        self.0.iter()
    }

    /// The same object without its hold on the input.
    pub fn into_owned(self) -> Object<'static> {
        Object(self.0.into_iter().map(|(name, value)| (Cow::Owned(name.into_owned()), value.into_owned())).collect())
    }

    /// Prints compactly, members in their order.
    pub fn print(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (at, (name, value)) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            print_string(name, out);
            out.push(b':');
            value.print(out);
        }
        out.push(b'}');
    }
}

impl<'a> IntoIterator for Object<'a> {
    type Item = (Cow<'a, str>, Value<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'o, 'a> IntoIterator for &'o Object<'a> {
    type Item = &'o (Cow<'a, str>, Value<'a>);
    type IntoIter = std::slice::Iter<'o, (Cow<'a, str>, Value<'a>)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> FromIterator<(Cow<'a, str>, Value<'a>)> for Object<'a> {
    fn from_iter<I: IntoIterator<Item = (Cow<'a, str>, Value<'a>)>>(members: I) -> Self {
        let mut object = Self::default();
        for (name, value) in members {
            object.set(name, value);
        }
        object
    }
}

/// Prints a JSON string with the fewest escapes: quote, backslash and control characters, one spelling for each.
pub fn print_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = first_special(rest) {
        out.extend_from_slice(&rest[..at]);
        print_escape(rest[at], out);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Where the first quote, backslash or control character is. Whole blocks are asked first: a few wide comparisons each.
fn first_special(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 16;
    let special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    let plain = |block: &&[u8]| !block.iter().fold(false, |found, &byte| found | special(byte));
    let start = bytes.chunks_exact(BLOCK).take_while(plain).count() * BLOCK;
    bytes[start..].iter().position(|&byte| special(byte)).map(|at| start + at)
}

fn print_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        _ => {
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]);
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(text: &str) -> &'static str {
        read(text.as_bytes()).unwrap_err().0
    }

    fn nested(depth: usize) -> String {
        "[".repeat(depth) + &"]".repeat(depth)
    }

    #[test]
    fn duplicate_member_names_are_refused_however_they_are_spelled() {
        assert_eq!(refused(r#"{"a":1,"a":1}"#), "a member name twice");
        assert_eq!(refused(r#"{"a":1,"\u0061":2}"#), "a member name twice");
        assert_eq!(refused(r#"[{"x":{"b":1,"c":2,"b":3}}]"#), "a member name twice");
        let mut members: Vec<String> = (0..500).map(|n| format!("\"m{n}\":0")).collect();
        assert!(read(format!("{{{}}}", members.join(",")).as_bytes()).is_ok());
        members.push("\"m7\":0".to_owned());
        assert_eq!(refused(&format!("{{{}}}", members.join(","))), "a member name twice");
    }

    #[test]
    fn what_is_not_json_is_refused_without_a_panic() {
        let bad = [
            "",
            " ",
            "{",
            "}",
            "[",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "'a'",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"\\ud800\\u0041\"",
            "01",
            "1.",
            ".5",
            "+1",
            "-",
            "1e",
            "1e+",
            "NaN",
            "nul",
            "true1",
            "1 2",
            "[1 2]",
            "\"\u{1}\"",
            "\u{feff}{}",
            "1e1234567890",
        ];
        for text in bad {
            assert!(read(text.as_bytes()).is_err(), "{text:?} was read");
        }
        assert_eq!(read(b"\"\xff\"").unwrap_err().0, "not UTF-8");
    }

    #[test]
    fn nesting_is_bounded() {
        assert!(read(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(refused(&nested(MAX_DEPTH + 1)), "nested too deep");
        assert_eq!(refused(&"{\"a\":".repeat(100_000)), "nested too deep");
    }

    #[test]
    fn numbers_keep_every_digit() {
        let text = r"[12345678901234567890123,1e-400,-0.10,1E+2]";
        let mut out = Vec::new();
        read(text.as_bytes()).unwrap().print(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    fn document() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value as Json;
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<u64>().prop_map(Json::from),
            (-1e9..1e9f64).prop_map(Json::from),
            any::<String>().prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_second_reader_sees_the_same_document(json in document(), pretty: bool) {
            let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) }.unwrap();
            let mut out = Vec::new();
            read(text.as_bytes()).unwrap().print(&mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&json).unwrap());
        }

        #[test]
        fn two_readers_agree_on_what_is_json(text in r#"[\[\]{}:,"\\u0-9a-eE+.\- tlrsnfd\n]{0,24}"#) {
            let other = serde_json::from_str::<serde_json::Value>(&text);
            match (read(text.as_bytes()), other) {
                (Err(_), Err(_))
                | (Ok(_) | Err(Unreadable("a member name twice" | "a number out of range")), Ok(_)) => {}
                (Ok(_), Err(error)) if error.to_string().contains("number out of range") => {}
                (ours, theirs) => prop_assert!(false, "{:?}: {:?} against {:?}", text, ours, theirs),
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
