//! What one number token says: its value in one spelling, and its unit.
//!
//! Values stay decimal strings. Python 3.1 is not Python 3.10, so nothing is rounded and no zero is dropped but from money.

use std::sync::LazyLock;

use super::lexicon::{self, HashMap};

/// A unit of measure or money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The spelling that stands for all.
    pub name: &'static str,
    /// Asks for something even without a number: "in miles".
    pub alone: bool,
    pub money: bool,
    pub time: bool,
}

static UNITS: LazyLock<HashMap<&'static str, Unit>> = LazyLock::new(|| {
    let mut units = HashMap::default();
    for line in lexicon::lines(include_str!("lexicon/units.txt")) {
        let is_mark = |word: &&str| matches!(*word, "!" | "t");
        let alone = line.starts_with('!');
        let time = line.starts_with("t ");
        let rest = line.split_whitespace().skip_while(is_mark);
        let mut rest = rest.peekable();
        let money = rest.peek() == Some(&"$");
        let spellings: Vec<&'static str> = rest.skip(usize::from(money)).collect();
        if let Some(&name) = spellings.first() {
            units.extend(spellings.iter().map(|&spelling| (spelling, Unit { name, alone, money, time })));
        }
    }
    units
});

/// The unit that a word spells.
pub(super) fn unit(folded: &str) -> Option<Unit> {
    UNITS.get(folded).copied()
}

/// Writes a literal in one spelling: thousands separators go when they are certain, all else stays.
pub(super) fn canonical(literal: &str) -> String {
    let literal = literal.replace('\'', "");
    let (whole, fraction) = literal.split_once('.').map_or((literal.as_str(), None), |(w, f)| (w, Some(f)));
    let mut groups = whole.split(',');
    let head = groups.next().unwrap_or_default();
    let tail: Vec<&str> = groups.collect();
    let grouped = !tail.is_empty()
        && (1..=3).contains(&head.len())
        && tail.last().is_some_and(|last| last.len() == 3)
        && tail.iter().all(|group| group.len() == 3 || group.len() == 2)
        && fraction.is_none_or(|f| f.bytes().all(|b| b.is_ascii_digit()));
    if grouped {
        let whole = format!("{head}{}", tail.concat());
        return fraction.map_or(whole.clone(), |fraction| format!("{whole}.{fraction}"));
    }
    match literal.as_str() {
        "1/2" => "0.5".to_owned(),
        "1/4" => "0.25".to_owned(),
        "3/4" => "0.75".to_owned(),
        _ => literal,
    }
}

/// A value and unit in the spelling that stands for it: two weeks are fourteen days.
pub(super) fn standard(value: &str, unit: Option<&'static str>) -> (String, Option<&'static str>) {
    match (value.parse::<u32>(), unit) {
        (Ok(weeks @ 1..=52), Some("week")) => ((weeks * 7).to_string(), Some("day")),
        (Ok(decades @ 1..=100), Some("decade")) => ((decades * 10).to_string(), Some("year")),
        _ => (value.to_owned(), unit),
    }
}

/// Other ways to say the same: 20% and 0.2, 1/5 and 0.2, two hours and 120 minutes, 7 pm and 19:00.
pub(super) fn otherwise(value: &str, unit: Option<&'static str>) -> Vec<(String, Option<&'static str>)> {
    let times = |factor: u32, unit| {
        let value = value.parse::<u32>().ok().filter(|value| *value <= 10_000)?;
        Some(((value * factor).to_string(), Some(unit)))
    };
    let other = match unit {
        Some("%") if value.len() <= 3 => value.parse::<u64>().ok().map(|value| (fraction(value, 100), None)),
        Some("hour") => times(60, "minute"),
        Some("minute") => times(60, "second"),
        Some("year") => times(12, "month"),
        Some("day") => times(24, "hour"),
        Some("pm") => value.trim_end_matches(":00").parse::<u32>().ok().map(|hour| (format!("{}:00", hour + 12), None)),
        Some("am" | "点") => Some((format!("{}:00", value.trim_end_matches(":00")), None)),
        Some("号") => Some((value.to_owned(), Some("day"))),
        None => quotient(value).map(|value| (value, None)),
        Some(_) => None,
    };
    let half = (value == "0.5" && unit.is_none()).then(|| ("50".to_owned(), Some("%")));
    other.into_iter().chain(half).collect()
}

/// `1/5` as a decimal, when it is a proper fraction of small numbers and not a date or a score.
fn quotient(value: &str) -> Option<String> {
    let (part, parts) = value.split_once('/')?;
    let (part, parts): (u64, u64) = (part.parse().ok()?, parts.parse().ok()?);
    (0 < part && part < parts && parts <= 100).then(|| fraction(part, parts))
}

/// A fraction as a decimal of at most four places, or as `part/parts` where that is not exact.
pub(super) fn fraction(part: u64, parts: u64) -> String {
    let places = part
        .saturating_mul(10_000)
        .checked_div(parts)
        .filter(|places| places.checked_mul(parts) == part.checked_mul(10_000));
    match places {
        Some(places) if places % 10_000 == 0 => (places / 10_000).to_string(),
        Some(places) => {
            let fraction = format!("{:04}", places % 10_000);
            format!("{}.{}", places / 10_000, fraction.trim_end_matches('0'))
        }
        None => format!("{part}/{parts}"),
    }
}

