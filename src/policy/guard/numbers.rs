//! Numbers, units, money, dates, versions, identifiers, and the operations between numbers.
//!
//! Every number of one text must be found in the other, with its unit. Some spellings only *may* be numbers ("one", "a
//! couple", "an hour", the 19 of covid-19): such a reading can pair up with a number of the other text but needs no
//! partner itself. What reads them is [`super::reader`]. Between two texts in quite other words, a number that only one
//! of them mentions is no difference: it tells more of the same story.

use super::nearness::Nearness;
use super::reader;
use super::text::Text;

/// A value in one spelling, with the unit that it counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Figure {
    pub value: String,
    pub unit: Option<&'static str>,
    /// Other ways to say the same.
    pub also: Vec<(String, Option<&'static str>)>,
}

impl Figure {
    pub(super) fn new(value: impl Into<String>, unit: Option<&'static str>) -> Self {
        Self { value: value.into(), unit, also: Vec::new() }
    }

    /// The same value, in the same unit or in one that goes without saying ("at 24", "24 years old").
    fn agrees(&self, other: &Self) -> bool {
        let told = |one: &Self, two: &Self| {
            let mut all = one.also.iter().map(|(value, unit)| (value.as_str(), *unit));
            all.any(|(value, unit)| unit == two.unit && value == two.value)
        };
        alike((&self.value, self.unit), (&other.value, other.unit)) || told(self, other) || told(other, self)
    }

    /// Can one stand where the other stands?
    fn rivals(&self, other: &Self) -> bool {
        let time = |unit| matches!(unit, Some("second" | "minute" | "hour" | "day" | "week" | "month" | "year"));
        self.unit == other.unit || time(self.unit) && time(other.unit)
    }

    fn shown(&self) -> String {
        self.unit.map_or_else(|| self.value.clone(), |unit| format!("{} {unit}", self.value))
    }
}

fn alike(one: (&str, Option<&'static str>), two: (&str, Option<&'static str>)) -> bool {
    let units = match (one.1, two.1) {
        (None, unit) | (unit, None) => unit != Some("%"),
        (ours, theirs) => ours == theirs,
    };
    // "Day 11" is "the 11th day".
    units && one.0.trim_start_matches('#') == two.0.trim_start_matches('#')
}

/// The numbers of one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// Needs a partner.
    pub hard: Vec<Figure>,
    /// May be one.
    pub soft: Vec<Figure>,
    /// Units without a number that say what is asked for.
    pub alone: Vec<&'static str>,
    /// Units of time without a number.
    pub times: Vec<&'static str>,
}

impl Numbers {
    pub(super) fn of(text: &Text) -> Self {
        let mut found = reader::read(text);
        found.hard.sort_unstable();
        for units in [&mut found.alone, &mut found.times] {
            units.sort_unstable();
            units.dedup();
        }
        found
    }

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        if self.silent() && other.silent() {
            return None;
        }
        let close = near.close();
        let (ours, theirs) = (unpaired(&self.hard, other, close), unpaired(&other.hard, self, close));
        let rivals = ours.zip(theirs).is_some_and(|(ours, theirs)| ours.rivals(theirs));
        if rivals && (near.brief() || near.akin() && self.shares(other))
            || close && (ours.is_some() || theirs.is_some())
        {
            let shown = |figure: Option<&Figure>| figure.map_or("nothing".to_owned(), Figure::shown);
            return Some(format!("{} against {}", shown(ours), shown(theirs)));
        }
        if close { self.units(other) } else { None }
    }

    /// Has one text a number that the other does not have?
    pub(super) fn alone(&self, other: &Self) -> bool {
        unpaired(&self.hard, other, false).is_some() || unpaired(&other.hard, self, false).is_some()
    }

    /// Do the texts agree on other numbers, so that one that differs is meant?
    fn shares(&self, other: &Self) -> bool {
        let found = |one: &Self, two: &Self| {
            one.hard.iter().filter(|ours| two.hard.iter().any(|theirs| ours.agrees(theirs))).count()
        };
        found(self, other).min(found(other, self)) >= 2
    }

    fn silent(&self) -> bool {
        self.hard.is_empty() && self.alone.is_empty() && self.times.is_empty()
    }

    /// Units that are asked for without a number.
    fn units(&self, other: &Self) -> Option<String> {
        let lone = |one: &Self, two: &Self| {
            let named = |unit: &&str| two.alone.contains(unit) || two.hard.iter().any(|n| n.unit == Some(*unit));
            one.alone.iter().copied().find(|unit| !named(unit))
        };
        let (ours, theirs) = (lone(self, other), lone(other, self));
        if ours.is_some() || theirs.is_some() {
            return Some(format!("{} against {}", ours.unwrap_or("nothing"), theirs.unwrap_or("nothing")));
        }
        let apart = self.times.iter().all(|unit| !other.times.contains(unit));
        match (self.times.first(), other.times.first()) {
            (Some(ours), Some(theirs)) if apart => Some(format!("{ours} against {theirs}")),
            _ => None,
        }
    }
}

