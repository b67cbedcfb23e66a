//! One text cut into tokens, once, for all guards to look at.
//!
//! Compatibility forms, full-width digits and the digits of other scripts are folded ([`super::fold`]), so that a guard
//! meets `5` only as `5`; accents and casing stay, since they carry meaning. Chinese is cut into the words that the
//! lexicon knows, the longest first, and into single characters between them. Cutting never fails: whatever is neither
//! word nor number is a symbol.

use unicode_normalization::UnicodeNormalization;

use super::fold::{self, is_han};
use super::lexicon;
use super::stem::stem;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, perhaps with an apostrophe.
    Word,
    /// Starts with a digit: `17`, `1,000.5`, `10:30`.
    Number,
    /// Letters with digits or underscores: `mp3`, `v2.1`, `my_var`.
    Identifier,
    /// A URL, path, e-mail address, file or domain name.
    Address,
    /// A Chinese word that the lexicon knows, or one ideograph.
    Han,
    /// Any other visible character.
    Symbol,
}

/// A piece of the text.
#[derive(Clone, Debug)]
pub(super) struct Token {
    /// As written.
    pub raw: String,
    /// In lower case, without a possessive ending.
    pub folded: String,
    /// The folded word less its inflection.
    pub stem: String,
    /// What it is.
    pub kind: Kind,
    /// No white space before it.
    pub glued: bool,
    /// First word of a sentence, where a capital says nothing.
    pub opens: bool,
    /// A word without content of its own.
    pub function: bool,
}

impl Token {
    /// Does the first letter stand in upper case?
    pub(super) fn capitalised(&self) -> bool {
        self.raw.chars().next().is_some_and(char::is_uppercase)
    }

    /// Two or more letters, none of them in lower case, at least one in upper case.
    pub(super) fn all_capitals(&self) -> bool {
        self.raw.chars().nth(1).is_some()
            && !self.raw.chars().any(char::is_lowercase)
            && self.raw.chars().any(char::is_uppercase)
    }

    /// Is this the given symbol?
    pub(super) fn is(&self, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.raw == symbol
    }

    /// Does it carry meaning as a word or number does?
    pub(super) fn wordlike(&self) -> bool {
        self.kind != Kind::Symbol
    }

    /// A word or number with content of its own.
    pub(super) fn weighs(&self) -> bool {
        self.kind != Kind::Symbol && !self.function
    }

    /// Does a sentence end here?
    pub(super) fn stops(&self) -> bool {
        self.kind == Kind::Symbol && matches!(self.raw.as_str(), "." | "?" | "!" | ";" | ":" | "…")
    }
}

/// How a text uses capitals, and so what a capital is evidence of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Sentences: a capital inside one marks a name.
    Sentence,
    /// Every Long Word Is Capitalised: a capital says nothing.
    Title,
    /// EVERYTHING IN CAPITALS.
    Capitals,
}

/// The tokens of one text.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// Composed (NFC), trimmed, otherwise as written.
    pub composed: String,
    /// In order.
    pub tokens: Vec<Token>,
    /// What capitals mean here.
    pub style: Style,
}

impl Text {
    /// Cuts a text.
    pub(super) fn of(text: &str) -> Self {
        let trimmed = text.trim();
        let composed: String = if trimmed.is_ascii() { trimmed.to_owned() } else { trimmed.nfc().collect() };
        let plain = fold::characters(trimmed);
        let mut scanner = Scanner { chars: &plain, at: 0, tokens: Vec::new(), glued: false, opens: true };
        scanner.run();
        let mut tokens = scanner.tokens;
        let style = style_of(&tokens);
        if style == Style::Sentence {
            // "Is Java faster than Go?"
            let named = |t: &&mut Token| t.function && t.capitalised() && !t.opens && !t.folded.starts_with('i');
            tokens.iter_mut().filter(named).for_each(|token| token.function = false);
        }
        Self { composed, tokens, style }
    }

    /// The token `ahead` places after `index`.
    pub(super) fn ahead(&self, index: usize, ahead: usize) -> Option<&Token> {
        self.tokens.get(index.checked_add(ahead)?)
    }

