//! How two prompts are worded, in numbers: what a learned judge looks at beside meaning and the guards.
//!
//! Pure and symmetric: the order of a pair never matters. A [`Wording`] is read once for a text; comparing two is cheap.
//! Nothing here decides.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;

use crate::policy::carrying::Carrying;
use crate::policy::frame;
use crate::policy::language::Language;

/// Words that ask. A language model's answer turns on them more than a vector does. Chinese ones are single characters:
/// ideographs and kana are words of their own here.
const ASKING: [&str; 20] = [
    "how", "why", "when", "where", "who", "whom", "whose", "what", "which", "much", "many", "long", "怎", "哪", "谁",
    "何", "几", "啥", "吗", "多",
];
/// Words that deny.
const DENYING: [&str; 20] = [
    "not", "no", "never", "without", "cannot", "nobody", "none", "neither", "nor", "nothing", "unable", "don", "isn",
    "t", "不", "没", "无", "非", "未", "别",
];
/// Courtesies of Chinese, which change nothing.
const COURTESIES: [&str; 8] = ["请问一下", "请问", "你好", "您好", "谢谢", "麻烦问下", "想问一下", "我想知道"];
/// Characters of Chinese that colour a sentence.
const COLOURING: [&str; 8] = ["呢", "啊", "呀", "哦", "嘛", "的", "吗", "吧"];
/// Words without content of their own.
const SMALL: [&str; 75] = [
    "a", "an", "the", "is", "are", "was", "were", "be", "been", "do", "does", "did", "of", "in", "on", "at", "to",
    "for", "and", "or", "i", "my", "me", "you", "your", "it", "its", "this", "that", "with", "by", "from", "as", "can",
    "could", "should", "would", "will", "if", "there", "any", "some", "am", "have", "has", "had", "get", "so", "we",
    "our", "they", "their", "he", "she", "his", "her", "what", "how", "why", "which", "who", "when", "where", "please",
    "的", "了", "吗", "呢", "吧", "啊", "是", "在", "我", "你", "请",
];

/// What is compared of one text's wording.
#[derive(Clone, Debug)]
pub struct Wording {
    language: Language,
    words: Vec<u64>,
    set: BTreeSet<u64>,
    stems: BTreeSet<u64>,
    pairs: BTreeSet<u64>,
    grams: BTreeSet<u64>,
    asking: BTreeSet<u64>,
    denying: BTreeSet<u64>,
    numbers: BTreeSet<u64>,
    capitals: BTreeSet<u64>,
    sentences: usize,
    framed: Vec<u64>,
    carrying: Carrying,
    glued: u64,
    framed_set: BTreeSet<u64>,
}

impl Wording {
    /// Reads a text.
    pub fn of(text: &str) -> Self {
        let folded: String = text.nfkc().collect::<String>().to_lowercase().replace("n't", " not").replace('’', "'");
        let words: Vec<&str> = words(&folded).collect();
        let hashed: Vec<u64> = words.iter().map(|word| hash(word)).collect();
        let pick = |list: &[&str]| words.iter().filter(|word| list.contains(word)).map(|word| hash(word)).collect();
        let content = words.iter().filter(|word| !SMALL.contains(word));
        let digits = words.iter().filter(|word| word.chars().any(|c| c.is_ascii_digit()));
        let unframed = unframed(text);
        let framed: Vec<u64> = unframed.iter().map(|word| hash(word)).collect();
        Self {
            language: Language::of(text),
            glued: hash(&frame::glued(&unframed)),
            framed_set: framed.iter().copied().collect(),
            framed,
            carrying: Carrying::of(&unframed),
            set: hashed.iter().copied().collect(),
            stems: content.map(|word| hash(stem(word))).collect(),
            pairs: hashed.windows(2).map(|pair| pair[0].rotate_left(17) ^ pair[1]).collect(),
            grams: grams(&folded),
            asking: pick(&ASKING),
            denying: pick(&DENYING),
            numbers: digits.map(|word| hash(word)).collect(),
            capitals: capitals(text),
            sentences: folded.split(['.', '!', '?']).filter(|part| part.trim().len() > 1).count(),
            words: hashed,
        }
    }

