//! The material that a prompt works on: quoted, fenced, tagged, after a colon, or on further lines.
//!
//! Two prompts with one instruction and two payloads lie close together for an embedder, and need two answers. So
//! payloads are compared as written (composed, trimmed, white space inside kept). The same goes for what has no words to
//! compare at all: operators, emoji, invisible characters, and texts of punctuation only. A colon also follows mere
//! labels ("Travel: where is Oslo?"), and quotation marks also stand for a raised eyebrow: neither makes a payload of a
//! question, or of one retelling of a story. A short quoted term in a question is a name that some write with marks and
//! some without: only its words count.

use std::sync::LazyLock;

use super::lexicon::{self, HashSet};
use super::nearness::{self, Nearness};
use super::symbols::Symbols;
use super::text::Text;

static INSTRUCTIONS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lines = lexicon::lines(include_str!("lexicon/instructions.txt"));
    lines.flat_map(str::split_whitespace).collect()
});

/// Quoted spans of fewer words may be mere terms.
const TERM_WORDS: usize = 8;

/// Longest head of "instruction: payload", in words.
const HEAD_WORDS: usize = 14;

/// Delimiters whose inside is payload, in the order in which they are looked for.
const FENCES: [(&str, &str); 11] = [
    ("```", "```"),
    ("~~~", "~~~"),
    ("<<<", ">>>"),
    ("\"\"\"", "\"\"\""),
    ("\u{201c}", "\u{201d}"),
    ("\u{ab}", "\u{bb}"),
    ("\u{300c}", "\u{300d}"),
    ("\u{300e}", "\u{300f}"),
    ("\u{300a}", "\u{300b}"),
    ("\"", "\""),
    ("`", "`"),
];

/// A delimited span.
#[derive(Clone, Debug)]
struct Quote {
    inside: String,
    /// The words of a term, each by its hash; none where every character counts.
    words: Vec<u64>,
}

impl Quote {
    /// Does it only name something, whose words stand in the other text too?
    fn is_mentioned_in(&self, other: &Payload) -> bool {
        let (Some(first), false) = (self.words.first(), other.words.is_empty()) else { return false };
        if other.quoted.is_empty() {
            return self.words.iter().all(|word| other.words.contains(word));
        }
        // Between two quotations the order of the words counts.
        let starts = other.words.iter().enumerate().filter(|(_, word)| *word == first);
        starts.into_iter().any(|(at, _)| other.words[at..].starts_with(&self.words))
    }
}

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

/// All delimited spans; a question that stands in quotation marks as a whole is no span.
fn quoted(text: &str) -> Vec<Quote> {
    let spans = spans(text);
    let mut around = text.trim_end_matches(['.', '?', '!']).chars();
    if let [(mark, inside)] = spans.as_slice()
        && is_soft(*mark)
        && asks(inside)
        && around.as_str().starts_with(*mark)
        && around.next_back().is_some_and(|last| last == *mark || matches!(last, '\u{201d}' | '\u{2019}'))
        && around.as_str().len() <= inside.len() + 2 * mark.len_utf8() + 2
    {
        return Vec::new();
    }
    let exact = works_on(text);
    spans.into_iter().map(|(mark, inside)| quote(inside, is_soft(mark) && !exact)).collect()
}

fn quote(inside: &str, soft: bool) -> Quote {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | ',' | '?' | '!' | '\'' | '\u{2019}' | '-');
    let term = soft && inside.chars().all(plain) && inside.starts_with(char::is_alphanumeric);
    let mut words = if term { words(&Text::of(inside)) } else { Vec::new() };
    if words.len() >= TERM_WORDS {
        words.clear();
    }
    Quote { inside: inside.to_owned(), words }
}

/// Marks that people put around a name or not, as they like.
fn is_soft(mark: char) -> bool {
    matches!(mark, '"' | '\'' | '\u{201c}' | '\u{2018}')
}

/// Does a text set a task on the characters that it quotes, more than to tell what they stand for?
fn works_on(text: &str) -> bool {
    const TELLING: [&str; 14] = [
        "mean",
        "say",
        "explain",
        "describe",
        "answer",
        "word",
        "words",
        "phrase",
        "text",
        "code",
        "this",
        "following",
        "below",
        "write",
    ];
    const SPELLING: [&str; 12] = [
        "grammar",
        "grammatical",
        "grammatically",
        "spelling",
        "spelled",
        "uppercase",
        "lowercase",
        "case",
        "capital",
        "capitals",
        "letters",
        "characters",
    ];
    const CODE: [&str; 5] = ["(\"", "('", "==", "=\"", "['"];
    if CODE.iter().any(|sign| text.contains(sign)) {
        return true;
    }
    let mut words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.any(|word| {
        let word = word.as_str();
        SPELLING.contains(&word) || INSTRUCTIONS.contains(word) && !TELLING.contains(&word)
    })
}

/// All delimited spans, from left to right, each with its first mark.
fn spans(text: &str) -> Vec<(char, &str)> {
    let mut spans = Vec::new();
    let opens = |c: char| matches!(c, '`' | '~' | '<' | '"' | '{' | '[' | '\'') || !c.is_ascii();
    if !text.contains(opens) {
        return spans;
    }
    let mut rest = text;
    let mut last = ' ';
    while let Some(first) = rest.chars().next() {
        let span = || fenced(rest).or_else(|| tagged(rest)).or_else(|| bracketed(rest)).or_else(|| single(rest, last));
        let span = if opens(first) { span() } else { None };
        if let Some((inside, after)) = span {
            let inside = inside.trim();
            // A fence of three marks counts as its own kind.
            let mark = if rest.starts_with("\"\"\"") { '`' } else { first };
            spans.extend((!inside.is_empty()).then_some((mark, inside)));
            rest = after;
            last = '"';
        } else {
            rest = &rest[first.len_utf8()..];
            last = first;
        }
    }
    spans
}

