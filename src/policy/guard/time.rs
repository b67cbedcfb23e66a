//! Words that tie a question to the moment it is asked.
//!
//! Two uses: [`time_sensitive`] finds prompts whose right answer moves, and the guard keeps "today" from answering
//! "tomorrow". No clock: what "today" is does not matter here, only that it was said.

use std::cell::LazyCell;
use std::sync::LazyLock;

use super::account;
use super::lexicon::{self, HashMap};
use super::nearness::Nearness;
use super::text::{Kind, Text};

/// A phrase, what it stands for, and whether a text that lacks it may mean the same.
struct Moment {
    phrase: Vec<&'static str>,
    name: &'static str,
    implied: bool,
    shown: String,
}

/// The moments of `lexicon/moments.txt` by the first word of their phrases.
static MOMENTS: LazyLock<HashMap<&str, Vec<Moment>>> = LazyLock::new(|| {
    let mut by_word: HashMap<&str, Vec<Moment>> = HashMap::default();
    for line in lexicon::lines(lexicon::MOMENTS) {
        let implied = line.starts_with('~');
        let mut words = line.trim_start_matches('~').split_whitespace();
        let Some(name) = words.next() else { continue };
        for shown in words {
            let phrase: Vec<&str> = shown.split('_').collect();
            let moment = Moment { name, implied, shown: shown.replace('_', " "), phrase };
            by_word.entry(moment.phrase[0]).or_default().push(moment);
        }
    }
    by_word
});

/// In somebody's account of themselves these say since when, and the answer stays.
const SINCE: [&str; 16] = [
    "now",
    "right now",
    "just now",
    "is now",
    "are now",
    "so far",
    "currently",
    "at the moment",
    "at present",
    "these days",
    "recently",
    "lately",
    "现在",
    "目前",
    "最近",
    "近来",
];

/// Before "current", the electric kind.
const ELECTRIC: [&str; 10] =
    ["electric", "electrical", "alternating", "direct", "ac", "dc", "eddy", "ocean", "high", "of"];

/// The relative times of one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments {
    found: Vec<(&'static str, bool, &'static str)>,
}

impl Moments {
    pub(super) fn of(text: &Text) -> Self {
        Self { found: (0..text.tokens.len()).flat_map(|i| found_at(text, i)).collect() }
    }

    /// Only texts that both name a time can name different ones; a text that names none leaves it open, and people who
    /// tell the same story in their own words name different days of it.
    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        if !near.close() {
            return None;
        }
        let told = |side: &Self| -> Vec<(&'static str, &'static str)> {
            side.found.iter().filter(|(_, implied, _)| !implied).map(|(name, _, shown)| (*name, *shown)).collect()
        };
        let (ours, theirs) = (told(self), told(other));
        let missing = |one: &[(&'static str, &'static str)], two: &[(&'static str, &'static str)]| {
            one.iter().find(|(name, _)| !two.iter().any(|(other, _)| name == other)).map(|(_, shown)| *shown)
        };
        let differs = missing(&ours, &theirs).is_some() || missing(&theirs, &ours).is_some();
        let shown = |one, two, all: &[(&'static str, &'static str)]| missing(one, two).or(all.first().map(|(_, s)| *s));
        let (ours, theirs) = (shown(&ours, &theirs, &ours)?, shown(&theirs, &ours, &theirs)?);
        differs.then(|| format!("{ours} against {theirs}"))
    }
}

/// The moments that a token begins.
fn found_at(text: &Text, i: usize) -> impl Iterator<Item = (&'static str, bool, &'static str)> {
    let word = text.tokens.get(i).filter(|token| token.wordlike()).map(|token| token.folded.as_str());
    let known = word.and_then(|word| MOMENTS.get(word)).into_iter().flatten();
    let here = known.filter(move |moment| stands_at(text, i, moment));
    let now = word.is_some_and(|_| final_now(text, i)).then_some(("now", true, "now"));
    here.map(|moment| (moment.name, moment.implied, moment.shown.as_str())).chain(now)
}

