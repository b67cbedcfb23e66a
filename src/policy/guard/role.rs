//! In which part somebody asks or something serves: "as a tenant", "as a list".

use super::nearness::{self, Nearness, Unit};
use super::text::{Text, Token};

/// Phrases with "as a" that name no part.
const IDIOMS: [&str; 10] =
    ["result", "rule", "whole", "matter", "consequence", "way", "means", "reminder", "side", "last"];
/// A phrase that names one has no more words.
const PHRASE: usize = 4;

/// The parts that one text names.
#[derive(Clone, Debug, Default)]
pub(super) struct Roles {
    /// The words of each, never none; the last one is its noun.
    parts: Vec<Vec<Unit>>,
}

impl Roles {
    pub(super) fn of(text: &Text) -> Self {
        let begins = |two: &[Token]| two[0].folded == "as" && matches!(two[1].folded.as_str(), "a" | "an");
        let begun = text.tokens.windows(2).enumerate().filter(|(_, two)| begins(two));
        let parts = begun.map(|(at, _)| phrase(&text.tokens[at + 2..]));
        let named = |part: &Vec<Unit>| part.last().is_some_and(|noun| !IDIOMS.contains(&noun.word.as_str()));
        Self { parts: parts.filter(named).collect() }
    }

    /// Each text names a part that the other does not know.
    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        if !near.akin() {
            return None;
        }
        let alone = |one: &Self, two: &Self| {
            let part = one.parts.iter().find(|ours| !two.parts.iter().any(|theirs| within(ours, theirs)))?;
            part.last().map(|noun| noun.word.clone())
        };
        let (ours, theirs) = (alone(self, other)?, alone(other, self)?);
        Some(format!("as {ours:?} against as {theirs:?}"))
    }
}

/// Does the noun of one stand in the other?
fn within(one: &[Unit], two: &[Unit]) -> bool {
    let has = |part: &[Unit], noun: Option<&Unit>| noun.is_some_and(|noun| part.iter().any(|word| word.means(noun)));
    has(two, one.last()) || has(one, two.last())
}

/// The words of content that come first.
fn phrase(after: &[Token]) -> Vec<Unit> {
    after.iter().take(PHRASE).take_while(|token| token.weighs()).map(nearness::unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Roles::of, Roles::difference)
    }

    #[test]
    fn another_part_differs() {
        for (a, b) in [
            ("As a tenant, how do I end the lease?", "As a landlord, how do I get out of a lease?"),
            ("Give me the pros as a list", "Give me the pros as a table"),
            ("May I vote as an expat?", "As a resident abroad, may I vote?"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn the_same_part_one_side_alone_and_idioms_pass() {
        for (a, b) in [
            ("As a student, may I vote?", "May I vote as a pupil?"),
            ("Give me the pros as a list", "Give me the pros as a bulleted list"),
            ("As a student, may I vote?", "May I vote?"),
            ("As a student, may I vote?", "As a sutdent, may I vote?"),
            ("May I vote as a foreign student?", "May I vote as a foreigner?"),
            ("As a result, may I vote?", "As a rule, may I vote?"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
            assert_eq!(difference(b, a), None, "{b} / {a}");
        }
    }
}
