//! Spellings that mean the same character: compatibility forms, digits of other scripts, typographic marks, and the
//! traditional forms of Chinese characters.
//!
//! Only what the guards compare is folded; what is shown or quoted stays as written.

use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;

use super::lexicon::{self, HashMap};

/// The zero of every run of ten decimal digits in the basic plane (Unicode category Nd); NFKC folds the rest.
const ZEROS: [u32; 36] = [
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6, 0x0E50,
    0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50,
    0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
];

static SIMPLIFIED: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
    let pairs = lexicon::lines(include_str!("lexicon/traditional.txt")).flat_map(str::split_whitespace);
    pairs.filter_map(|pair| Some((pair.chars().next()?, pair.chars().nth(1)?))).collect()
});

/// The characters of a text in the one spelling that is compared.
pub(super) fn characters(text: &str) -> Vec<char> {
    if text.is_ascii() {
        return text.chars().collect();
    }
    // A no-break or thin space between digits groups thousands, and NFKC would make it an ordinary space.
    let grouped = text.chars().map(|c| if matches!(c, '\u{a0}' | '\u{202f}' | '\u{2009}') { '\u{1}' } else { c });
    let folded: Vec<char> = grouped.nfkc().map(character).collect();
    let digit = |i: Option<usize>| i.and_then(|i| folded.get(i)).is_some_and(char::is_ascii_digit);
    let ungroup = |(i, &c): (usize, &char)| match c {
        '\u{1}' if digit(i.checked_sub(1)) && digit(Some(i + 1)) => '\'',
        '\u{1}' => ' ',
        other => other,
    };
    folded.iter().enumerate().map(ungroup).collect()
}

fn character(c: char) -> char {
    match c {
        '’' | '‘' | 'ʼ' => '\'',
        '−' | '–' | '‐' | '‑' | '—' => '-',
        '٫' | '。' => '.',
        '٬' | '、' => ',',
        '×' | '∗' => '*',
        '÷' | '⁄' | '∕' => '/',
        '〇' => '零',
        _ if c.is_ascii() => c,
        _ if is_han(c) => SIMPLIFIED.get(&c).copied().unwrap_or(c),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_for_every_character() {
        for (written, folded) in [
            ("４２ ٤٢ ४२", "42 42 42"),
            ("1\u{a0}000", "1'000"),
            ("a\u{a0}b", "a b"),
            ("ＡＢＣ", "ABC"),
            ("關閉電腦", "关闭电脑"),
            ("二〇二四", "二零二四"),
            ("3 − 2 ÷ 1", "3 - 2 / 1"),
            ("ﬁne", "fine"),
        ] {
            assert_eq!(characters(written).into_iter().collect::<String>(), folded, "{written}");
        }
    }
}