fn stands_at(text: &Text, i: usize, moment: &Moment) -> bool {
    let words = moment.phrase.iter().enumerate();
    let all = words.clone().all(|(ahead, word)| text.ahead(i, ahead).is_some_and(|t| t.folded == *word));
    let deadline =
        moment.name == "latest" && i >= 2 && text.tokens[i - 1].folded == "the" && text.tokens[i - 2].folded == "at";
    all && !deadline && (moment.name != "current" || !electric(text, i))
}

fn electric(text: &Text, i: usize) -> bool {
    let before = text.before(i).map(|t| t.folded.as_str());
    let ends = text.ahead(i, 1).is_none_or(|t| t.kind == Kind::Symbol);
    ends || before.is_some_and(|word| ELECTRIC.contains(&word))
}

/// "Who leads now?" but not "now that it rains" or "from now on".
fn final_now(text: &Text, i: usize) -> bool {
    let token = &text.tokens[i];
    let told = text.before(i).is_some_and(|t| matches!(t.folded.as_str(), "right" | "just" | "of" | "from" | "until"));
    token.folded == "now" && !told && text.ahead(i, 1).is_none_or(|t| t.kind == Kind::Symbol)
}

/// The word that makes the right answer to a prompt move with time, if there is one.
pub fn time_sensitive(text: &str) -> Option<&'static str> {
    let text = Text::of(text);
    let told = LazyCell::new(|| account::told(&text));
    let moving = |i: usize| {
        let since = |shown: &&str| SINCE.contains(shown) && told.iter().any(|sentence| sentence.contains(&i));
        found_at(&text, i).find(|(_, _, shown)| !since(shown)).map(|(.., shown)| shown)
    };
    (0..text.tokens.len()).find_map(moving)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_moment_are_found() {
        for (text, word) in [
            ("What is on the menu today?", "today"),
            ("Who is president right now?", "right now"),
            ("Who leads now?", "now"),
            ("the latest release of the tool", "latest"),
            ("Which shops open this week?", "this week"),
            ("What is the current price of tin?", "current"),
            ("今天天气怎么样", "今天"),
            ("最新的手机", "最新"),
            ("现在谁是总统", "现在"),
            ("下个月放假几天", "下个月"),
            ("黄金的价格会上涨吗", "会上涨"),
            ("Who is now the head of the bank?", "is now"),
            ("What were last quarter's sales?", "last quarter"),
            ("I moved to Lund. Who is mayor now?", "now"),
            ("I want to know who leads now. Can you say?", "now"),
            ("I bought the latest phone. How do I charge it?", "latest"),
            ("I saw the match yesterday. Who scored?", "yesterday"),
            ("I moved to Lund recently", "recently"),
        ] {
            assert_eq!(time_sensitive(text), Some(word), "{text}");
        }
    }

    #[test]
    fn timeless_prompts_are_not() {
        for text in [
            "What is an electric current?",
            "Now that it rains, what to wear",
            "direct current motors",
            "Define week",
            "Send it by Friday at the latest",
            "I moved to Lund recently. How do I register?",
            "My cough is better now. Can I swim?",
            "我最近搬家了。怎么登记？",
            "现代汉语有多少字",
        ] {
            assert_eq!(time_sensitive(text), None, "{text}");
        }
    }

    #[test]
    fn another_relative_time_differs() {
        let difference = |a: &str, b: &str| super::super::differ(a, b, Moments::of, Moments::difference);
        assert!(difference("Who plays today?", "Who plays tomorrow?").is_some());
        assert!(difference("Who played last week?", "Who played this week?").is_some());
        assert!(difference("Who plays today or tomorrow?", "Who plays today?").is_some());
        assert_eq!(difference("Who plays tonight?", "Who plays?"), None);
        assert_eq!(difference("Who is king right now?", "Who is currently king?"), None);
        assert_eq!(difference("the current price of tin", "the price of tin"), None);
    }
}
