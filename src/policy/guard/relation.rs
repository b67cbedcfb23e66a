//! Small words that turn a relation round: to and from, and and or, active and passive, I and you.
//!
//! The words that carry the topic are the same, and so an embedding sees no difference. Each rule looks at two texts
//! that both say something about the relation; a text that leaves it open is no evidence.

use super::modality::{Modality, modality};
use super::nearness::Nearness;
use super::text::{Kind, Text, Token};

/// Words of which one instead of the other asks the opposite, or something else.
const OPPOSED: [(&str, &str); 15] = [
    ("to", "from"),
    ("to", "by"),
    ("for", "against"),
    ("favor", "against"),
    ("favour", "against"),
    ("about", "by"),
    ("within", "after"),
    ("within", "beyond"),
    ("if", "unless"),
    ("during", "after"),
    ("during", "before"),
    ("until", "from"),
    ("until", "after"),
    ("until", "before"),
    ("and", "or"),
];

/// After these, "to" leads to a verb and not to a place.
const INFINITIVE: [&str; 8] = ["possible", "able", "allowed", "how", "want", "need", "have", "like"];

/// People that take a part, by the part's name: whose they are does not matter here.
const PERSONS: [(&str, &str); 12] = [
    ("i", "i"),
    ("me", "i"),
    ("you", "you"),
    ("he", "he"),
    ("him", "he"),
    ("she", "she"),
    ("her", "she"),
    ("we", "we"),
    ("us", "we"),
    ("they", "they"),
    ("them", "they"),
    ("one", "one"),
];

/// Where one of these stands, clauses may change places.
const CLAUSES: [&str; 9] = ["if", "when", "because", "while", "since", "although", "unless", "that", "but"];

const BE: [&str; 8] = ["is", "are", "was", "were", "be", "been", "being", "get"];

/// What one text says of the relation between its things.
#[derive(Clone, Debug, Default)]
pub(super) struct Relations {
    /// The words of [`OPPOSED`] that stand there, and how often.
    opposed: Vec<(&'static str, usize)>,
    /// Content words in order.
    content: Vec<String>,
    /// The same, sorted.
    sorted: Vec<String>,
    /// Content words and persons in order; empty without a person, or with clauses that may move.
    parts: Vec<String>,
    passive: bool,
    /// "Is used in", which leaves open who uses it.
    placed: bool,
    modality: Option<Modality>,
}

impl Relations {
    pub(super) fn of(text: &Text) -> Self {
        let tokens = || text.tokens.iter().filter(|token| token.wordlike());
        let words: Vec<&str> = tokens().map(|token| token.folded.as_str()).collect();
        let turns = |folded: &str| OPPOSED.iter().any(|(a, b)| *a == folded || *b == folded);
        let is_content = |token: &Token| !token.function && !turns(&token.folded);
        let content: Vec<String> = tokens().filter(|token| is_content(token)).map(|token| token.stem.clone()).collect();
        let mut sorted = content.clone();
        sorted.sort_unstable();
        let person =
            |folded: &str| PERSONS.iter().find(|(word, _)| *word == folded).map(|(_, part)| (*part).to_owned());
        let parts = tokens()
            .filter_map(|token| person(&token.folded).or_else(|| is_content(token).then(|| token.stem.clone())));
        let movable = words.iter().any(|word| CLAUSES.contains(word)) || text.tokens.iter().any(|token| token.is(","));
        let with_person = words.iter().any(|word| person(word).is_some());
        Self {
            opposed: opposed(&words),
            content,
            sorted,
            parts: if with_person && !movable { parts.collect() } else { Vec::new() },
            passive: passive(text, &["by"]),
            placed: passive(text, &["in", "on", "at", "within"]),
            modality: modality(&words),
        }
    }

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        if near.apart() > 2 {
            return None;
        }
        let asked = || {
            let (ours, theirs) = (self.modality?, other.modality?);
            ours.excludes(theirs).then(|| format!("{} against {}", ours.as_str(), theirs.as_str()))
        };
        self.opposite(other).or_else(|| self.voice(other)).or_else(|| self.exchanged(other)).or_else(asked)
    }

    /// One word more on one side where the other side has its opposite more, about the same things.
    fn opposite(&self, other: &Self) -> Option<String> {
        if self.opposed == other.opposed || self.sorted != other.sorted {
            return None;
        }
        let more = |one: &Self, two: &Self, word: &str| one.count(word) > two.count(word);
        let turned = |(a, b): &&(&str, &str)| {
            more(self, other, a) && more(other, self, b) || more(other, self, a) && more(self, other, b)
        };
        let pair = OPPOSED.iter().find(turned)?;
        Some(format!("{:?} against {:?}", pair.0, pair.1))
    }

    fn count(&self, word: &str) -> usize {
        self.opposed.iter().find(|(known, _)| *known == word).map_or(0, |(_, count)| *count)
    }

    /// "Who hired X", "who was hired by X": the same order of things in another voice exchanges them.
    fn voice(&self, other: &Self) -> Option<String> {
        let voices = if self.passive { !other.passive && !other.placed } else { other.passive && !self.placed };
        let turned = voices && self.content.len() > 1 && self.content == other.content;
        turned.then(|| "active against passive".to_owned())
    }

