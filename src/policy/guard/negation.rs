//! Negation: does one text deny what the other says?
//!
//! Three signs: one text negates and the other does not; the texts stand at opposite poles of an axis
//! ([`super::polarity`]); one text has a word that the other has with a negating prefix. Two signs about one word cancel
//! each other ("not possible", "impossible"). A sign weighs where the rest of the wording is the same: two people who
//! tell one story in their own words also deny different things by the way.

use std::sync::LazyLock;

use super::lexicon::{self, HashSet};
use super::nearness::Nearness;
use super::polarity::Polarity;
use super::stem::stem;
use super::text::{Kind, Text, Token};

static NEGATORS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| lexicon::lines(include_str!("lexicon/negators.txt")).flat_map(str::split_whitespace).collect());

static NOT_PREFIXED: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    lexicon::lines(include_str!("lexicon/not_prefixed.txt")).flat_map(str::split_whitespace).collect()
});

const PREFIXES: [&str; 9] = ["un", "non", "dis", "in", "im", "il", "ir", "mis", "anti"];

/// Prefixes of which one turns the other round: hypertension, hypotension.
const OPPOSED: [(&str, &str); 12] = [
    ("hyper", "hypo"),
    ("pre", "post"),
    ("over", "under"),
    ("inter", "intra"),
    ("im", "ex"),
    ("in", "ex"),
    ("macro", "micro"),
    ("homo", "hetero"),
    ("mono", "poly"),
    ("pro", "anti"),
    ("super", "sub"),
    ("up", "down"),
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
    /// The stem right behind it: the "rich" of "not a rich man".
    next: Option<String>,
}

