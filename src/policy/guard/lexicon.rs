//! The words that the guards know. Plain tables under `lexicon/`, read once; nothing here decides.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Words without content of their own: order and presence of these never decide alone.
static FUNCTION_WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| words(include_str!("lexicon/function_words.txt")).collect());

/// Names that are names in any casing, each with the spelling that stands for it.
static NAMES: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let lines = lines(include_str!("lexicon/names.txt"));
    lines.flat_map(|line| line.split_whitespace().map(spelling)).collect()
});

/// Words that mean one thing with a capital and another without.
static CASED: LazyLock<HashSet<&'static str>> = LazyLock::new(|| words(include_str!("lexicon/cased.txt")).collect());

/// File and domain endings: `notes.txt` and `shop.example` are names, `end.Next` is a missing space.
static ENDINGS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| words(include_str!("lexicon/endings.txt")).collect());

/// Lines that are neither empty nor a remark (`#`).
pub(super) fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn words(table: &'static str) -> impl Iterator<Item = &'static str> {
    lines(table).flat_map(str::split_whitespace)
}

/// `jan=january` is a spelling of another name; a bare word stands for itself.
fn spelling(entry: &'static str) -> (&'static str, &'static str) {
    entry.split_once('=').unwrap_or((entry, entry))
}

/// Is this a word without content of its own?
pub(super) fn is_function_word(folded: &str) -> bool {
    FUNCTION_WORDS.contains(folded)
}

/// The name that a word stands for in any casing.
pub(super) fn known_name(folded: &str) -> Option<&'static str> {
    NAMES.get(folded).copied()
}

/// Does a capital change what this word means?
pub(super) fn is_cased(folded: &str) -> bool {
    CASED.contains(folded)
}

/// Is this the ending of a file or domain name?
pub(super) fn is_ending(ending: &str) -> bool {
    ENDINGS.contains(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_name_stand_for_the_same_name() {
        assert_eq!(known_name("jan"), known_name("january"));
        assert_ne!(known_name("oslo"), known_name("bergen"));
        assert_eq!(known_name("table"), None);
    }
}
