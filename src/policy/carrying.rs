//! What carries a question: its words without the frame, without what comes and goes, and with one word for equal ones.
//!
//! Two English questions that carry the same differ in wording only, nearly always: "who has inspired you", "who inspired
//! you"; "reset my password", "reset a password"; "policy on remote work", "remote work policy". Nearly: so it makes no hit
//! by itself, but lets a verifier be sure with less. Whose a thing is may be left out, and is never exchanged.

mod tables;

use super::guard::is_irregular;
use super::wording::hash;

use tables::{
    ENDS, EQUAL, FAINT, MAKING, MUTUAL, OWN_PLURALS, OWNERS, PARTICLES, PERFECT, PLACES, POINTS, RELATING, RELATIONAL,
    SEEKING,
};

/// How soon after "have" its participle stands.
const SOON: usize = 3;
/// From this many words on it may be left out whose a thing is: "what is my deductible" is not "what is a deductible".
const WHOSE_FROM: usize = 2;
/// A phrase that is moved as a whole is no longer than this.
const PHRASE: usize = 3;

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
        let words: Vec<&str> = framed.iter().flat_map(|word| parts(word)).collect();
        let telling: Vec<&str> = (0..words.len()).filter(|at| !is_faint(&words, *at)).map(|at| words[at]).collect();
        let ordered = sorted(turned(telling));
        let mut carrying = Self::default();
        for (at, word) in ordered.iter().enumerate() {
            let sought = at.checked_sub(1).is_some_and(|before| SEEKING.contains(&ordered[before]));
            if OWNERS.contains(word) && !sought && carrying.words.len() >= WHOSE_FROM {
                carrying.owners.push(hash(word));
            } else if !is_particle(word, &ordered[at + 1..]) {
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

/// The words that hyphens join; numbers stay whole.
fn parts(word: &str) -> Vec<&str> {
    let parts: Vec<&str> = word.split('-').collect();
    let words = |part: &&str| !part.is_empty() && part.chars().all(char::is_alphanumeric);
    let letters = parts.iter().any(|part| part.starts_with(char::is_alphabetic));
    if letters && parts.iter().all(words) { parts } else { vec![word] }
}

/// "Policy on remote work" as "remote work policy".
fn turned(mut words: Vec<&str>) -> Vec<&str> {
    let mut at = 0;
    while at + 2 < words.len() {
        let phrase = words[at + 2..].iter().take_while(|word| !ENDS.contains(word)).count();
        let relates = RELATIONAL.contains(&singular(words[at])) && RELATING.contains(&words[at + 1]);
        if relates && (1..=PHRASE).contains(&phrase) {
            words[at..at + 2 + phrase].rotate_left(2);
            words.remove(at + phrase + 1);
        }
        at += 1;
    }
    words
}

/// What a difference is between, in one order.
fn sorted(mut words: Vec<&str>) -> Vec<&str> {
    let mutual = |two: &[&str]| MUTUAL.contains(&two[0]) && two[1] == "between";
    let Some(from) = words.windows(2).position(mutual).map(|at| at + 2) else { return words };
    let one = words[from..].iter().take_while(|word| !ENDS.contains(word)).count();
    let and = from + one;
    if one == 0 || words.get(and) != Some(&"and") {
        return words;
    }
    let other = words[and + 1..].iter().take_while(|word| !ENDS.contains(word)).count();
    let end = and + 1 + other;
    if words[and + 1..end] < words[from..and] {
        let turned = [&words[and + 1..end], &["and"], &words[from..and]].concat();
        words.splice(from..end, turned);
    }
    words
}

fn is_particle(word: &str, after: &[&str]) -> bool {
    let participle = |word: &&str| word.ends_with("ed") || word.ends_with("en") || is_irregular(word);
    PARTICLES.contains(&word) || PERFECT.contains(&word) && after.iter().take(SOON).any(participle)
}

/// "Key" of key features; "new" of what is made; and what is there is available.
fn is_faint(words: &[&str], at: usize) -> bool {
    let before = || at.checked_sub(1).map_or("", |before| words[before]);
    let of_points = || words[at + 1..].iter().take(PHRASE).any(|next| POINTS.contains(next));
    match words[at] {
        "available" | "offered" => true,
        "new" => MAKING.contains(&before()),
        word => FAINT.contains(&word) && of_points(),
    }
}

/// The word that stands for this one and its equals.
fn standing(word: &str) -> &str {
    if PLACES.contains(&word) {
        return PLACES[0];
    }
    let single = singular(word);
    EQUAL.iter().find(|(_, equal)| equal.contains(&single)).map_or(single, |(same, _)| same)
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
            ("What is the policy on remote work?", "What is the remote work policy?"),
            ("How do I file a claim for boat insurance?", "How do I file a boat insurance claim?"),
            ("What is the difference between tar and pitch?", "What is the difference between pitch and tar?"),
            ("Plan a 3-day trip to Bergen", "Plan a three-day trip to Bergen."),
            ("How do I create a new account?", "How do I create an account?"),
            ("Do you know the chart-drawing plugin?", "Do you know the chart drawing plugin?"),
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
            ("Can I buy a new passport?", "Can I buy a passport?"),
            ("What is the difference between tar and pitch?", "What is the difference between tar and resin?"),
            ("How do I find my phone?", "How do I find a phone?"),
            ("How do I delete my account?", "How do I delete an account?"),
            ("How do I open a new file?", "How do I open a file?"),
            ("What is the fee between gold and silver?", "What is the fee between silver and gold?"),
            ("What is the number for the house?", "What is the house number?"),
            ("Who is the man in black?", "Who is the black man?"),
            ("How do I transfer from Oslo to Bergen?", "How do I transfer from Bergen to Oslo?"),
            ("Is that?", "Do just that"),
        ] {
            assert!(!same(a, b), "{a} / {b}");
        }
    }
}
