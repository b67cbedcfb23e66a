//! The reader behind [`super::read()`]: recursive descent over checked UTF-8, every step bounded by the depth limit.

use std::borrow::Cow;

use super::{MAX_DEPTH, Object, Value, first_special};
use crate::dialect::Unreadable;

/// Up to this many members, comparing all pairs is quicker than sorting.
const FEW_MEMBERS: usize = 16;

/// Exponents with more digits are refused: the canonical form computes with them.
const MAX_EXPONENT_DIGITS: usize = 9;

const CUT_SHORT: Unreadable = Unreadable("the end comes too early");
const BAD_STRING: Unreadable = Unreadable("not a JSON string");
const BAD_NUMBER: Unreadable = Unreadable("not a JSON number");

/// Reads `text` as one document.
pub(super) fn document(text: &str) -> Result<Value<'_>, Unreadable> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value()?;
    reader.skip_space();
    if reader.at == text.len() { Ok(value) } else { Err(Unreadable("text after the end of the JSON")) }
}

struct Reader<'a> {
    text: &'a str,
    /// Bytes read; outside of strings always at an ASCII character or the end.
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Steps over `wanted` if it comes next, white space before it allowed.
    fn accept(&mut self, wanted: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn slice(&self, from: usize) -> Result<&'a str, Unreadable> {
        self.text.get(from..self.at).ok_or(BAD_STRING)
    }

    fn value(&mut self) -> Result<Value<'a>, Unreadable> {
        self.skip_space();
        match self.peek().ok_or(CUT_SHORT)? {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::array),
            b'"' => self.string().map(Value::String),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(Unreadable("not JSON")),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Value<'a>, Unreadable>,
    ) -> Result<Value<'a>, Unreadable> {
        if self.depth == MAX_DEPTH {
            return Err(Unreadable("nested too deep"));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Value<'a>, Unreadable> {
        let mut elements = Vec::new();
        if self.accept(b']') {
            return Ok(Value::Array(elements));
        }
        loop {
            elements.push(self.value()?);
            if self.accept(b']') {
                return Ok(Value::Array(elements));
            }
            self.comma()?;
        }
    }

    fn object(&mut self) -> Result<Value<'a>, Unreadable> {
        let mut members = Vec::new();
        if self.accept(b'}') {
            return Ok(Value::Object(Object(members)));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(Unreadable("a member name is missing"));
            }
            let name = self.string()?;
            if !self.accept(b':') {
                return Err(Unreadable("a colon is missing"));
            }
            members.push((name, self.value()?));
            if self.accept(b'}') {
                return unique(members).map(Value::Object);
            }
            self.comma()?;
        }
    }

    fn comma(&mut self) -> Result<(), Unreadable> {
        if self.accept(b',') {
            Ok(())
        } else {
            Err(if self.peek().is_none() { CUT_SHORT } else { Unreadable("a comma is missing") })
        }
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Result<Value<'a>, Unreadable> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(Unreadable("not JSON"))
        }
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Result<Value<'a>, Unreadable> {
        let from = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (leading_zero && whole > 1) {
            return Err(BAD_NUMBER);
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err(BAD_NUMBER);
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.exponent()?;
        }
        self.slice(from).map(|text| Value::Number(Cow::Borrowed(text)))
    }

    fn exponent(&mut self) -> Result<(), Unreadable> {
        self.at += 1;
        self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
        match self.digits() {
            0 => Err(BAD_NUMBER),
            1..=MAX_EXPONENT_DIGITS => Ok(()),
            _ => Err(Unreadable("a number out of range")),
        }
    }

    /// Moves on to the next quote, backslash or control character.
    fn skip_plain(&mut self) -> Result<u8, Unreadable> {
        let rest = &self.text.as_bytes()[self.at..];
        let plain = first_special(rest).ok_or(CUT_SHORT)?;
        self.at += plain;
        Ok(rest[plain])
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Unreadable> {
        self.at += 1;
        let from = self.at;
        if self.skip_plain()? == b'"' {
            let text = self.slice(from)?;
            self.at += 1;
            return Ok(Cow::Borrowed(text));
        }
        let mut decoded = String::from(self.slice(from)?);
        loop {
            let from = self.at;
            let stop = self.skip_plain()?;
            decoded.push_str(self.slice(from)?);
            self.at += 1;
            match stop {
                b'"' => return Ok(Cow::Owned(decoded)),
                b'\\' => decoded.push(self.escape()?),
                _ => return Err(BAD_STRING),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Unreadable> {
        let kind = self.peek().ok_or(CUT_SHORT)?;
        self.at += 1;
        Ok(match kind {
            b'"' | b'\\' | b'/' => char::from(kind),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return Err(BAD_STRING),
        })
    }

    fn unicode_escape(&mut self) -> Result<char, Unreadable> {
        let high = self.hex4()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high).ok_or(Unreadable("a lone surrogate"));
        }
        if !self.text.as_bytes()[self.at..].starts_with(b"\\u") {
            return Err(Unreadable("a lone surrogate"));
        }
        self.at += 2;
        let low = self.hex4()?;
        if !(0xdc00..0xe000).contains(&low) {
            return Err(Unreadable("a lone surrogate"));
        }
        char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)).ok_or(BAD_STRING)
    }

    fn hex4(&mut self) -> Result<u32, Unreadable> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16)).ok_or(BAD_STRING)?;
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

fn unique<'a>(members: Vec<(Cow<'a, str>, Value<'a>)>) -> Result<Object<'a>, Unreadable> {
    let twice = if members.len() <= FEW_MEMBERS {
        members.iter().enumerate().any(|(at, (name, _))| members[..at].iter().any(|(earlier, _)| earlier == name))
    } else {
        let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    };
    if twice { Err(Unreadable("a member name twice")) } else { Ok(Object(members)) }
}
