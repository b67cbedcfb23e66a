//! Something more is asked: words added at the end, or one word exchanged in a text so long that no word weighs much.

use super::lexicon;
use super::text::Text;

/// Added to a question, these change nothing.
const FILLERS: [&str; 16] = [
    "please", "thanks", "thank", "you", "kindly", "cheers", "ty", "pls", "plz", "asap", "hello", "hi", "regards",
    "advance", "in", "again",
];

/// From this many words on, words at the end are an addition, not a longer form of a fragment.
const SENTENCE: usize = 4;

/// From this many content words on, a text is so long that the vector hardly moves with one of them.
const LONG: usize = 16;

/// Exchanged words up to this number are a difference in a long text; more, and it is another wording.
const FEW: usize = 4;

/// The words of one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    folded: Vec<String>,
    /// Sorted.
    content: Vec<String>,
}

impl Words {
    pub(super) fn of(text: &Text) -> Self {
        let tokens = || text.tokens.iter().filter(|token| token.wordlike());
        let folded = tokens().map(|token| token.folded.clone()).collect();
        let content = tokens().filter(|token| !lexicon::is_function_word(&token.folded));
        let mut content: Vec<String> = content.map(|token| token.stem.clone()).collect();
        content.sort_unstable();
        Self { folded, content }
    }

    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        self.continued(other).or_else(|| other.continued(self)).or_else(|| self.exchanged(other))
    }

    /// The other text goes on where this one ends.
    fn continued(&self, other: &Self) -> Option<String> {
        let added = other.folded.strip_prefix(self.folded.as_slice()).filter(|_| self.folded.len() >= SENTENCE)?;
        let word = added.iter().find(|word| !FILLERS.contains(&word.as_str()))?;
        Some(format!("one text goes on with {word:?}"))
    }

    fn exchanged(&self, other: &Self) -> Option<String> {
        if self.content.len().min(other.content.len()) < LONG {
            return None;
        }
        let (ours, theirs) = (missing(&self.content, &other.content), missing(&other.content, &self.content));
        let differs = (1..=FEW).contains(&(ours.len() + theirs.len()));
        let word = ours.first().or(theirs.first()).filter(|_| differs)?;
        Some(format!("{word:?} is in one text only"))
    }
}

/// Words of a sorted list that another has not, or not as often.
fn missing<'a>(one: &'a [String], two: &[String]) -> Vec<&'a String> {
    let mut rest = two.iter().peekable();
    let absent = one.iter().filter(|word| {
        while rest.next_if(|theirs| theirs < word).is_some() {}
        rest.next_if(|theirs| theirs == word).is_none()
    });
    absent.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        Words::of(&Text::of(a)).difference(&Words::of(&Text::of(b)))
    }

    const LETTER: &str = "A customer from Bergen wrote that the blue kettle which arrived on Monday leaks at the handle, \
                          that the box was torn, that nobody answered the phone all week and that he wants a";

    #[test]
    fn an_addition_and_a_word_exchanged_in_a_long_text_differ() {
        for (a, b) in [
            ("How high is the old tower?", "How high is the old tower in fathoms?"),
            ("How high is the old tower?", "How high is the old tower and who built it?"),
            ("How high is the old tower?", "How high is the old tower? Answer in one word."),
            (&format!("{LETTER} refund."), &format!("{LETTER} new kettle lid.")),
            (&format!("{LETTER} refund."), &format!("{LETTER} replacement.")),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn thanks_and_other_wordings_pass() {
        for (a, b) in [
            ("How high is the old tower?", "How high is the old tower, please?"),
            ("How high is the old tower?", "How high is the old tower? Thank you in advance"),
            ("old tower", "old tower height"),
            ("How high is the old tower?", "What is the height of the old tower?"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
            assert_eq!(difference(b, a), None, "{b} / {a}");
        }
    }
}
