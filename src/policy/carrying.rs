//! What carries a question: its words without the frame, without what comes and goes, and with one word for equal ones.
//!
//! Two English questions that carry the same differ in wording only, nearly always: "who has inspired you", "who inspired
//! you"; "reset my password", "reset a password". Nearly: so it makes no hit by itself, but lets a verifier be sure with
//! less. Whose a thing is may be left out, and is never exchanged.

mod tables;

use super::guard::is_irregular;
use super::wording::hash;

use tables::{EQUAL, FAINT, OWNERS, OWN_PLURALS, PARTICLES, PERFECT, PLACES, POINTS};

/// How soon after "have" its participle stands.
const SOON: usize = 3;
/// From this many words on it may be left out whose a thing is: "what is my deductible" is not "what is a deductible".
const WHOSE_FROM: usize = 2;

/// The words that carry a question, hashed, in order.
#[derive(Clone, Debug, Default)]
pub struct Carrying {
    words: Vec<u64>,
    /// Whose the things are, in order.
    owners: Vec<u64>,
}

impl Carrying {
    /// Of a text's words without its frame, as [`without`](super::frame::without) gives them.
    pub fn of(framed: &[String]) -> Self {
        let mut carrying = Self::default();
        for (at, word) in framed.iter().map(String::as_str).enumerate() {
            let after = &framed[at + 1..];
            if OWNERS.contains(&word) && carrying.words.len() >= WHOSE_FROM {
                carrying.owners.push(hash(word));
            } else if !is_particle(word, after) && !is_faint(word, after) {
                carrying.words.push(hash(standing(word)));
            }
        }
        carrying
    }

    /// Do two questions carry the same? One that carries nothing is like no other.
    pub fn same(&self, other: &Self) -> bool {
        let owned = self.owners == other.owners || self.owners.is_empty() || other.owners.is_empty();
        owned && !self.words.is_empty() && self.words == other.words
    }
}

fn is_particle(word: &str, after: &[String]) -> bool {
    let participle = |word: &String| word.ends_with("ed") || word.ends_with("en") || is_irregular(word);
    PARTICLES.contains(&word) || PERFECT.contains(&word) && after.iter().take(SOON).any(participle)
}

/// "Key" of key features, and what is there is available.
fn is_faint(word: &str, after: &[String]) -> bool {
    word == "available" || FAINT.contains(&word) && after.first().is_some_and(|next| POINTS.contains(&next.as_str()))
}

/// The word that stands for this one and its equals.
fn standing(word: &str) -> &str {
    if PLACES.contains(&word) {
        return PLACES[0];
    }
    let single = singular(word);
    EQUAL.iter().find(|(one, _)| *one == single).map_or(single, |(_, same)| same)
}

/// "books" as "book", crudely; "class", "bus" and "customs" stay.
fn singular(word: &str) -> &str {
    let plural = word.len() > 3 && word.chars().all(char::is_alphabetic) && !word.ends_with("ss");
    if plural && !OWN_PLURALS.contains(&word) { word.strip_suffix('s').unwrap_or(word) } else { word }
}

#[cfg(test)]
mod tests {
    use super::super::frame;
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        let (a, b) = (Carrying::of(&frame::without(a)), Carrying::of(&frame::without(b)));
        assert_eq!(a.same(&b), b.same(&a), "symmetric");
        a.same(&b)
    }

    #[test]
    fn what_comes_and_goes_carries_nothing() {
        for (a, b) in [
            ("What are the likely impacts in business?", "What are the likely impacts on business?"),
            ("Why can't I like comments in Instagram?", "Why can't I like comments on Instagram?"),
            ("What are the joys of exercise?", "What are the joys of exercises?"),
            ("Which technologies used in TCS?", "Which technologies are used in TCS?"),
            ("Which is the best boat to rent?", "What is the best boat to rent?"),
            ("Who has inspired you the most?", "Who inspired you the most?"),
            ("How do I clear history on the phone?", "How do I clear my history on the phone?"),
            ("What are the features of the pump?", "What are the key features of the pump?"),
            ("What happened during the siege?", "What happened in the siege?"),
            ("Which tools are there for it?", "Which tools are available for it?"),
            ("Can you reply in Greek?", "Can you respond in Greek?"),
            ("whats the boiling point of tin", "What is the boiling point of tin?"),
        ] {
            assert!(same(a, b), "{a} / {b}");
        }
    }

    #[test]
    fn what_turns_a_question_is_carried() {
        for (a, b) in [
            ("Can I like comments?", "Can't I like comments?"),
            ("What is in the contract?", "Who is in the contract?"),
            ("Can I work from home?", "Should I work from home?"),
            ("Is the dog older than the cat?", "Is the cat older than the dog?"),
            ("Who is the president?", "Who was the president?"),
            ("Do I pay for it?", "Do you pay for it?"),
            ("How do I write to Anna?", "How do I write for Anna?"),
            ("What is 1 2?", "What is 2 1?"),
            ("What is the custom in Japan?", "What are the customs in Japan?"),
            ("How do I write a document?", "How do I write in a document?"),
            ("How do I turn on my phone?", "How do I turn my phone?"),
            ("What does the meaning of your name say?", "What does the meaning of my name say?"),
            ("What is my deductible?", "What is a deductible?"),
            ("When is my flight?", "When is a flight?"),
            ("Can I use my own computer?", "Can I use a computer?"),
            ("How do I know if I have the flu?", "How do I know if I had the flu?"),
            ("What do I have on Monday?", "What do I do on Monday?"),
            ("Where is the key?", "Where is the?"),
            ("Is that?", "Do just that"),
        ] {
            assert!(!same(a, b), "{a} / {b}");
        }
    }
}