/// A number of `hard` that the other text does not have; counted, if each must be there as often.
fn unpaired<'a>(hard: &'a [Figure], other: &Numbers, counted: bool) -> Option<&'a Figure> {
    let mut left: Vec<&Figure> = other.hard.iter().chain(&other.soft).collect();
    hard.iter().find(|number| {
        let exact = left.iter().position(|candidate| candidate == number);
        match exact.or_else(|| left.iter().position(|candidate| candidate.agrees(number))) {
            Some(at) if counted => {
                left.swap_remove(at);
                false
            }
            Some(_) => false,
            None => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Numbers::of, Numbers::difference)
    }

    #[test]
    fn another_number_unit_version_or_operation_differs() {
        for (a, b) in [
            ("What is 17% of 240?", "What is 42% of 240?"),
            ("Wake me in 5 minutes", "Wake me in 5 hours"),
            ("a parcel of 3 kg", "a parcel of 3 pounds"),
            ("a disk of 2 GB", "a disk of 2 MB"),
            ("How far is it in miles?", "How far is it in kilometres?"),
            ("closed on 3 March", "closed on 13 March"),
            ("ticket 10432", "ticket 10423"),
            ("from v2.1 to v2.3", "from v2.1 to v3.2"),
            ("is 1,000 much?", "is 1.000 much?"),
            ("What is 2+3?", "What is 2*3?"),
            ("What is 8 - 3?", "What is 3 - 8?"),
            ("below -5 degrees", "below 5 degrees"),
            ("a mp3 file", "a mp4 file"),
            ("is 5g fast", "is 4g fast"),
            ("due on 2024-03-04", "due on 2024-04-03"),
            ("pay $5", "pay €5"),
            ("a bag for twenty", "a bag for thirty"),
            ("the second chapter", "the third chapter"),
            ("World War I", "World War II"),
            ("twice a week", "three times a week"),
            ("an hour of rest", "2 hours of rest"),
            ("Python 3.1", "Python 3.10"),
            ("三天", "五天"),
            ("第三章讲什么", "第四章讲什么"),
            ("百分之五的税", "百分之十的税"),
            ("５公斤米", "５公里米"),
            ("三万五千元", "三万六千元"),
            ("下午三点开会", "下午四点开会"),
            ("2023年5月", "2023年6月"),
            ("一个半小时", "两个半小时"),
            ("零下5度", "5度"),
            ("一万四", "一万五"),
            ("half past one", "half past two"),
            ("£5", "€5"),
            ("$1.5M", "$1.5B"),
            ("a 5% fee", "a 5 fee"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn another_spelling_of_the_same_number_passes() {
        for (a, b) in [
            ("1,000 stamps", "1000 stamps"),
            ("one stamp", "1 stamp"),
            ("５ stamps", "5 stamps"),
            ("٥ stamps", "five stamps"),
            ("5km away", "5 kilometres away"),
            ("a 30-minute walk", "a walk of thirty minutes"),
            ("$5.00", "5 dollars"),
            ("$1.5 million", "USD 1,500,000"),
            ("2k fans", "two thousand fans"),
            ("250 sheep", "two hundred and fifty sheep"),
            ("twenty-five sheep", "25 sheep"),
            ("a dozen eggs", "12 eggs"),
            ("half of it", "1/2 of it"),
            ("5 percent", "5%"),
            ("5-10 days", "5 to 10 days"),
            ("14 days off", "two weeks off"),
            ("covid-19 rules", "covid 19 rules"),
            ("version 2.1", "v2.1"),
            ("the 3rd floor", "the third floor"),
            ("World War 2", "World War II"),
            ("which one is it", "which is it"),
            ("an hour", "1 hour"),
            ("20 °C", "20 degrees celsius"),
            ("the 21st night", "the twenty-first night"),
            ("three quarters of it", "3/4 of it"),
            ("20% of it", "0.2 of it"),
            ("at 3 pm", "at 15:00"),
            ("2 hours", "120 minutes"),
            ("five plus five", "5 plus 5"),
            ("a boy of 7", "a boy of 7 years"),
            ("三个人", "3个人"),
            ("百分之五", "5%"),
            ("两千元", "2000元"),
            ("二〇二四年", "2024年"),
            ("２４小时", "二十四小时"),
            ("2如何换卡", "如何换卡"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }
}