/// The parts that a fraction word names: "two thirds", "three-quarters".
pub(super) fn denominator(folded: &str) -> Option<u64> {
    match folded {
        "half" | "halves" => Some(2),
        "quarter" | "quarters" => Some(4),
        _ => {
            let place = ordinal_word(folded.strip_suffix('s').unwrap_or(folded))?;
            (place > 2).then_some(place)
        }
    }
}

/// `$5.00` is `$5`, and `$2.50` is `$2.5`.
pub(super) fn money(value: &str) -> &str {
    if value.matches('.').count() == 1 { value.trim_end_matches('0').trim_end_matches('.') } else { value }
}

/// The power of ten of a multiplier word or letter.
pub(super) fn multiplier(folded: &str) -> Option<usize> {
    match folded {
        "hundred" => Some(2),
        "thousand" | "k" | "grand" | "千" => Some(3),
        "万" => Some(4),
        "lakh" | "lakhs" => Some(5),
        "million" | "millions" | "mn" | "mio" => Some(6),
        "crore" | "crores" => Some(7),
        "亿" => Some(8),
        "billion" | "billions" | "bn" => Some(9),
        "trillion" | "trillions" => Some(12),
        _ => None,
    }
}

/// Multiplies a decimal string by a power of ten.
pub(super) fn shift(value: &str, zeros: usize) -> String {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    if !fraction.bytes().all(|b| b.is_ascii_digit()) || !whole.bytes().all(|b| b.is_ascii_digit()) {
        return format!("{value}e{zeros}");
    }
    let moved: String = fraction.chars().chain(std::iter::repeat('0')).take(zeros).collect();
    let rest = fraction.get(zeros..).unwrap_or_default().trim_end_matches('0');
    let whole = format!("{whole}{moved}");
    let trimmed = whole.trim_start_matches('0');
    let whole = if trimmed.is_empty() { "0" } else { trimmed };
    if rest.is_empty() { whole.to_owned() } else { format!("{whole}.{rest}") }
}

/// The value of a number word below a hundred.
pub(super) fn small_word(folded: &str) -> Option<u64> {
    const UNITS: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let place = |table: &[&str]| table.iter().position(|word| *word == folded).and_then(|i| u64::try_from(i).ok());
    place(&UNITS).or_else(|| place(&TENS).map(|tens| (tens + 2) * 10))
}

/// The place that an ordinal word names.
pub(super) fn ordinal_word(folded: &str) -> Option<u64> {
    const ORDINALS: [&str; 12] = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
        "twelfth",
    ];
    ORDINALS.iter().position(|word| *word == folded).and_then(|i| u64::try_from(i + 1).ok())
}

/// The number that an upper-case Roman numeral of two or more letters spells, up to 20.
pub(super) fn roman(raw: &str) -> Option<u64> {
    const ROMAN: [(&str, u64); 15] = [
        ("II", 2),
        ("III", 3),
        ("IV", 4),
        ("VI", 6),
        ("VII", 7),
        ("VIII", 8),
        ("IX", 9),
        ("XI", 11),
        ("XII", 12),
        ("XIII", 13),
        ("XIV", 14),
        ("XV", 15),
        ("XVI", 16),
        ("XIX", 19),
        ("XX", 20),
    ];
    ROMAN.iter().find(|(spelling, _)| *spelling == raw).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certain_separators_go() {
        for (literal, value) in [
            ("1,000", "1000"),
            ("1.000", "1.000"),
            ("1,00,000", "100000"),
            ("1,5", "1,5"),
            ("1'000", "1000"),
            ("1,234.50", "1234.50"),
            ("3.10", "3.10"),
            ("007", "007"),
        ] {
            assert_eq!(canonical(literal), value, "{literal}");
        }
    }

    #[test]
    fn fractions_are_decimals_where_that_is_exact() {
        assert_eq!((fraction(1, 5), fraction(3, 4), fraction(1, 3)), ("0.2".into(), "0.75".into(), "1/3".into()));
        assert_eq!((fraction(20, 100), fraction(4, 2), fraction(1, 0)), ("0.2".into(), "2".into(), "1/0".into()));
    }

    #[test]
    fn multipliers_move_the_point() {
        assert_eq!(shift("1.5", 6), "1500000");
        assert_eq!(shift("2", 3), "2000");
        assert_eq!(shift("1.2345", 3), "1234.5");
        assert_eq!(money("5.00"), "5");
    }

    #[test]
    fn spellings_of_a_unit_are_one_unit() {
        assert_eq!(unit("km"), unit("kilometres"));
        assert_eq!(unit("usd"), unit("dollars"));
        assert_ne!(unit("gb"), unit("mb"));
        assert!(unit("euros").is_some_and(|unit| unit.money && unit.alone));
    }
}
