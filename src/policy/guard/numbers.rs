//! Numbers, units, money, dates, versions, identifiers, and the operations between numbers.
//!
//! Every number of one text must be found in the other, with its unit. Some spellings only *may* be numbers ("one", "a
//! couple", "an hour", the 19 of covid-19): such a reading can pair up with a number of the other text but needs no
//! partner itself.

use super::quantity::{self, Unit};
use super::text::{Kind, Text, Token};

/// The numbers of one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// Needs a partner.
    hard: Vec<String>,
    /// May be one.
    soft: Vec<String>,
    /// Units without a number that say what is asked for.
    alone: Vec<&'static str>,
    /// Units of time without a number.
    times: Vec<&'static str>,
}

impl Numbers {
    pub(super) fn of(text: &Text) -> Self {
        let mut reader = Reader { text, at: 0, found: Self::default(), operations: false };
        while reader.at < text.tokens.len() {
            reader.step();
        }
        let Reader { mut found, operations, .. } = reader;
        if operations {
            // 8 - 3 is not 3 - 8.
            found.hard.push(found.hard.join(" "));
        }
        found.hard.sort_unstable();
        for units in [&mut found.alone, &mut found.times] {
            units.sort_unstable();
            units.dedup();
        }
        found
    }

    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let ours = unpaired(&self.hard, other);
        let theirs = unpaired(&other.hard, self);
        if let Some(difference) = shown(&ours, &theirs) {
            return Some(difference);
        }
        let lone = |one: &Self, two: &Self| {
            let named = |unit: &&str| two.alone.contains(unit) || two.hard.iter().any(|n| n.ends_with(*unit));
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

/// The numbers of `hard` that the other text does not have, as often as it lacks them.
fn unpaired<'a>(hard: &'a [String], other: &Numbers) -> Vec<&'a str> {
    let mut left: Vec<&str> = other.hard.iter().chain(&other.soft).map(String::as_str).collect();
    let unpaired = hard.iter().filter(|number| match left.iter().position(|candidate| candidate == number) {
        Some(at) => {
            left.swap_remove(at);
            false
        }
        None => true,
    });
    unpaired.map(String::as_str).collect()
}

fn shown(ours: &[&str], theirs: &[&str]) -> Option<String> {
    let name = |numbers: &[&str]| numbers.first().map_or("nothing".to_owned(), |first| (*first).to_owned());
    (!ours.is_empty() || !theirs.is_empty()).then(|| format!("{} against {}", name(ours), name(theirs)))
}

struct Reader<'a> {
    text: &'a Text,
    at: usize,
    found: Numbers,
    operations: bool,
}

