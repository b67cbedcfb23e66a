//! Spelling that carries meaning where the words alone look equal: capitals ("Polish", "polish"), the case of code
//! (`Sum(x)`, `sum(x)`), and accents ("resume", "résumé").
//!
//! The capital of a sentence's first word passes, but for words that the lexicon knows to be two words. People who type
//! quickly drop capitals and accents alike, so only words that change their meaning count.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::lexicon;
use super::nearness::hash;
use super::text::{Kind, Style, Text, Token};

/// The spellings of one text that may matter.
#[derive(Clone, Debug, Default)]
pub(super) struct Casing {
    /// Words with two meanings: folded form, and whether it stood with its capital.
    cased: Vec<(String, bool)>,
    /// Calls, paths and names with underscores, as written.
    code: Vec<String>,
    /// Words with accents: without and with them.
    accented: Vec<(String, String)>,
    /// All words, folded; sorted, each by its hash.
    words: Vec<u64>,
    /// All words as written; sorted, each by its hash.
    written: Vec<u64>,
    /// Names with underscores that open a sentence.
    openers: Vec<String>,
    /// Words with a capital that the lexicon does not watch, inside a sentence; each by its hash.
    capitals: Vec<u64>,
    /// No capital at all.
    small: bool,
}

/// These open sentences as ordinary words, or mean their names only in capitals throughout.
const CAPITALS_ONLY: [&str; 6] = ["us", "it", "who", "aids", "led", "can"];
const ORDINARY_OPENERS: [&str; 4] = ["may", "will", "mark", "march"];

impl Casing {
    pub(super) fn of(text: &Text) -> Self {
        let mut found = Self { small: !text.composed.contains(char::is_uppercase), ..Self::default() };
        let about_case = speaks_of_case(text);
        for (i, token) in text.tokens.iter().enumerate().filter(|(_, t)| t.wordlike()) {
            found.words.push(hash(&token.folded));
            found.written.push(hash(&token.raw));
            if token.opens && token.raw.contains('_') {
                found.openers.push(token.raw.clone());
            }
            if token.capitalised() && !token.opens && !lexicon::is_cased(&token.folded) {
                found.capitals.push(hash(&token.folded));
            }
            found.cased.extend(capital(text, token).map(|capital| (token.folded.clone(), capital)));
            if is_code(text, i) || is_exact(text, i, about_case) {
                found.code.push(token.raw.clone());
            }
            if !token.raw.is_ascii() && token.kind == Kind::Word {
                let bare: String = token.folded.nfd().filter(|c| !is_combining_mark(*c)).collect();
                if bare != token.folded {
                    found.accented.push((bare, token.folded.clone()));
                }
            }
        }
        found.words.sort_unstable();
        found.written.sort_unstable();
        found
    }

    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        self.recased(other)
            .or_else(|| self.recoded(other).or_else(|| other.recoded(self)))
            .or_else(|| self.unaccented(other))
            .or_else(|| other.unaccented(self))
    }

    /// A word that stands with its capital in one text only.
    fn recased(&self, other: &Self) -> Option<String> {
        if self.drops_capitals_of(other) || other.drops_capitals_of(self) {
            return None;
        }
        self.cased.iter().find_map(|(word, _)| {
            let shapes = |side: &Self| {
                let has = |wanted: bool| side.cased.iter().any(|(w, capital)| w == word && *capital == wanted);
                (has(true), has(false))
            };
            let clash = matches!(
                (shapes(self), shapes(other)),
                ((true, false), (false, true)) | ((false, true), (true, false))
            );
            clash.then(|| format!("{word:?} with and without its capital"))
        })
    }

    /// All in small letters, names of the other text too: then no small letter says anything.
    fn drops_capitals_of(&self, other: &Self) -> bool {
        self.small && other.capitals.iter().any(|word| self.words.binary_search(word).is_ok())
    }

    /// Code of this text that the other has in another case only.
    fn recoded(&self, other: &Self) -> Option<String> {
        // A capital that opens a sentence is no other spelling.
        let opened = |code: &String| other.openers.iter().any(|word| word.chars().skip(1).eq(code.chars().skip(1)));
        let exact = |code: &String| {
            other.written.binary_search(&hash(code)).is_ok() || opened(code) || self.openers.contains(code)
        };
        let folded = |code: &String| other.words.binary_search(&hash(&code.to_lowercase())).is_ok();
        self.code.iter().find(|code| !exact(code) && folded(code)).map(|code| format!("{code:?} in another case"))
    }

    /// A word of this text that the other has with other accents or none.
    fn unaccented(&self, other: &Self) -> Option<String> {
        let has = |word: &String| other.words.binary_search(&hash(word)).is_ok();
        self.accented.iter().filter(|(bare, _)| lexicon::is_accented(bare)).find_map(|(bare, accented)| {
            let theirs = other.accented.iter().find(|(b, a)| b == bare && a != accented).map(|(_, a)| a);
            let theirs = theirs.or_else(|| has(bare).then_some(bare)).filter(|_| !has(accented))?;
            Some(format!("{accented:?} against {theirs:?}"))
        })
    }
}

/// Types of programming languages that share their names with functions and common things: `Map` and `map`.
const TYPES: [&str; 16] = [
    "map", "set", "array", "object", "string", "number", "boolean", "promise", "date", "symbol", "option", "result",
    "vec", "integer", "char", "iterator",
];

