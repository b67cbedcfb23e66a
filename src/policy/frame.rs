//! The frame of a question, taken off: what is left of "Could you please tell me how I can pay?" and "how to pay".
//!
//! People and programs put the same question into many frames: a greeting, a "could you tell me", a "please", one of ten
//! ways to ask how. Two prompts that are alike word for word without their frames ask the same. Only frames that change
//! nothing are known here: "why" or "should" stay, and so does whether "I" or "you" act. English only; a text in another
//! language keeps all of its words.

mod tables;

use unicode_normalization::UnicodeNormalization;

use tables::{
    ALIKE, ARTICLES, ASKING, CLOSINGS, CONTRACTIONS, FILLERS, GREETINGS, HEADS, MEANING, OPENING, PLACING, PRICES,
    TELLING,
};

/// The words of `text` without its frame, in order; the frame's kind, where one is known, stands first.
pub fn without(text: &str) -> Vec<String> {
    let mut words = words(&fronted(text).unwrap_or_else(|| text.to_owned()));
    while let Some(shorter) = strip(&words) {
        words = shorter;
    }
    turned(plain(headed(&words).unwrap_or(words)))
}

/// "With the Basic plan, what can I do?" as "what can I do with the Basic plan?".
fn fronted(text: &str) -> Option<String> {
    let (phrase, question) = text.split_once(',')?;
    let begins = |text: &str, words: &[&str]| {
        let first = text.split_whitespace().next().unwrap_or_default().to_lowercase();
        words.contains(&first.as_str())
    };
    let whole = !question.contains([',', '.', ';', ':', '!']) && !phrase.contains(['.', '?', '!', ';', ':', '"']);
    (whole && begins(phrase, &PLACING) && begins(question, &OPENING))
        .then(|| format!("{} {phrase}", question.trim_end_matches(['?', ' '])))
}

/// The same words however they are joined: "water proof" as "water-proof" as "waterproof". Numbers stay apart.
pub fn glued(words: &[String]) -> String {
    let letters =
        |word: &str| word.starts_with(char::is_alphabetic) && word.chars().all(|c| c.is_alphabetic() || c == '-');
    let mut glued = String::new();
    for (i, word) in words.iter().enumerate() {
        if i > 0 && !(letters(word) && letters(&words[i - 1])) {
            glued.push(' ');
        }
        glued.extend(word.chars().filter(|c| *c != '-' || !letters(word)));
    }
    glued
}

fn words(text: &str) -> Vec<String> {
    let folded: String = text.nfkc().collect::<String>().to_lowercase().replace('’', "'").replace("e-mail", "email");
    let kept = |c: char| c.is_alphanumeric() || "'.+#/%$€£-_=<>*^&|~@".contains(c);
    let bare = |word: &str| word.chars().all(|c| "'.-".contains(c));
    // A dash at the end of a word says nothing; one that stands alone may be an operator.
    let trim = |word: &str| if bare(word) { word.to_owned() } else { word.trim_matches(['.', '-', '\'']).to_owned() };
    let split = folded.split(|c: char| !kept(c)).map(trim).filter(|word| word != "." && word != "...");
    let whole = |word: &str| {
        let known = CONTRACTIONS.iter().find(|(short, _)| *short == word);
        known.map_or_else(|| word.to_owned(), |(_, long)| (*long).to_owned())
    };
    let long: Vec<String> = split.filter(|word| !word.is_empty()).map(|word| whole(&word)).collect();
    let single = long.iter().flat_map(|word| word.split(' ')).filter(|word| !ARTICLES.contains(word));
    single.map(str::to_owned).collect()
}

/// One greeting, telling or closing less; `None` when there is none, or nothing would be left.
fn strip(words: &[String]) -> Option<Vec<String>> {
    let after = |frame: &&str| rest(words, frame).filter(|left| !left.is_empty());
    let asks = |left: &&[String]| left.first().is_some_and(|word| ASKING.contains(&word.as_str()));
    let greeted = GREETINGS.iter().find_map(after);
    let told = || TELLING.iter().find_map(|frame| after(frame).filter(asks));
    let closed = || CLOSINGS.iter().find_map(|frame| front(words, frame).filter(|left| !left.is_empty()));
    greeted.or_else(told).or_else(closed).map(<[String]>::to_vec)
}

/// The words with their head named by its kind; the longest head that fits.
fn headed(words: &[String]) -> Option<Vec<String>> {
    if let Some(thing) = meaning(words) {
        return Some(named("<what>", thing));
    }
    if let Some(thing) = priced(words) {
        return Some(named("<price>", thing));
    }
    let fits = HEADS.iter().flat_map(|(kind, heads)| heads.iter().map(move |head| (*kind, *head)));
    let longest = fits.filter_map(|(kind, head)| rest(words, head).map(|left| (kind, left)));
    let (kind, left) = longest.min_by_key(|(_, left)| left.len())?;
    (!left.is_empty()).then(|| named(kind, left))
}

/// X in "what does X mean", or in "(explain) what X is".
fn meaning(words: &[String]) -> Option<&[String]> {
    let asked = rest(words, "what does").or_else(|| rest(words, "what do"));
    let meant = asked.and_then(|asked| MEANING.iter().find_map(|tail| front(asked, tail)));
    let is = || rest(words, "what").and_then(|asked| front(asked, "is").or_else(|| front(asked, "are")));
    meant.or_else(is).filter(|thing| !thing.is_empty())
}

