//! What is asked for: a person, a time, a place, a reason, an amount; or which task is set.
//!
//! Vetoes only where it is sure: tasks that differ always do ("summarise", "translate"), questions only when the words
//! around are the same ("when did X open", "why did X open"). "How" and "where" share too many meanings to be told
//! apart ("how/where do I find"), "what" and "which" can ask for anything, and a text that asks several things is left
//! alone.

mod chinese;

use super::lexicon;
use super::nearness::Nearness;
use super::text::{Kind, Text};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Person,
    Time,
    Place,
    Reason,
    Manner,
    Amount,
    Duration,
    Frequency,
    Measure(&'static str),
    Price,
    Meaning,
    Whether,
    /// Which ones, where the same could be counted.
    Ones,
}

impl Wanted {
    fn differs(self, other: Self) -> bool {
        let wide = |wanted: Self| matches!(wanted, Self::Manner | Self::Place);
        let price = |wanted: Self| matches!(wanted, Self::Amount | Self::Price);
        let counted = |one: Self, two: Self| one != Self::Ones || two == Self::Amount;
        let like = wide(self) && wide(other) || price(self) && price(other);
        self != other && !like && counted(self, other) && counted(other, self)
    }
}

/// Chinese question words. 怎么 alone may ask why, and 什么 and 哪个 anything.
const HAN: [(&str, Wanted); 38] = [
    ("谁", Wanted::Person),
    ("哪位", Wanted::Person),
    ("何人", Wanted::Person),
    ("什么人", Wanted::Person),
    ("什么时候", Wanted::Time),
    ("何时", Wanted::Time),
    ("几时", Wanted::Time),
    ("啥时候", Wanted::Time),
    ("什么时间", Wanted::Time),
    ("几点", Wanted::Time),
    ("几号", Wanted::Time),
    ("哪天", Wanted::Time),
    ("哪年", Wanted::Time),
    ("哪里", Wanted::Place),
    ("哪儿", Wanted::Place),
    ("何处", Wanted::Place),
    ("什么地方", Wanted::Place),
    ("为什么", Wanted::Reason),
    ("为何", Wanted::Reason),
    ("为啥", Wanted::Reason),
    ("如何", Wanted::Manner),
    ("怎样", Wanted::Manner),
    ("怎么做", Wanted::Manner),
    ("怎么办", Wanted::Manner),
    ("怎么", Wanted::Manner),
    ("多少", Wanted::Amount),
    ("几", Wanted::Amount),
    ("多少钱", Wanted::Price),
    ("哪些", Wanted::Ones),
    ("多久", Wanted::Duration),
    ("多长时间", Wanted::Duration),
    ("多大", Wanted::Measure("多大")),
    ("多高", Wanted::Measure("多高")),
    ("多远", Wanted::Measure("多远")),
    ("是什么意思", Wanted::Meaning),
    ("什么意思", Wanted::Meaning),
    ("怎么样", Wanted::Manner),
    ("是否", Wanted::Whether),
];

/// Imperatives that open a prompt, by the task they set.
const TASKS: [(&str, &str); 25] = [
    ("summarise", "summarise"),
    ("summarize", "summarise"),
    ("translate", "translate"),
    ("compare", "compare"),
    ("contrast", "compare"),
    ("proofread", "correct"),
    ("correct", "correct"),
    ("classify", "classify"),
    ("extract", "extract"),
    ("count", "count"),
    ("rewrite", "rewrite"),
    ("rephrase", "rewrite"),
    ("paraphrase", "rewrite"),
    ("shorten", "shorten"),
    ("expand", "expand"),
    ("explain", "explain"),
    ("describe", "explain"),
    ("define", "explain"),
    ("list", "list"),
    ("delete", "delete"),
    ("sort", "sort"),
    ("refactor", "refactor"),
    ("debug", "debug"),
    ("polish", "rewrite"),
    ("implement", "implement"),
];

/// What one text asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    wanted: Option<(Wanted, String)>,
    task: Option<(&'static str, &'static str)>,
    content: Vec<String>,
    /// 是什么 and no more: what a thing is.
    defines: bool,
    chinese: chinese::Facets,
}

impl Asked {
    pub(super) fn of(text: &Text) -> Self {
        let words: Vec<&str> = text.tokens.iter().filter(|t| t.wordlike()).map(|t| t.folded.as_str()).collect();
        let content = text.tokens.iter().filter(|t| t.wordlike() && !is_asking(&t.folded));
        let mut content: Vec<String> = content.map(|t| t.stem.clone()).collect();
        content.sort_unstable();
        content.dedup();
        let first =
            text.tokens.iter().find(|t| t.kind == Kind::Word && !matches!(t.folded.as_str(), "please" | "kindly"));
        let task = first.and_then(|t| TASKS.iter().find(|(word, _)| *word == t.folded)).copied();
        let defines =
            matches!(words.as_slice(), [.., "是", "什么" | "啥"] | [.., "什么", "是", _] | ["什么", "是" | "叫", ..]);
        Self { wanted: wanted(&words), task, content, defines, chinese: chinese::Facets::of(text) }
    }

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        if let (Some((ours, task)), Some((theirs, their_task))) = (self.task, other.task)
            && task != their_task
        {
            return Some(format!("{ours:?} against {theirs:?}"));
        }
        match (&self.wanted, &other.wanted) {
            (None, Some((_, word))) | (Some((_, word)), None)
                if self.defines != other.defines && near.within() && near.common() > 0 =>
            {
                Some(format!("what it is against {word:?}"))
            }
            (Some((ours, word)), Some((theirs, their_word)))
                if word != "怎么"
                    && their_word != "怎么"
                    && ours.differs(*theirs)
                    && (self.content == other.content || near.apart() == 0) =>
            {
                Some(format!("{word:?} against {their_word:?}"))
            }
            _ => self.chinese.difference(&other.chinese, near),
        }
    }
}

