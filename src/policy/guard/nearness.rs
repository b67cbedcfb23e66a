//! How nearly two texts say the same, word for word.
//!
//! A difference weighs what it stands out against. "Two" against "three" decides between two texts that are otherwise
//! equal; between two retellings of one story the numbers of one side alone decide nothing, and a guard that vetoes them
//! there costs hits and saves none. So the guards ask this module how close the wordings are before they trust a
//! difference that could be by the way.

use super::lexicon;
use super::negation;
use super::numerals;
use super::quantity;
use super::stem::{mistyped, related};
use super::text::{Kind, Text, Token};

/// More leftover words than this are not compared one by one: the wordings are far apart anyway.
const FEW: usize = 8;

/// A word with content.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// The sense that it shares with its synonyms, or itself.
    key: u64,
    /// As compared by people: folded.
    pub word: String,
    pub stem: String,
    pub kind: Kind,
    /// Stands with a capital where that marks a name.
    pub named: bool,
}

impl Unit {
    /// The same word, a form of it, a slip, or a synonym.
    pub(super) fn means(&self, other: &Self) -> bool {
        self.same_word(other) || self.synonym(other)
    }

    /// The same word, a form of it, or a slip.
    pub(super) fn same_word(&self, other: &Self) -> bool {
        if self.stem == other.stem {
            return true;
        }
        if self.kind != Kind::Word || other.kind != Kind::Word {
            return false;
        }
        let name = self.named && other.named;
        related(&self.word, &other.word) || (!name && mistyped(&self.word, &other.word))
    }

    /// Has it a sense that the lexicon knows, so that other words may say the same?
    pub(super) fn common(&self) -> bool {
        !lexicon::senses(&self.stem).is_empty()
    }

    fn synonym(&self, other: &Self) -> bool {
        let theirs = lexicon::senses(&other.stem);
        lexicon::senses(&self.stem).iter().any(|sense| theirs.contains(sense))
    }
}

/// The words with content of one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    units: Vec<Unit>,
    /// Keys in order, each with its unit.
    sorted: Vec<(u64, usize)>,
}

impl Content {
    pub(super) fn of(text: &Text) -> Self {
        let tokens = text.tokens.iter().filter(|token| token.weighs() && !negation::is_negator(&token.folded));
        let units: Vec<Unit> = tokens.map(unit).collect();
        let mut sorted: Vec<(u64, usize)> = units.iter().enumerate().map(|(i, unit)| (unit.key, i)).collect();
        sorted.sort_unstable();
        Self { units, sorted }
    }

    /// What both have, and what each has alone.
    pub(super) fn against<'a>(&'a self, other: &'a Self) -> Nearness<'a> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (mut i, mut j, mut common) = (0, 0, 0);
        while i < self.sorted.len() || j < other.sorted.len() {
            match (self.sorted.get(i), other.sorted.get(j)) {
                (Some((a, _)), Some((b, _))) if a == b => (i, j, common) = (i + 1, j + 1, common + 1),
                (Some((a, at)), b) if b.is_none_or(|(b, _)| a < b) => {
                    ours.push(*at);
                    i += 1;
                }
                (_, Some((_, at))) => {
                    theirs.push(*at);
                    j += 1;
                }
                _ => break,
            }
        }
        ours.sort_unstable();
        theirs.sort_unstable();
        let mut found = Nearness { one: self, two: other, common, ours, theirs };
        found.settle();
        found
    }
}

/// What a stem stands for: its first sense, or itself.
pub(super) fn sense(stem: &str) -> u64 {
    lexicon::senses(stem).first().map_or_else(|| hash(stem), |sense| u64::from(*sense) + 2)
}

/// A word with its sense.
pub(super) fn unit(token: &Token) -> Unit {
    let number = quantity::small_word(&token.folded).or(numerals::digit(token)).is_some();
    Unit {
        key: sense(&token.stem),
        word: token.folded.clone(),
        stem: token.stem.clone(),
        kind: if number { Kind::Number } else { token.kind },
        named: token.capitalised() && !token.opens,
    }
}

/// FNV-1a, out of the way of the senses' small numbers.
pub(super) fn hash(word: &str) -> u64 {
    let hash = word
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    hash | 1 << 63
}

/// Two texts laid side by side.
#[derive(Clone, Debug)]
pub(super) struct Nearness<'a> {
    one: &'a Content,
    two: &'a Content,
    common: usize,
    /// Places of the words that only one text has, in order.
    ours: Vec<usize>,
    theirs: Vec<usize>,
}

