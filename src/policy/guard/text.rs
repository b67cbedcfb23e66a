//! One text cut into tokens, once, for all guards to look at.
//!
//! Compatibility forms, full-width digits and the digits of other scripts are folded, so that a guard meets `5` only as
//! `5`; accents and casing stay, since they carry meaning. Han characters are tokens of their own. Cutting never fails:
//! whatever is neither word nor number is a symbol.

use unicode_normalization::UnicodeNormalization;

use super::lexicon;

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
    /// One ideograph.
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
        let (composed, plain): (String, Vec<char>) = if trimmed.is_ascii() {
            (trimmed.to_owned(), trimmed.chars().collect())
        } else {
            (trimmed.nfc().collect(), fold_characters(trimmed))
        };
        let mut scanner = Scanner { chars: &plain, at: 0, tokens: Vec::new(), glued: false, opens: true };
        scanner.run();
        let tokens = scanner.tokens;
        let style = style_of(&tokens);
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

/// The zero of every run of ten decimal digits in the basic plane (Unicode category Nd); NFKC folds the rest.
const ZEROS: [u32; 36] = [
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6, 0x0E50,
    0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50,
    0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
];

fn fold_characters(text: &str) -> Vec<char> {
    // A no-break or thin space between digits groups thousands, and NFKC would make it an ordinary space.
    let grouped = text.chars().map(|c| if matches!(c, '\u{a0}' | '\u{202f}' | '\u{2009}') { '\u{1}' } else { c });
    let folded: Vec<char> = grouped.nfkc().map(fold_character).collect();
    let digit = |i: Option<usize>| i.and_then(|i| folded.get(i)).is_some_and(char::is_ascii_digit);
    let ungroup = |(i, &c): (usize, &char)| match c {
        '\u{1}' if digit(i.checked_sub(1)) && digit(Some(i + 1)) => '\'',
        '\u{1}' => ' ',
        other => other,
    };
    folded.iter().enumerate().map(ungroup).collect()
}

fn fold_character(c: char) -> char {
    match c {
        '’' | '‘' | 'ʼ' => '\'',
        '−' | '–' | '‐' | '‑' => '-',
        '٫' | '。' => '.',
        '٬' => ',',
        '×' | '∗' => '*',
        '÷' | '⁄' | '∕' => '/',
        _ if c.is_ascii() => c,
        _ => decimal_digit(c).unwrap_or(c),
    }
}

fn decimal_digit(c: char) -> Option<char> {
    let code = u32::from(c);
    let zero = ZEROS.iter().find(|&&zero| (zero..zero + 10).contains(&code))?;
    char::from_digit(code - zero, 10)
}

/// Chinese characters, which are written without spaces.
pub(super) fn is_han(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x323AF)
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
            (1, Kind::Han)
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
        self.tokens.push(Token { raw, folded, stem, kind, glued: self.glued, opens });
        self.glued = true;
        self.at += length;
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() || unicode_normalization::char::is_combining_mark(c)
}

/// A word without its commonest English endings: crude, but the same for both texts of a pair.
pub(super) fn stem(word: &str) -> String {
    let word = word.strip_suffix("'s").unwrap_or(word);
    if word.len() < 4 || !word.is_ascii() {
        return word.to_owned();
    }
    let undoubled = |base: &str| {
        let bytes = base.as_bytes();
        match bytes {
            [.., a, b] if a == b && !matches!(b, b's' | b'l' | b'e' | b'o') => base[..base.len() - 1].to_owned(),
            _ => base.to_owned(),
        }
    };
    for (ending, replacement) in [("ies", "y"), ("ied", "y")] {
        if let Some(base) = word.strip_suffix(ending)
            && base.len() >= 3
        {
            return format!("{base}{replacement}");
        }
    }
    let base = ["ing", "ed", "es", "s"].iter().find_map(|ending| {
        let base = word.strip_suffix(ending)?;
        let whole = *ending == "s" && (base.ends_with('s') || base.ends_with('u'));
        (base.len() >= 3 && !whole).then_some(base)
    });
    let base = base.unwrap_or(word);
    undoubled(base.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(base))
}

fn style_of(tokens: &[Token]) -> Style {
    let words = || tokens.iter().filter(|t| t.kind == Kind::Word && t.folded != "i");
    let share = |part: usize, whole: usize| whole > 0 && part * 5 >= whole * 4;
    let long = || words().filter(|t| t.raw.chars().count() >= 2);
    if long().count() >= 2 && share(long().filter(|t| t.all_capitals()).count(), long().count()) {
        return Style::Capitals;
    }
    let weighty = || words().filter(|t| t.raw.chars().count() >= 4 || (!t.opens && t.capitalised()));
    let inside = weighty().filter(|t| !t.opens && t.capitalised()).count();
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
    fn digits_of_every_script_become_the_same_digits() {
        assert_eq!(cut("４２ ٤٢ ४२"), ["42", "42", "42"]);
        assert_eq!(cut("1\u{a0}000"), ["1'000"]);
    }

    #[test]
    fn capitals_are_read_by_the_style_of_the_whole_text() {
        assert_eq!(Text::of("How do I visit Oslo in winter?").style, Style::Sentence);
        assert_eq!(Text::of("How Do I Visit Oslo In Winter?").style, Style::Title);
        assert_eq!(Text::of("HOW DO I VISIT OSLO?").style, Style::Capitals);
    }

    #[test]
    fn inflections_share_a_stem() {
        for (a, b) in [("stopped", "stop"), ("hates", "hate"), ("cities", "city"), ("moving", "move"), ("boxes", "box")]
        {
            assert_eq!(stem(a), stem(b), "{a} {b}");
        }
    }
}
