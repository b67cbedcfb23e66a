//! Words that tie a question to the moment it is asked.
//!
//! Two uses: [`time_sensitive`] finds prompts whose right answer moves, and the guard keeps "today" from answering
//! "tomorrow". No clock: what "today" is does not matter here, only that it was said.

use super::text::{Kind, Text};

/// A phrase, what it stands for, and whether a text that lacks it may mean the same.
struct Moment {
    phrase: &'static [&'static str],
    name: &'static str,
    implied: bool,
    shown: &'static str,
}

macro_rules! moments {
    ($($name:literal $implied:literal: $($shown:literal [$($word:literal)+]),+;)*) => {
        &[$($(Moment { phrase: &[$($word),+], name: $name, implied: $implied, shown: $shown }),+),*]
    };
}

const MOMENTS: &[Moment] = moments! {
    "now" true: "right now" ["right" "now"], "just now" ["just" "now"], "as of now" ["as" "of" "now"],
        "at the moment" ["at" "the" "moment"], "at present" ["at" "present"], "currently" ["currently"],
        "nowadays" ["nowadays"], "these days" ["these" "days"], "so far" ["so" "far"], "现在" ["现" "在"],
        "目前" ["目" "前"], "当前" ["当" "前"], "此刻" ["此" "刻"];
    "latest" true: "latest" ["latest"], "newest" ["newest"], "most recent" ["most" "recent"],
        "most recently" ["most" "recently"], "recently" ["recently"], "up to date" ["up" "to" "date"],
        "breaking news" ["breaking" "news"], "最新" ["最" "新"], "最近" ["最" "近"];
    "current" true: "current" ["current"];
    "today" false: "today" ["today"], "今天" ["今" "天"], "今日" ["今" "日"];
    "tonight" false: "tonight" ["tonight"], "this evening" ["this" "evening"], "今晚" ["今" "晚"];
    "this morning" false: "this morning" ["this" "morning"];
    "this afternoon" false: "this afternoon" ["this" "afternoon"];
    "tomorrow" false: "tomorrow" ["tomorrow"], "明天" ["明" "天"];
    "yesterday" false: "yesterday" ["yesterday"], "昨天" ["昨" "天"];
    "last night" false: "last night" ["last" "night"];
    "day before yesterday" false: "前天" ["前" "天"];
    "day after tomorrow" false: "后天" ["后" "天"];
    "this week" false: "this week" ["this" "week"], "本周" ["本" "周"], "这周" ["这" "周"];
    "next week" false: "next week" ["next" "week"], "下周" ["下" "周"];
    "last week" false: "last week" ["last" "week"], "上周" ["上" "周"];
    "this weekend" false: "this weekend" ["this" "weekend"];
    "this month" false: "this month" ["this" "month"], "本月" ["本" "月"];
    "next month" false: "next month" ["next" "month"];
    "last month" false: "last month" ["last" "month"];
    "this year" false: "this year" ["this" "year"], "今年" ["今" "年"];
    "next year" false: "next year" ["next" "year"], "明年" ["明" "年"];
    "last year" false: "last year" ["last" "year"], "去年" ["去" "年"];
    "this season" false: "this season" ["this" "season"];
    "next season" false: "next season" ["next" "season"];
    "last season" false: "last season" ["last" "season"];
    "moving" true: "weather" ["weather"], "forecast" ["forecast"], "raining" ["raining"], "snowing" ["snowing"],
        "what time is it" ["time" "is" "it"], "what's the time" ["what's" "the" "time"],
        "what is the time" ["what" "is" "the" "time"], "what day is it" ["day" "is" "it"], "the date" ["what" "is" "the" "date"],
        "days until" ["days" "until"], "days left" ["days" "left"], "stock price" ["stock" "price"],
        "share price" ["share" "price"], "exchange rate" ["exchange" "rate"], "last election" ["last" "election"],
        "next election" ["next" "election"], "what's new" ["what's" "new"], "what is new" ["what" "is" "new"],
        "site down" ["site" "down"], "server down" ["server" "down"], "next full moon" ["next" "full" "moon"];
    "upcoming" false: "upcoming" ["upcoming"];
};

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
        let mut moments = Self::default();
        for i in 0..text.tokens.len() {
            let here = MOMENTS.iter().filter(|moment| stands_at(text, i, moment));
            moments.found.extend(here.map(|moment| (moment.name, moment.implied, moment.shown)));
            moments.found.extend(final_now(text, i).then_some(("now", true, "now")));
        }
        moments
    }

    /// Only texts that both name a time can name different ones; a text that names none leaves it open.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
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

fn stands_at(text: &Text, i: usize, moment: &Moment) -> bool {
    let words = moment.phrase.iter().enumerate();
    let all = words.clone().all(|(ahead, word)| text.ahead(i, ahead).is_some_and(|t| t.folded == *word));
    all && (moment.name != "current" || !electric(text, i))
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
    Moments::of(&Text::of(text)).found.first().map(|(.., shown)| *shown)
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
        ] {
            assert_eq!(time_sensitive(text), Some(word), "{text}");
        }
    }

    #[test]
    fn timeless_prompts_are_not() {
        for text in
            ["What is an electric current?", "Now that it rains, what to wear", "direct current motors", "Define week"]
        {
            assert_eq!(time_sensitive(text), None, "{text}");
        }
    }

    #[test]
    fn another_relative_time_differs() {
        let difference = |a: &str, b: &str| Moments::of(&Text::of(a)).difference(&Moments::of(&Text::of(b)));
        assert!(difference("Who plays today?", "Who plays tomorrow?").is_some());
        assert!(difference("Who played last week?", "Who played this week?").is_some());
        assert!(difference("Who plays today or tomorrow?", "Who plays today?").is_some());
        assert_eq!(difference("Who plays tonight?", "Who plays?"), None);
        assert_eq!(difference("Who is king right now?", "Who is currently king?"), None);
        assert_eq!(difference("the current price of tin", "the price of tin"), None);
    }
}
