//! What an instruction is followed by: the material after its colon, dash or line.

use std::sync::LazyLock;

use crate::policy::guard::lexicon::{self, HashSet};

static INSTRUCTIONS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lines = lexicon::lines(include_str!("../lexicon/instructions.txt"));
    lines.flat_map(str::split_whitespace).collect()
});

/// Longest head of "instruction: payload", in words.
const HEAD_WORDS: usize = 14;

/// What follows a first-line instruction, or "instruction: ".
pub(super) fn tail(text: &str) -> Option<String> {
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
    words.any(|word| instructing(&word)) || !head.is_ascii() && INSTRUCTIONS.iter().any(han)
}

/// Does this word, in small letters, set a task?
pub(super) fn instructing(word: &str) -> bool {
    INSTRUCTIONS.contains(word)
}

/// Does a head only lead up to a question?
fn questions(head: &str) -> bool {
    matches!(first_word(head).as_str(), "what" | "what's" | "which" | "who" | "when" | "where" | "why" | "how")
}

/// Is this a question of its own?
pub(super) fn asks(tail: &str) -> bool {
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