/// What a text negates.
#[derive(Clone, Debug, Default)]
pub(super) struct Negation {
    negators: Vec<Negator>,
    /// Stems that stand with a negating prefix or suffix, and the word as written.
    prefixed: Vec<(String, String)>,
    /// Words that begin with a prefix of [`OPPOSED`], by what follows it.
    opposed: Vec<(&'static str, String)>,
    /// Words of content that stand there plain, sorted.
    stems: Vec<String>,
    /// How many words there are.
    length: usize,
    polarity: Polarity,
}

impl Negation {
    pub(super) fn of(text: &Text) -> Self {
        let mut found = Self { polarity: Polarity::of(text), ..Self::default() };
        for (i, token) in text.tokens.iter().enumerate() {
            if negates(text, i, token) {
                let word = token.folded.clone();
                found.negators.push(Negator { word, denied: denied(text, i), next: next(text, i) });
            } else if token.kind == Kind::Word {
                found.length += 1;
                if token.function && token.folded.len() < 4 {
                    continue;
                }
                let negated = negated_stem(text, i).map(|stem| (stem, token.folded.clone()));
                let bare = bare(token);
                // The member of "non-member" does not stand there plain.
                if negated.as_ref().is_none_or(|(stem, _)| *stem != bare) {
                    found.stems.push(bare);
                }
                found.prefixed.extend(negated);
                found.opposed.extend(prefix(text, i));
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

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        let close = near.close();
        if !close && !near.brief() {
            return None;
        }
        if let Some((ours, theirs)) = self.polarity.clash(&other.polarity, near) {
            let cancelled = self.only_denied(ours, other) || other.only_denied(theirs, self);
            return (!cancelled).then(|| format!("{ours:?} against {theirs:?}"));
        }
        if let Some((plain, negated)) = self.denies(other).or_else(|| other.denies(self)) {
            let only = |word: &str| self.only_denied(word, other) || other.only_denied(word, self);
            return (!only(plain) && !only(negated)).then(|| format!("{negated:?} against {plain:?}"));
        }
        if !close {
            return None;
        }
        self.turned(other).or_else(|| self.denied_more(other).filter(|_| !self.replaced(other, near)))
    }

    /// "Not open" against "covert": whether the other word is the opposite is for the verifier to say.
    fn replaced(&self, other: &Self, near: &Nearness<'_>) -> bool {
        let (mut ours, mut theirs) = (near.ours(), near.theirs());
        let (Some(one), Some(two), None, None) = (ours.next(), theirs.next(), ours.next(), theirs.next()) else {
            return false;
        };
        let denies = |side: &Self, word: &str| side.negators.iter().any(|n| n.next.as_deref() == Some(bare_stem(word)));
        denies(self, &one.stem) || denies(other, &two.stem)
    }

    /// Does one text deny more often than the other?
    pub(super) fn alone(&self, other: &Self) -> bool {
        self.negators.len() % 2 != other.negators.len() % 2
    }

    /// Do the texts stand at opposite poles, or deny by a prefix?
    pub(super) fn opposed(&self, other: &Self, near: &Nearness<'_>) -> bool {
        let poles = self.polarity.clash(&other.polarity, near).is_some();
        poles || self.denies(other).is_some() || other.denies(self).is_some()
    }

    /// Does a negator of this text stand right before the word, and the other text has none to match?
    fn only_denied(&self, word: &str, other: &Self) -> bool {
        let first = stem(word.split(' ').next().unwrap_or_default());
        let first = bare_stem(&first);
        let denied = self.negators.iter().any(|negator| negator.next.as_deref() == Some(first));
        denied && self.negators.len() % 2 != other.negators.len() % 2
    }

    /// One text with the opposite prefix on the same word.
    fn turned(&self, other: &Self) -> Option<String> {
        let against = |(ours, rest): &(&'static str, String), (theirs, their_rest): &(&'static str, String)| {
            let turned = OPPOSED.iter().any(|(a, b)| (a, b) == (ours, theirs) || (b, a) == (ours, theirs));
            turned && rest == their_rest
        };
        let (ours, theirs) = self.opposed.iter().find_map(|ours| {
            let theirs = other.opposed.iter().find(|theirs| against(ours, theirs))?;
            Some((ours, theirs))
        })?;
        Some(format!("{:?} against {:?}", ours.0, theirs.0))
    }

    fn denied_more(&self, other: &Self) -> Option<String> {
        let (ours, theirs) = (self.negators.len(), other.negators.len());
        if ours % 2 == theirs % 2 && (ours == 0) == (theirs == 0) {
            return None;
        }
        let (more, fewer) = if ours > theirs { (self, other) } else { (other, self) };
        let short = self.length.min(other.length) < LONG;
        let spoken_of = |negator: &&Negator| negator.denied.is_empty() || negator.denied.iter().any(|s| fewer.has(s));
        let negator = more.negators.iter().find(|negator| short || spoken_of(negator))?;
        Some(format!("{:?} in one text only, or not as often", negator.word))
    }
}

/// A word that denies, or an auxiliary that does.
pub(super) fn is_negator(folded: &str) -> bool {
    folded.ends_with("n't") || NEGATORS.contains(folded)
}

fn bare(token: &Token) -> String {
    token.folded.strip_suffix("ful").map_or_else(|| token.stem.clone(), stem)
}

fn bare_stem(stem: &str) -> &str {
    stem.strip_suffix("ful").unwrap_or(stem)
}

/// The stems of the content words that follow the negator at `i` in its clause.
fn denied(text: &Text, i: usize) -> Vec<String> {
    let rest = text.tokens[i + 1..].iter();
    let clause = rest.take_while(|t| {
        !t.stops() && !matches!(t.folded.as_str(), "and" | "but" | "because" | "since" | "so" | "when" | "while")
    });
    clause.filter(|t| t.weighs()).take(SCOPE).map(|t| t.stem.clone()).collect()
}

/// The stem right behind the negator, articles and adverbs of degree aside.
fn next(text: &Text, i: usize) -> Option<String> {
    let degree = |t: &&Token| {
        matches!(
            t.folded.as_str(),
            "a" | "an"
                | "the"
                | "that"
                | "so"
                | "very"
                | "really"
                | "too"
                | "all"
                | "any"
                | "much"
                | "quite"
                | "at"
                | "in"
                | "be"
        )
    };
    let token = text.tokens[i + 1..].iter().find(|t| !degree(t))?;
    let stem = if token.kind == Kind::Word { bare(token) } else { token.stem.clone() };
    token.wordlike().then(|| bare_stem(&stem).to_owned())
}

fn negates(text: &Text, i: usize, token: &Token) -> bool {
    let word = token.folded.as_str();
    match token.kind {
        Kind::Han => NEGATORS.contains(word) && !empty_han(text, i),
        Kind::Word => negates_in_words(text, i, token),
        _ => false,
    }
}

fn negates_in_words(text: &Text, i: usize, token: &Token) -> bool {
    let word = token.folded.as_str();
    // "Gluten-free" is without gluten.
    if word == "free" && token.glued && text.before(i).is_some_and(|t| t.is("-")) {
        return true;
    }
    let after = text.ahead(i, 1);
    let gerund = |ahead: usize| text.ahead(i, ahead).is_some_and(|t| t.folded.ends_with("ing"));
    let from = |ahead: usize| text.ahead(i, ahead).is_some_and(|t| t.folded == "from") && gerund(ahead + 1);
    match word {
        "stop" | "stops" | "stopped" => return gerund(1) || (2..5).any(from),
        // "Keep the milk from boiling", but not "keep from Monday on".
        "keep" | "keeps" | "kept" | "protect" | "protects" | "protected" | "save" | "saves" => return (2..5).any(from),
        // "Apart from Lund", "aside from Lund".
        "apart" | "aside" => return after.is_some_and(|t| t.folded == "from"),
        _ => {}
    }
    if !is_negator(word) {
        return false;
    }
    let before = text.before(i).map(|t| t.folded.as_str());
    match word {
        // "No. 7" is a number, "No, ..." answers; "whether or not" and "not only" deny nothing.
        "no" => {
            let dot = after.is_some_and(|t| t.is(".")) && text.ahead(i, 2).is_some_and(|t| t.kind == Kind::Number);
            let answer = token.opens && after.is_some_and(|t| t.is(","));
            !dot && !answer && after.is_none_or(|t| t.kind != Kind::Number)
        }
        "not" => {
            let why = before == Some("why") && after.is_none_or(|t| t.kind == Kind::Symbol);
            before != Some("or") && !why && after.is_none_or(|t| t.folded != "only")
        }
        // "Neither A nor B" is one negation.
        "nor" => !text.tokens.iter().any(|t| t.folded == "neither"),
        // "Why don't I try", "isn't it?": the tag of a question denies nothing.
        _ if word.ends_with("n't") => !tag(text, i),
        _ => true,
    }
}

/// "..., isn't it?" or "..., aren't you?" at the end.
fn tag(text: &Text, i: usize) -> bool {
    let comma = text.before(i).is_some_and(|t| t.is(","));
    let short = text.ahead(i, 2).is_none_or(|t| t.kind == Kind::Symbol);
    comma && short && text.ahead(i, 1).is_some_and(|t| t.function)
}

/// 是不是, 有没, 好不?, 不是…吗: a question, not a denial.
fn empty_han(text: &Text, i: usize) -> bool {
    let raw = |token: Option<&Token>| token.map_or("", |t| t.raw.as_str()).to_owned();
    let (before, after) = (raw(text.before(i)), raw(text.ahead(i, 1)));
    let repeated = before.chars().last().is_some_and(|c| after.starts_with(c));
    let ends = text.tokens[i + 1..]
        .iter()
        .all(|t| t.kind == Kind::Symbol || (t.function && t.kind == Kind::Han && t.raw.chars().count() == 1));
    let asks = |word: &str| text.tokens.iter().any(|t| t.raw == word);
    let rhetorical = after == "是" && (asks("吗") || asks("嘛") || asks("么"));
    repeated || before == "有" && text.tokens[i].raw == "没" || ends && i > 0 || rhetorical
}

/// The stem that a word negates by a prefix, `-less`, or a separate `non-`.
fn negated_stem(text: &Text, i: usize) -> Option<String> {
    let token = &text.tokens[i];
    let word = token.folded.as_str();
    let parted = i >= 2 && token.glued && text.tokens[i - 1].is("-");
    if parted && PREFIXES.contains(&text.tokens[i - 2].folded.as_str()) && text.tokens[i - 2].folded.len() > 2 {
        return Some(token.stem.clone());
    }
    if let Some(base) = word.strip_suffix("less").filter(|base| base.len() >= 3) {
        return Some(stem(base));
    }
    let base = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix)).filter(|base| base.len() >= 3)?;
    if NOT_PREFIXED.iter().any(|plain| word.starts_with(plain)) {
        return None;
    }
    Some(stem(base))
}

/// The prefix of [`OPPOSED`] that a word has, or that stands before it with a hyphen.
fn prefix(text: &Text, i: usize) -> Option<(&'static str, String)> {
    let token = &text.tokens[i];
    let mut all = OPPOSED.iter().flat_map(|(a, b)| [*a, *b]);
    if i >= 2 && token.glued && text.tokens[i - 1].is("-") {
        let first = text.tokens[i - 2].folded.as_str();
        return all.find(|prefix| *prefix == first).map(|prefix| (prefix, token.stem.clone()));
    }
    let first = token.stem.as_bytes().first();
    all.filter(|prefix| prefix.as_bytes().first() == first).find_map(|prefix| {
        let rest = token.stem.strip_prefix(prefix).filter(|rest| rest.len() >= 3)?;
        Some((prefix, rest.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Negation::of, Negation::difference)
    }

    #[test]
    fn a_denial_differs_from_the_plain_text() {
        for (a, b) in [
            ("Which nuts may a toddler eat?", "Which nuts may a toddler not eat?"),
            ("Can I paint with primer?", "Can I paint without primer?"),
            ("Why does the pump start?", "Why doesn't the pump start?"),
            ("Is it possible to rent a drone?", "Is it impossible to rent a drone?"),
            ("Is the claim legal?", "Is the claim illegal?"),
            ("How do I boil milk?", "How do I keep milk from boiling?"),
            ("How do I wilt spinach?", "How do I protect spinach from wilting?"),
            ("Apart from Lund, where is it taught?", "In Lund, where is it taught?"),
            ("Is the dye harmful?", "Is the dye harmless?"),
            ("member rates", "non-member rates"),
            ("How to avoid a flat tyre", "How to get a flat tyre"),
            ("可以喝茶吗", "不可以喝茶吗"),
            ("如何打开灯", "如何关闭灯"),
            ("孕妇能吃螃蟹吗", "孕妇不能吃螃蟹吗"),
            ("如何增肥", "如何减肥"),
            ("怎么买基金", "怎么卖基金"),
            ("饭前吃药", "饭后吃药"),
            ("最多带几人", "最少带几人"),
            ("国内航班", "国外航班"),
            ("登录账号", "注销账号"),
            ("symptoms of hyperthermia", "symptoms of hypothermia"),
            ("Should I water it in winter?", "Should I stop watering it in winter?"),
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
            ("How do I keep milk from boiling?", "How do I prevent milk from boiling?"),
            ("Which games were saved from Monday?", "Which games did I save from Monday?"),
            ("Tell parts apart", "Tell the parts apart"),
            ("tell me whether or not it rains", "tell me whether it rains"),
            ("neither red nor blue", "not red or blue"),
            ("How do I install a tap?", "What is the way to install a tap?"),
            ("这是不是绿茶", "这是绿茶吗"),
            ("有没有绿茶", "有绿茶吗"),
            ("特别的茶", "特别好的茶"),
            ("It is not possible to park", "It is impossible to park"),
            ("The dog is not rich", "The dog is poor"),
            ("It is nice, isn't it?", "It is nice"),
            (
                "I could not sleep on Sunday and since then my left knee hurts when I climb stairs, what helps?",
                "For about a week now my left knee has been hurting when I climb any stairs, what helps against it?",
            ),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }
}
