//! Proper names: a text that names something else, or something more, asks something else.
//!
//! A name is a capital inside a sentence, an acronym, CamelCase, an address or file, a handle or tag, or a word that
//! `lexicon/names.txt` or `lexicon/han_names.txt` knows in any casing. The other text must mention it, in any casing; a
//! capital that opens a sentence, or stands in a text that capitalises everything, is no evidence. Two texts that name
//! different things differ; a name in one of them alone is a difference only where the rest is worded alike, since
//! people who tell the same in their own words name more or less of it.

use super::fold;
use super::lexicon;
use super::nearness::Nearness;
use super::quantity;
use super::stem::mistyped;
use super::text::{Kind, Style, Text, Token};

/// The names in one text, and all words it could mention others' names with.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// The comparable form and the form as written.
    names: Vec<(String, String)>,
    /// Sorted.
    mentions: Vec<String>,
    /// First letters of all words in order, to spell acronyms with.
    initials: String,
    /// All words without the spaces, and where each begins: "You Tube" mentions YouTube.
    run_on: String,
    begins: Vec<usize>,
}

impl Names {
    pub(super) fn of(text: &Text) -> Self {
        let mut found = Self::default();
        for (i, token) in text.tokens.iter().enumerate().filter(|(_, t)| t.wordlike()) {
            found.initials.extend(token.folded.chars().next());
            found.begins.push(found.run_on.len());
            found.run_on.push_str(&token.folded);
            let key = key(token);
            if is_name(text, i) {
                found.names.push((key.clone(), token.raw.clone()));
            }
            found.mentions.push(key);
            if token.kind == Kind::Word && token.folded != token.stem {
                found.mentions.push(token.folded.clone());
            }
            found.mentions.extend(humps(&token.raw));
        }
        found.whole_countries(text);
        found.mentions.sort_unstable();
        found.mentions.dedup();
        found
    }

    /// Names of two words that are one name elsewhere: the United States are the US.
    fn whole_countries(&mut self, text: &Text) {
        for pair in text.tokens.windows(2) {
            let [first, second] = pair else { continue };
            let name = match (first.folded.as_str(), second.folded.as_str()) {
                ("united", "states") => "us",
                ("united", "kingdom") | ("great", "britain") => "uk",
                ("new", "york") => "newyork",
                ("apple", "pay") => "applepay",
                _ => continue,
            };
            self.names.retain(|(key, _)| *key != first.stem && *key != second.stem);
            self.names.push((name.to_owned(), format!("{} {}", first.raw, second.raw)));
            self.mentions.push(name.to_owned());
        }
    }

    fn mentions(&self, name: &str, written: &str) -> bool {
        let listed = self.mentions.binary_search_by(|other| other.as_str().cmp(name)).is_ok();
        let length = name.chars().count();
        let acronym = (3..=6).contains(&length) && !written.chars().any(char::is_lowercase);
        listed || self.run_together(name) || (acronym && self.initials.contains(name))
    }

    /// Do whole words, one after the other, spell the name?
    fn run_together(&self, name: &str) -> bool {
        let ends = |end: usize| end == self.run_on.len() || self.begins.binary_search(&end).is_ok();
        let begins = || self.begins.iter().filter(|&&at| ends(at + name.len()));
        begins().any(|&at| self.run_on.get(at..).is_some_and(|rest| rest.starts_with(name)))
    }

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        if self.names.is_empty() && other.names.is_empty() {
            return None;
        }
        match (self.missing(other), other.missing(self)) {
            (Some(ours), Some(theirs)) if near.close() || near.brief() => Some(format!("{ours:?} against {theirs:?}")),
            // In Chinese a product is often left unnamed where everybody means the same one.
            (Some(one), None) | (None, Some(one))
                if near.tight() && near.within() && !one.starts_with(fold::is_han) =>
            {
                Some(format!("{one:?} is in one text only"))
            }
            _ => None,
        }
    }

    /// Does one text name something that the other does not?
    pub(super) fn alone(&self, other: &Self) -> bool {
        self.missing(other).is_some() || other.missing(self).is_some()
    }

    /// A name of this text that the other does not mention, not even with a slip.
    fn missing(&self, other: &Self) -> Option<&str> {
        let absent = self.names.iter().find(|(name, written)| {
            !other.mentions(name, written) && !self.spelt_by(name, other) && !other.misspells(written)
        });
        absent.map(|(_, written)| written.as_str())
    }

    /// Does a word that is itself no name, or a strange one beside a known one, look like this name with a slip?
    fn misspells(&self, written: &str) -> bool {
        let folded = written.to_lowercase();
        let known = |word: &str| lexicon::known_name(word).is_some();
        let named = |word: &str| self.names.iter().any(|(key, written)| key == word || written.to_lowercase() == word);
        self.mentions.iter().any(|word| mistyped(&folded, word) && (!named(word) || known(&folded) != known(word)))
    }

    /// Is this word part of a full name whose acronym the other text uses?
    fn spelt_by(&self, name: &str, other: &Self) -> bool {
        let first = name.chars().next();
        let acronyms = other.names.iter().filter(|(_, written)| !written.chars().any(char::is_lowercase));
        acronyms
            .filter(|(acronym, _)| (3..=6).contains(&acronym.chars().count()))
            .any(|(acronym, _)| self.initials.contains(acronym.as_str()) && first.is_some_and(|c| acronym.contains(c)))
    }
}