    /// The token before `index`.
    pub(super) fn before(&self, index: usize) -> Option<&Token> {
        self.tokens.get(index.checked_sub(1)?)
    }
}

struct Scanner<'a> {
    chars: &'a [char],
    at: usize,
    tokens: Vec<Token>,
    glued: bool,
    opens: bool,
}

impl Scanner<'_> {
    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            if c.is_whitespace() {
                self.opens |= c == '\n';
                self.glued = false;
                self.at += 1;
                continue;
            }
            let (length, kind) = self.next_piece(c);
            self.push(length, kind);
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn next_piece(&self, c: char) -> (usize, Kind) {
        if !self.glued
            && let Some(length) = self.address()
        {
            return (length, Kind::Address);
        }
        if is_han(c) {
            (lexicon::han_word(&self.chars[self.at..]), Kind::Han)
        } else if c.is_ascii_digit() {
            (self.number(), Kind::Number)
        } else if is_letter(c) {
            self.word()
        } else {
            (1, Kind::Symbol)
        }
    }

    /// The length of a URL, e-mail address or path that fills the run of visible characters from here.
    fn address(&self) -> Option<usize> {
        let rest = &self.chars[self.at..];
        let end = rest.iter().position(|c| c.is_whitespace()).unwrap_or(rest.len());
        let mut run = &rest[..end];
        while let Some((last, head)) = run.split_last()
            && matches!(last, '.' | ',' | '?' | '!' | ';' | ':' | ')' | '"' | '\'' | '>')
        {
            run = head;
        }
        let has = |wanted: char| run.iter().filter(|&&c| c == wanted).count();
        let starts = |prefix: &str| prefix.chars().zip(run).filter(|(a, b)| a == *b).count() == prefix.len();
        let letters = run.iter().any(|c| c.is_alphabetic());
        let url = run.windows(3).any(|w| w == [':', '/', '/']) || starts("www.");
        let mail = has('@') == 1 && has('.') > 0 && !starts("@");
        let path = starts("./") || starts("~/") || (starts("/") && run.len() > 2) || has('\\') > 0 || has('/') > 1;
        (letters && (url || mail || path)).then_some(run.len())
    }

    fn number(&self) -> usize {
        let digit = |ahead: usize| self.peek(ahead).is_some_and(|c| c.is_ascii_digit());
        let mut length = 1;
        loop {
            if digit(length) {
                length += 1;
            } else if matches!(self.peek(length), Some('.' | ',' | ':' | '/' | '\'')) && digit(length + 1) {
                length += 2;
            } else {
                return length;
            }
        }
    }

    fn word(&self) -> (usize, Kind) {
        if let Some(length) = self.initials() {
            return (length, Kind::Word);
        }
        let mut length = 1;
        let mut kind = Kind::Word;
        while let Some(c) = self.peek(length) {
            let next = self.peek(length + 1);
            match c {
                _ if is_letter(c) && !is_han(c) => {}
                '_' | '0'..='9' => kind = Kind::Identifier,
                '\'' if next.is_some_and(is_letter) => {}
                '.' if kind == Kind::Identifier && next.is_some_and(|c| c.is_ascii_digit()) => {}
                '.' if self.dotted(length + 1) => kind = Kind::Address,
                _ => break,
            }
            length += 1;
        }
        (length + self.suffix(length), kind)
    }

    /// `C++`, `C#`, `F#`: signs that belong to a one-letter name.
    fn suffix(&self, length: usize) -> usize {
        match (length, self.peek(0), self.peek(length), self.peek(length + 1)) {
            (1, Some('c' | 'C' | 'f' | 'F' | 'j' | 'J'), Some('#'), _) => 1,
            (1, Some('c' | 'C'), Some('+'), Some('+')) => 2,
            _ => 0,
        }
    }

    /// `U.S.`, `e.g.`, `a.m.`: single letters with full stops between them.
    fn initials(&self) -> Option<usize> {
        let mut length = 0;
        while self.peek(length).is_some_and(is_letter) && self.peek(length + 1) == Some('.') {
            length += 2;
        }
        if self.peek(length).is_some_and(is_letter) && !self.peek(length + 1).is_some_and(is_letter) {
            length += 1;
        } else if self.peek(length).is_some_and(is_letter) {
            return None;
        }
        (length >= 3).then_some(length)
    }

    /// Does a file or domain ending stand here?
    fn dotted(&self, from: usize) -> bool {
        let ending: String = self.chars[(self.at + from).min(self.chars.len())..]
            .iter()
            .take(7)
            .take_while(|c| c.is_ascii_alphanumeric())
            .map(char::to_ascii_lowercase)
            .collect();
        lexicon::is_ending(&ending)
    }

    fn push(&mut self, length: usize, kind: Kind) {
        let raw: String = self.chars[self.at..self.at + length].iter().collect();
        let raw = if kind == Kind::Word { raw.replace('.', "") } else { raw };
        let lower = raw.to_lowercase();
        let folded = lower.strip_suffix("'s").map(str::to_owned).unwrap_or(lower);
        let stem = if kind == Kind::Word { stem(&folded) } else { folded.clone() };
        let opens = self.opens && kind != Kind::Symbol;
        self.opens = match kind {
            Kind::Symbol => self.opens || matches!(raw.as_str(), "." | "?" | "!" | ":" | "…" | "？" | "！"),
            _ => false,
        };
        let function = matches!(kind, Kind::Word | Kind::Han) && lexicon::is_function_word(&folded);
        self.tokens.push(Token { raw, folded, stem, kind, glued: self.glued, opens, function });
        self.glued = true;
        self.at += length;
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() || unicode_normalization::char::is_combining_mark(c)
}