fn fenced(text: &str) -> Option<(&str, &str)> {
    FENCES.iter().find_map(|(open, close)| text.strip_prefix(open)?.split_once(close))
}

/// `<name ...>inside</name>`.
fn tagged(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('<')?;
    let name =
        inner.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').next().filter(|name| !name.is_empty())?;
    let (_, body) = inner.split_once('>')?;
    body.split_once(&format!("</{name}>"))
}

/// `{...}` and `[...]` with what they nest.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let (open, close) = match text.as_bytes().first()? {
        b'{' => ('{', '}'),
        b'[' => ('[', ']'),
        _ => return None,
    };
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some((&text[1..at], &text[at + 1..]));
            }
        }
    }
    None
}

/// `'inside'`, when the marks do not touch letters on their outer sides, as apostrophes do.
fn single(text: &str, before: char) -> Option<(&str, &str)> {
    let open = text.chars().next().filter(|c| matches!(c, '\'' | '\u{2018}'))?;
    if before.is_alphanumeric() {
        return None;
    }
    let inner = &text[open.len_utf8()..];
    let closes = |(at, c): &(usize, char)| {
        let after = inner[at + c.len_utf8()..].chars().next();
        matches!(c, '\'' | '\u{2019}') && *at > 0 && !after.is_some_and(char::is_alphanumeric)
    };
    let (at, close) = inner.char_indices().find(closes)?;
    Some((&inner[..at], &inner[at + close.len_utf8()..]))
}

/// What follows a first-line instruction, or "instruction: ".
fn tail(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty() && !courtesy(line)).collect();
    if let [first, rest @ ..] = lines.as_slice()
        && !rest.is_empty()
    {
        let joined = rest.join("\n");
        // A long first line is material itself, with the instruction below it.
        let material = first.len() > joined.len() && !first.trim_end().ends_with([':', '?', '：', '？']);
        return Some(if material { format!("{first}\n{joined}") } else { joined.trim_end().to_owned() });
    }
    let line = lines.first()?;
    let dashes = DASHES.iter().any(|dash| line.contains(dash)) && instructs(line);
    let (at, mark) = line.char_indices().find_map(|(at, _)| Some((at, separator(&line[at..], dashes)?)))?;
    let (head, tail) = (&line[..at], line[at + mark..].trim());
    let words = head.split_whitespace().count();
    let told = words <= HEAD_WORDS && !tail.is_empty() && !courtesy(head) && !mere_label(head);
    (told && (instructs(head) || !asks(tail) && !questions(head))).then(|| tail.to_owned())
}

const DASHES: [&str; 3] = [" - ", " – ", " — "];

/// The length of a mark between instruction and payload: `: `, `：`, ` - `.
fn separator(rest: &str, dashes: bool) -> Option<usize> {
    if rest.starts_with('：') {
        return Some('：'.len_utf8());
    }
    let dash = DASHES.into_iter().find(|dash| rest.starts_with(dash)).map(str::len);
    dash.filter(|_| dashes).or((rest.starts_with(':') && spaced(rest, 0)).then_some(1))
}

fn first_word(text: &str) -> String {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'')
        .find(|word| !word.is_empty())
        .unwrap_or_default()
        .to_lowercase()
}

/// Does a head set a task on what follows?
fn instructs(head: &str) -> bool {
    let mut words = head.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let han = |task: &&str| !task.is_ascii() && head.contains(*task);
    words.any(|word| INSTRUCTIONS.contains(word.as_str())) || !head.is_ascii() && INSTRUCTIONS.iter().any(han)
}

/// Does a head only lead up to a question?
fn questions(head: &str) -> bool {
    matches!(first_word(head).as_str(), "what" | "what's" | "which" | "who" | "when" | "where" | "why" | "how")
}

/// Is this a question of its own?
fn asks(tail: &str) -> bool {
    let opens = matches!(
        first_word(tail).as_str(),
        "what"
            | "what's"
            | "which"
            | "who"
            | "when"
            | "where"
            | "why"
            | "how"
            | "is"
            | "are"
            | "do"
            | "does"
            | "can"
            | "should"
    );
    opens || tail.ends_with(['?', '？'])
}

fn spaced(line: &str, colon: usize) -> bool {
    line[colon + 1..].chars().next().is_some_and(char::is_whitespace)
}

/// A line that greets or thanks and asks nothing.
fn courtesy(line: &str) -> bool {
    const WORDS: [&str; 20] = [
        "hi", "hello", "hey", "dear", "thanks", "thank", "you", "regards", "cheers", "please", "team", "best", "kind",
        "many", "in", "advance", "all", "everyone", "sir", "there",
    ];
    let mut words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && words.all(|word| WORDS.contains(&word.to_lowercase().as_str()))
}

/// A head that only announces a question.
fn mere_label(head: &str) -> bool {
    const WORDS: [&str; 16] = [
        "question", "q", "my", "a", "the", "is", "quick", "one", "simple", "short", "another", "here", "hi", "hello",
        "hey", "sorry",
    ];
    let mut words = head.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| WORDS.contains(&word.to_lowercase().as_str()))
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
