//! Journeys: from one place, form or unit to another, as prepositions tell them.

use super::place::{article, is_letter};
use super::roles::{BREAK, MARKER, plays};
use crate::policy::guard::text::{Kind, Text};

/// Content words that stand together under one marker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Phrase {
    pub(super) marker: String,
    pub(super) words: Vec<String>,
}

/// From one place, form or unit to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Journey {
    pub(super) from: Vec<String>,
    pub(super) to: Vec<String>,
    /// The start was marked by "from".
    pub(super) told: bool,
}

impl Journey {
    pub(super) fn ends_apart(&self) -> Self {
        let less = |one: &[String], two: &[String]| one.iter().filter(|word| !two.contains(word)).cloned().collect();
        Self { from: less(&self.from, &self.to), to: less(&self.to, &self.from), told: self.told }
    }
}

/// What the others do not have.
pub(super) fn beyond<'a>(journeys: &'a [Journey], others: &[Journey]) -> Vec<&'a Journey> {
    journeys.iter().filter(|journey| !others.contains(journey)).collect()
}

pub(super) fn phrases(text: &Text) -> Vec<Phrase> {
    let mut phrases = vec![Phrase::default()];
    for (i, token) in text.tokens.iter().enumerate() {
        let word = token.folded.as_str();
        let stop = token.kind == Kind::Symbol && matches!(word, "," | "." | "?" | "!" | ";" | ":" | "(" | ")");
        if plays(word, MARKER) {
            phrases.push(Phrase { marker: word.to_owned(), ..Phrase::default() });
        } else if stop || plays(word, BREAK) {
            phrases.push(Phrase::default());
        } else if (token.weighs() || is_letter(token) && !article(text, i))
            && token.kind != Kind::Han
            && let Some(phrase) = phrases.last_mut()
        {
            phrase.words.push(token.stem.clone());
        }
    }
    phrases
}

/// `from X to Y`, `to Y from X`, or `X to Y` when no start is named.
pub(super) fn journeys(phrases: &[Phrase]) -> Vec<Journey> {
    let ends = |marker: &'static str| phrases.iter().filter(move |p| p.marker == marker && !p.words.is_empty());
    if let (Some(from), Some(to)) = (ends("from").next(), ends("to").chain(ends("into")).next()) {
        return vec![Journey { from: from.words.clone(), to: to.words.clone(), told: true }];
    }
    let towards = |phrase: &Phrase| matches!(phrase.marker.as_str(), "to" | "into" | "->" | "=>");
    // "Jars used to cool it", "enough jars to use up": no way leads there.
    let used = |word: Option<&String>| word.is_some_and(|word| word == "use");
    let pairs = phrases.windows(2).filter_map(|pair| match pair {
        [from, to] if used(from.words.last()) || used(to.words.first()) => None,
        [from, to] if towards(to) && !from.words.is_empty() && !to.words.is_empty() => Some((from, to)),
        _ => None,
    });
    pairs.map(|(from, to)| Journey { from: from.words.clone(), to: to.words.clone(), told: false }).collect()
}
