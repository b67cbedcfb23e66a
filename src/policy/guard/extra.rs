//! Something more is asked: one text is the other with a run of words more.
//!
//! One word more may be a filler or a detail that everybody means, and is left to the verifier. Another owner ("my lodger's
//! bike"), a further condition ("in feet", "for children"), a further sentence or question, and one more item of a list
//! change the answer.

use super::nearness::Nearness;
use super::text::{Kind, Text, Token};

/// Added to a question, these change nothing.
const FILLERS: [&str; 30] = [
    "please",
    "thanks",
    "thank",
    "you",
    "kindly",
    "cheers",
    "ty",
    "pls",
    "plz",
    "asap",
    "hello",
    "hi",
    "regards",
    "advance",
    "in",
    "again",
    "now",
    "today",
    "currently",
    "nowadays",
    "ever",
    "really",
    "actually",
    "exactly",
    "like",
    "about",
    "too",
    "help",
    "急",
    "图",
];

/// Words that begin a further condition: "in feet", "without a key", "for children".
const CONDITIONS: [&str; 20] = [
    "in", "for", "with", "without", "on", "at", "under", "by", "after", "before", "during", "from", "as", "per",
    "using", "if", "when", "unless", "only", "except",
];

/// What they are put before is not the case, or hardly.
const LIMITS: [&str; 7] = ["almost", "nearly", "hardly", "barely", "scarcely", "partly", "partially"];

/// Whose a thing may be.
const MINE: [&str; 6] = ["my", "your", "our", "his", "her", "their"];

/// From this many words on, words at the end are an addition, not a longer form of a fragment.
const SENTENCE: usize = 4;

/// The words of one text, with the marks that part its sentences and lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Extra {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
struct Piece {
    folded: String,
    kind: Kind,
    weighs: bool,
    stops: bool,
    /// Whose something is: "neighbour's".
    owns: bool,
}

impl Piece {
    fn of(token: &Token) -> Self {
        let owns = token.weighs() && ["'s", "’s"].iter().any(|ending| token.raw.ends_with(ending));
        Self { folded: token.folded.clone(), kind: token.kind, weighs: token.weighs(), stops: token.stops(), owns }
    }

    fn separates(&self) -> bool {
        matches!(self.folded.as_str(), "," | "and" | "or" | "和" | "或")
    }

    fn asks(&self) -> bool {
        matches!(self.folded.as_str(), "what" | "which" | "who" | "when" | "where" | "why" | "how")
    }

    /// Does it add to what is asked?
    fn tells(&self) -> bool {
        self.asks() || self.weighs && !FILLERS.contains(&self.folded.as_str())
    }
}

/// Words that one text has more, and where.
struct Run<'a> {
    whole: &'a [Piece],
    start: usize,
    length: usize,
}

impl Extra {
    pub(super) fn of(text: &Text) -> Self {
        let telling = text.tokens.iter().filter(|token| token.wordlike() || token.stops() || token.is(","));
        let mut pieces: Vec<Piece> = telling.map(Piece::of).collect();
        while pieces.last().is_some_and(|last| last.kind == Kind::Symbol) {
            pieces.pop();
        }
        Self { pieces }
    }

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        if !near.within() {
            return None;
        }
        let (short, long) = if self.pieces.len() < other.pieces.len() { (self, other) } else { (other, self) };
        let run = short.added(long)?;
        let word = run.words().iter().find(|piece| piece.tells())?;
        let more = run.lists() || run.limits() || run.continues(word.kind) || run.conditions() || run.owns();
        more.then(|| format!("one text has {:?} more", word.folded))
    }

    /// The run by which the other text is longer, if all else is the same.
    fn added<'a>(&self, other: &'a Self) -> Option<Run<'a>> {
        let length = other.pieces.len().checked_sub(self.pieces.len()).filter(|length| *length > 0)?;
        if self.pieces.iter().filter(|piece| piece.kind != Kind::Symbol).count() < SENTENCE {
            return None;
        }
        let same = |(one, two): &(&Piece, &Piece)| one.folded == two.folded;
        let head = self.pieces.iter().zip(&other.pieces).take_while(same).count();
        let tail = self.pieces.iter().rev().zip(other.pieces.iter().rev()).take_while(same).count();
        let start = head.min(self.pieces.len() - tail);
        (head + tail >= self.pieces.len()).then_some(Run { whole: &other.pieces, start, length })
    }
}

impl<'a> Run<'a> {
    fn words(&self) -> &'a [Piece] {
        self.whole.get(self.start..self.start + self.length).unwrap_or_default()
    }

    fn before(&self) -> Option<&'a Piece> {
        self.whole.get(self.start.checked_sub(1)?)
    }

    /// One item more of a list, and not a word with its double: "sects and sub-sects".
    fn lists(&self) -> bool {
        let around = self.whole.iter().skip(self.start.saturating_sub(3)).take(self.length + 6);
        let joined = self.words().iter().chain(self.before()).any(Piece::separates);
        self.before().is_some() && joined && around.filter(|piece| piece.separates()).count() >= 2
    }

    /// A sentence before all is a greeting or how it came about; a later one asks or demands more.
    fn continues(&self, kind: Kind) -> bool {
        let words = self.words();
        let joined = words.first().is_some_and(|piece| piece.folded == "and") && words.iter().any(Piece::asks);
        let sentence = kind != Kind::Han && words.iter().chain(self.before()).any(|piece| piece.stops);
        self.before().is_some() && (joined || sentence)
    }

    /// "Almost double" against "double".
    fn limits(&self) -> bool {
        matches!(self.words(), [word] if LIMITS.contains(&word.folded.as_str()))
    }

    /// "My neighbour's dog" against "my dog".
    fn owns(&self) -> bool {
        let mine = |piece: &Piece| MINE.contains(&piece.folded.as_str());
        matches!(self.words(), [owner] if owner.owns) && self.before().is_some_and(mine)
    }

    fn conditions(&self) -> bool {
        self.length > 1 && self.words().first().is_some_and(|piece| CONDITIONS.contains(&piece.folded.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Extra::of, Extra::difference)
    }

    #[test]
    fn an_addition_differs() {
        for (a, b) in [
            ("How high is the old tower?", "How high is the old tower in fathoms?"),
            ("How high is the old tower?", "How high is the old tower and who built it?"),
            ("How high is the old tower?", "How high is the old tower? Answer in one word."),
            ("What do I cook with eggs and flour?", "What do I cook with eggs, milk and flour?"),
            ("Sort the words pear, apple", "Sort the words pear, apple, plum"),
            ("How do I empty the cask?", "How do I nearly empty the cask?"),
            ("Does the policy cover my bike?", "Does the policy cover my lodger's bike?"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn thanks_details_and_other_wordings_pass() {
        for (a, b) in [
            ("How high is the old tower?", "How high is the old tower, please?"),
            ("How high is the old tower?", "How high is the old tower? Thank you in advance"),
            ("How high is the old tower?", "Good morning! How high is the old tower?"),
            ("How high is the old tower?", "How high is the old tower now?"),
            ("old tower", "old tower height"),
            ("How high is the tower here?", "How high is the town's tower here?"),
            ("How high is the old tower?", "What is the height of the old tower?"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
            assert_eq!(difference(b, a), None, "{b} / {a}");
        }
    }
}
