//! The material that a prompt works on: quoted, fenced, tagged, after a colon, or on further lines.
//!
//! Two prompts with one instruction and two payloads lie close together for an embedder, and need two answers. So
//! payloads are compared as written (composed, trimmed, white space inside kept). The same goes for what has no words to
//! compare at all: operators, emoji, invisible characters, and texts of punctuation only. A colon also follows mere
//! labels ("Travel: where is Oslo?"), and quotation marks also stand for a raised eyebrow: neither makes a payload of a
//! question, or of one retelling of a story. A short quoted term in a question is a name that some write with marks and
//! some without: only its words count.

mod quotes;
mod tail;

use quotes::{Quote, quoted};
use tail::tail;

use super::nearness::{self, Nearness};
use super::symbols::Symbols;
use super::text::Text;

/// The parts of one text that must be equal as written.
#[derive(Clone, Debug, Default)]
pub(super) struct Payload {
    /// Quoted or fenced: the other text must have it, in whatever delimiters.
    quoted: Vec<Quote>,
    /// All words of the text, each by its hash.
    words: Vec<u64>,
    /// After the colon, or after the first line: must be equal.
    tail: Option<String>,
    /// Runs of operator characters.
    operators: Vec<String>,
    symbols: Symbols,
    emoji: Vec<char>,
    invisible: Vec<char>,
    /// No word or number in it: all that there is must be equal.
    wordless: bool,
    composed: String,
}

impl Payload {
    pub(super) fn of(text: &Text) -> Self {
        let composed = text.composed.clone();
        let rare = || composed.chars().filter(|c| !c.is_ascii());
        let emoji = rare().filter(|&c| is_emoji(c)).collect();
        let invisible = rare().filter(|&c| is_invisible(c)).collect();
        let wordless = !text.tokens.iter().any(super::text::Token::wordlike);
        Self {
            quoted: quoted(&composed),
            words: words(text),
            tail: tail(&composed),
            operators: operators(&composed),
            symbols: Symbols::of(&composed),
            emoji,
            invisible,
            wordless,
            composed,
        }
    }

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        if (self.wordless || other.wordless) && self.composed != other.composed {
            return Some("texts without words that are not equal".to_owned());
        }
        if self.invisible != other.invisible {
            return Some("other invisible characters".to_owned());
        }
        if !self.has_tail_of(other) || !other.has_tail_of(self) {
            return Some("another text after the instruction".to_owned());
        }
        let (ours, theirs) = (self.missing(other), other.missing(self));
        // One side alone may quote for emphasis, where it tells the rest in other words too.
        if let Some(missing) = ours.or(theirs).filter(|_| near.akin() || ours.is_some() && theirs.is_some()) {
            return Some(format!("{:?} is quoted in one text only", shortened(missing)));
        }
        if self.operators != other.operators && near.close() {
            return Some("other operators".to_owned());
        }
        if let Some(symbols) = self.symbols.difference(&other.symbols).filter(|_| near.close()) {
            return Some(symbols);
        }
        // An emoji in one text only may be mere politeness.
        let emoji = self.emoji != other.emoji && !self.emoji.is_empty() && !other.emoji.is_empty();
        emoji.then(|| "another emoji".to_owned())
    }

    /// A quoted span of this text that the other does not have, quoted as written or mentioned in any casing.
    fn missing<'a>(&'a self, other: &Self) -> Option<&'a str> {
        let has = |quote: &&Quote| {
            let inside = if other.quoted.is_empty() { quote.inside.trim_end_matches("()") } else { &quote.inside };
            let recased = || other.quoted.iter().any(|theirs| theirs.inside.eq_ignore_ascii_case(inside));
            let mentioned = || !recased() && other.composed.to_lowercase().contains(&inside.to_lowercase());
            other.composed.contains(inside) || quote.is_mentioned_in(other) || mentioned()
        };
        self.quoted.iter().find(|quote| !has(quote)).map(|quote| quote.inside.as_str())
    }

    /// Is what follows the other's instruction somewhere in this text?
    fn has_tail_of(&self, other: &Self) -> bool {
        match (&self.tail, &other.tail) {
            (_, None) => true,
            (Some(ours), Some(theirs)) => ours == theirs,
            (None, Some(theirs)) => self.composed.contains(theirs.trim_end_matches(['.', '?', '!', '。', '？'])),
        }
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() > 40 { text.chars().take(39).chain(['…']).collect() } else { text.to_owned() }
}

fn words(text: &Text) -> Vec<u64> {
    text.tokens.iter().filter(|token| token.wordlike()).map(|token| nearness::hash(&token.folded)).collect()
}

