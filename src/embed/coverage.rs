//! Which texts a model may judge at all.
//!
//! A model that never learnt a script maps every text in it to nearly one point, where different questions look the
//! same: a wrong answer, not a nicety. So a text is judged only if every letter is of a covered script, at least one
//! letter or digit is there, and the model's own tokenizer knows every piece of it (an emoji that it does not know is
//! the same unknown token as any other emoji). Strict on purpose: a bypass costs a hit, never an answer.

use tokenizers::Tokenizer;

use crate::policy::language::is_foreign;
use crate::reason::BypassReason;

/// Texts above this many bytes are too long for every model, unlooked at.
pub const MAX_BYTES: usize = 16 << 10;

/// The scripts of a list of languages.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Scripts {
    All,
    These(Vec<Script>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Hebrew,
    Arabic,
    Devanagari,
    Thai,
    Kana,
    Han,
    Hangul,
    Other,
}

impl Script {
    /// The script of a letter, by Unicode block; only letters are asked about.
    fn of(letter: char) -> Self {
        match u32::from(letter) {
            // The micro sign is a letter by name only: it stands in units.
            0x41..=0x24F | 0x250..=0x2AF | 0x1D00..=0x1DBF | 0x1E00..=0x1EFF | 0xFB00..=0xFB06 => Self::Latin,
            0x370..=0x3FF | 0x1F00..=0x1FFF => Self::Greek,
            0x400..=0x52F | 0x1C80..=0x1C8F | 0x2DE0..=0x2DFF | 0xA640..=0xA69F => Self::Cyrillic,
            0x590..=0x5FF | 0xFB1D..=0xFB4F => Self::Hebrew,
            0x600..=0x6FF | 0x750..=0x77F | 0x8A0..=0x8FF | 0xFB50..=0xFDFF | 0xFE70..=0xFEFC => Self::Arabic,
            0x900..=0x97F | 0xA8E0..=0xA8FF => Self::Devanagari,
            0xE00..=0xE7F => Self::Thai,
            0x3040..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F => Self::Kana,
            0x3005..=0x3007 | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF => Self::Han,
            0x1100..=0x11FF | 0x3130..=0x318F | 0xA960..=0xA97F | 0xAC00..=0xD7FF => Self::Hangul,
            _ => Self::Other,
        }
    }

    /// The scripts that a language is written in, Latin besides: names and terms come in it everywhere.
    fn of_language(language: &str) -> &'static [Self] {
        match language {
            "el" => &[Self::Greek],
            "be" | "bg" | "kk" | "ky" | "mk" | "mn" | "ru" | "sr" | "tg" | "uk" => &[Self::Cyrillic],
            "he" | "yi" => &[Self::Hebrew],
            "ar" | "fa" | "ps" | "ur" => &[Self::Arabic],
            "hi" | "mr" | "ne" => &[Self::Devanagari],
            "th" => &[Self::Thai],
            "zh" => &[Self::Han],
            "ja" => &[Self::Han, Self::Kana],
            "ko" => &[Self::Hangul, Self::Han],
            _ => &[],
        }
    }
}

/// Decides whether a text is one for the model.
pub struct Coverage {
    tokenizer: Tokenizer,
    prefix: String,
    max_tokens: usize,
    scripts: Scripts,
    english_only: bool,
    unknown: Option<u32>,
}

impl Coverage {
    /// The coverage of a model with this `tokenizer.json`, window (special tokens included) and languages.
    ///
    /// # Errors
    /// When the tokenizer cannot be read.
    pub fn new(tokenizer: &[u8], prefix: &str, max_tokens: usize, languages: &[String]) -> Result<Self, String> {
        let broken = |error: tokenizers::Error| format!("tokenizer.json: {error}");
        let mut tokenizer = Tokenizer::from_bytes(tokenizer).map_err(broken)?;
        tokenizer.with_truncation(None).map_err(broken)?;
        tokenizer.with_padding(None);
        let unknown = ["[UNK]", "<unk>"].iter().find_map(|token| tokenizer.token_to_id(token));
        let scripts = if languages.iter().any(|language| language == "*") {
            Scripts::All
        } else {
            let named = languages.iter().flat_map(|language| Script::of_language(language));
            Scripts::These(std::iter::once(Script::Latin).chain(named.copied()).collect())
        };
        let english_only = languages.iter().all(|language| language == "en");
        Ok(Self { english_only, tokenizer, prefix: prefix.into(), max_tokens, scripts, unknown })
    }

