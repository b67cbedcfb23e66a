//! Negation: does one text deny what the other says?
//!
//! Three signs, each enough: one text negates and the other does not; the texts stand at opposite poles of an axis
//! ([`super::polarity`]); one text has a word that the other has with a negating prefix. An idiom whose negation changes
//! nothing ("why not try X") counts as a negation: a wrong veto costs one hit, a missed one a wrong answer. Only between
//! long texts does a negation pass that denies nothing the other text speaks of.

use super::lexicon;
use super::polarity::Polarity;
use super::text::{Kind, Text, Token, stem};

const NEGATORS: [&str; 40] = [
    "not",
    "no",
    "never",
    "without",
    "cannot",
    "none",
    "neither",
    "nor",
    "hardly",
    "barely",
    "scarcely",
    "nobody",
    "nothing",
    "nowhere",
    "unable",
    "avoid",
    "avoiding",
    "avoids",
    "avoided",
    "prevent",
    "preventing",
    "prevents",
    "prevented",
    "except",
    "cant",
    "dont",
    "doesnt",
    "didnt",
    "wont",
    "isnt",
    "arent",
    "wasnt",
    "werent",
    "couldnt",
    "shouldnt",
    "wouldnt",
    "havent",
    "hasnt",
    "hadnt",
    "lacks",
];

const HAN_NEGATORS: [&str; 8] = ["不", "没", "無", "无", "非", "未", "别", "勿"];

/// Chinese words in which a negating character negates nothing; the character before or after decides.
const HAN_WORDS: [(&str, &str); 12] = [
    ("不", "同"),
    ("不", "仅"),
    ("不", "管"),
    ("不", "过"),
    ("非", "常"),
    ("无", "论"),
    ("别", "人"),
    ("别", "的"),
    ("非", "洲"),
    ("未", "来"),
    ("特", "别"),
    ("差", "不"),
];

const PREFIXES: [&str; 9] = ["un", "in", "im", "il", "ir", "dis", "non", "mis", "anti"];

/// Words that only look as if they began with a negating prefix.
const NOT_PREFIXED: [&str; 32] = [
    "understand",
    "under",
    "inform",
    "income",
    "impress",
    "improve",
    "input",
    "inside",
    "interest",
    "discover",
    "display",
    "discount",
    "increase",
    "install",
    "invent",
    "import",
    "impact",
    "mistake",
    "indeed",
    "instead",
    "disease",
    "unless",
    "until",
    "universe",
    "university",
    "inches",
    "insurance",
    "intend",
    "intense",
    "imply",
    "mission",
    "antique",
];

/// From this many words on, a text tells a story in which single negations may be by the way.
const LONG: usize = 13;

/// How many content words after a negator it is taken to deny.
const SCOPE: usize = 3;

/// A negating word, and the stems that it denies.
#[derive(Clone, Debug)]
struct Negator {
    word: String,
    denied: Vec<String>,
}

/// What a text negates.
#[derive(Clone, Debug, Default)]
pub(super) struct Negation {
    negators: Vec<Negator>,
    /// Stems that stand with a negating prefix or suffix, and the word as written.
    prefixed: Vec<(String, String)>,
    stems: Vec<String>,
    polarity: Polarity,
}

impl Negation {
    pub(super) fn of(text: &Text) -> Self {
        let mut found = Self { polarity: Polarity::of(text), ..Self::default() };
        for (i, token) in text.tokens.iter().enumerate() {
            if negates(text, i, token) {
                found.negators.push(Negator { word: token.folded.clone(), denied: denied(text, i) });
            } else if token.kind == Kind::Word {
                let negated = negated_stem(text, i).map(|stem| (stem, token.folded.clone()));
                let bare = token.folded.strip_suffix("ful").map_or_else(|| token.stem.clone(), stem);
                // The member of "non-member" does not stand there plain.
                if negated.as_ref().is_none_or(|(stem, _)| *stem != bare) {
                    found.stems.push(bare);
                }
                found.prefixed.extend(negated);
            }
        }
        found.stems.sort_unstable();
        found
    }

    fn has(&self, stem: &str) -> bool {
        self.stems.binary_search_by(|other| other.as_str().cmp(stem)).is_ok()
    }

    /// A word of this text that negates a word of the other, which has it plain.
    fn denies(&self, other: &Self) -> Option<&(String, String)> {
        self.prefixed.iter().find(|(stem, _)| {
            other.has(stem) && !self.has(stem) && !other.prefixed.iter().any(|(theirs, _)| theirs == stem)
        })
    }

    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        if let Some((ours, theirs)) = self.polarity.clash(&other.polarity) {
            return Some(format!("{ours:?} against {theirs:?}"));
        }
        if let Some((plain, negated)) = self.denies(other).or_else(|| other.denies(self)) {
            return Some(format!("{negated:?} against {plain:?}"));
        }
        let (ours, theirs) = (self.negators.len(), other.negators.len());
        if ours % 2 == theirs % 2 && (ours == 0) == (theirs == 0) {
            return None;
        }
        let (more, fewer) = if ours > theirs { (self, other) } else { (other, self) };
        let short = self.stems.len().min(other.stems.len()) < LONG;
        let spoken_of = |negator: &&Negator| negator.denied.is_empty() || negator.denied.iter().any(|s| fewer.has(s));
        let negator = more.negators.iter().find(|negator| short || spoken_of(negator))?;
        Some(format!("{:?} in one text only, or not as often", negator.word))
    }
}