/// Runs of operator characters, and on which side of a name `++` and `--` stand.
fn operators(text: &str) -> Vec<String> {
    let operator = |c: char| matches!(c, '=' | '<' | '>' | '+' | '*' | '^' | '|' | '~');
    if !text.bytes().any(|byte| operator(char::from(byte)) || byte == b'-') {
        return Vec::new();
    }
    let chinese = text.chars().any(super::fold::is_han);
    // In Chinese chat "~" is a smile.
    let drawn = |run: &str| chinese && matches!(run, "~" | ">" | "~~");
    let body = text.trim_end_matches(|c: char| operator(c) || c.is_whitespace() || c == '"');
    let body = if body.is_empty() || text.ends_with('+') { text } else { body };
    let mut runs: Vec<String> =
        body.split(|c: char| !operator(c)).filter(|run| !run.is_empty() && !drawn(run)).map(str::to_owned).collect();
    for step in ["++", "--"] {
        runs.extend(text.match_indices(step).filter_map(|(at, _)| {
            let before = text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
            let after = text[at + 2..].chars().next().is_some_and(char::is_alphanumeric);
            (before != after).then(|| format!("{step}{}", if after { " before" } else { "" }))
        }));
    }
    runs.sort_unstable();
    runs
}

fn is_emoji(c: char) -> bool {
    matches!(u32::from(c), 0x1F300..=0x1FAFF | 0x2600..=0x27BF | 0x2B00..=0x2BFF | 0x1F1E6..=0x1F1FF)
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Payload::of, Payload::difference)
    }

    #[test]
    fn another_payload_differs() {
        for (a, b) in [
            ("Translate to Danish: The kettle boils.", "Translate to Danish: My aunt paints."),
            ("Sum up the text. <<<The choir sang.>>>", "Sum up the text. <<<The choir left.>>>"),
            ("Sum up <text>One.</text>", "Sum up <text>Two.</text>"),
            ("Is \"teh kettle\" right?", "Is \"the ketle\" right?"),
            ("what does 'ajar' mean", "what does 'askew' mean"),
            ("explain `ls -l`", "explain `ls -a`"),
            ("parse {\"a\": [x, y]}", "parse {\"a\": [x, z]}"),
            ("Fix:\nif a:\n    b()\n    c()", "Fix:\nif a:\n    b()\nc()"),
            ("Describe the table\n| a | b |", "Describe the table\n| a | c |"),
            ("The mill stood by the river for years.\nSum it up.", "The old inn burned down in the night.\nSum it up."),
            ("a\u{200b}b", "ab"),
            ("🙂", "🙃"),
            ("what does 🙂 mean", "what does 🙃 mean"),
            ("???", "!!!"),
            ("what does == do", "what does = do"),
            ("what does i++ do", "what does ++i do"),
            ("Translate to Danish - the kettle boils", "Translate to Danish - my aunt paints"),
            ("《茶经》讲什么", "《酒经》讲什么"),
            ("翻译成英文：我爱喝茶", "翻译成英文：我爱喝酒"),
            ("What is \"Doris\"?", "What is \"Druid\"?"),
            ("What does \"dog bites man\" mean?", "What does \"man bites dog\" mean?"),
            ("What is the significance of \"chatgpt-3.0\"?", "What is the significance of \"chatgpt-2.0\"?"),
            ("What is the significance of \"1111\"?", "What is the significance of \"111\"?"),
            ("Translate \"the Kettle\" to Danish", "Translate \"the kettle\" to Danish"),
            ("What does \"a+b\" mean?", "What does \"a-b\" mean?"),
            ("What does `Sum` do?", "What does `sum` do?"),
            ("Why does print(\"Hello\") fail?", "Why does print(\"hello\") fail?"),
            ("Count the capitals in \"ABc\"", "Count the capitals in \"Abc\""),
            ("Is there a tool for papers?", "Is there a tool for papers under the name \"summarizepaper\"?"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn equal_payloads_pass_in_other_words_around_them() {
        for (a, b) in [
            ("Translate to Danish: The kettle boils.", "Please translate into Danish: The kettle boils."),
            ("what does 'ajar' mean", "what is the meaning of \"ajar\""),
            ("cafe\u{301} hours?", "café hours?"),
            ("Hi,\n\nHow do I peel a plum?\n\nThanks!", "How do I peel a plum?"),
            ("How do I peel a plum? 🙂", "How do I peel a plum?"),
            ("don't you paint the neighbours' fence", "the neighbours' fence, don't you paint it"),
            ("Question: how do I peel a plum?", "how do I peel a plum?"),
            ("Hi, quick one: how do I peel a plum?", "how do I peel a plum?"),
            ("Fruit: how do I peel a plum?", "how do I peel a plum?"),
            ("What is better: a plum or a pear?", "What is better, a plum or a pear?"),
            ("帮我取个名字", "帮我取个名字~"),
            ("What does the term \"Embedded Milvus\" refer to?", "What does \"embedded milvus\" refer to?"),
            ("What is \"doris\"?", "What is the meaning of \"Doris\"?"),
            ("\"What are the key features of Milvus?\"?", "\"What are the features of Milvus?\"?"),
            ("what's milvus?", "\"What is Milvus?\"?"),
            ("What is the \"hello world\" program in Python?", "What is the Python \"Hello World\" sample program?"),
            ("What is \"flink\"?", "What is Flink?"),
            ("What are \"Milvus features\"?", "What are the features of Milvus?"),
            ("How do I call the search method in the SDK?", "How do I use `search()` in the SDK?"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }
}
