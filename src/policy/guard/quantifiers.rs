//! How many of a thing without a number: one, both, some, most, all.
//!
//! Only two quantifiers of the same noun are compared; a text without one leaves it open.

use super::nearness::Nearness;
use super::text::{Text, Token};

/// What a quantifier takes of a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    One,
    Some,
    Most,
    Both,
    All,
    Alternate,
}

impl Share {
    fn of(word: &str, next: &str) -> Option<Self> {
        match (word, next) {
            ("every", "other" | "second") => Some(Self::Alternate),
            ("one" | "a" | "an" | "single", _) => Some(Self::One),
            ("some" | "few", _) => Some(Self::Some),
            ("most", _) => Some(Self::Most),
            ("both", _) => Some(Self::Both),
            ("all" | "every" | "each", _) => Some(Self::All),
            _ => None,
        }
    }

    fn excludes(self, other: Self) -> bool {
        use Share::{All, Alternate, Both, Most, One, Some};
        let against = |one, two| matches!((one, two), (One, All | Both) | (Most, Some | All) | (All, Alternate));
        against(self, other) || against(other, self)
    }
}

/// Of these, one and each are the same rate: "twice a day", "twice every day".
const RATES: [&str; 9] = ["day", "week", "month", "year", "hour", "minute", "night", "time", "person"];

/// Words between a quantifier and its noun.
const BETWEEN: [&str; 12] =
    ["of", "the", "my", "your", "our", "his", "her", "their", "these", "those", "other", "single"];

/// The quantifiers of one text, each with its noun.
#[derive(Clone, Debug, Default)]
pub(super) struct Quantifiers {
    found: Vec<(Share, String, String)>,
}

impl Quantifiers {
    pub(super) fn of(text: &Text) -> Self {
        let found = text.tokens.iter().enumerate().filter_map(|(i, token)| {
            let next = text.ahead(i, 1).map_or("", |next| next.folded.as_str());
            // "The most" makes a superlative.
            let superlative = token.folded == "most" && text.before(i).is_some_and(|before| before.folded == "the");
            let share = Share::of(&token.folded, next).filter(|_| !superlative)?;
            let noun = noun(&text.tokens[i + 1..])?;
            Some((share, noun.stem.clone(), token.folded.clone()))
        });
        Self { found: found.collect() }
    }

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        if !near.close() {
            return None;
        }
        let pairs = self.found.iter().flat_map(|ours| other.found.iter().map(move |theirs| (ours, theirs)));
        let (ours, theirs) = pairs.into_iter().find(|(ours, theirs)| {
            let rate = ours.0 == Share::One || theirs.0 == Share::One;
            // "A" also speaks of all of a kind; it tells one only where nothing else is said.
            let article = [ours, theirs].iter().any(|found| matches!(found.2.as_str(), "a" | "an"));
            ours.1 == theirs.1
                && ours.0.excludes(theirs.0)
                && !(rate && RATES.contains(&ours.1.as_str()))
                && (!article || near.apart() == 0)
                && !other.takes(ours)
                && !self.takes(theirs)
        })?;
        Some(format!("{:?} against {:?}", ours.2, theirs.2))
    }

    fn takes(&self, (share, noun, _): &(Share, String, String)) -> bool {
        self.found.iter().any(|(ours, our_noun, _)| ours == share && our_noun == noun)
    }
}

/// The word that a quantifier counts, if it follows soon.
fn noun(rest: &[Token]) -> Option<&Token> {
    let noun = rest.iter().take(4).find(|token| !BETWEEN.contains(&token.folded.as_str()))?;
    noun.weighs().then_some(noun)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Quantifiers::of, Quantifiers::difference)
    }

    #[test]
    fn another_share_of_the_same_thing_differs() {
        for (a, b) in [
            ("How do I mute a channel?", "How do I mute all channels?"),
            ("Can I paint one wall?", "Can I paint both walls?"),
            ("Which cup fits each shelf?", "Which cup fits a single shelf?"),
            ("Where do most herons nest?", "Where do some herons nest?"),
            ("Do most herons nest here?", "Do all herons nest here?"),
            ("Water it every day", "Water it every other day"),
            ("How do I mute one of my channels?", "How do I mute all of my channels?"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn rates_and_other_things_pass() {
        for (a, b) in [
            ("How many cups a day may I drink?", "How many cups may I drink every day?"),
            ("How do I mute channels?", "How do I mute all channels?"),
            ("What are some odd facts about herons?", "What are the most odd facts about herons?"),
            ("How long is a flight?", "How long is the haul of all flights?"),
            ("Do all herons nest in a tree?", "Does every heron nest in a tree?"),
            ("Does a fox need one den or all dens?", "Does a fox need all dens or one den?"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
            assert_eq!(difference(b, a), None, "{b} / {a}");
        }
    }
}
