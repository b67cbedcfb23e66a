//! Another word in the same place.
//!
//! The guards before this one know kinds of words; the world's names and things are endless. So two texts of which each
//! has exactly one word that the other lacks, in the same place, differ, whatever the words are ("plum", "pear";
//! "zorbify", "frobnicate") — unless they are forms, slips or synonyms of one another, which [`super::nearness`] has
//! paired up already. One exchanged word among many in other wordings is left to the verifier.

use std::sync::LazyLock;

use super::lexicon::{self, HashSet};
use super::nearness::{self, Nearness, Unit};
use super::text::{Kind, Text, Token};

static SPEAKING: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| lexicon::lines(include_str!("lexicon/speaking.txt")).flat_map(str::split_whitespace).collect());

/// The longest run of Chinese characters that is taken for one name.
const RUN: usize = 4;

/// In a longer text, two runs in one place are two spellings of one foreign name as often as two names.
const LONG: usize = 20;

/// The words of one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// Words of content as written, where words are the subject: translate, spell, define.
    spoken_of: Option<Vec<String>>,
    /// The text as a row of senses, without articles and the like.
    frame: Vec<u64>,
    /// Where in the frame the speaker stands: I, me, myself.
    speaker: Vec<usize>,
}

impl Words {
    pub(super) fn of(text: &Text) -> Self {
        let framed = || text.tokens.iter().filter_map(|token| Some((framed(token)?, token)));
        let frame = framed().map(|(key, _)| key).collect();
        let speaks = |token: &Token| matches!(token.folded.as_str(), "i" | "me" | "myself");
        let speaker = framed().enumerate().filter(|(_, (_, token))| speaks(token)).map(|(at, _)| at).collect();
        Self { spoken_of: spoken_of(text), frame, speaker }
    }

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        self.exchanged(other, near).or_else(|| self.reworded(other, near))
    }

    /// Everything the same but one word.
    fn exchanged(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        let plain = |unit: &&Unit| unit.kind != Kind::Number;
        let (mut ours, mut theirs) = (near.ours().filter(plain), near.theirs().filter(plain));
        let (one, two) = (ours.next(), theirs.next());
        let length = self.frame.len();
        if ours.next().is_some() || theirs.next().is_some() || length != other.frame.len() {
            return self.strangers(other, near);
        }
        let same = |(a, b): &(&u64, &u64)| a == b;
        let head = self.frame.iter().zip(&other.frame).take_while(same).count();
        let tail = self.frame.iter().rev().zip(other.frame.iter().rev()).take_while(same).count();
        if head + tail + 1 < length {
            return None;
        }
        match (one, two) {
            (Some(one), Some(two)) => Some(format!("{:?} against {:?}", one.word, two.word)),
            (Some(word), None) => other.spoken(head, word),
            (None, Some(word)) => self.spoken(head, word),
            (None, None) => None,
        }
    }

    /// A run of Chinese characters that the lexicon does not know, in the place of another: names, mostly.
    fn strangers(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        let (ours, theirs): (Vec<&Unit>, Vec<&Unit>) = (near.ours().collect(), near.theirs().collect());
        let same = |(a, b): &(&u64, &u64)| a == b;
        let head = self.frame.iter().zip(&other.frame).take_while(same).count();
        let rest = (self.frame.get(head..)?, other.frame.get(head..)?);
        let tail = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(same).count();
        let runs = (rest.0.len() - tail, rest.1.len() - tail) == (ours.len(), theirs.len());
        let longest = ours.len().max(theirs.len());
        let short = self.frame.len().max(other.frame.len()) <= LONG;
        let likely = short && !ours.is_empty() && !theirs.is_empty() && longest <= RUN && longest <= head + tail;
        let strange = ours.iter().chain(&theirs).all(|unit| unit.kind != Kind::Number && !unit.common());
        let chinese = [&ours, &theirs].iter().any(|units| units.iter().all(|unit| unit.kind == Kind::Han));
        let written = |units: &[&Unit]| units.iter().map(|unit| unit.word.as_str()).collect::<String>();
        if slipped(&ours, &written(&theirs)) || slipped(&theirs, &written(&ours)) {
            return None;
        }
        (likely && runs && strange && chinese).then(|| format!("{:?} against {:?}", written(&ours), written(&theirs)))
    }

    /// "Can I", "can my child": somebody else where the speaker stands.
    fn spoken(&self, at: usize, word: &Unit) -> Option<String> {
        // "Answer me" is "answer the question".
        const ANYBODY: [&str; 9] =
            ["question", "people", "person", "someone", "beginner", "beginners", "human", "humans", "user"];
        let other = self.speaker.contains(&at) && !ANYBODY.contains(&word.word.as_str());
        other.then(|| format!("the speaker against {:?}", word.word))
    }

    /// Where words are the subject, a synonym is another word.
    fn reworded(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        let (Some(ours), Some(theirs)) = (&self.spoken_of, &other.spoken_of) else { return None };
        let alone = |one: &[String], two: &[String]| -> Vec<String> {
            one.iter().filter(|word| !two.contains(word)).cloned().collect()
        };
        let (ours, theirs) = (alone(ours, theirs), alone(theirs, ours));
        match (ours.as_slice(), theirs.as_slice()) {
            ([one], [two]) if near.close() => Some(format!("{one:?} against {two:?}")),
            _ => None,
        }
    }
}

