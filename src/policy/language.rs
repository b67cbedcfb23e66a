//! In which of the languages that are told apart a prompt is, by its letters and its small words.
//!
//! English and Chinese have guards and lines of their own; of every other language only the neutral evidence is known
//! (digits, quotes, names in Latin letters), so that its pairs are held to a stricter target.

/// The languages that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Latin letters, and nothing that speaks for another language.
    English,
    /// Most of what is said stands in ideographs.
    Chinese,
    /// Every other one.
    Other,
}

impl Language {
    /// All of them, in the order of [`Language::place`].
    pub const ALL: [Self; 3] = [Self::English, Self::Chinese, Self::Other];

    /// Its place in [`Language::ALL`].
    pub fn place(self) -> usize {
        match self {
            Self::English => 0,
            Self::Chinese => 1,
            Self::Other => 2,
        }
    }

    /// The language of a text; one without letters is English.
    pub fn of(text: &str) -> Self {
        let (mut latin, mut han, mut accents) = (0_usize, 0_usize, false);
        for c in text.chars().filter(|c| c.is_alphabetic()) {
            match u32::from(c) {
                0x41..=0x7A | 0xFF21..=0xFF5A => latin += 1,
                0xAA..=0x2AF | 0x1E00..=0x1EFF => (latin, accents) = (latin + 1, true),
                0x3005..=0x3007 | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF => han += 1,
                _ => return Self::Other,
            }
        }
        // An ideograph is a word, a Latin letter a fifth of one.
        if han * 5 > latin {
            return Self::Chinese;
        }
        let other = is_foreign(text) || accents && count(text, ENGLISH) == 0;
        if other { Self::Other } else { Self::English }
    }

    /// The language of two prompts that are compared: [`Language::Other`] when one of them is.
    pub fn both(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Other, _) | (_, Self::Other) => Self::Other,
            _ => Self::Chinese,
        }
    }
}

/// Small words of other languages in the Latin script, less those that are English words too.
const FOREIGN: &str = include_str!("foreign_words.txt");

const ENGLISH: &str = " the a an is are do does did i you my your how what which when where who why can in of to for on with \
    and or it this that be have has from at by not me we please if should will was were there any ";

/// Does the text read like another language: more of its small words than of English ones? A guess, and a careful one:
/// a foreign text that has none of them passes.
pub fn is_foreign(text: &str) -> bool {
    let (foreign, english) = (count(text, FOREIGN), count(text, ENGLISH));
    foreign > 1 && foreign > english
}

fn count(text: &str, list: &str) -> usize {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.filter(|word| list.split_whitespace().any(|known| known == *word)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_told_by_letters_and_small_words() {
        for (text, language) in [
            ("How do I reset my password?", Language::English),
            ("DNS", Language::English),
            ("2 + 2", Language::English),
            ("Is the café open?", Language::English),
            ("What does 茶 mean?", Language::English),
            ("如何重置我的密码？", Language::Chinese),
            ("iPhone怎么关机", Language::Chinese),
            ("パスワードを忘れました", Language::Other),
            ("비밀번호를 잊었어요", Language::Other),
            ("Wie kann ich mein Passwort ändern?", Language::Other),
            ("Où est la gare ?", Language::Other),
            ("¿Cómo abro una cuenta?", Language::Other),
            ("Что такое кэш?", Language::Other),
        ] {
            assert_eq!(Language::of(text), language, "{text}");
        }
    }

    #[test]
    fn a_pair_is_as_foreign_as_its_more_foreign_side() {
        use Language::{Chinese, English, Other};
        for (a, b, both) in [(English, English, English), (English, Chinese, Chinese), (Chinese, Other, Other)] {
            assert_eq!((a.both(b), b.both(a)), (both, both));
        }
        assert_eq!(Language::ALL.map(Language::place), [0, 1, 2]);
    }
}