impl<'a> Reader<'a> {
    fn token(&self, ahead: usize) -> Option<&'a Token> {
        self.text.tokens.get(self.at + ahead)
    }

    fn behind(&self) -> Option<&'a Token> {
        self.text.before(self.at)
    }

    /// Reads one token or number and moves on by at least one token.
    fn step(&mut self) {
        let Some(token) = self.token(0) else { return };
        match token.kind {
            Kind::Number => self.literal(token),
            Kind::Identifier => self.identifier(token),
            Kind::Word => {
                if !self.words() {
                    self.plain_word(token);
                    self.at += 1;
                }
            }
            Kind::Han => {
                if !self.han() {
                    self.at += 1;
                }
            }
            Kind::Symbol | Kind::Address => self.at += 1,
        }
    }

    fn literal(&mut self, token: &'a Token) {
        let start = self.at;
        let mut value = quantity::canonical(&token.raw);
        self.at += 1;
        // Dates, phone numbers, descending ranges: 2024-03-04.
        let mut parts = 1;
        while self.token(0).is_some_and(|t| t.glued && t.is("-"))
            && let Some(part) = self.token(1).filter(|t| t.glued && t.kind == Kind::Number)
        {
            value = format!("{value}-{}", part.raw);
            parts += 1;
            self.at += 2;
        }
        let before = start.checked_sub(1).and_then(|i| self.text.tokens.get(i));
        if let Some((low, high)) = ascending(&value, parts) {
            self.found.hard.push(low);
            value = high;
        }
        if let Some(joined) = self.joined_letters(&value) {
            self.found.hard.push(joined);
            return;
        }
        let negative = before.is_some_and(|t| t.is("-")) && !self.joined_before(start);
        self.finish(value, before, negative);
    }

    /// Is the minus sign before `start` a hyphen after a word or number?
    fn joined_before(&self, start: usize) -> bool {
        let sign = start.checked_sub(1).and_then(|i| self.text.tokens.get(i));
        let word = start.checked_sub(2).and_then(|i| self.text.tokens.get(i));
        word.is_some_and(Token::wordlike) && sign.is_some_and(|sign| sign.glued)
    }

    /// `5g`, `3d`: letters that make the number an identifier; ordinals, units and multipliers do not.
    fn joined_letters(&mut self, value: &str) -> Option<String> {
        let next = self.token(0).filter(|t| t.glued && matches!(t.kind, Kind::Word | Kind::Identifier))?;
        let word = next.folded.as_str();
        if matches!(word, "st" | "nd" | "rd" | "th") {
            self.at += 1;
            return Some(format!("#{value}"));
        }
        let money = matches!(word, "m" | "b") && self.text.before(self.at - 1).is_some_and(|t| currency(t).is_some());
        if quantity::unit(word).is_some() || quantity::multiplier(word).is_some() || money {
            return None;
        }
        self.at += 1;
        Some(format!("{value}{word}"))
    }

    /// Multiplier, unit, sign and operator around a value that ends before `self.at`.
    fn finish(&mut self, value: String, before: Option<&'a Token>, negative: bool) {
        let mut value = value;
        let prefix = before.and_then(currency);
        while let Some(zeros) = self.token(0).and_then(|t| scale(t, prefix.is_some())) {
            value = quantity::shift(&value, zeros);
            self.at += 1;
        }
        let word_sign = before.is_some_and(|t| matches!(t.folded.as_str(), "minus" | "negative"));
        let sign = if negative || word_sign { "-" } else { "" };
        let suffix = self.unit_ahead();
        let unit = prefix.or(suffix);
        let (value, unit) = in_days(value, unit);
        let amount = if unit.is_some_and(|unit| unit.money) { quantity::money(&value) } else { &value };
        let key = unit.map_or_else(|| format!("{sign}{amount}"), |unit| format!("{sign}{amount} {}", unit.name));
        if let Some(word) = before.filter(|t| t.kind == Kind::Word && unit.is_none()) {
            // "gpt 4" may be "gpt-4", and "version 2" "v2".
            self.found.soft.push(format!("{}{amount}", word.folded));
            if word.folded == "version" {
                self.found.soft.push(format!("v{amount}"));
            }
        }
        self.found.hard.push(key);
        self.operator();
    }

    /// The unit after a number: `5 km`, `5-minute`, `5%`, `20 °C`, `20 degrees Celsius`.
    fn unit_ahead(&mut self) -> Option<Unit> {
        let hyphen = usize::from(self.token(0).is_some_and(|t| t.glued && t.is("-")));
        let token = self.token(hyphen)?;
        let next = self.token(hyphen + 1).map_or("", |t| t.folded.as_str());
        let (name, length) = match (token.folded.as_str(), next) {
            ("per", "cent") => ("%", 2),
            ("°" | "degrees" | "degree" | "deg", "c" | "celsius" | "centigrade") => ("celsius", 2),
            ("°" | "degrees" | "degree" | "deg", "f" | "fahrenheit") => ("fahrenheit", 2),
            (name, _) => (name, 1),
        };
        // A single letter needs to touch the number: 5m, 5g.
        let loose = !token.glued && name.len() == 1 && token.kind == Kind::Word;
        let unit = quantity::unit(name).filter(|_| !loose)?;
        self.at += hyphen + length;
        Some(unit)
    }

    /// An operator between this number and the next: 2+3 is not 2*3.
    fn operator(&mut self) {
        let Some(sign) = self.token(0) else { return };
        let operand = self.token(1).is_some_and(|t| t.kind == Kind::Number || t.is("("));
        let name = match sign.folded.as_str() {
            "+" | "plus" => "+",
            "*" | "x" | "times" | "multiplied" => "*",
            "/" | "divided" => "/",
            "^" => "^",
            "-" | "minus" if !sign.glued => "-",
            "<" | ">" | "=" => sign.raw.as_str(),
            _ => return,
        };
        if operand || matches!(sign.folded.as_str(), "multiplied" | "divided") {
            self.found.hard.push(name.to_owned());
            self.operations = true;
            self.at += 1;
        }
    }

    fn identifier(&mut self, token: &'a Token) {
        let name = &token.folded;
        self.at += 1;
        if !name.bytes().any(|b| b.is_ascii_digit()) {
            return;
        }
        let mut key = name.replace('_', "");
        let mut tail = name.trim_start_matches(|c: char| !c.is_ascii_digit()).to_owned();
        while self.token(0).is_some_and(|t| t.glued && t.is("-"))
            && let Some(part) = self.token(1).filter(|t| t.glued && matches!(t.kind, Kind::Number | Kind::Identifier))
        {
            key.push_str(&part.folded);
            tail.clone_from(&part.folded);
            self.at += 2;
        }
        self.found.soft.push(tail);
        self.found.hard.push(key);
    }

    /// Number words: "two hundred and fifty", "twenty-five", "half a million". False when none starts here.
    fn words(&mut self) -> bool {
        let before = self.behind();
        let Some((value, simple)) = self.compose() else { return false };
        if simple && value == 1 && !self.counts_as_one() {
            self.found.soft.extend([String::from("1"), String::from("#1")]);
            let unit = self.unit_ahead();
            self.found.soft.extend(unit.map(|unit| format!("1 {}", unit.name)));
            return true;
        }
        let hyphen = usize::from(self.token(0).is_some_and(|t| t.glued && t.is("-")));
        let ordinal = self.token(hyphen).filter(|_| value % 10 == 0).and_then(|t| quantity::ordinal_word(&t.folded));
        if let Some(place) = ordinal.filter(|_| value >= 20) {
            self.at += 1 + hyphen;
            self.found.hard.push(format!("#{}", value + place));
            return true;
        }
        self.finish(value.to_string(), before, false);
        true
    }

    /// The value of the number words from here, and whether it is a single word.
    fn compose(&mut self) -> Option<(u64, bool)> {
        let mut total = 0u64;
        let mut group = quantity::small_word(&self.token(0)?.folded)?;
        let mut count = 1;
        self.at += 1;
        loop {
            let joint = self.token(0).is_some_and(|t| t.is("-") && t.glued)
                || (count > 1 && self.token(0).is_some_and(|t| t.folded == "and"));
            let Some(next) = self.token(usize::from(joint)) else { break };
            let small = quantity::small_word(&next.folded);
            match (small, quantity::multiplier(&next.folded)) {
                (Some(unit), _) if unit < 10 && group % 10 == 0 && group >= 20 => group += unit,
                (Some(small), _) if small < 100 && group >= 100 && group % 100 == 0 => group += small,
                (_, Some(2)) if group > 0 && group < 100 && !joint => group *= 100,
                (_, Some(zeros)) if zeros > 2 && !joint && next.folded.len() > 2 => {
                    total =
                        total.saturating_add(group.saturating_mul(10u64.saturating_pow(u32::try_from(zeros).ok()?)));
                    group = 0;
                    let more = self.token(1).is_some_and(|t| quantity::small_word(&t.folded).is_some());
                    if !more {
                        self.at += 1;
                        count += 1;
                        break;
                    }
                    self.at += 1;
                    group = quantity::small_word(&self.token(0)?.folded)?;
                }
                _ => break,
            }
            self.at += 1 + usize::from(joint);
            count += 1;
        }
        Some((total.saturating_add(group), count == 1))
    }

    /// "One" is a number before a unit or next to a number, and mostly a pronoun elsewhere.
    fn counts_as_one(&self) -> bool {
        let unit = self.token(0).is_some_and(|t| quantity::unit(&t.folded).is_some() && t.folded.len() > 1);
        let range = self.token(0).is_some_and(|t| matches!(t.folded.as_str(), "or" | "to"))
            && self.token(1).is_some_and(|t| quantity::small_word(&t.folded).is_some());
        let told = self.text.before(self.at - 1).is_some_and(|t| {
            matches!(t.folded.as_str(), "only" | "exactly" | "number" | "step" | "chapter" | "level" | "part" | "minus")
        });
        unit || range || told
    }

    fn plain_word(&mut self, token: &'a Token) {
        let hard = match token.folded.as_str() {
            "a" | "an" | "per" | "each" => {
                let unit = self.token(1).and_then(|t| quantity::unit(&t.folded)).filter(|unit| unit.name.len() > 1);
                self.found.soft.extend(unit.map(|unit| format!("1 {}", unit.name)));
                self.at += usize::from(unit.is_some());
                return;
            }
            "dozen" | "dozens" => "12",
            "half" | "halves" => "0.5",
            "twice" | "double" | "doubled" | "doubles" | "doubling" => "2 times",
            "thrice" | "triple" | "tripled" | "triples" | "tripling" => "3 times",
            "hundred" => "100",
            "thousand" => "1000",
            "million" => "1000000",
            "billion" => "1000000000",
            "couple" | "both" | "pair" => return self.found.soft.push("2".to_owned()),
            "quarter" => return self.found.soft.push("0.25".to_owned()),
            "once" | "single" => return self.found.soft.extend(["1", "1 times"].map(str::to_owned)),
            _ => return self.other_word(token),
        };
        self.found.hard.push(hard.to_owned());
    }

    fn other_word(&mut self, token: &'a Token) {
        if let Some(place) = quantity::ordinal_word(&token.folded) {
            // "First" is often an adverb; a later place never is.
            let places = if place == 1 { &mut self.found.soft } else { &mut self.found.hard };
            places.push(format!("#{place}"));
        } else if let Some(value) = quantity::roman(&token.raw) {
            self.found.hard.push(value.to_string());
        } else if let Some(unit) = quantity::unit(&token.folded).filter(|_| token.raw.len() > 1) {
            if unit.alone {
                self.found.alone.push(unit.name);
            } else if unit.time {
                self.found.times.push(unit.name);
            }
        }
    }

    /// Chinese number characters; a lone 一 is mostly an article.
    fn han(&mut self) -> bool {
        const DIGITS: &str = "零一二三四五六七八九十百千万亿两";
        let run: String = (0..)
            .map_while(|ahead| self.token(ahead).filter(|t| DIGITS.contains(t.raw.as_str())))
            .map(|t| if t.raw == "两" { "二" } else { t.raw.as_str() })
            .collect();
        let length = run.chars().count();
        self.at += length;
        match run.as_str() {
            "" | "一" => {}
            _ => self.found.hard.push(run),
        }
        length > 0
    }
}