/// A known Chinese name of which the other text has half the characters is that name with a slip.
fn slipped(units: &[&Unit], other: &str) -> bool {
    let [name] = units else { return false };
    let shared = name.word.chars().filter(|c| other.contains(*c)).count();
    name.kind == Kind::Han && shared > 1 && shared * 2 >= name.word.chars().count()
}

/// What a token adds to the frame; `None` for what comes and goes without changing a question.
fn framed(token: &Token) -> Option<u64> {
    if !token.wordlike() {
        return None;
    }
    if !token.function {
        return Some(nearness::sense(&token.stem));
    }
    let word = match token.folded.as_str() {
        "a" | "an" | "the" | "my" | "your" | "our" | "their" | "some" | "any" | "this" | "that" | "please" | "just"
        | "really" | "very" | "also" | "so" => return None,
        "which" | "what's" => "what",
        "could" | "would" | "should" | "will" => "can",
        "does" | "did" => "do",
        "are" | "was" | "were" | "am" | "be" => "is",
        "you" | "we" | "one" => "i",
        word if token.kind == Kind::Han => return asking(word).then(|| nearness::sense(word)),
        word => word,
    };
    Some(nearness::sense(word))
}

/// Chinese words that ask; other words without content come and go.
fn asking(word: &str) -> bool {
    word.contains(['么', '哪', '谁', '几', '多', '何', '咋', '啥'])
}

/// The words of a text that is about words.
fn spoken_of(text: &Text) -> Option<Vec<String>> {
    let speaks = |token: &&Token| SPEAKING.contains(token.folded.as_str());
    text.tokens.iter().find(speaks)?;
    let words = text.tokens.iter().filter(|token| token.weighs() && !speaks(token));
    Some(words.map(|token| token.folded.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Words::of, Words::difference)
    }

    #[test]
    fn another_word_in_the_same_place_differs() {
        for (a, b) in [
            ("How do I peel a plum?", "How do I peel a pear?"),
            ("Does the tool zorbify lists?", "Does the tool frobnicate lists?"),
            ("Is the boat a yawl?", "Is the boat a ketch?"),
            ("什么茶好喝", "什么酒好喝"),
            ("王淼写过什么书", "陆子岚写过什么书"),
            ("Can I park here?", "Can contractors park here?"),
            ("ما هي عاصمة بيرو؟", "ما هي عملة بيرو؟"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn where_words_are_the_subject_a_synonym_is_another_word() {
        assert!(difference("Translate to French - the dog is big", "Translate to French - the dog is large").is_some());
        assert_eq!(difference("Why is the dog big?", "Why is the dog large?"), None);
    }

    #[test]
    fn other_wordings_pass() {
        for (a, b) in [
            ("How high is the old tower?", "What is the height of the old tower?"),
            ("How do I buy a stamp?", "Where can I purchase stamps?"),
            ("How do I recieve a parcel?", "How do I receive a parcel?"),
            ("Could you please answer me in Chinese?", "Can you please answer the question in Chinese?"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
            assert_eq!(difference(b, a), None, "{b} / {a}");
        }
    }
}