    /// The language of the text.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Do two English texts differ in nothing but what comes and goes, and in equal words?
    pub fn carries_the_same(&self, other: &Self) -> bool {
        self.language.both(other.language) == Language::English && self.carrying.same(&other.carrying)
    }

    /// What differs between two wordings, under [`NAMES`]; `cosine` is that of the prompts, -1 to 1.
    pub fn compare(&self, other: &Self, cosine: f32) -> [f32; NAMES.len()] {
        let (left, right) = (apart(&self.stems, &other.stems), apart(&other.stems, &self.stems));
        let parity = self.denying.len() % 2 != other.denying.len() % 2;
        [
            alike(&self.set, &other.set),
            alike(&self.stems, &other.stems),
            alike(&self.pairs, &other.pairs),
            alike(&self.grams, &other.grams),
            ratio(self.words.len(), other.words.len()),
            number(self.words.len() + other.words.len()),
            number(left.min(right)),
            number(left.max(right)),
            flag(self.asking == other.asking),
            alike(&self.asking, &other.asking),
            flag(parity),
            number(differing(&self.denying, &other.denying)),
            number(differing(&self.numbers, &other.numbers)),
            number(self.numbers.intersection(&other.numbers).count()),
            number(differing(&self.capitals, &other.capitals)),
            number(self.capitals.intersection(&other.capitals).count()),
            number(self.sentences.abs_diff(other.sentences)),
            flag(self.words.first() == other.words.first()),
            flag(self.framed == other.framed || cosine >= GLUED && self.glued == other.glued),
            alike(&self.framed_set, &other.framed_set),
            flag(self.framed.first() == other.framed.first()),
        ]
    }
}

/// From this cosine on, words that differ in how they are joined only are the same: "water proof", but not "re-sign".
const GLUED: f32 = 0.93;

/// The names of what [`Wording::compare`] gives, in its order.
pub const NAMES: [&str; 21] = [
    "words_alike",
    "content_alike",
    "pairs_alike",
    "grams_alike",
    "length_ratio",
    "length",
    "content_apart_low",
    "content_apart_high",
    "asking_equal",
    "asking_alike",
    "denying_parity",
    "denying_apart",
    "numbers_apart",
    "numbers_common",
    "capitals_apart",
    "capitals_common",
    "sentences_apart",
    "first_word_equal",
    "framed_equal",
    "framed_alike",
    "framed_first_equal",
];

/// Words of letters and digits; each ideograph and each kana is one.
fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(|c: char| !c.is_alphanumeric()).flat_map(cut).filter(|word| !word.is_empty())
}

/// Cuts before and after every character of a script without spaces.
fn cut(word: &str) -> impl Iterator<Item = &str> {
    let unspaced =
        |c: char| matches!(u32::from(c), 0x3005..=0x3007 | 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xF900..=0xFAFF);
    word.split_inclusive(unspaced).flat_map(move |part| {
        let last = part.char_indices().next_back().filter(|(_, c)| unspaced(*c)).map_or(part.len(), |(at, _)| at);
        let (before, after) = part.split_at(last);
        [before, after]
    })
}

