//! Who does a deed, and who suffers it: "my son is bullied" is not "my son is bullying", whatever else is said.
//!
//! Only of those who can do both, people and pets: a page that loads is loaded.

use super::gap::participle;
use super::text::{Text, Token};

const BE: [&str; 6] = ["is", "are", "am", "was", "were", "got"];

/// What may stand between "is" and a deed.
const BESIDE: [&str; 9] = ["being", "been", "not", "also", "always", "just", "now", "still", "often"];

/// Participles of what one does to oneself, or that only tell how somebody is: who was injured has injured something.
const OWN: [&str; 11] =
    ["worried", "injured", "hurt", "burned", "burnt", "cut", "bored", "changed", "retired", "breastfed", "moved"];

/// Those who do things, and to whom things are done.
const PEOPLE: [&str; 44] = [
    "i",
    "he",
    "she",
    "we",
    "they",
    "daughter",
    "son",
    "child",
    "kid",
    "kids",
    "children",
    "baby",
    "toddler",
    "teenager",
    "wife",
    "husband",
    "partner",
    "mother",
    "father",
    "mom",
    "dad",
    "mum",
    "brother",
    "sister",
    "friend",
    "neighbor",
    "neighbour",
    "boss",
    "manager",
    "employee",
    "employer",
    "coworker",
    "colleague",
    "landlord",
    "tenant",
    "teacher",
    "student",
    "doctor",
    "patient",
    "dog",
    "cat",
    "puppy",
    "customer",
    "seller",
];

/// What one text says of who does and who suffers what.
#[derive(Clone, Debug, Default)]
pub(super) struct Deeds {
    /// Who suffers, and the stem of the deed: "my dog was bitten".
    suffered: Vec<(String, String)>,
    /// Who does, and the stem of what follows or goes on: "my dog bit", "my dog is biting".
    done: Vec<(String, String)>,
}

impl Deeds {
    pub(super) fn of(text: &Text) -> Self {
        let words: Vec<&Token> = text.tokens.iter().filter(|token| token.wordlike()).collect();
        let mut found = Self::default();
        for (at, pair) in words.windows(2).enumerate() {
            let what = pair[1];
            if BE.contains(&what.folded.as_str()) {
                let deed = words[at + 2..].iter().find(|token| !BESIDE.contains(&token.folded.as_str()));
                let who = if what.folded == "am" { Some("i") } else { subject(&words[..=at]) };
                let Some((who, deed)) = who.zip(deed) else { continue };
                let said = (who.to_owned(), deed.stem.clone());
                if deed.folded.ends_with("ing") {
                    found.done.push(said);
                } else if participle(&deed.folded) && !OWN.contains(&deed.folded.as_str()) {
                    found.suffered.push(said);
                }
            } else if let Some(who) = subject(&words[..=at]) {
                found.done.push((who.to_owned(), what.stem.clone()));
            }
        }
        found
    }

    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let deed = self.turned(other).or_else(|| other.turned(self))?;
        Some(format!("{deed:?} done against suffered"))
    }

    /// What somebody suffers here and does there.
    fn turned<'a>(&'a self, other: &Self) -> Option<&'a str> {
        let turned = |said: &&(String, String)| {
            other.done.contains(said) && !other.suffered.contains(said) && !self.done.contains(said)
        };
        self.suffered.iter().find(turned).map(|(_, deed)| deed.as_str())
    }
}

/// Who the words end with, if it is somebody who acts.
fn subject<'a>(words: &[&'a Token]) -> Option<&'a str> {
    let who = words.iter().rev().find(|token| !matches!(token.folded.as_str(), "who" | "that"))?;
    PEOPLE.contains(&who.folded.as_str()).then_some(who.folded.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Deeds::of, |ours, theirs, _| ours.difference(theirs))
    }

    #[test]
    fn a_deed_done_is_not_one_suffered() {
        for (a, b) in [
            ("My daughter is being mocked at school, what now?", "School says my daughter is mocking a boy"),
            ("My son is bullied at school, what now?", "School says my son is bullying a boy"),
            ("My dog bit the postman", "The postman's cat scratched my dog, and my dog was bitten"),
            ("I charged it twice", "Why was I, who am charged twice, not told?"),
            ("Can I sue if I was fired?", "I fired my cook, can she sue?"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn the_same_part_in_it_passes() {
        for (a, b) in [
            ("I was injured, can I sue?", "I injured my knee, can I sue?"),
            ("My son was bitten, what now?", "What now? The dog bit, and my son was bitten."),
            ("I was told that it is free", "They told me that it is free"),
            ("My page is loaded slowly", "My page loads slowly"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
            assert_eq!(difference(b, a), None, "{b} / {a}");
        }
    }
}
