//! Reads the numbers of a text: digits, number words, units, signs, ranges, versions and operations.
//!
//! One pass over the tokens, in which every step moves on; Chinese numerals are read by [`super::numerals`].

use super::lexicon;
use super::numbers::{Figure, Numbers};
use super::numerals;
use super::quantity::{self, Unit};
use super::text::{Kind, Text, Token};

/// The numbers of a text, in order.
pub(super) fn read(text: &Text) -> Numbers {
    let mut reader = Reader { text, at: 0, found: Numbers::default(), operations: false };
    while reader.at < text.tokens.len() {
        reader.step();
    }
    let Reader { mut found, operations, .. } = reader;
    if operations {
        // 8 - 3 is not 3 - 8.
        let order: Vec<&str> = found.hard.iter().map(|figure| figure.value.as_str()).collect();
        found.hard.push(Figure::new(order.join(" "), None));
    }
    found
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

    fn hard(&mut self, value: impl Into<String>) {
        self.found.hard.push(Figure::new(value, None));
    }

    fn soft(&mut self, value: impl Into<String>, unit: Option<&'static str>) {
        self.found.soft.push(Figure::new(value, unit));
    }

    /// Reads one token or number and moves on by at least one token.
    fn step(&mut self) {
        let Some(token) = self.token(0) else { return };
        let read = match token.kind {
            Kind::Number => {
                self.literal(token);
                true
            }
            Kind::Identifier => {
                self.identifier(token);
                true
            }
            Kind::Word => self.words(),
            Kind::Han => self.han(),
            Kind::Symbol | Kind::Address => false,
        };
        if !read {
            if matches!(token.kind, Kind::Word | Kind::Han) {
                self.plain_word(token);
            }
            self.at += 1;
        }
    }

    fn literal(&mut self, token: &'a Token) {
        let start = self.at;
        let mut value = quantity::canonical(&token.raw);
        self.at += 1;
        // Dates, phone numbers, descending ranges: 2024-03-04.
        let mut parts = 1;
        while self.token(0).is_some_and(|t| t.glued && (t.is("-") || t.is("~")))
            && let Some(part) = self.token(1).filter(|t| t.glued && t.kind == Kind::Number)
        {
            value = format!("{value}-{}", part.raw);
            parts += 1;
            self.at += 2;
        }
        let before = start.checked_sub(1).and_then(|i| self.text.tokens.get(i));
        if let Some((low, high)) = ascending(&value, parts) {
            self.hard(low);
            value = high;
        }
        if let Some(joined) = self.joined_letters(&value) {
            self.hard(joined);
            return;
        }
        if before.is_some_and(|t| t.kind == Kind::Han && t.raw == "第") {
            self.hard(format!("#{value}"));
            return;
        }
        if start == 0 && self.enumerates(token) {
            return self.soft(value, None);
        }
        let negative = before.is_some_and(|t| t.is("-")) && !self.joined_before(start);
        self.finish(value, before, negative);
    }

    /// "2如何换卡", "3. How do I pay?": the number of a question and not a number in it.
    fn enumerates(&self, token: &Token) -> bool {
        const MEASURES: &str =
            "个只本台辆部条张件次位名种岁天年月日号点分秒倍米克元块斤层楼期折万千百亿人成级类届级毛角度";
        let digit = token.raw.chars().nth(1).is_none();
        let next = self.token(0);
        let mark =
            next.is_some_and(|t| t.is(".") || t.is(":") || t.is(")")) && self.token(1).is_some_and(Token::wordlike);
        let word =
            next.is_some_and(|t| t.kind == Kind::Han && t.raw.chars().next().is_some_and(|c| !MEASURES.contains(c)));
        digit && (mark || word)
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
        let apart = quantity::unit(word).is_some() || lexicon::known_name(word).is_some();
        if apart || quantity::multiplier(word).is_some() || money {
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
        let sign = if negative || before.is_some_and(minus) { "-" } else { "" };
        let suffix = self.unit_ahead();
        let unit = prefix.or(suffix);
        let amount = if unit.is_some_and(|unit| unit.money) { quantity::money(&value) } else { &value };
        let name = unit.map(|unit| unit.name);
        let (standard, counted) = quantity::standard(amount, name);
        let mut figure = Figure::new(format!("{sign}{standard}"), counted);
        figure.also.extend(
            quantity::otherwise(amount, name).into_iter().map(|(value, unit)| (format!("{sign}{value}"), unit)),
        );
        if let Some(word) = before.filter(|t| t.kind == Kind::Word && unit.is_none()) {
            // "gpt 4" may be "gpt-4", and "version 2" "v2".
            figure.also.push((format!("{}{amount}", word.folded), None));
            if word.folded == "version" {
                figure.also.push((format!("v{amount}"), None));
            }
        }
        self.found.hard.push(figure);
        self.operator();
    }

    /// The unit after a number: `5 km`, `5-minute`, `5%`, `20 °C`, `20 degrees Celsius`, `3个小时`.
    fn unit_ahead(&mut self) -> Option<Unit> {
        let measure = |t: &Token| t.glued && (t.is("-") || matches!(t.raw.as_str(), "个" | "多"));
        let skipped = usize::from(self.token(0).is_some_and(measure));
        let token = self.token(skipped)?;
        let next = self.token(skipped + 1).map_or("", |t| t.folded.as_str());
        let (name, length) = match (token.folded.as_str(), next) {
            ("per", "cent") => ("%", 2),
            ("°" | "degrees" | "degree" | "deg", "c" | "celsius" | "centigrade") => ("celsius", 2),
            ("°" | "degrees" | "degree" | "deg", "f" | "fahrenheit") => ("fahrenheit", 2),
            (name, _) => (name, 1),
        };
        // A single letter needs to touch the number: 5m, 5g.
        let loose = !token.glued && name.len() == 1 && token.kind == Kind::Word;
        let unit = quantity::unit(name).filter(|_| !loose)?;
        self.at += skipped + length;
        Some(unit)
    }

    /// An operator between this number and the next: 2+3 is not 2*3.
    fn operator(&mut self) {
        let Some(sign) = self.token(0) else { return };
        let number = |t: &Token| {
            t.kind == Kind::Number || quantity::small_word(&t.folded).is_some() || numerals::digit(t).is_some()
        };
        let operand = self.token(1).is_some_and(|t| number(t) || t.is("("));
        let name = match sign.folded.as_str() {
            "+" | "plus" | "加" => "+",
            "*" | "x" | "times" | "multiplied" | "乘" | "乘以" => "*",
            "/" | "divided" | "除" | "除以" => "/",
            "^" => "^",
            "-" | "minus" | "减" if !sign.glued || sign.kind == Kind::Han => "-",
            "<" | ">" | "=" => sign.raw.as_str(),
            _ => return,
        };
        if operand || matches!(sign.folded.as_str(), "multiplied" | "divided") {
            self.hard(name);
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
        let mut figure = Figure::new(key, None);
        figure.also.push((tail, None));
        self.found.hard.push(figure);
    }

    /// Number words: "two hundred and fifty", "twenty-five", "half a million". False when none starts here.
    fn words(&mut self) -> bool {
        let before = self.behind();
        let Some((value, length)) = numerals::english(&self.text.tokens[self.at..]) else { return false };
        self.at += length;
        if length == 1 && value == 1 && !self.counts_as_one() {
            self.soft("1", None);
            self.soft("#1", None);
            let unit = self.unit_ahead();
            self.soft("1", unit.map(|unit| unit.name));
            return true;
        }
        let hyphen = usize::from(self.token(0).is_some_and(|t| t.glued && t.is("-")));
        let next = self.token(hyphen);
        if let Some(parts) = next.and_then(|t| quantity::denominator(&t.folded)).filter(|parts| value < *parts) {
            self.at += 1 + hyphen;
            self.finish(quantity::fraction(value, parts), before, false);
            return true;
        }
        let ordinal = next.filter(|_| value % 10 == 0).and_then(|t| quantity::ordinal_word(&t.folded));
        if let Some(place) = ordinal.filter(|_| value >= 20) {
            self.at += 1 + hyphen;
            self.hard(format!("#{}", value + place));
            return true;
        }
        self.finish(value.to_string(), before, false);
        true
    }

    /// "One" is a number before a unit or next to a number, and mostly a pronoun elsewhere.
    fn counts_as_one(&self) -> bool {
        let next = self.token(0);
        let unit = next.is_some_and(|t| quantity::unit(&t.folded).is_some() && t.folded.len() > 1);
        let part = next.is_some_and(|t| t.is("-"))
            && self.token(1).is_some_and(|t| quantity::denominator(&t.folded).is_some());
        let range = next.is_some_and(|t| matches!(t.folded.as_str(), "or" | "to"))
            && self.token(1).is_some_and(|t| quantity::small_word(&t.folded).is_some());
        let told = self.text.before(self.at - 1).is_some_and(|t| {
            matches!(t.folded.as_str(), "exactly" | "number" | "step" | "chapter" | "level" | "part" | "minus")
        });
        unit || part || range || told
    }

    fn plain_word(&mut self, token: &'a Token) {
        match token.folded.as_str() {
            "a" | "an" | "per" | "each" => self.single(),
            "dozen" | "dozens" => self.hard("12"),
            "hundred" => self.hard("100"),
            "thousand" => self.hard("1000"),
            "million" => self.hard("1000000"),
            "billion" => self.hard("1000000000"),
            "half" | "halves" => {
                let also = vec![("50".to_owned(), Some("%"))];
                self.found.hard.push(Figure { value: "0.5".to_owned(), unit: None, also });
            }
            "twice" | "double" | "doubled" | "doubles" | "doubling" => self.times("2"),
            "thrice" | "triple" | "tripled" | "triples" | "tripling" => self.times("3"),
            "couple" | "both" | "pair" => self.soft("2", None),
            "quarter" => self.soft("0.25", None),
            "半" => self.soft("0.5", None),
            "decade" | "decades" => self.soft("10", Some("year")),
            "once" | "single" => {
                self.soft("1", None);
                self.soft("1", Some("times"));
            }
            _ => self.other_word(token),
        }
    }

    /// "An hour" may be one hour.
    fn single(&mut self) {
        let unit = self.token(1).and_then(|t| quantity::unit(&t.folded)).filter(|unit| unit.name.len() > 1);
        if let Some(unit) = unit {
            self.soft("1", Some(unit.name));
            self.at += 1;
        }
    }

    fn times(&mut self, value: &str) {
        self.found.hard.push(Figure::new(value, Some("times")));
    }

    fn other_word(&mut self, token: &'a Token) {
        if let Some(place) = quantity::ordinal_word(&token.folded) {
            // "First" is often an adverb, and "second" a unit or one more; a later place never is.
            let figure = Figure::new(format!("#{place}"), None);
            let places = if place == 1 { &mut self.found.soft } else { &mut self.found.hard };
            places.push(figure);
        } else if let Some(value) = quantity::roman(&token.raw) {
            self.hard(value.to_string());
        } else if let Some(unit) = quantity::unit(&token.folded).filter(|_| token.raw.chars().nth(1).is_some()) {
            if unit.alone {
                self.found.alone.push(unit.name);
            } else if unit.time {
                self.found.times.push(unit.name);
            }
        }
    }

    /// Chinese numerals: 二百五十, 第三, 百分之五, 三分之一, 一个半小时. False when none starts here.
    fn han(&mut self) -> bool {
        let before = self.behind();
        let Some(numeral) = numerals::chinese(&self.text.tokens[self.at..]) else { return false };
        self.at += numeral.length;
        if numeral.place || before.is_some_and(|t| t.raw == "第") {
            self.hard(format!("#{}", numeral.value));
        } else if numeral.percent {
            self.finish_in(numeral.value, "%");
        } else if numeral.value == "1" && numeral.length == 1 {
            // 一 is mostly an article.
            let unit = self.unit_ahead();
            self.soft("1", None);
            self.soft("1", unit.map(|unit| unit.name));
        } else {
            self.finish(numeral.value, before, false);
        }
        true
    }

    fn finish_in(&mut self, value: String, unit: &'static str) {
        let also = quantity::otherwise(&value, Some(unit));
        self.found.hard.push(Figure { value, unit: Some(unit), also });
    }
}

fn minus(token: &Token) -> bool {
    matches!(token.folded.as_str(), "minus" | "negative" | "负" | "零下")
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

/// The power of ten of a multiplier after a number: `5k`, `$5M`, `5 million`, `5万`.
fn scale(token: &Token, money: bool) -> Option<usize> {
    match token.folded.as_str() {
        "k" | "w" => token.glued.then_some(if token.folded == "k" { 3 } else { 4 }),
        "m" => (token.glued && money).then_some(6),
        "b" => (token.glued && money).then_some(9),
        word => quantity::multiplier(word),
    }
}