/// Question words and what goes with them, which are not content.
fn is_asking(folded: &str) -> bool {
    lexicon::is_function_word(folded)
        || matches!(
            folded,
            "long"
                | "often"
                | "old"
                | "far"
                | "tall"
                | "high"
                | "big"
                | "large"
                | "heavy"
                | "deep"
                | "wide"
                | "fast"
                | "come"
                | "time"
                | "place"
                | "reason"
                | "person"
        )
}

/// What the question words ask for, when they all ask for one thing; which ones, when they ask for nothing else.
fn wanted(words: &[&str]) -> Option<(Wanted, String)> {
    let all = (0..words.len()).filter_map(|i| asks(words[i], words.get(i + 1).copied().unwrap_or_default()));
    let (ones, others): (Vec<_>, Vec<_>) = all.partition(|(wanted, _)| *wanted == Wanted::Ones);
    let Some(first) = others.first() else { return ones.into_iter().next() };
    others.iter().all(|(wanted, _)| wanted == &first.0).then(|| first.clone())
}

/// A plural by its looks, and no verb: "is", "does".
fn several(word: &str) -> bool {
    word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !lexicon::is_function_word(word)
}

/// A question word, read with the word after it.
fn asks(word: &str, next: &str) -> Option<(Wanted, String)> {
    let (wanted, two) = match (word, next) {
        ("who" | "whom" | "whose", _) | ("what" | "which", "person") => (Wanted::Person, false),
        ("when", _) | ("what" | "which", "time" | "day" | "date" | "year") => (Wanted::Time, false),
        ("where", _) | ("what" | "which", "place" | "city" | "country") => (Wanted::Place, false),
        ("what" | "which", next) if several(next) => (Wanted::Ones, true),
        ("why", _) | ("how", "come") | ("what", "reason") => (Wanted::Reason, false),
        ("how", "many" | "much") => (Wanted::Amount, true),
        ("how", "long") => (Wanted::Duration, true),
        ("how", "often") => (Wanted::Frequency, true),
        ("how", "old") => (Wanted::Measure("old"), true),
        ("how", "far") => (Wanted::Measure("far"), true),
        ("how", "tall" | "high") => (Wanted::Measure("tall"), true),
        ("how", "big" | "large") => (Wanted::Measure("big"), true),
        ("how", "heavy") => (Wanted::Measure("heavy"), true),
        ("how", "deep") => (Wanted::Measure("deep"), true),
        ("how", "wide") => (Wanted::Measure("wide"), true),
        ("how", "fast") => (Wanted::Measure("fast"), true),
        ("how", _) => (Wanted::Manner, false),
        _ if word.is_ascii() => return None,
        _ => return HAN.iter().find(|(han, _)| *han == word).map(|(_, wanted)| (*wanted, word.to_owned())),
    };
    Some((wanted, if two { format!("{word} {next}") } else { word.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Asked::of, Asked::difference)
    }

    #[test]
    fn another_thing_asked_for_differs() {
        for (a, b) in [
            ("When did the mill open?", "Why did the mill open?"),
            ("Who paints the mill?", "How many paint the mill?"),
            ("How long is the pier?", "How old is the pier?"),
            ("Why does a kettle whistle?", "How does a kettle whistle?"),
            ("Summarise the report", "Translate the report"),
            ("List three metals", "Compare three metals"),
            ("How many planets have rings?", "Which planets have rings?"),
            ("How many herbs grow here?", "What herbs grow here?"),
            ("店里有多少员工", "店里有哪些员工"),
            ("茶馆什么时候开门", "茶馆为什么开门"),
            ("谁开茶馆", "哪里开茶馆"),
            ("绿茶是什么", "绿茶怎么冲泡"),
            ("这本书多少钱", "这本书什么意思"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
        }
    }

    #[test]
    fn the_same_thing_asked_otherwise_passes() {
        for (a, b) in [
            ("When does the mill open?", "What time does the mill open?"),
            ("How can I find a plumber?", "Where can I find a plumber?"),
            ("Why does it rain?", "How come it rains?"),
            ("Explain osmosis", "Define osmosis"),
            ("Which herbs grow here?", "What herbs grow here?"),
            ("Where do which herbs grow?", "Where do herbs grow?"),
            ("What steps do I take to register?", "How do I register?"),
            ("What is the way to skip a step", "How do I skip a step"),
            ("茶馆什么时候开门", "茶馆何时开门"),
            ("如何泡茶", "怎样泡茶"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }
}
