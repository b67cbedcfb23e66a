//! Do two answers say the same? What shadow mode makes labels of.
//!
//! Two answers of a model seldom agree word for word, even to one prompt. So only what is clear is said: the same words,
//! a plain contradiction between short texts, or vectors that leave no doubt. All else is unclear, and no label.
//!
//! Pure: the cosine is an argument. The order of a pair never matters.

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::policy::guard::{self, Features, GuardName};
use crate::settings::Guards;

/// What a comparison of two answers came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// They say the same.
    Same,
    /// They do not.
    Other,
    /// It cannot be told.
    Unclear,
}

/// The longest text that more is looked at of than whether it is equal, in bytes.
const LONGEST: usize = 4096;
/// Up to how many words a text makes one statement, so that one difference contradicts it. A Chinese character is one.
const SHORT: usize = 40;
/// The fewest words from which on a low cosine says something: those of "42" and "forty-two" have little in common.
const TELLING: usize = 5;
/// Two texts that say the same are not put this low: rewordings of one answer came out at 0.47 and more with the default
/// model, answers to other questions below 0.2. A model that puts everything higher tells less by this.
const FAR: f64 = 0.3;
/// Guards whose veto is a contradiction between two statements. Another's only says that they are worded differently.
const CONTRADICTIONS: [GuardName; 3] = [GuardName::Numbers, GuardName::Negation, GuardName::Names];

/// What can be told without vectors; `None` when their cosine decides.
pub fn by_words(one: &str, other: &str) -> Option<Agreement> {
    let (a, b) = (folded(one), folded(other));
    if a == b {
        // Two questions share a bare yes by chance as often as not.
        let bare = polarity(&a).is_some_and(|(_, rest)| rest.is_empty());
        return Some(if bare || a.is_empty() { Agreement::Unclear } else { Agreement::Same });
    }
    if one.len().max(other.len()) > LONGEST {
        return Some(Agreement::Unclear);
    }
    if let (Some(x), Some(y)) = (structured(one), structured(other)) {
        return Some(if x == y { Agreement::Same } else { Agreement::Unclear });
    }
    let short = words(&a).max(words(&b)) <= SHORT;
    if let (true, Some((yes, _)), Some((other_yes, _))) = (short, polarity(&a), polarity(&b))
        && yes != other_yes
    {
        return Some(Agreement::Other);
    }
    let verdicts = guard::verdicts(&Features::of(one), &Features::of(other), &Guards::default());
    let mut vetoes = verdicts.into_iter().filter_map(|(name, veto)| veto.map(|_| name)).peekable();
    vetoes.peek()?;
    let contradicted = short && vetoes.any(|name| CONTRADICTIONS.contains(&name));
    Some(if contradicted { Agreement::Other } else { Agreement::Unclear })
}

/// What the cosine of two answers says that [`by_words`] left open; `same_from` is the one from which two texts count as
/// the same. Both are 0 to 1.
pub fn by_cosine(one: &str, other: &str, cosine: f64, same_from: f64) -> Agreement {
    if cosine >= same_from {
        Agreement::Same
    } else if cosine < FAR && words(one).min(words(other)) >= TELLING {
        Agreement::Other
    } else {
        Agreement::Unclear
    }
}

/// What is left of an answer without the prompt that it repeats, and without its numbers and identifiers where it has more
/// than these. Two answers to far prompts that leave the same are an answer to anything.
pub fn frame(answer: &str, prompt: &str) -> String {
    let (said, prompt) = (folded(answer), folded(prompt));
    let bare = if prompt.is_empty() { said } else { said.replace(&prompt, " ") };
    let parts = |c: char| !c.is_ascii_alphanumeric() && !"-_:".contains(c);
    let unnumbered = |run: &'_ str| -> String {
        let word = run.trim_end_matches(parts);
        if word.contains(char::is_numeric) { run[word.len()..].into() } else { run.into() }
    };
    let words: String = bare.split_inclusive(parts).map(unnumbered).collect();
    folded(if words.contains(char::is_alphanumeric) { &words } else { &bare })
}

/// Case, white space, and punctuation, quotes and emphasis at the ends make no other answer.
fn folded(text: &str) -> String {
    let composed: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let spaced = composed.split_whitespace().collect::<Vec<_>>().join(" ");
    let quote = |c: char| "\"'“”‘’«»*_`「」『』《》".contains(c) || c.is_whitespace();
    // A sign or a point before a number, and a unit behind it, belong to it.
    let ends = |c: char| quote(c) || ".,;:!?…。、".contains(c);
    spaced.trim_start_matches(quote).trim_end_matches(ends).to_owned()
}

/// An object or a list in JSON: its members' order and spacing say nothing.
fn structured(text: &str) -> Option<Value> {
    let text = text.trim();
    let looks = text.starts_with(['{', '[']);
    looks.then(|| serde_json::from_str(text).ok()).flatten()
}

const YES: [&str; 12] = ["yes", "yeah", "yep", "true", "correct", "right", "是", "是的", "对", "对的", "可以", "能"];
const NO: [&str; 12] =
    ["no", "nope", "false", "incorrect", "wrong", "否", "不", "不是", "不对", "不可以", "不能", "没有"];

/// A yes or no that a folded text begins with, and what comes behind it.
fn polarity(folded: &str) -> Option<(bool, &str)> {
    let (head, rest) = folded.split_once(|c: char| !c.is_alphanumeric() && c != ' ').unwrap_or((folded, ""));
    match head.trim() {
        yes if YES.contains(&yes) => Some((true, rest.trim())),
        no if NO.contains(&no) => Some((false, rest.trim())),
        _ => None,
    }
}

/// Runs of letters and digits; each character of a script that writes no spaces counts for itself.
fn words(text: &str) -> usize {
    let spaceless = |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    let mut within = false;
    let starts = text.chars().filter(|&c| {
        let word = c.is_alphanumeric();
        let counts = word && (spaceless(c) || !within);
        within = word && !spaceless(c);
        counts
    });
    starts.count()
}

#[cfg(test)]
mod tests;