/// Does a writer who cares for capitals speak of a programming language?
fn speaks_code(text: &Text) -> bool {
    const LANGUAGES: [&str; 12] = [
        "JavaScript",
        "TypeScript",
        "Python",
        "Java",
        "Rust",
        "Ruby",
        "PHP",
        "Kotlin",
        "Swift",
        "Scala",
        "Haskell",
        "C#",
    ];
    text.tokens.iter().any(|token| LANGUAGES.contains(&token.raw.as_str()))
}

/// Does the word stand with the capital that changes its meaning? None when the text's style leaves it open.
fn capital(text: &Text, token: &Token) -> Option<bool> {
    let code = TYPES.contains(&token.folded.as_str()) && !token.opens && speaks_code(text);
    if token.kind != Kind::Word || !code && !lexicon::is_cased(&token.folded) {
        return None;
    }
    let word = token.folded.as_str();
    match text.style {
        Style::Capitals => None,
        Style::Title if !token.all_capitals() => None,
        _ if CAPITALS_ONLY.contains(&word) => Some(token.all_capitals()),
        _ if token.opens && token.capitalised() && ORDINARY_OPENERS.contains(&word) => None,
        _ => Some(token.capitalised()),
    }
}

/// A spelling of which another case is another thing: the letter of an option (`-l`), a unit behind its number (`5 mW`,
/// `5 MW`), a name of code with a capital inside (`getUser`), and every word of a text about case.
fn is_exact(text: &Text, i: usize, about_case: bool) -> bool {
    const UNITS: [&str; 15] =
        ["kb", "mb", "gb", "tb", "pb", "kbps", "mbps", "gbps", "tbps", "mw", "mm", "ma", "mv", "ms", "pa"];
    let token = &text.tokens[i];
    let before = text.before(i);
    // `-l`, but not the middle of "In-N-Out".
    let free = !before.is_some_and(|t| t.glued) || i.checked_sub(2).is_none_or(|at| !text.tokens[at].wordlike());
    let option = before.is_some_and(|t| t.is("-")) && free && token.glued && token.raw.chars().nth(1).is_none();
    let unit = before.is_some_and(|t| t.kind == Kind::Number) && UNITS.contains(&token.folded.as_str());
    // `getUser`, but not WordPress or iPad, whose spelling people do not care for.
    let small = token.raw.chars().take_while(|c| c.is_lowercase()).count();
    let inner = small >= 2 && token.raw.chars().any(char::is_uppercase) && token.kind == Kind::Word;
    option || unit || inner || about_case && !token.opens
}

/// Does the text speak of upper or lower case?
fn speaks_of_case(text: &Text) -> bool {
    text.tokens.windows(2).any(|pair| {
        let [first, second] = [pair[0].folded.as_str(), pair[1].folded.as_str()];
        let named = |word| matches!(word, "uppercase" | "lowercase" | "caps" | "capitalised" | "capitalized");
        named(first) || named(second) || matches!(first, "upper" | "lower") && second == "case"
    })
}

/// A call `f(x)`, a path, or a name with underscores or inner dots.
fn is_code(text: &Text, i: usize) -> bool {
    let token = &text.tokens[i];
    let call = text.ahead(i, 1).is_some_and(|next| next.glued && next.is("("));
    match token.kind {
        Kind::Word => call,
        Kind::Identifier => call || token.raw.contains('_'),
        Kind::Address => !token.raw.contains('@') && token.raw.contains(['/', '\\']),
        Kind::Number | Kind::Han | Kind::Symbol => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        Casing::of(&Text::of(a)).difference(&Casing::of(&Text::of(b)))
    }

    #[test]
    fn a_capital_or_accent_that_makes_another_word_differs() {
        for (a, b) in [
            ("Polish this chair.", "polish this chair"),
            ("a history of Turkey", "a history of turkey"),
            ("What do they tell US", "What do they tell us"),
            ("Does IT help?", "Does it help?"),
            ("frozen in March", "frozen on the march"),
            ("What does Total(x) give?", "What does total(x) give?"),
            ("read /srv/Data/a", "read /srv/data/a"),
            ("what is my_Var", "what is my_var"),
            ("send my resume", "send my résumé"),
            ("What is a map in JavaScript?", "What is a Map in JavaScript?"),
            ("what does getUser do", "what does getuser do"),
            ("what does ls -R do", "what does ls -r do"),
            ("Can Jack help US", "can Jack help us"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn plain_sentence_case_passes() {
        for (a, b) in [
            ("What is DNS?", "what is dns"),
            ("May I paint it?", "may i paint it"),
            ("It rains. Who knows?", "it rains, who knows"),
            ("THE WHO AND THE IT TEAM", "the who and the it team"),
            ("cafe\u{301} hours", "café hours"),
            ("cafe hours", "café hours"),
            ("a WordPress theme", "a wordpress theme"),
            ("what is a set in python", "What is a Set in Python?"),
            ("What is read_all?", "Read_all: what is it?"),
            ("How Do You Peel An Apple", "how do you peel an apple"),
            ("does robert like in-n-out?", "Does Robert like In-N-Out?"),
            ("does robert sail to turkey?", "Does Robert sail to Turkey?"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }
}
