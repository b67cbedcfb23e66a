//! The delimited spans of a text: quoted, fenced, tagged or bracketed.

use super::tail::{asks, instructing};
use super::{Payload, words};
use crate::policy::guard::text::Text;

/// Quoted spans of fewer words may be mere terms.
const TERM_WORDS: usize = 8;

/// Delimiters whose inside is payload, in the order in which they are looked for.
const FENCES: [(&str, &str); 11] = [
    ("```", "```"),
    ("~~~", "~~~"),
    ("<<<", ">>>"),
    ("\"\"\"", "\"\"\""),
    ("\u{201c}", "\u{201d}"),
    ("\u{ab}", "\u{bb}"),
    ("\u{300c}", "\u{300d}"),
    ("\u{300e}", "\u{300f}"),
    ("\u{300a}", "\u{300b}"),
    ("\"", "\""),
    ("`", "`"),
];

/// A delimited span.
#[derive(Clone, Debug)]
pub(super) struct Quote {
    pub(super) inside: String,
    /// The words of a term, each by its hash; none where every character counts.
    words: Vec<u64>,
}

impl Quote {
    /// Does it only name something, whose words stand in the other text too?
    pub(super) fn is_mentioned_in(&self, other: &Payload) -> bool {
        let (Some(first), false) = (self.words.first(), other.words.is_empty()) else { return false };
        if other.quoted.is_empty() {
            return self.words.iter().all(|word| other.words.contains(word));
        }
        // Between two quotations the order of the words counts.
        let starts = other.words.iter().enumerate().filter(|(_, word)| *word == first);
        starts.into_iter().any(|(at, _)| other.words[at..].starts_with(&self.words))
    }
}

/// All delimited spans; a question that stands in quotation marks as a whole is no span.
pub(super) fn quoted(text: &str) -> Vec<Quote> {
    let spans = spans(text);
    let mut around = text.trim_end_matches(['.', '?', '!']).chars();
    if let [(mark, inside)] = spans.as_slice()
        && is_soft(*mark)
        && asks(inside)
        && around.as_str().starts_with(*mark)
        && around.next_back().is_some_and(|last| last == *mark || matches!(last, '\u{201d}' | '\u{2019}'))
        && around.as_str().len() <= inside.len() + 2 * mark.len_utf8() + 2
    {
        return Vec::new();
    }
    let exact = works_on(text);
    spans.into_iter().map(|(mark, inside)| quote(inside, is_soft(mark) && !exact)).collect()
}

fn quote(inside: &str, soft: bool) -> Quote {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | ',' | '?' | '!' | '\'' | '\u{2019}' | '-');
    let term = soft && inside.chars().all(plain) && inside.starts_with(char::is_alphanumeric);
    let mut words = if term { words(&Text::of(inside)) } else { Vec::new() };
    if words.len() >= TERM_WORDS {
        words.clear();
    }
    Quote { inside: inside.to_owned(), words }
}

/// Marks that people put around a name or not, as they like.
fn is_soft(mark: char) -> bool {
    matches!(mark, '"' | '\'' | '\u{201c}' | '\u{2018}')
}

/// Does a text set a task on the characters that it quotes, more than to tell what they stand for?
fn works_on(text: &str) -> bool {
    const TELLING: [&str; 14] = [
        "mean",
        "say",
        "explain",
        "describe",
        "answer",
        "word",
        "words",
        "phrase",
        "text",
        "code",
        "this",
        "following",
        "below",
        "write",
    ];
    const SPELLING: [&str; 12] = [
        "grammar",
        "grammatical",
        "grammatically",
        "spelling",
        "spelled",
        "uppercase",
        "lowercase",
        "case",
        "capital",
        "capitals",
        "letters",
        "characters",
    ];
    const CODE: [&str; 5] = ["(\"", "('", "==", "=\"", "['"];
    if CODE.iter().any(|sign| text.contains(sign)) {
        return true;
    }
    let mut words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.any(|word| {
        let word = word.as_str();
        SPELLING.contains(&word) || instructing(word) && !TELLING.contains(&word)
    })
}

/// All delimited spans, from left to right, each with its first mark.
fn spans(text: &str) -> Vec<(char, &str)> {
    let mut spans = Vec::new();
    let opens = |c: char| matches!(c, '`' | '~' | '<' | '"' | '{' | '[' | '\'') || !c.is_ascii();
    if !text.contains(opens) {
        return spans;
    }
    let mut rest = text;
    let mut last = ' ';
    while let Some(first) = rest.chars().next() {
        let span = || fenced(rest).or_else(|| tagged(rest)).or_else(|| bracketed(rest)).or_else(|| single(rest, last));
        let span = if opens(first) { span() } else { None };
        if let Some((inside, after)) = span {
            let inside = inside.trim();
            // A fence of three marks counts as its own kind.
            let mark = if rest.starts_with("\"\"\"") { '`' } else { first };
            spans.extend((!inside.is_empty()).then_some((mark, inside)));
            rest = after;
            last = '"';
        } else {
            rest = &rest[first.len_utf8()..];
            last = first;
        }
    }
    spans
}

fn fenced(text: &str) -> Option<(&str, &str)> {
    FENCES.iter().find_map(|(open, close)| text.strip_prefix(open)?.split_once(close))
}

/// `<name ...>inside</name>`.
fn tagged(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('<')?;
    let name =
        inner.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').next().filter(|name| !name.is_empty())?;
    let (_, body) = inner.split_once('>')?;
    body.split_once(&format!("</{name}>"))
}

/// `{...}` and `[...]` with what they nest.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let (open, close) = match text.as_bytes().first()? {
        b'{' => ('{', '}'),
        b'[' => ('[', ']'),
        _ => return None,
    };
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some((&text[1..at], &text[at + 1..]));
            }
        }
    }
    None
}

/// `'inside'`, when the marks do not touch letters on their outer sides, as apostrophes do.
fn single(text: &str, before: char) -> Option<(&str, &str)> {
    let open = text.chars().next().filter(|c| matches!(c, '\'' | '\u{2018}'))?;
    if before.is_alphanumeric() {
        return None;
    }
    let inner = &text[open.len_utf8()..];
    let closes = |(at, c): &(usize, char)| {
        let after = inner[at + c.len_utf8()..].chars().next();
        matches!(c, '\'' | '\u{2019}') && *at > 0 && !after.is_some_and(char::is_alphanumeric)
    };
    let (at, close) = inner.char_indices().find(closes)?;
    Some((&inner[..at], &inner[at + close.len_utf8()..]))
}
