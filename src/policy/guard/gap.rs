//! Who does it, and to whom: the gap that a question asks to fill, and the passive with "get".
//!
//! "Who did Ann call" leaves open whom the deed meets, "who called Ann" who does it: the same words, the other way round.
//! So do "how do I sue him" and "how do I get sued by him". Both forms must match word for word, or nearly.

use super::lexicon::is_irregular;
use super::nearness::Nearness;
use super::text::{Text, Token};

/// With these the gap is the same on both sides ("what does it mean", "what means it").
const EVEN: [&str; 8] = ["mean", "cost", "weigh", "happen", "is", "be", "do", "equal"];

/// Articles and possessives, which say nothing about a role.
const BARE: [&str; 9] = ["a", "an", "the", "my", "your", "our", "his", "her", "their"];

/// Participles that tell what one does oneself: "get married", "get registered".
const OWN: [&str; 14] = [
    "started",
    "married",
    "engaged",
    "divorced",
    "dressed",
    "involved",
    "registered",
    "enrolled",
    "subscribed",
    "logged",
    "signed",
    "used",
    "connected",
    "qualified",
];

/// What follows a participle that somebody else's deed made.
const AFTER: [&str; 5] = ["by", "to", "as", "from", "into"];

/// Who does the deed where a verb follows.
const DOERS: [&str; 7] = ["i", "to", "we", "you", "they", "he", "she"];

/// The roles of one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Gap {
    /// What stands between the question word and "did", and what follows.
    object: Option<(Vec<String>, Vec<String>)>,
    /// All words after the question word.
    subject: Vec<String>,
    /// Stems of the participles behind "get" that another's deed made.
    suffered: Vec<String>,
    /// Stems of verbs with a doer before and no preposition after.
    done: Vec<String>,
}

impl Gap {
    pub(super) fn of(text: &Text) -> Self {
        let words: Vec<&Token> = text.tokens.iter().filter(|token| token.wordlike()).collect();
        let mut found = Self::default();
        if words.first().is_some_and(|token| matches!(token.folded.as_str(), "who" | "whom" | "what" | "which")) {
            found.read(&words[1..]);
        }
        found.suffered = deeds(&words, |before, word, after| {
            matches!(before, "get" | "gets" | "getting" | "got") && participle(word) && AFTER.contains(&after)
        });
        let free = |after: &str| !after.is_empty() && !AFTER.contains(&after) && !matches!(after, "for" | "in" | "on");
        found.done = deeds(&words, |before, _, after| DOERS.contains(&before) && free(after));
        found
    }

    /// Reads what follows the question word.
    fn read(&mut self, words: &[&Token]) {
        let stems = |words: &[&Token]| -> Vec<String> {
            let told = words.iter().filter(|token| !BARE.contains(&token.folded.as_str()));
            told.map(|token| token.stem.clone()).collect()
        };
        let aux = words.iter().take(4).position(|token| matches!(token.folded.as_str(), "do" | "does" | "did"));
        match aux {
            Some(at) => self.object = Some((stems(&words[..at]), stems(&words[at + 1..]))),
            None => self.subject = stems(words),
        }
    }

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        let filled = self.filled(other).or_else(|| other.filled(self));
        let filled = filled.map(|verb| format!("{verb:?} with the doer asked for against what it is done to"));
        filled.or_else(|| {
            let verb = self.suffers(other).or_else(|| other.suffers(self)).filter(|_| near.apart() == 0)?;
            Some(format!("{verb:?} done against suffered"))
        })
    }

    /// The verb, where this text asks for the object and the other, in the same words, for the subject.
    fn filled<'a>(&'a self, other: &Self) -> Option<&'a str> {
        let (head, tail) = self.object.as_ref()?;
        let rest = other.subject.strip_prefix(head.as_slice())?;
        let (verb, rest) = rest.split_first().filter(|(_, rest)| !rest.is_empty() && rest.len() + 1 == tail.len())?;
        let at = tail.iter().rposition(|word| word == verb).filter(|at| *at > 0)?;
        let (thing, more) = (&tail[..at], &tail[at + 1..]);
        // What follows the verb is its preposition or some circumstance.
        let same = rest.strip_prefix(thing) == Some(more) || rest.strip_prefix(more) == Some(thing);
        let told = tail[at].as_str();
        (same && !EVEN.contains(&told)).then_some(told)
    }

    fn suffers<'a>(&'a self, other: &Self) -> Option<&'a str> {
        let turned = |verb: &&String| other.done.contains(verb) && !other.suffered.contains(verb);
        self.suffered.iter().find(turned).map(String::as_str)
    }
}

/// Stems of the words that stand so between their neighbours.
fn deeds(words: &[&Token], is: impl Fn(&str, &str, &str) -> bool) -> Vec<String> {
    let after = |at: usize| words.get(at + 2).map_or("", |token| token.folded.as_str());
    let pairs = words.windows(2).enumerate();
    let deeds = pairs.filter(|(at, pair)| !pair[1].function && is(&pair[0].folded, &pair[1].folded, after(*at)));
    deeds.map(|(_, pair)| pair[1].stem.clone()).collect()
}

/// A participle of what is done to somebody.
pub(super) fn participle(word: &str) -> bool {
    (word.ends_with("ed") || is_irregular(word)) && !OWN.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Gap::of, Gap::difference)
    }

    #[test]
    fn the_other_role_asked_for_differs() {
        for (a, b) in [
            ("Who did Ann call?", "Who called Ann?"),
            ("Whom does the mayor trust?", "Who trusts the mayor?"),
            ("What does a heron hunt?", "What hunts a heron?"),
            ("Which club did Lund scold?", "Which club scolded Lund?"),
            ("Who taught Bruno?", "Who did Bruno teach?"),
            ("What does the parser rely on?", "What relies on the parser?"),
            ("Which firm did Acme buy in May?", "Which firm bought Acme in May?"),
            ("How do I fire my boss?", "How do I get fired by my boss?"),
            ("Can I chase a goose?", "Can I get chased by a goose?"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn the_same_role_passes() {
        for (a, b) in [
            ("What does the lamp cost?", "What costs the lamp?"),
            ("Who did Ann call?", "Whom did Ann call?"),
            ("What does ajar mean?", "What means ajar?"),
            ("Who called Ann?", "Who was it that called Ann?"),
            ("How do I get started with chess?", "How do I start with chess?"),
            ("How do I get married in Lund?", "How do I marry in Lund?"),
            ("How do I get my card verified?", "How do I verify my card?"),
            ("How do I get registered for the exam?", "How do I register for the exam?"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
            assert_eq!(difference(b, a), None, "{b} / {a}");
        }
    }
}
