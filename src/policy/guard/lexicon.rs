//! The words that the guards know. Plain tables under `lexicon/`, read once; nothing here decides.

use std::collections;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use super::fold::is_han;
use super::stem::stem;

/// FNV-1a: these tables are fixed, so nobody can choose what collides in them, and words are short.
pub(super) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

pub(super) type HashMap<K, V> = collections::HashMap<K, V, BuildHasherDefault<Fnv>>;
pub(super) type HashSet<T> = collections::HashSet<T, BuildHasherDefault<Fnv>>;

const FUNCTION: &str = include_str!("lexicon/function_words.txt");
const HAN_FUNCTION: &str = include_str!("lexicon/han_function.txt");
const SYNONYMS: &str = include_str!("lexicon/synonyms.txt");
const NAMES: &str = include_str!("lexicon/names.txt");
const HAN_NAMES: &str = include_str!("lexicon/han_names.txt");
/// The table of [`super::polarity`].
pub(super) const POLARITY: &str = include_str!("lexicon/polarity.txt");
const UNITS: &str = include_str!("lexicon/units.txt");
/// The table of [`super::time`].
pub(super) const MOMENTS: &str = include_str!("lexicon/moments.txt");
const HAN_WORDS: &str = include_str!("lexicon/han_words.txt");

/// Words without content of their own: order and presence of these never decide alone.
static FUNCTION_WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| words(FUNCTION).chain(words(HAN_FUNCTION)).collect());

/// Names that are names in any casing, each with the spelling that stands for it.
static KNOWN_NAMES: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| words(NAMES).chain(words(HAN_NAMES)).map(spelling).collect());

/// Words that mean one thing with a capital and another without.
static CASED: LazyLock<HashSet<&'static str>> = LazyLock::new(|| words(include_str!("lexicon/cased.txt")).collect());

/// Words, without their accents, that are other words with them.
static ACCENTED: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| words(include_str!("lexicon/accented.txt")).collect());

/// File and domain endings: `notes.txt` and `shop.example` are names, `end.Next` is a missing space.
static ENDINGS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| words(include_str!("lexicon/endings.txt")).collect());

static IRREGULAR: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let mut forms = HashMap::default();
    for line in lines(include_str!("lexicon/irregular.txt")) {
        let mut line = line.split_whitespace();
        if let Some(base) = line.next() {
            forms.extend(line.map(|form| (form, base)));
        }
    }
    forms
});

/// The senses of a word, by its stem: two words that share one may stand for each other.
static SENSES: LazyLock<HashMap<String, Vec<u16>>> = LazyLock::new(|| {
    let mut senses: HashMap<String, Vec<u16>> = HashMap::default();
    for (sense, line) in (0u16..).zip(lines(SYNONYMS)) {
        for word in line.split_whitespace() {
            senses.entry(stem(word)).or_default().push(sense);
        }
    }
    senses
});

static CONFUSABLE: LazyLock<HashSet<(&'static str, &'static str)>> = LazyLock::new(|| {
    let pairs = lines(include_str!("lexicon/confusable.txt")).filter_map(|line| line.split_once(' '));
    pairs.flat_map(|(one, two)| [(one, two), (two, one)]).collect()
});

/// Chinese words of two and more characters by their first one, the longest first.
static HAN: LazyLock<HashMap<char, Vec<Vec<char>>>> = LazyLock::new(|| {
    let mut han: HashMap<char, Vec<Vec<char>>> = HashMap::default();
    let tables = [HAN_FUNCTION, SYNONYMS, HAN_NAMES, POLARITY, UNITS, MOMENTS, HAN_WORDS];
    let all = tables.into_iter().flat_map(words).flat_map(|word| word.split('='));
    for word in all.map(|word| word.chars().collect::<Vec<char>>()) {
        if word.len() > 1 && word.iter().copied().all(is_han) {
            han.entry(word[0]).or_default().push(word);
        }
    }
    for words in han.values_mut() {
        words.sort_unstable_by_key(|word| std::cmp::Reverse(word.len()));
        words.dedup();
    }
    han
});

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
pub(crate) fn is_function_word(folded: &str) -> bool {
    FUNCTION_WORDS.contains(folded)
}

/// The name that a word stands for in any casing.
pub(super) fn known_name(folded: &str) -> Option<&'static str> {
    KNOWN_NAMES.get(folded).copied()
}

/// Does a capital change what this word means?
pub(super) fn is_cased(folded: &str) -> bool {
    CASED.contains(folded)
}

/// Do accents make another word of it?
pub(super) fn is_accented(bare: &str) -> bool {
    ACCENTED.contains(bare)
}

/// Is this the ending of a file or domain name?
pub(super) fn is_ending(ending: &str) -> bool {
    ENDINGS.contains(ending)
}

/// Is this an irregular form of another word: "went", "seen"?
pub(crate) fn is_irregular(folded: &str) -> bool {
    irregular(folded).is_some_and(|base| base != folded)
}

/// The form that stands for an irregular one.
pub(super) fn irregular(folded: &str) -> Option<&'static str> {
    IRREGULAR.get(folded).copied()
}

/// The senses that a stem may have in common with others.
pub(super) fn senses(stem: &str) -> &'static [u16] {
    SENSES.get(stem).map_or(&[], Vec::as_slice)
}

/// Two words that look like a slip and are none.
pub(super) fn confusable(one: &str, two: &str) -> bool {
    CONFUSABLE.contains(&(one, two))
}

/// The length of the longest known Chinese word that these characters begin with; 1 where none does.
pub(super) fn han_word(characters: &[char]) -> usize {
    let known = characters.first().and_then(|first| HAN.get(first));
    known.into_iter().flatten().find(|word| characters.starts_with(word)).map_or(1, Vec::len)
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

    #[test]
    fn synonyms_share_a_sense() {
        let share = |a: &str, b: &str| senses(&stem(a)).iter().any(|sense| senses(&stem(b)).contains(sense));
        assert!(share("buying", "purchased") && share("怎么", "如何"));
        assert!(!share("buy", "sell") && !share("table", "chair"));
    }

    #[test]
    fn the_longest_chinese_word_counts() {
        let length = |text: &str| han_word(&text.chars().collect::<Vec<char>>());
        assert_eq!((length("为什么不"), length("不同的"), length("不要")), (3, 2, 1));
        assert_eq!(length(""), 1);
    }
}
