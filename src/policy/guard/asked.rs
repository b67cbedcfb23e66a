//! What is asked for: a person, a time, a place, a reason, an amount; or which task is set.
//!
//! Vetoes only where it is sure: tasks that differ always do ("summarise", "translate"), questions only when their
//! content is the same ("when did X open", "why did X open"). "How" and "where" share too many meanings to be told
//! apart ("how/where do I find"), and "what" and "which" can ask for anything.

use super::lexicon;
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
}

impl Wanted {
    fn differs(self, other: Self) -> bool {
        let wide = |wanted: Self| matches!(wanted, Self::Manner | Self::Place);
        self != other && !(wide(self) && wide(other))
    }
}

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
        Self { wanted: wanted(&words), task, content }
    }

    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        if let (Some((ours, task)), Some((theirs, their_task))) = (self.task, other.task)
            && task != their_task
        {
            return Some(format!("{ours:?} against {theirs:?}"));
        }
        match (&self.wanted, &other.wanted) {
            (Some((ours, word)), Some((theirs, their_word)))
                if ours.differs(*theirs) && self.content == other.content =>
            {
                Some(format!("{word:?} against {their_word:?}"))
            }
            _ => None,
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

/// The first question word, read with the word after it.
fn wanted(words: &[&str]) -> Option<(Wanted, String)> {
    words.iter().enumerate().find_map(|(i, &word)| {
        let next = words.get(i + 1).copied().unwrap_or_default();
        let (wanted, two) = match (word, next) {
            ("who" | "whom" | "whose", _) | ("what" | "which", "person") => (Wanted::Person, false),
            ("when", _) | ("what" | "which", "time" | "day" | "date" | "year") => (Wanted::Time, false),
            ("where", _) | ("what" | "which", "place" | "city" | "country") => (Wanted::Place, false),
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
            _ => return None,
        };
        Some((wanted, if two { format!("{word} {next}") } else { word.to_owned() }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        Asked::of(&Text::of(a)).difference(&Asked::of(&Text::of(b)))
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
            ("What is the way to skip a step", "How do I skip a step"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }
}