    /// The same things and persons in another order.
    fn exchanged(&self, other: &Self) -> Option<String> {
        if self.parts.is_empty() || self.parts.len() != other.parts.len() || self.parts == other.parts {
            return None;
        }
        if sorted(&self.parts) != sorted(&other.parts) {
            return None;
        }
        let place = |word: &String| other.parts.iter().position(|theirs| theirs == word);
        let pairs =
            self.parts.iter().enumerate().flat_map(|(i, one)| self.parts[i + 1..].iter().map(move |two| (one, two)));
        let unique = |word: &String| self.parts.iter().filter(|ours| *ours == word).count() == 1;
        let persons = pairs.filter(|(one, two)| unique(one) && unique(two) && (is_person(one) || is_person(two)));
        let (one, two) = persons.into_iter().find(|(one, two)| place(one) > place(two))?;
        Some(format!("{one:?} and {two:?} change places"))
    }
}

fn is_person(part: &str) -> bool {
    PERSONS.iter().any(|(_, name)| *name == part)
}

fn sorted(words: &[String]) -> Vec<&str> {
    let mut sorted: Vec<&str> = words.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted
}

fn opposed(words: &[&str]) -> Vec<(&'static str, usize)> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    let infinitive = |at: usize| words[at] == "to" && at > 0 && INFINITIVE.contains(&words[at - 1]);
    for (at, word) in words.iter().enumerate().filter(|(_, word)| (2..=7).contains(&word.len())) {
        if infinitive(at) {
            continue;
        }
        let known = OPPOSED.iter().flat_map(|(a, b)| [*a, *b]).find(|known| known == word);
        let Some(known) = known else { continue };
        match counts.iter_mut().find(|(word, _)| *word == known) {
            Some((_, count)) => *count += 1,
            None => counts.push((known, 1)),
        }
    }
    counts
}

/// A form of "be", soon a participle, and "by" or what stands for it.
pub(super) fn passive(text: &Text, by: &[&str]) -> bool {
    let words: Vec<&str> =
        text.tokens.iter().filter(|t| t.kind == Kind::Word).map(|token| token.folded.as_str()).collect();
    let participle = |word: &&str| word.ends_with("ed") || word.ends_with("en") || IRREGULAR.contains(word);
    let by = |rest: &[&str]| rest.iter().take(4).any(|word| by.contains(word));
    words.iter().enumerate().filter(|(_, word)| BE.contains(word)).any(|(at, _)| {
        let after = &words[at + 1..];
        (0..after.len().min(3)).any(|ahead| participle(&after[ahead]) && by(&after[ahead + 1..]))
    })
}

/// Participles that do not show what they are.
const IRREGULAR: [&str; 14] =
    ["bought", "sold", "made", "held", "led", "built", "sent", "paid", "run", "won", "lost", "found", "told", "hit"];

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Relations::of, Relations::difference)
    }

    #[test]
    fn a_relation_turned_round_differs() {
        for (a, b) in [
            ("How do I move coins to my wallet?", "How do I move coins from my wallet?"),
            ("Which parcels were sent to Ann?", "Which parcels were sent by Ann?"),
            ("Reasons for a curfew", "Reasons against a curfew"),
            ("What is the way to Oslo?", "What is the way from Oslo?"),
            ("Can I swap it within the month?", "Can I swap it after the month?"),
            ("the sum of p and q", "the sum of p or q"),
            ("Points in favour of a curfew", "Points against a curfew"),
            ("Can my tenant evict me?", "Can I evict my tenant?"),
            ("Why did she call him?", "Why did he call her?"),
            ("Do you know me?", "Do I know you?"),
            ("Which firm bought the mill?", "Which firm was bought by the mill?"),
            ("Who trained the coach?", "Who was trained by the coach?"),
            ("Was the song written for Ann?", "Was the song written by Ann?"),
            ("Can I tip the driver?", "Should I tip the driver?"),
            ("Do I have to tip?", "Can I tip?"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn harmless_changes_pass() {
        for (a, b) in [
            ("How do I reset my password?", "How can I reset my password?"),
            ("Which phones does the app support?", "Which phones are supported by the app?"),
            ("What should I do if my parcel is late?", "If my parcel is late, what should I do?"),
            ("How do I get to the station from here?", "How do I get from here to the station?"),
            ("What is the way to pay?", "How do I pay?"),
            ("Can I pay by bank transfer?", "Is it possible to pay with a bank transfer?"),
            ("How many days of leave do I get?", "How many leave days do I get?"),
            ("Can I get my money back?", "Could I get my money back?"),
            ("How is Milvus utilized in Zilliz Cloud?", "How is Milvus utilized by Zilliz Cloud?"),
            ("How is Milvus utilized in Zilliz Cloud?", "What is Milvus and how is it utilized by Zilliz Cloud?"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
            assert_eq!(difference(b, a), None, "{b} / {a}");
        }
    }
}