impl<'a> Nearness<'a> {
    /// Pairs up leftover words that are forms, slips, synonyms or spellings with a space of each other.
    fn settle(&mut self) {
        if self.ours.len() <= FEW && self.theirs.len() <= FEW {
            let (one, two) = (self.one, self.two);
            joined(one, &mut self.ours, two, &mut self.theirs);
            joined(two, &mut self.theirs, one, &mut self.ours);
            let before = self.ours.len();
            let theirs = &mut self.theirs;
            self.ours.retain(|&at| match theirs.iter().position(|&there| one.units[at].means(&two.units[there])) {
                Some(found) => {
                    theirs.remove(found);
                    false
                }
                None => true,
            });
            self.common += before - self.ours.len();
        }
    }

    /// Words that only the first text has.
    pub(super) fn ours(&self) -> impl ExactSizeIterator<Item = &'a Unit> {
        self.ours.iter().map(|&at| &self.one.units[at])
    }

    /// Words that only the second text has.
    pub(super) fn theirs(&self) -> impl ExactSizeIterator<Item = &'a Unit> {
        self.theirs.iter().map(|&at| &self.two.units[at])
    }

    /// Words that both have.
    pub(super) fn common(&self) -> usize {
        self.common
    }

    /// Words of ordinary content that only one text has; numbers have a guard of their own.
    pub(super) fn apart(&self) -> usize {
        self.ours().chain(self.theirs()).filter(|unit| unit.kind != Kind::Number).count()
    }

    /// Nearly the same wording: any difference stands out.
    pub(super) fn close(&self) -> bool {
        let apart = self.apart();
        self.tight() || apart * 3 <= self.common * 2
    }

    /// All the same words but for one on each side.
    pub(super) fn tight(&self) -> bool {
        let plain = |units: &mut dyn Iterator<Item = &Unit>| units.filter(|unit| unit.kind != Kind::Number).count();
        plain(&mut self.ours()) <= 1 && plain(&mut self.theirs()) <= 1
    }

    /// Does one of the texts have no word of its own?
    pub(super) fn within(&self) -> bool {
        self.ours.is_empty() || self.theirs.is_empty()
    }

    /// So short that what each of them says, it asks.
    pub(super) fn brief(&self) -> bool {
        self.one.units.len().max(self.two.units.len()) <= SHORT
    }

    /// Half of the words are the same, or the texts are too short to tell a story.
    pub(super) fn akin(&self) -> bool {
        self.close() || self.brief() || self.apart() <= self.common * 2
    }
}

/// Up to this many words of content, what a text says it asks.
const SHORT: usize = 9;

/// "Smart phone" and "smartphone".
fn joined(one: &Content, ours: &mut Vec<usize>, two: &Content, theirs: &mut Vec<usize>) {
    let mut i = 0;
    while let (Some(&at), Some(&next)) = (ours.get(i), ours.get(i + 1)) {
        let spelt = |there: &usize| {
            let rest = two.units[*there].word.strip_prefix(one.units[at].word.as_str());
            rest.is_some_and(|rest| rest == one.units[next].word)
        };
        match theirs.iter().position(spelt).filter(|_| next == at + 1) {
            Some(found) => {
                theirs.remove(found);
                ours.drain(i..i + 2);
            }
            None => i += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str) -> Content {
        Content::of(&Text::of(text))
    }

    fn left(a: &str, b: &str) -> (Vec<String>, Vec<String>) {
        let (a, b) = (content(a), content(b));
        let near = a.against(&b);
        (near.ours().map(|unit| unit.word.clone()).collect(), near.theirs().map(|unit| unit.word.clone()).collect())
    }

    #[test]
    fn forms_slips_synonyms_and_spaces_do_not_count() {
        for (a, b) in [
            ("How do I buy stamps?", "Where can I purchase a stamp?"),
            ("My favourite colour", "my favorite color"),
            ("a smart phone", "a smartphone"),
            ("recieve a parcel", "receive parcels"),
            ("怎么关闭手机", "如何关掉手机"),
        ] {
            assert_eq!(left(a, b), (vec![], vec![]), "{a} / {b}");
        }
    }

    #[test]
    fn other_words_are_left_over() {
        assert_eq!(left("How do I peel a plum?", "How do I peel a pear?"), (vec!["plum".into()], vec!["pear".into()]));
        assert_eq!(left("什么茶好喝", "什么酒好喝"), (vec!["茶".into()], vec!["酒".into()]));
    }

    #[test]
    fn retellings_are_not_close() {
        let close = |a: &str, b: &str| content(a).against(&content(b)).close();
        assert!(close("How do I peel a plum?", "How do I peel a pear?"));
        assert!(close("Oslo", "Bergen"));
        assert!(!close(
            "My old van does not start on cold mornings after a night of frost, what should I check?",
            "Frost last night, and now the engine of my car stays dead. Any advice on where to look first?"
        ));
    }
}