/// Two weeks are fourteen days.
fn in_days(value: String, unit: Option<Unit>) -> (String, Option<Unit>) {
    match (value.parse::<u32>(), unit) {
        (Ok(weeks @ 1..=52), Some(Unit { name: "week", .. })) => ((weeks * 7).to_string(), quantity::unit("day")),
        _ => (value, unit),
    }
}

/// `5-10` means from 5 to 10; a falling or longer chain is a date, a score or a phone number.
fn ascending(value: &str, parts: usize) -> Option<(String, String)> {
    let (low, high) = value.split_once('-').filter(|_| parts == 2)?;
    let (from, to): (f64, f64) = (low.parse().ok()?, high.parse().ok()?);
    (from < to).then(|| (low.to_owned(), high.to_owned()))
}

/// The currency that a token before a number names.
fn currency(token: &Token) -> Option<Unit> {
    quantity::unit(&token.folded).filter(|unit| unit.money)
}

/// The power of ten of a multiplier after a number: `5k`, `$5M`, `5 million`.
fn scale(token: &Token, money: bool) -> Option<usize> {
    match token.folded.as_str() {
        "k" => token.glued.then_some(3),
        "m" => (token.glued && money).then_some(6),
        "b" => (token.glued && money).then_some(9),
        word => quantity::multiplier(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        Numbers::of(&Text::of(a)).difference(&Numbers::of(&Text::of(b)))
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
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }
}