    /// Whether the model may judge `text`.
    ///
    /// # Errors
    /// `TooLong` past the window, `Script` for letters or symbols that the model does not know.
    pub fn check(&self, text: &str) -> Result<(), BypassReason> {
        if text.len() > MAX_BYTES {
            return Err(BypassReason::TooLong);
        }
        if !self.script_is_covered(text) {
            return Err(BypassReason::Script);
        }
        if self.english_only && is_foreign(text) {
            return Err(BypassReason::Language);
        }
        let joined;
        let whole = if self.prefix.is_empty() {
            text
        } else {
            joined = format!("{}{text}", self.prefix);
            &joined
        };
        let tokens = self.tokenizer.encode_fast(whole, true).map_err(|_| BypassReason::Script)?;
        if tokens.len() > self.max_tokens {
            return Err(BypassReason::TooLong);
        }
        match self.unknown {
            Some(unknown) if tokens.get_ids().contains(&unknown) => Err(BypassReason::Script),
            _ => Ok(()),
        }
    }

    fn script_is_covered(&self, text: &str) -> bool {
        let letters_fit = match &self.scripts {
            Scripts::All => true,
            Scripts::These(covered) => {
                text.chars().filter(|c| c.is_alphabetic()).all(|letter| covered.contains(&Script::of(letter)))
            }
        };
        letters_fit && text.chars().any(char::is_alphanumeric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::testing;

    fn english() -> Coverage {
        let bytes = std::fs::read(testing::model_folder().join("tokenizer.json")).unwrap();
        Coverage::new(&bytes, "", 256, &["en".into()]).unwrap()
    }

    #[test]
    fn latin_letters_digits_and_punctuation_are_covered() {
        let coverage = english();
        for text in [
            "How do I reset my password?",
            "What is 2 + 2?",
            "1+1",
            "Is the café “Chez Ömer” — the old one — open?",
            "A 5 µm filter costs €30",
            "SELECT * FROM users WHERE id = 7;",
        ] {
            assert_eq!(coverage.check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn other_scripts_and_symbols_alone_are_not() {
        let coverage = english();
        for text in [
            "绿茶是什么？",
            "이 약은 언제 먹나요?",
            "ما هي عاصمة بيرو؟",
            "Что такое кэш?",
            "τι είναι αυτό;",
            "What does 茶 mean?",
            "कैश क्या है?",
            "แคชคืออะไร",
            "🙂",
            "What does 🙂 mean?",
            "???",
            "!!!",
            "",
            " ",
            "𝐖𝐡𝐚𝐭 𝐢𝐬 𝐭𝐡𝐢𝐬",
            "Ｗｈａｔ",
        ] {
            assert_eq!(coverage.check(text), Err(BypassReason::Script), "{text}");
        }
    }

    #[test]
    fn other_languages_in_latin_letters_are_not() {
        let coverage = english();
        for text in [
            "Darf ich hier parken?",
            "Kann ich das ohne Zucker haben?",
            "Est-ce que les chats aiment le lait ?",
            "¿Cómo abro una cuenta?",
            "Posso mangiare con il diabete?",
            "Hoe kan ik mijn wachtwoord wijzigen?",
            "Como posso abrir uma conta?",
        ] {
            assert_eq!(coverage.check(text), Err(BypassReason::Language), "{text}");
        }
        for text in
            ["What is crème de la crème?", "How do I get to El Paso?", "Los Angeles weather", "SELECT * FROM t;"]
        {
            assert_eq!(coverage.check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_model_for_more_languages_covers_their_scripts() {
        let bytes = std::fs::read(testing::model_folder().join("tokenizer.json")).unwrap();
        let russian = Coverage::new(&bytes, "", 256, &["en".into(), "ru".into()]).unwrap();
        assert!(russian.script_is_covered("Что такое cache?"));
        assert!(!russian.script_is_covered("绿茶是什么？"));
        let any = Coverage::new(&bytes, "", 256, &["*".into()]).unwrap();
        assert!(any.script_is_covered("绿茶是什么？"));
        assert!(!any.script_is_covered("？？"));
    }

    #[test]
    fn the_window_is_counted_in_tokens_with_the_special_ones() {
        let coverage = english();
        let words = |n: usize| vec!["word"; n].join(" ");
        assert_eq!(coverage.check(&words(254)), Ok(()));
        assert_eq!(coverage.check(&words(255)), Err(BypassReason::TooLong));
    }

    #[test]
    fn a_prefix_takes_its_share_of_the_window() {
        let bytes = std::fs::read(testing::model_folder().join("tokenizer.json")).unwrap();
        let coverage = Coverage::new(&bytes, "query word: ", 8, &["en".into()]).unwrap();
        assert_eq!(coverage.check("one two three"), Ok(()));
        assert_eq!(coverage.check("one two three four"), Err(BypassReason::TooLong));
    }

    #[test]
    fn a_huge_text_is_turned_away_by_its_bytes() {
        let start = std::time::Instant::now();
        assert_eq!(english().check(&"a".repeat(10 << 20)), Err(BypassReason::TooLong));
        assert!(start.elapsed().as_secs() < 5);
    }
}