/// X in "how much does X cost".
fn priced(words: &[String]) -> Option<&[String]> {
    let asked = ["how much does", "how much do", "what does", "what do"].iter().find_map(|head| rest(words, head));
    let cost = asked.and_then(|asked| front(asked, "cost"));
    cost.or_else(|| PRICES.iter().find_map(|head| rest(words, head))).filter(|thing| !thing.is_empty())
}

/// Without fillers, each word as the one that stands for it; a text of fillers alone stays.
fn plain(words: Vec<String>) -> Vec<String> {
    let kept: Vec<String> = words.iter().filter(|word| !FILLERS.contains(&word.as_str())).cloned().collect();
    let kept = if kept.is_empty() { words } else { kept };
    let same = |word: String| ALIKE.iter().find(|(one, _)| *one == word).map_or(word, |(_, same)| (*same).to_owned());
    kept.into_iter().map(same).collect()
}

/// "days of leave" as "leave days".
fn turned(mut words: Vec<String>) -> Vec<String> {
    let plain = |word: &String| word.chars().all(char::is_alphabetic);
    while let Some(at) = (1..words.len().saturating_sub(1))
        .find(|at| words[*at] == "of" && plain(&words[at - 1]) && plain(&words[at + 1]))
    {
        words.remove(at);
        words.swap(at - 1, at);
    }
    words
}

fn named(kind: &str, rest: &[String]) -> Vec<String> {
    std::iter::once(kind.to_owned()).chain(rest.iter().cloned()).collect()
}

/// What follows `frame`, when the words begin with it.
fn rest<'a>(words: &'a [String], frame: &str) -> Option<&'a [String]> {
    frame
        .split(' ')
        .try_fold(words, |left, word| left.split_first().filter(|(first, _)| *first == word).map(|(_, l)| l))
}

/// What stands before `frame`, when the words end with it.
fn front<'a>(words: &'a [String], frame: &str) -> Option<&'a [String]> {
    frame.rsplit(' ').try_fold(words, |left, word| left.split_last().filter(|(last, _)| *last == word).map(|(_, l)| l))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_frames_around_one_question_leave_the_same() {
        for (one, other) in [
            ("How do I reset my password?", "Hi, could you please tell me how I can reset my password?"),
            ("How can I pay by card?", "how to pay by card"),
            ("What is Flink?", "what's \"flink\"?"),
            ("What does DeFi mean?", "Can you explain what DeFi is?"),
            ("Tell me about the TTL feature.", "What is the TTL feature?"),
            ("Where can I download my invoices?", "where do i download my invoices"),
            ("Can I get a refund?", "Is it possible to get a refund?"),
            ("How do I delete my account?", "What do I do to delete my account?"),
            ("Are there any fees for us?", "Are there fees for us?"),
            ("How much does a stamp cost?", "What is the price of a stamp?"),
            ("How many days of leave do I have?", "How many leave days do I have?"),
            ("What's my e-mail address?", "What is my email address"),
            ("Can you answer in French?", "Is it possible for you to answer in French, please?"),
            ("With the Basic plan, what can I export?", "What can I export with the Basic plan?"),
            ("What is meant by \"idempotent\"?", "What does idempotent mean?"),
            ("I don't get any mail, what can I do?", "I do not get mail, what can I do?"),
            ("How do I search inside attachments?", "How can I search in attachments?"),
        ] {
            let (a, b) = (without(one), without(other));
            assert_eq!(a, b, "{one} / {other}");
        }
    }

    #[test]
    fn joined_and_divided_words_are_the_same_and_numbers_are_not() {
        let glue = |text: &str| glued(&without(text));
        assert_eq!(glue("Is the pen water proof?"), glue("Is the pen waterproof?"));
        assert_eq!(glue("What is a well-formed query?"), glue("what is a wellformed query"));
        assert_ne!(glue("What is 1 2?"), glue("What is 12?"));
        assert_ne!(glue("What does - do?"), glue("What does -= do?"));
        assert_ne!(glue("What is x - y?"), glue("What is xy?"));
    }

    #[test]
    fn what_changes_the_question_stays() {
        for (one, other) in [
            ("How do I reset my password?", "Why do I reset my password?"),
            ("How do I reset my password?", "How do you reset my password?"),
            ("How can I pay?", "How should I pay?"),
            ("Can you answer in French?", "Do not answer in French."),
            ("What is Flink?", "Who is Flink?"),
            ("What is C?", "What is C#?"),
            ("What does - do?", "What does -= do?"),
            ("How long is your break?", "How long is the break?"),
            ("When do I pay?", "When can I pay?"),
            ("What is version 1.2?", "What is version 1.3?"),
            ("With the Basic plan, what can I export?", "What can I export without the Basic plan?"),
            ("In Rome, what closes at noon?", "In noon, what closes at Rome?"),
        ] {
            assert_ne!(without(one), without(other), "{one} / {other}");
        }
    }

    #[test]
    fn a_text_that_is_all_frame_keeps_words() {
        for text in ["Please", "Hello there", "What is?", "Can you explain", ""] {
            assert_eq!(without(text).is_empty(), text.is_empty(), "{text}");
        }
    }
}