/// The stems of the content words that follow the negator at `i` in its clause.
fn denied(text: &Text, i: usize) -> Vec<String> {
    let rest = text.tokens[i + 1..].iter();
    let clause = rest.take_while(|t| {
        !matches!(
            t.folded.as_str(),
            "." | "?" | "!" | ";" | "and" | "but" | "because" | "since" | "so" | "when" | "while"
        )
    });
    let content = clause.filter(|t| t.wordlike() && !lexicon::is_function_word(&t.folded));
    content.take(SCOPE).map(|t| t.stem.clone()).collect()
}

fn negates(text: &Text, i: usize, token: &Token) -> bool {
    if token.kind == Kind::Han {
        return HAN_NEGATORS.contains(&token.raw.as_str()) && !empty_han(text, i);
    }
    if token.kind != Kind::Word {
        return false;
    }
    let word = token.folded.as_str();
    // "Gluten-free" is without gluten.
    let freed = word == "free" && token.glued && text.before(i).is_some_and(|t| t.is("-"));
    if freed {
        return true;
    }
    if !(NEGATORS.contains(&word) || word.ends_with("n't")) {
        return false;
    }
    let before = text.before(i).map(|t| t.folded.as_str());
    let after = text.ahead(i, 1);
    match word {
        // "No. 7" is a number, "No, ..." answers; "whether or not" and "not only" deny nothing.
        "no" => {
            let dot = after.is_some_and(|t| t.is(".")) && text.ahead(i, 2).is_some_and(|t| t.kind == Kind::Number);
            let answer = token.opens && after.is_some_and(|t| t.is(","));
            !dot && !answer && after.is_none_or(|t| t.kind != Kind::Number)
        }
        "not" => before != Some("or") && after.is_none_or(|t| t.folded != "only"),
        // "Neither A nor B" is one negation.
        "nor" => !text.tokens.iter().any(|t| t.folded == "neither"),
        _ => true,
    }
}

fn empty_han(text: &Text, i: usize) -> bool {
    let at = |index: Option<usize>| index.and_then(|index| text.tokens.get(index)).map_or("", |t| t.raw.as_str());
    let (before, here, after) = (at(i.checked_sub(1)), at(Some(i)), at(Some(i + 1)));
    // 是不是, 能不能, 有没有: a question, not a denial.
    let doubled = !before.is_empty() && before == after;
    doubled || HAN_WORDS.contains(&(here, after)) || HAN_WORDS.contains(&(before, here))
}

/// The stem that a word negates by a prefix, `-less`, or a separate `non-`.
fn negated_stem(text: &Text, i: usize) -> Option<String> {
    let token = &text.tokens[i];
    let word = token.folded.as_str();
    let parted = i >= 2 && token.glued && text.tokens[i - 1].is("-");
    if parted && PREFIXES.contains(&text.tokens[i - 2].folded.as_str()) {
        return Some(token.stem.clone());
    }
    if let Some(base) = word.strip_suffix("less").filter(|base| base.len() >= 3) {
        return Some(stem(base));
    }
    if NOT_PREFIXED.iter().any(|plain| word.starts_with(plain)) {
        return None;
    }
    let base = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix)).filter(|base| base.len() >= 4)?;
    Some(stem(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        Negation::of(&Text::of(a)).difference(&Negation::of(&Text::of(b)))
    }

    #[test]
    fn a_denial_differs_from_the_plain_text() {
        for (a, b) in [
            ("Which nuts may a toddler eat?", "Which nuts may a toddler not eat?"),
            ("Can I paint with primer?", "Can I paint without primer?"),
            ("Why does the pump start?", "Why doesn't the pump start?"),
            ("Is it possible to rent a drone?", "Is it impossible to rent a drone?"),
            ("Is the claim legal?", "Is the claim illegal?"),
            ("Is the dye harmful?", "Is the dye harmless?"),
            ("member rates", "non-member rates"),
            ("How to avoid a flat tyre", "How to get a flat tyre"),
            ("可以喝茶吗", "不可以喝茶吗"),
            ("如何打开灯", "如何关闭灯"),
            (
                "My old van does not start on cold mornings after a night of frost, what should I check first?",
                "My old van does start on cold mornings after a night of frost, what should I check first?",
            ),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn the_same_polarity_in_other_words_passes() {
        for (a, b) in [
            ("Why won't the pump start?", "The pump does not start, why?"),
            ("Is train no. 7 late?", "Is train 7 late?"),
            ("tell me whether or not it rains", "tell me whether it rains"),
            ("neither red nor blue", "not red or blue"),
            ("How do I install a tap?", "What is the way to install a tap?"),
            ("这是不是绿茶", "这是绿茶吗"),
            (
                "I could not sleep on Sunday and since then my left knee hurts when I climb stairs, what helps?",
                "For about a week now my left knee has been hurting when I climb any stairs, what helps against it?",
            ),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }
}