fn style_of(tokens: &[Token]) -> Style {
    let words = || tokens.iter().filter(|t| t.kind == Kind::Word && t.folded != "i");
    let share = |part: usize, whole: usize| whole > 0 && part * 5 >= whole * 4;
    let long = || words().filter(|t| t.raw.chars().count() >= 2);
    if long().count() >= 2 && share(long().filter(|t| t.all_capitals()).count(), long().count()) {
        return Style::Capitals;
    }
    let weighty = || words().filter(|t| t.raw.chars().count() >= 4 || (!t.opens && t.capitalised()));
    // A name has its capital in any style.
    let named = |t: &Token| lexicon::known_name(&t.folded).is_some();
    let inside = weighty().filter(|t| !t.opens && t.capitalised() && !named(t)).count();
    if inside >= 2 && words().count() >= 3 && share(weighty().filter(|t| t.capitalised()).count(), weighty().count()) {
        return Style::Title;
    }
    Style::Sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        Text::of(text).tokens.into_iter().map(|t| t.raw).collect()
    }

    #[test]
    fn numbers_identifiers_and_addresses_stay_whole() {
        assert_eq!(cut("pay 1,000.50 by 10:30"), ["pay", "1,000.50", "by", "10:30"]);
        assert_eq!(cut("from v2.1 (mp3)"), ["from", "v2.1", "(", "mp3", ")"]);
        assert_eq!(cut("see https://a.example/x?y=1, please"), ["see", "https://a.example/x?y=1", ",", "please"]);
        assert_eq!(cut("open notes.txt in C++"), ["open", "notes.txt", "in", "C++"]);
        assert_eq!(cut("the U.S. economy"), ["the", "US", "economy"]);
    }

    #[test]
    fn chinese_is_cut_into_known_words_and_characters() {
        assert_eq!(cut("为什么打不开微信？"), ["为什么", "打", "不", "开", "微信", "?"]);
        assert_eq!(cut("iPhone怎么关机"), ["iPhone", "怎么", "关机"]);
        assert_eq!(cut("1\u{a0}000"), ["1'000"]);
    }

    #[test]
    fn capitals_are_read_by_the_style_of_the_whole_text() {
        assert_eq!(Text::of("How do I visit Oslo in winter?").style, Style::Sentence);
        assert_eq!(Text::of("How Do I Visit Oslo In Winter?").style, Style::Title);
        assert_eq!(Text::of("HOW DO I VISIT OSLO?").style, Style::Capitals);
    }
}
