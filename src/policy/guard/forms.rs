//! Forms and small words that make one word another: healthier and healthiest, re-sign and resign, only.
//!
//! All of them look like a slip or a filler, and [`super::nearness`] takes them for one.

use super::lexicon::HashSet;
use super::nearness::Nearness;
use super::text::{Kind, Text};

/// Words that are other words when their prefix stands with a hyphen.
const WHOLE: [&str; 22] = [
    "recollect",
    "recount",
    "recover",
    "recreate",
    "recreation",
    "redress",
    "reform",
    "relay",
    "release",
    "remark",
    "repress",
    "reprove",
    "resent",
    "reserve",
    "resign",
    "resort",
    "resound",
    "rebound",
    "retreat",
    "coop",
    "unionized",
    "unionised",
];

/// The forms of one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms {
    /// Bases that stand in the comparative, and in the superlative.
    comparative: HashSet<String>,
    superlative: HashSet<String>,
    /// Words of [`WHOLE`] that stand with a hyphen, and without.
    parted: Vec<String>,
    whole: Vec<String>,
    /// "Only in", "just for the".
    exclusive: bool,
}

impl Forms {
    pub(super) fn of(text: &Text) -> Self {
        let mut found = Self::default();
        for (i, token) in text.tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Word) {
            let word = token.folded.as_str();
            let next = text.ahead(i, 1);
            let graded = next.filter(|next| next.kind == Kind::Word && !next.function).map(|next| next.folded.clone());
            match word {
                "more" => found.comparative.extend(graded),
                "most" => found.superlative.extend(graded),
                "only" | "just" => found.exclusive |= next.is_some_and(|next| LIMITS.contains(&next.folded.as_str())),
                _ => found.grade(word),
            }
            if matches!(word, "re" | "co" | "un") && next.is_some_and(|next| next.is("-") && next.glued) {
                let joined = text.ahead(i, 2).map(|rest| format!("{word}{}", rest.folded));
                found.parted.extend(joined.filter(|joined| whole(joined).is_some()));
            } else if whole(word).is_some() {
                found.whole.push(word.to_owned());
            }
        }
        found
    }

    fn grade(&mut self, word: &str) {
        let base = |ending: &str| word.strip_suffix(ending).filter(|base| base.len() >= 3).map(str::to_owned);
        if let Some(base) = base("est") {
            self.superlative.insert(base);
        } else if let Some(base) = base("er") {
            self.comparative.insert(base);
        }
    }

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        if !near.close() {
            return None;
        }
        self.graded(other)
            .or_else(|| other.graded(self))
            .or_else(|| self.joined(other))
            .or_else(|| other.joined(self))
            .or_else(|| {
                let alone = self.exclusive != other.exclusive && near.apart() == 0;
                alone.then(|| "\"only\" in one text only".to_owned())
            })
    }

    /// Comparative here, superlative there.
    fn graded(&self, other: &Self) -> Option<String> {
        let base = self.comparative.iter().filter(|base| {
            other.superlative.contains(*base) && !other.comparative.contains(*base) && !self.superlative.contains(*base)
        });
        base.min().map(|base| format!("more against most: {base:?}"))
    }

    fn joined(&self, other: &Self) -> Option<String> {
        let word = self
            .parted
            .iter()
            .find(|word| other.whole.contains(word) && !self.whole.contains(word) && !other.parted.contains(word));
        word.map(|word| format!("{word:?} with and without a hyphen"))
    }
}

/// What "only" stands before where it shuts out all else.
const LIMITS: [&str; 13] =
    ["in", "for", "on", "at", "with", "to", "from", "by", "during", "after", "before", "the", "within"];

/// The word of [`WHOLE`] that this is a form of.
fn whole(word: &str) -> Option<&'static str> {
    WHOLE.into_iter().find(|known| {
        let base = known.strip_suffix('e').unwrap_or(known);
        word.strip_prefix(base).is_some_and(|rest| matches!(rest, "" | "e" | "s" | "es" | "ed" | "ing"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Forms::of, Forms::difference)
    }

    #[test]
    fn another_form_differs() {
        for (a, b) in [
            ("What is a cheaper lens?", "What is the cheapest lens?"),
            ("Which roof is sturdier?", "Which roof is sturdiest?"),
            ("Which is a more durable roof?", "Which is the most durable roof?"),
            ("How do I re-serve the soup?", "How do I reserve the soup?"),
            ("When was the lease re-signed?", "When was the lease resigned?"),
            ("Is the pool open just for guests?", "Is the pool open for guests?"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn spellings_and_fillers_pass() {
        for (a, b) in [
            ("How do I re-install the app?", "How do I reinstall the app?"),
            ("How do I re-use a jar?", "How do I reuse a jar?"),
            ("I just want to peel a plum", "I want to peel a plum"),
            ("Which lens is cheaper?", "Which lens is the cheaper one?"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
            assert_eq!(difference(b, a), None, "{b} / {a}");
        }
    }
}
