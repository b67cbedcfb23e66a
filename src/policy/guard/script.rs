//! Language and script: the same question in another language wants its answer in that language.
//!
//! Told by the script that most letters belong to and, within the Latin script, by a few words that only one language
//! has. Short texts and names alone give no language away, and then nothing differs.

use std::sync::LazyLock;

use super::fold::is_han;
use super::lexicon::HashMap;
use super::text::{Kind, Text};

/// Words that are common in one language and rare in the others.
const MARKERS: [(&str, &[&str]); 6] = [
    (
        "English",
        &[
            "the", "how", "what", "is", "of", "does", "and", "my", "with", "why", "which", "where", "you", "are",
            "can", "do",
        ],
    ),
    (
        "German",
        &[
            "der", "die", "das", "und", "ich", "wie", "ist", "nicht", "ein", "eine", "mein", "meine", "kann", "warum",
            "welche",
        ],
    ),
    (
        "French",
        &[
            "le", "la", "les", "et", "je", "comment", "est", "une", "mon", "ma", "quel", "quelle", "pourquoi", "dans",
            "puis",
        ],
    ),
    (
        "Spanish",
        &["el", "los", "las", "y", "cómo", "como", "qué", "mi", "una", "por", "cuál", "dónde", "puedo", "para", "es"],
    ),
    (
        "Italian",
        &[
            "il", "gli", "che", "come", "posso", "della", "perché", "quale", "dove", "una", "mio", "mia", "sono", "è",
            "cosa",
        ],
    ),
    (
        "Portuguese",
        &["o", "os", "como", "minha", "meu", "não", "uma", "você", "qual", "onde", "posso", "são", "é", "por", "que"],
    ),
];

/// So many of its words give a language away.
const TOLD: usize = 2;

/// The script and language of one text, where they can be told.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    script: Option<&'static str>,
    language: Option<&'static str>,
}

impl Script {
    pub(super) fn of(text: &Text) -> Self {
        // "DNS" is a name in any language.
        let words =
            text.tokens.iter().filter(|t| t.kind == Kind::Word && t.raw.chars().any(char::is_lowercase)).count();
        let script = script(&text.composed).filter(|name| *name != "Latin" || words >= TOLD);
        Self { script, language: if script == Some("Latin") { language(text) } else { None } }
    }

    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let pairs = [(self.script, other.script), (self.language, other.language)];
        pairs.into_iter().find_map(|pair| match pair {
            (Some(ours), Some(theirs)) if ours != theirs => Some(format!("{ours} against {theirs}")),
            _ => None,
        })
    }
}

/// The script of most letters; ideographs beside kana are Japanese.
fn script(text: &str) -> Option<&'static str> {
    const NAMES: [&str; 9] =
        ["Latin", "Chinese", "Japanese", "Korean", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari"];
    let mut counts = [0usize; 9];
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        let place = match u32::from(c) {
            0x41..=0x24F | 0x1E00..=0x1EFF => 0,
            _ if is_han(c) => 1,
            0x3040..=0x30FF => 2,
            0xAC00..=0xD7AF | 0x1100..=0x11FF => 3,
            0x400..=0x52F => 4,
            0x370..=0x3FF => 5,
            0x600..=0x6FF => 6,
            0x590..=0x5FF => 7,
            0x900..=0x97F => 8,
            _ => continue,
        };
        // One character of these is a word or a syllable.
        counts[place] += if (1..=3).contains(&place) { 3 } else { 1 };
    }
    if counts[2] > 0 {
        counts[2] += counts[1];
        counts[1] = 0;
    }
    let most = (0..counts.len()).max_by_key(|&place| counts[place])?;
    let total: usize = counts.iter().sum();
    (counts[most] * 3 > total * 2).then_some(NAMES[most])
}

/// The languages, by their places in [`MARKERS`], that a word tells.
static TOLD_BY: LazyLock<HashMap<&str, Vec<usize>>> = LazyLock::new(|| {
    let mut told: HashMap<&str, Vec<usize>> = HashMap::default();
    for (place, (_, words)) in MARKERS.iter().enumerate() {
        for word in *words {
            told.entry(word).or_default().push(place);
        }
    }
    told
});

/// The language that the most words of a Latin text are told by.
fn language(text: &Text) -> Option<&'static str> {
    let mut counts = [0; MARKERS.len()];
    let words = text.tokens.iter().filter(|token| token.kind == Kind::Word);
    for place in words.filter_map(|token| TOLD_BY.get(token.folded.as_str())).flatten() {
        counts[*place] += 1;
    }
    let most = (0..counts.len()).max_by_key(|place| counts[*place])?;
    let alone = counts.iter().filter(|count| **count == counts[most]).count() == 1;
    (alone && counts[most] >= TOLD).then_some(MARKERS[most].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        Script::of(&Text::of(a)).difference(&Script::of(&Text::of(b)))
    }

    #[test]
    fn another_script_or_language_differs() {
        for (a, b) in [
            ("How do I reset my password?", "如何重置我的密码？"),
            ("How do I reset my password?", "¿Cómo puedo restablecer mi contraseña?"),
            ("How do I reset my password?", "Wie kann ich mein Passwort zurücksetzen?"),
            ("How do I reset my password?", "Как сбросить пароль?"),
            ("密码怎么重置", "パスワードを再設定するには"),
            ("Comment puis-je changer mon nom ?", "Come posso cambiare il mio nome?"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn the_same_language_or_none_passes() {
        for (a, b) in [
            ("How do I reset my password?", "what is the way to get a new password"),
            ("What does \"Wie geht es dir\" mean?", "What is the meaning of \"Wie geht es dir\"?"),
            ("DNS", "什么是DNS"),
            ("iPhone怎么关机", "苹果手机怎么关机"),
            ("Oslo", "oslo"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }
}