/// The form in which names are compared: a known name's usual spelling, otherwise the stem.
fn key(token: &Token) -> String {
    match token.kind {
        Kind::Word | Kind::Han => lexicon::known_name(&token.folded).map_or_else(|| token.stem.clone(), str::to_owned),
        _ => token.folded.clone(),
    }
}

/// The parts of a CamelCase word, folded; none for other words.
fn humps(raw: &str) -> Vec<String> {
    if !raw.chars().skip(1).any(char::is_uppercase) || !raw.chars().any(char::is_lowercase) {
        return Vec::new();
    }
    let mut parts: Vec<String> = Vec::new();
    for c in raw.chars() {
        match parts.last_mut() {
            Some(part) if !c.is_uppercase() => part.push(c),
            _ => parts.push(c.to_lowercase().collect()),
        }
    }
    parts
}

fn is_name(text: &Text, i: usize) -> bool {
    let token = &text.tokens[i];
    match token.kind {
        Kind::Address => true,
        Kind::Identifier => token.raw.contains('_'),
        Kind::Word => tagged(text, i) || is_letter(text, i) || is_named_word(text, token),
        Kind::Han => lexicon::known_name(&token.folded).is_some(),
        Kind::Number | Kind::Symbol => false,
    }
}

/// `@handle`, `#tag`.
fn tagged(text: &Text, i: usize) -> bool {
    text.tokens[i].glued && text.before(i).is_some_and(|t| t.is("@") || t.is("#"))
}

/// "Plan B", "vitamin C": a lone capital that is neither a unit behind its number nor "I".
fn is_letter(text: &Text, i: usize) -> bool {
    let token = &text.tokens[i];
    let after_number = text.before(i).is_some_and(|t| t.kind == Kind::Number);
    let alone = token.raw.chars().count() == 1 && token.raw.chars().all(char::is_uppercase) && token.raw != "I";
    alone && !token.opens && !after_number && text.style != Style::Capitals
}

fn is_named_word(text: &Text, token: &Token) -> bool {
    if lexicon::known_name(&token.folded).is_some() {
        return true;
    }
    if quantity::unit(&token.folded).is_some() || quantity::roman(&token.raw).is_some() {
        return false;
    }
    let inner_capital = token.raw.chars().skip(1).any(char::is_uppercase) && token.raw.chars().any(char::is_lowercase);
    let function = token.function;
    match text.style {
        Style::Capitals => false,
        _ if token.all_capitals() => !function || matches!(token.raw.as_str(), "US" | "IT" | "WHO"),
        _ if inner_capital => !token.folded.contains('\''),
        Style::Title => false,
        Style::Sentence => token.capitalised() && !token.opens && !function && token.raw.chars().nth(1).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Names::of, Names::difference)
    }

    #[test]
    fn another_name_differs() {
        for (a, b) in [
            ("How do I reach Fredrikstad?", "How do I reach Kongsvinger?"),
            ("the weather in oslo", "the weather in bergen"),
            ("open on monday", "open on tuesday"),
            ("a loop in python3 and Kotlin", "a loop in python3 and Scala"),
            ("What does the DNS do?", "What does the TLS do?"),
            ("the PixelTool licence", "the BrushTool licence"),
            ("see notes.txt", "see tasks.txt"),
            ("fetch https://a.example/x", "fetch https://a.example/y"),
            ("mail ann@shop.example", "mail bob@shop.example"),
            ("who is @ann_b", "who is @bob_c"),
            ("rent in Norway", "rent"),
            ("sorting in C++", "sorting in C#"),
            ("what does read_line do", "what does read_all do"),
            ("What does plan B cost?", "What does plan C cost?"),
            ("foods with vitamin A", "foods with vitamin K"),
            ("Is form G needed?", "Is form L needed?"),
            ("When did Anna join?", "When did Hanna join?"),
            ("Is Martin here?", "Is Marten here?"),
            ("北京有几个机场", "上海有几个机场"),
            ("QQ怎么注册", "YY怎么注册"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn the_same_name_in_other_dress_passes() {
        for (a, b) in [
            ("What is DNS?", "what is dns"),
            ("hotels in London", "hotels in london"),
            ("London's best hotels", "best hotels in London"),
            ("The best soup", "What is the best soup?"),
            ("How Do I Cook Rice Well", "how do i cook rice well"),
            ("HOW DO I COOK RICE?", "How do I cook rice?"),
            ("flats in the United States", "flats in the US"),
            ("flats in the U.S.", "flats in the USA"),
            ("What is the Domain Name System?", "What is DNS?"),
            ("a Cloud Mark video", "a CloudMark video"),
            ("5 dollars", "5 USD"),
            ("in Jan", "in January"),
            ("May I go to 5 L?", "may i go to 5 l?"),
            ("open on Mondays", "open on Mondys"),
            ("is Ibuprofen safe", "is ibuprofin safe"),
            (
                "I saw my doctor in Oslo about a dry cough that keeps me and the children awake at night, what helps against it?",
                "For a week now I have been coughing hard all night, the Bromhexine drops were no use, how do I get to sleep?",
            ),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
            assert_eq!(difference(b, a), None, "{b} / {a}");
        }
    }
}
