//! Characters that a reader or a model does not see, but a provider does.
//!
//! They can carry text of their own (the tag block spells whole sentences), so a text that has them is like no other:
//! it may be answered by the very same text only.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

/// Does the text have controls, invisible or private characters, or marks on anything but a letter ("≠" is an equals
/// sign with a mark, and a model that drops marks reads "=")?
pub fn has_hidden(text: &str) -> bool {
    if text.is_ascii() {
        return text.chars().any(|c| c.is_control() && !c.is_whitespace());
    }
    let mut on_letter = false;
    text.nfd().any(|c| {
        let mark = canonical_combining_class(c) != 0;
        let hidden = unseen(c) || mark && (!on_letter || is_overlay(c));
        if !mark {
            on_letter = c.is_alphabetic();
        }
        hidden
    })
}

fn unseen(c: char) -> bool {
    let format = matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFF}' | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}');
    let private = matches!(c, '\u{E000}'..='\u{F8FF}' | '\u{E0000}'..='\u{10FFFF}');
    format || private || c.is_control() && !c.is_whitespace()
}

/// Marks that strike a letter out rather than change it.
fn is_overlay(c: char) -> bool {
    matches!(c, '\u{334}'..='\u{338}' | '\u{20D0}'..='\u{20F0}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_found() {
        for hidden in [
            "\u{0}",
            "\u{8}",
            "\u{AD}",
            "\u{34F}",
            "\u{180E}",
            "\u{200B}",
            "\u{202E}",
            "\u{2060}",
            "\u{FE0F}",
            "\u{FEFF}",
            "\u{FFF9}",
            "\u{FFFD}",
            "\u{E000}",
            "\u{E0053}",
            "\u{E0101}",
            "a\u{336}",
            " \u{301}",
        ] {
            assert!(has_hidden(&format!("Which river is long?{hidden}")), "{hidden:?}");
        }
        assert!(has_hidden("x ∉ A") && has_hidden("x ≠ y"));
    }

    #[test]
    fn what_is_seen_is_not() {
        for seen in
            ["Which river\tis long?\r\n", "café, naïve, Ångström", "cafe\u{301}", "x ∈ A", "€5 — “so” …", "5 µm"]
        {
            assert!(!has_hidden(seen), "{seen:?}");
        }
    }
}
