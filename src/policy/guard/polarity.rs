//! Axes of opposites: enable and disable, buy and sell, most and least.
//!
//! A word or phrase stands at one pole of one or more axes, so that synonyms agree (`enable` = `turn on`) and opposites
//! clash (`enable` against `turn off`). The table is `lexicon/polarity.txt`.

use std::sync::LazyLock;

use super::lexicon::{self, HashMap, HashSet};
use super::nearness::Nearness;
use super::text::{Kind, Text};

/// One end of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pole {
    axis: u16,
    second: bool,
    /// Both poles in one text against one in the other are a difference too.
    strict: bool,
    /// Too common a word to weigh anywhere but in its opposite's place, or before the same word.
    weak: bool,
}

static POLES: LazyLock<HashMap<String, Vec<Pole>>> = LazyLock::new(table);

/// First words of phrases.
static HEADS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let words = lexicon::lines(lexicon::POLARITY).flat_map(str::split_whitespace);
    words.filter_map(|word| word.split_once(['_', '-'])).map(|(head, _)| head).collect()
});

/// Verbs whose particle may stand some words later: "turn the lights off".
const PHRASAL: [&str; 25] = [
    "turn",
    "switch",
    "power",
    "shut",
    "log",
    "sign",
    "check",
    "opt",
    "plug",
    "zoom",
    "go",
    "going",
    "scale",
    "speed",
    "slow",
    "turned",
    "turning",
    "switched",
    "switching",
    "pick",
    "drop",
    "rent",
    "let",
    "hire",
    "lease",
];
const PARTICLES: [&str; 6] = ["on", "off", "up", "down", "in", "out"];

fn table() -> HashMap<String, Vec<Pole>> {
    let mut given: HashMap<String, Vec<Pole>> = HashMap::default();
    let mut inflected: HashMap<String, Vec<Pole>> = HashMap::default();
    for (axis, line) in (0u16..).zip(lexicon::lines(lexicon::POLARITY)) {
        let (strict, weak) = (line.starts_with('!'), line.starts_with('~'));
        for (second, side) in line.trim_start_matches(['!', '~']).split('|').enumerate() {
            let pole = Pole { axis, second: second > 0, strict, weak };
            for word in side.split_whitespace() {
                given.entry(word.to_owned()).or_default().push(pole);
                for form in inflections(word) {
                    let poles = inflected.entry(form).or_default();
                    if !poles.contains(&pole) {
                        poles.push(pole);
                    }
                }
            }
        }
    }
    // A form that the table gives itself ("lower", "used") means what the table says.
    for (form, poles) in inflected {
        given.entry(form).or_insert(poles);
    }
    given
}

/// Regular English forms of a word, for verbs, nouns and adverbs alike; forms that do not exist do no harm.
fn inflections(word: &str) -> Vec<String> {
    let bytes = word.as_bytes();
    if bytes.len() < 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return Vec::new();
    }
    let vowel = |b: u8| matches!(b, b'a' | b'e' | b'i' | b'o' | b'u');
    let mut forms = vec![format!("{word}s"), format!("{word}ly")];
    match bytes {
        [.., b'e'] => {
            let base = &word[..word.len() - 1];
            forms.extend([format!("{word}d"), format!("{base}ing"), format!("{base}ion"), format!("{base}y")]);
        }
        [.., before, b'y'] if !vowel(*before) => {
            let base = &word[..word.len() - 1];
            forms.extend([format!("{base}ies"), format!("{base}ied"), format!("{word}ing"), format!("{base}ily")]);
        }
        [.., a, b, c] => {
            forms.extend(["es", "ed", "ing", "ion", "er"].map(|ending| format!("{word}{ending}")));
            if !vowel(*a) && vowel(*b) && !vowel(*c) {
                let last = char::from(*c);
                forms.extend(["ed", "ing", "er"].map(|ending| format!("{word}{last}{ending}")));
            }
        }
        _ => {}
    }
    forms
}

/// A word or phrase at a pole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stand {
    pole: Pole,
    word: String,
    /// The stem of the word of content right behind a single word.
    before: Option<String>,
}

/// Where one text stands on every axis that it touches, with the word that puts it there.
#[derive(Clone, Debug, Default)]
pub(super) struct Polarity {
    stands: Vec<Stand>,
}

impl Polarity {
    pub(super) fn of(text: &Text) -> Self {
        let mut found = Self::default();
        let mut taken = None;
        for (i, token) in text.tokens.iter().enumerate().filter(|(_, t)| t.wordlike()) {
            if let Some(last) = found.add_pair(text, i) {
                taken = Some(last);
                continue;
            }
            if taken == Some(i) {
                continue;
            }
            let phrase = parted(text, i).map(|at| format!("{}_{}", token.folded, text.tokens[at].folded));
            if !phrase.is_some_and(|phrase| found.add(&phrase, None)) {
                found.add_word(text, i);
            }
        }
        found.stands.sort_unstable();
        found.stands.dedup_by(|a, b| a.pole == b.pole);
        found
    }

