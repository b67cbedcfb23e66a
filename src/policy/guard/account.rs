//! What somebody tells of themselves before they ask: "I moved here recently. How do I register?"
//!
//! "Recently" says when it began, not when the answer holds. A sentence is an account where it speaks in the first
//! person, asks and wishes for nothing, and another sentence asks.

use std::ops::Range;

use super::text::{Text, Token};

const FIRST_PERSON: [&str; 15] =
    ["i", "i'm", "im", "i've", "ive", "i'd", "my", "we", "we're", "we've", "our", "我", "我们", "咱们", "俺"];

/// Who says so asks without a question mark.
const WISHES: [&str; 32] = [
    "want",
    "need",
    "wonder",
    "wondering",
    "know",
    "tell",
    "show",
    "find",
    "give",
    "ask",
    "asking",
    "help",
    "wish",
    "question",
    "curious",
    "check",
    "looking",
    "search",
    "please",
    "update",
    "news",
    "想",
    "要",
    "知道",
    "问",
    "请",
    "请问",
    "帮",
    "告诉",
    "查",
    "看看",
    "需要",
];

/// The sentences of a text, by their tokens.
fn sentences(text: &Text) -> Vec<Range<usize>> {
    let ends = |token: &Token| token.stops() || token.is("。");
    let mut sentences = Vec::new();
    let mut start = 0;
    for (i, _) in text.tokens.iter().enumerate().filter(|(_, token)| ends(token)) {
        sentences.push(start..i + 1);
        start = i + 1;
    }
    sentences.push(start..text.tokens.len());
    sentences
}

/// The sentences that tell and do not ask; none where no other sentence asks.
pub(super) fn told(text: &Text) -> Vec<Range<usize>> {
    let tokens = |sentence: &Range<usize>| text.tokens.get(sentence.clone()).unwrap_or_default();
    let asks = |sentence: &Range<usize>| tokens(sentence).iter().any(|token| token.is("?"));
    let has = |sentence: &Range<usize>, words: &[&str]| {
        tokens(sentence).iter().any(|token| words.contains(&token.folded.as_str()))
    };
    let all = sentences(text);
    if !all.iter().any(asks) {
        return Vec::new();
    }
    let tells = |sentence: &Range<usize>| !asks(sentence) && has(sentence, &FIRST_PERSON) && !has(sentence, &WISHES);
    all.into_iter().filter(tells).collect()
}