/// The words without the frame of the question and without what only colours it.
fn unframed(text: &str) -> Vec<String> {
    let bare = COURTESIES.iter().fold(text.to_owned(), |text, courtesy| text.replace(courtesy, ""));
    let kept = |word: &&str| !word.is_empty() && !COLOURING.contains(word);
    frame::without(&bare)
        .iter()
        .flat_map(|word| cut(word).filter(kept).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// FNV-1a: the same on every machine and in every version, since a trained judge depends on what collides.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The first five characters: crude, and enough to see through an inflection.
fn stem(word: &str) -> &str {
    word.char_indices().nth(5).map_or(word, |(end, _)| &word[..end])
}

fn grams(folded: &str) -> BTreeSet<u64> {
    let chars: Vec<char> = folded.chars().filter(|c| c.is_alphanumeric() || *c == ' ').collect();
    chars.windows(4).map(|gram| hash(&gram.iter().collect::<String>())).collect()
}

/// Capitalised words that do not open the text.
fn capitals(text: &str) -> BTreeSet<u64> {
    let capitalised = |word: &&str| word.chars().next().is_some_and(char::is_uppercase) && *word != "I";
    words(text).skip(1).filter(capitalised).map(hash).collect()
}

/// The share of what is common, 0 to 1; two empty sets are alike.
fn alike(a: &BTreeSet<u64>, b: &BTreeSet<u64>) -> f32 {
    let common = a.intersection(b).count();
    let all = a.len() + b.len() - common;
    if all == 0 { 1.0 } else { number(common) / number(all) }
}

fn apart(a: &BTreeSet<u64>, b: &BTreeSet<u64>) -> usize {
    a.difference(b).count()
}

fn differing(a: &BTreeSet<u64>, b: &BTreeSet<u64>) -> usize {
    a.symmetric_difference(b).count()
}

fn ratio(a: usize, b: usize) -> f32 {
    number(a.min(b)) / number(a.max(b).max(1))
}

fn flag(is: bool) -> f32 {
    f32::from(u8::from(is))
}

#[allow(clippy::cast_precision_loss)] // Counts of words.
fn number(count: usize) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(a: &str, b: &str, name: &str) -> f32 {
        let at = NAMES.iter().position(|known| *known == name).unwrap();
        let (a, b) = (Wording::of(a), Wording::of(b));
        assert_eq!(a.compare(&b, 1.0).map(f32::to_bits), b.compare(&a, 1.0).map(f32::to_bits), "symmetric");
        a.compare(&b, 1.0)[at]
    }

    #[test]
    fn equal_texts_are_alike_in_everything() {
        for name in ["words_alike", "content_alike", "pairs_alike", "grams_alike", "asking_equal", "length_ratio"] {
            assert!((between("How do I pay?", "How do I pay?", name) - 1.0).abs() < 1e-6, "{name}");
        }
        assert!(between("", "", "length").abs() < 1e-6);
    }

    #[test]
    fn joined_words_are_the_same_only_where_the_vectors_are_near() {
        let (one, other) = (Wording::of("Is the pen water proof?"), Wording::of("Is the pen waterproof?"));
        let at = NAMES.iter().position(|known| *known == "framed_equal").unwrap();
        assert!(one.compare(&other, 0.95)[at] > 0.5);
        assert!(one.compare(&other, 0.6)[at] < 0.5);
    }

    #[test]
    fn only_english_texts_carry_the_same() {
        let same = |a: &str, b: &str| Wording::of(a).carries_the_same(&Wording::of(b));
        assert!(same("Is the pool open?", "is pool open"));
        assert!(!same("能退款吗", "能退款"));
    }

    #[test]
    fn each_difference_shows_under_its_name() {
        assert!(between("What is 2+3?", "What is 2+2?", "numbers_apart") > 0.0);
        assert!(between("Can I pay?", "Can't I pay?", "denying_parity") > 0.0);
        assert!(between("How do I pay?", "Why do I pay?", "asking_equal") < 0.5);
        assert!(between("fly to Rome", "fly to Oslo", "capitals_apart") > 1.0);
        assert!(between("payments", "payment", "content_apart_high") < 0.5);
        assert!(between("How do I pay?", "Please tell me how to pay.", "framed_equal") > 0.5);
        assert!(between("One. Two.", "One two.", "sentences_apart") > 0.5);
        assert!(between("能退款", "不能退款", "denying_parity") > 0.0);
        assert!(between("怎么退款", "谁退款", "asking_equal") < 0.5);
        assert!(between("请问怎么退款呢？", "怎么退款", "framed_equal") > 0.5);
        assert!(between("狗咬人", "人咬狗", "words_alike") > 0.99 && between("狗咬人", "人咬狗", "pairs_alike") < 0.5);
    }

    #[test]
    fn ideographs_and_kana_are_words_of_their_own() {
        let cut = |text| words(text).collect::<Vec<_>>();
        assert_eq!(cut("iphone怎么 关机?"), ["iphone", "怎", "么", "关", "机"]);
        assert_eq!(cut("도시 a1b"), ["도시", "a1b"]);
    }
}
