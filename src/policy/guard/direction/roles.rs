//! The parts that small words play in the order of a sentence.

use std::sync::LazyLock;

use crate::policy::guard::lexicon::HashMap;

/// Both sides of these stand equal.
const SYMMETRIC: [&str; 24] = [
    "difference",
    "differences",
    "compare",
    "compared",
    "comparing",
    "comparison",
    "versus",
    "vs",
    "between",
    "similar",
    "same",
    "similarity",
    "similarities",
    "equal",
    "equivalent",
    "related",
    "区别",
    "相同",
    "和",
    "与",
    "跟",
    "还是",
    "或",
    "及",
];

const CONJUNCTIONS: [&str; 12] = ["and", "or", "vs", "versus", "&", "nor", "/", ",", "和", "与", "跟", "或"];

/// Words that begin a phrase which may move as a whole.
const MARKERS: [&str; 26] = [
    "of", "in", "on", "at", "by", "for", "with", "from", "to", "into", "than", "over", "under", "about", "against",
    "as", "through", "during", "without", "per", "via", "within", "while", "because", "->", "=>",
];

/// Words that end a phrase without beginning one of their own.
const BREAKS: [&str; 30] = [
    "what", "which", "who", "whom", "whose", "when", "where", "why", "how", "is", "are", "was", "were", "do", "does",
    "did", "can", "could", "should", "would", "will", "may", "might", "if", "but", "i", "you", "we", "that", "it",
];

/// The tables above in one: a word may be in several.
static ROLES: LazyLock<HashMap<&str, u8>> = LazyLock::new(|| {
    let mut roles = HashMap::default();
    let tables: [(u8, &[&'static str]); 4] =
        [(SYMMETRY, &SYMMETRIC), (CONJUNCTION, &CONJUNCTIONS), (MARKER, &MARKERS), (BREAK, &BREAKS)];
    for (role, words) in tables {
        for word in words {
            *roles.entry(*word).or_default() |= role;
        }
    }
    roles
});

pub(super) const SYMMETRY: u8 = 1;
pub(super) const CONJUNCTION: u8 = 2;
pub(super) const MARKER: u8 = 4;
pub(super) const BREAK: u8 = 8;

/// Does a word have one of these roles?
pub(super) fn plays(word: &str, roles: u8) -> bool {
    ROLES.get(word).is_some_and(|played| played & roles != 0)
}