    /// Adds the phrase of two words, or the hyphened word, that begins at `i`; the place of its end.
    fn add_pair(&mut self, text: &Text, i: usize) -> Option<usize> {
        let hyphened = text.ahead(i, 1).is_some_and(|next| next.is("-"));
        let second = text.ahead(i, if hyphened { 2 } else { 1 }).filter(|second| second.wordlike())?;
        let first = &text.tokens[i];
        if !HEADS.contains(first.folded.as_str()) {
            return None;
        }
        let joined = self.add(&format!("{}_{}", first.folded, second.folded), None)
            || hyphened && self.add(&format!("{}-{}", first.folded, second.folded), None);
        joined.then_some(i + if hyphened { 2 } else { 1 })
    }

    fn add_word(&mut self, text: &Text, i: usize) {
        let token = &text.tokens[i];
        // "On" is a preposition unless nothing follows it.
        let last = text.ahead(i, 1).is_none_or(|next| next.kind == Kind::Symbol);
        if (token.folded == "on" && !last) || (token.folded == "do") {
            return;
        }
        let before = text.ahead(i, 1).filter(|next| next.weighs()).map(|next| next.stem.as_str());
        self.add(&token.folded, before);
    }

    fn add(&mut self, phrase: &str, before: Option<&str>) -> bool {
        let poles = POLES.get(phrase);
        let stand =
            |pole: &Pole| Stand { pole: *pole, word: phrase.replace('_', " "), before: before.map(str::to_owned) };
        self.stands.extend(poles.into_iter().flatten().map(stand));
        poles.is_some()
    }

    fn at(&self, pole: Pole) -> Option<&Stand> {
        let at = self.stands.binary_search_by(|stand| stand.pole.cmp(&pole)).ok()?;
        self.stands.get(at)
    }

    /// The first axis on which the texts clash, and the two words.
    pub(super) fn clash<'a>(&'a self, other: &'a Self, near: &Nearness<'_>) -> Option<(&'a str, &'a str)> {
        let (close, tight) = (near.close(), near.tight());
        let against = |one: &'a Self, two: &'a Self| {
            one.stands.iter().find_map(|stand| {
                let pole = stand.pole;
                let opposite = Pole { second: !pole.second, ..pole };
                let theirs = two.at(opposite)?;
                let both = (one.at(opposite).is_some(), two.at(pole).is_some());
                let clashes = if pole.strict && close { both != (true, true) } else { both == (false, false) };
                let weighs = tight || !pole.weak || stand.before.is_some() && stand.before == theirs.before;
                (clashes && weighs).then_some((stand.word.as_str(), theirs.word.as_str()))
            })
        };
        against(self, other).or_else(|| against(other, self).map(|(theirs, ours)| (ours, theirs)))
    }
}

/// The place of a particle that belongs to the phrasal verb at `verb` but stands up to four words later.
fn parted(text: &Text, verb: usize) -> Option<usize> {
    if !PHRASAL.contains(&text.tokens[verb].folded.as_str()) {
        return None;
    }
    (verb + 2..text.tokens.len().min(verb + 6)).find(|&i| PARTICLES.contains(&text.tokens[i].folded.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clash(a: &str, b: &str) -> bool {
        let clash =
            |one: &Polarity, two: &Polarity, near: &Nearness<'_>| one.clash(two, near).map(|(a, b)| format!("{a} {b}"));
        let clashes = super::super::differ(a, b, Polarity::of, clash).is_some();
        assert_eq!(super::super::differ(b, a, Polarity::of, clash).is_some(), clashes);
        clashes
    }

    #[test]
    fn opposites_clash_in_every_inflection() {
        for (a, b) in [
            ("How do I enable the fan?", "How do I turn off the fan?"),
            ("Is enabling the fan wise?", "Is disabling the fan wise?"),
            ("Turn the kitchen light on", "Turn the kitchen light off"),
            ("Prices increased a bit", "Prices are decreasing a bit"),
            ("Which lens costs most?", "Which lens costs least?"),
            ("pros of solar panels", "disadvantages of solar panels"),
            ("Where can I log in?", "Where can I log out?"),
            ("the maximum size of a bucket", "the minimum size of a bucket"),
            ("uploading a file", "downloading a file"),
        ] {
            assert!(clash(a, b), "{a} / {b}");
        }
    }

    #[test]
    fn synonyms_agree() {
        for (a, b) in [
            ("How do I enable the fan?", "What are the steps to turn on the fan?"),
            ("Where do I buy stamps?", "Where can I purchase stamps?"),
            ("advantages and disadvantages of tiles", "pros and cons of tiles"),
            ("What is the lowest rate?", "What is the smallest rate?"),
        ] {
            assert!(!clash(a, b), "{a} / {b}");
        }
    }

    #[test]
    fn common_words_clash_before_the_same_word_too() {
        assert!(clash(
            "Do two plums of the same variety bear well?",
            "Do two plums bear that are of different varieties?"
        ));
        assert!(clash("Can I feed the cat myself?", "Can somebody else feed the cat?"));
        assert!(clash("Read my mail on my own phone at home", "Can mail be read at home on another phone?"));
        assert!(!clash(
            "Do two plums of the same variety bear?",
            "Do plums and different pears bear well in cold soil?"
        ));
    }

    #[test]
    fn a_text_with_both_poles_differs_from_one_with_one() {
        assert!(clash("advantages and disadvantages of tiles", "advantages of tiles"));
        assert!(!clash("Should I buy or sell?", "sell or buy?"));
    }
}
