//! Does a turn of a conversation need what was said before?
//!
//! Judged conservatively, by its words alone: a turn stands alone when it is a question about something that it names,
//! points back at nothing, and is nobody's own affair. "How many screens does the Family plan have?" does; "how much is
//! it?", "and on Sunday?", "what will my new bill be?" and "book the first slot" do not. What names a thing is a word
//! with a capital inside the sentence, or something quoted: a text without either could be about anything that the
//! conversation is about. English and Chinese; a text in other words never stands alone.

use unicode_normalization::UnicodeNormalization;

use crate::policy::guard;

/// Words that point at something said before, or leave something out.
const POINTING: [&str; 57] = [
    "it",
    "its",
    "itself",
    "this",
    "that",
    "these",
    "those",
    "they",
    "them",
    "their",
    "theirs",
    "he",
    "him",
    "his",
    "she",
    "her",
    "hers",
    "here",
    "such",
    "same",
    "another",
    "other",
    "others",
    "else",
    "again",
    "instead",
    "too",
    "either",
    "neither",
    "also",
    "both",
    "former",
    "latter",
    "above",
    "below",
    "earlier",
    "previous",
    "previously",
    "then",
    "one",
    "ones",
    "more",
    "rest",
    "next",
    "still",
    "anymore",
    "yet",
    "thing",
    "things",
    "stuff",
    "said",
    "mentioned",
    "suggested",
    "discussed",
    "so",
    "yes",
    "no",
];
/// Whose answer is their own.
const OWN: [&str; 10] = ["my", "mine", "our", "ours", "us", "we", "me", "your", "yours", "myself"];
/// What asks about the speaker's own case when "I" follows.
const CASES: [&str; 10] = ["will", "am", "was", "did", "have", "should", "would", "could", "shall", "had"];
/// What a question opens with.
const OPENING: [&str; 24] = [
    "what", "what's", "which", "who", "who's", "when", "when's", "where", "where's", "why", "how", "how's", "is",
    "are", "was", "were", "do", "does", "did", "can", "could", "will", "should", "has",
];
/// What may stand before a question and says nothing.
const LEADS: [&str; 8] = ["by the way", "btw", "hi", "hello", "hey", "before i go", "quick question", "one question"];
/// Capitals that name nothing in particular.
const CALENDAR: [&str; 20] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "ok",
];
/// What a definite noun may be followed by to say which one is meant.
const TELLING: [&str; 9] = ["of", "for", "in", "at", "on", "to", "between", "from", "with"];
/// Nouns of which there is one for everybody.
const UNIQUE: [&str; 14] = [
    "time",
    "day",
    "year",
    "world",
    "internet",
    "sun",
    "moon",
    "weekend",
    "morning",
    "evening",
    "afternoon",
    "night",
    "most",
    "best",
];
/// Chinese characters that point at something, ask on, or speak of the speakers.
const POINTING_ZH: [char; 25] = [
    '他', '她', '它', '这', '那', '其', '此', '该', '们', '我', '你', '您', '也', '还', '又', '再', '呢', '就', '都',
    '另', '继', '刚', '上', '前', '后',
];
/// Words of thanks and greetings, which tell nothing. A yes or an ok may agree to what the assistant proposed.
const COURTESIES: [&str; 28] = [
    "hi",
    "hello",
    "hey",
    "hiya",
    "thanks",
    "thank",
    "you",
    "cheers",
    "great",
    "good",
    "nice",
    "lovely",
    "perfect",
    "brilliant",
    "cool",
    "bye",
    "done",
    "got",
    "it",
    "very",
    "much",
    "that's",
    "ah",
    "oh",
    "day",
    "morning",
    "afternoon",
    "evening",
];
const COURTESIES_ZH: [&str; 8] = ["你好", "您好", "谢谢", "多谢", "谢谢你", "明白", "明白了", "知道了"];
/// What asks in Chinese.
const ASKING_ZH: [&str; 12] = ["什么", "怎么", "怎样", "如何", "谁", "哪", "多少", "几", "为何", "吗", "是否", "何时"];

/// Does this turn need nothing that was said before?
pub fn stands_alone(text: &str) -> bool {
    let folded: String = text.nfkc().collect::<String>().replace('’', "'");
    if folded.chars().any(is_han) { alone_in_chinese(&folded) } else { alone_in_english(&folded) }
}

/// Is an earlier turn over once it is answered, so that it has no bearing on `last`?
///
/// Only a plain question or a courtesy is. Whoever states something may mean it for what follows ("in base 8", "I am on
/// Windows", "by Georgia I mean the state"), and so may whoever asks for something to be done. A question that says
/// more of a name than `last` does ("Paris Hilton", "Paris") tells whose it is.
pub fn is_over(earlier: &str, last: &str) -> bool {
    let folded: String = earlier.nfkc().collect::<String>().replace('’', "'");
    if directs(&folded.to_lowercase()) {
        return false;
    }
    let sentences = folded.split_inclusive(['?', '!', '.', '。', ';', '\n']).map(str::trim);
    sentences.filter(|sentence| sentence.contains(char::is_alphanumeric)).all(is_question_or_courtesy)
        && !says_more_of_a_name(&folded, last)
}

fn is_question_or_courtesy(sentence: &str) -> bool {
    if sentence.chars().any(is_han) {
        let asks = sentence.ends_with('?') && ASKING_ZH.iter().any(|word| sentence.contains(word));
        let bare = sentence.trim_matches(|c: char| !c.is_alphanumeric());
        return asks && !sentence.contains(['我', '咱', '请', '让', '把']) || COURTESIES_ZH.contains(&bare);
    }
    let lower = without_leads(sentence).to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|w| !w.is_empty()).collect();
    let asks = words.first().is_some_and(|word| OPENING.contains(word)) && lower.ends_with('?');
    let requests = words.get(..2).is_some_and(|two| two[1] == "you" && matches!(two[0], "can" | "could" | "will"));
    asks && !requests || words.iter().all(|word| COURTESIES.contains(word))
}

/// Does it ask for something that holds for later answers too: a language, a length, a part to play?
fn directs(lower: &str) -> bool {
    const PHRASES: [&str; 22] = [
        "answer in",
        "respond in",
        "reply in",
        "write in",
        "speak",
        "from now on",
        "always",
        "never",
        "call me",
        "act as",
        "pretend",
        "imagine",
        "assume",
        "suppose",
        "role",
        "in the style",
        "be brief",
        "shorter",
        "以后",
        "从现在",
        "假设",
        "总是",
    ];
    PHRASES.iter().any(|words| lower.contains(words))
}

/// Has a name that both have other names beside it in `earlier` than in `last`?
fn says_more_of_a_name(earlier: &str, last: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let capital = |word: &String| word.chars().next().is_some_and(char::is_uppercase);
    let (earlier, last) = (words(earlier), words(last));
    let beside = |pair: &[String]| pair.iter().all(capital) && last.contains(&pair[0]) != last.contains(&pair[1]);
    earlier.get(1..).is_some_and(|inside| inside.windows(2).any(beside))
}

fn alone_in_english(text: &str) -> bool {
    let question = without_leads(text.trim());
    let words: Vec<&str> = question.split(|c: char| !(c.is_alphanumeric() || "'-".contains(c))).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let opens = lower.first().is_some_and(|word| OPENING.contains(&word.as_str()));
    let whole = words.len() >= 4 && question.trim_end_matches(['?', ' ']).find(['?', '!', '.', ';']).is_none();
    opens
        && whole
        && says_enough(&words)
        && names(question, &words)
        && !points(&lower)
        && !is_own(&lower)
        && definite(&words, &lower)
}

/// A short question leans on what was spoken of: "Who played Rose?", "How old is Paris?".
fn says_enough(words: &[&str]) -> bool {
    let word = |word: &&str| word.to_lowercase().trim_end_matches("'s").to_owned();
    words.iter().map(word).filter(|word| !guard::is_function_word(word)).count() >= 3
}

/// The text behind greetings and the like.
fn without_leads(text: &str) -> &str {
    let lead = LEADS.iter().find_map(|lead| {
        let head = text.get(..lead.len()).filter(|head| head.eq_ignore_ascii_case(lead))?;
        text[head.len()..].strip_prefix([',', '!', ':', '-', '.']).map(str::trim_start)
    });
    lead.map_or(text, without_leads)
}

/// Is there a capital inside the sentence, or something quoted?
fn names(question: &str, words: &[&str]) -> bool {
    let named = |word: &str| {
        let capital = word.chars().next().is_some_and(char::is_uppercase);
        let speaker = word == "I" || word.starts_with("I'");
        capital && !speaker && !CALENDAR.contains(&word.to_lowercase().trim_end_matches('s'))
    };
    words.iter().skip(1).any(|word| named(word)) || ['"', '`', '“'].iter().any(|mark| question.contains(*mark))
}

fn points(lower: &[String]) -> bool {
    let at = |i: usize| lower.get(i).map(String::as_str);
    (0..lower.len()).any(|i| {
        let word = lower[i].as_str();
        let bare = word.strip_suffix("'s").or_else(|| word.strip_suffix("'re")).unwrap_or(word);
        let existing = || i > 0 && matches!(at(i - 1), Some("is" | "are" | "was" | "were"));
        match bare {
            "there" => !(existing() && i == 1),
            "same" => at(i + 1) != Some("time"),
            "more" => at(i + 1) != Some("than"),
            _ => POINTING.contains(&bare),
        }
    })
}

/// Is it about the speaker's own case?
fn is_own(lower: &[String]) -> bool {
    let personal = lower.iter().any(|word| OWN.contains(&word.as_str()));
    personal || lower.windows(2).any(|pair| CASES.contains(&pair[0].as_str()) && pair[1] == "i")
}

/// Does every "the" say which one is meant?
fn definite(words: &[&str], lower: &[String]) -> bool {
    let told = |at: usize| {
        let next = |i: usize| lower.get(i).map_or("", String::as_str);
        let capital = |i: usize| words.get(i).and_then(|word| word.chars().next()).is_some_and(char::is_uppercase);
        let superlative = next(at + 1).ends_with("est") || UNIQUE.contains(&next(at + 1)) || next(at + 1) == "same";
        capital(at + 1) || capital(at + 2) || superlative || (2..=4).any(|i| TELLING.contains(&next(at + i)))
    };
    lower.iter().enumerate().all(|(at, word)| word != "the" || told(at))
}

fn alone_in_chinese(text: &str) -> bool {
    let named = text.contains(['《', '“', '"', '「']) || text.chars().filter(char::is_ascii_alphanumeric).count() > 1;
    let long = text.chars().filter(|c| is_han(*c)).count() >= 6;
    let asks = ASKING_ZH.iter().any(|word| text.contains(word));
    named && long && asks && !text.contains(POINTING_ZH)
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_about_what_it_names_stands_alone() {
        for text in [
            "How many screens can play at the same time on the Family plan?",
            "By the way, do you have a status page for Ferrowave?",
            "Is Corvina open on Christmas Day?",
            "What's the fee for a Harbour Gold card?",
            "Can I use Plumtree on an Android phone?",
            "Is there a limit on the size of Lumo exports?",
            "What does \"idempotent\" mean in the API guide?",
            "《红楼梦》的作者是谁？",
            "Python怎么读取文件",
        ] {
            assert!(stands_alone(text), "{text}");
        }
    }

    #[test]
    fn what_points_back_or_leaves_out_does_not() {
        for text in [
            "how much is it?",
            "How much does Ferrowave's second one cost?",
            "And on the Family plan?",
            "What about Corvina?",
            "Who played Rose?",
            "How old is Paris?",
            "What is the capital of Spain?",
            "yes please",
            "book the first slot",
            "Does the assistant support Linux then?",
            "What will my Ferrowave bill be?",
            "Will I be charged for data in Spain?",
            "When will someone come out?",
            "can I collect at 10pm?",
            "What time does it open on Sunday?",
            "Does the excess cover Corvina?",
            "Did he ever meet Einstein?",
            "Where else did Corvina open?",
            "Is Corvina good? Why?",
            "",
            "多少钱",
            "他什么时候去Google的",
            "那Python呢",
            "有吗",
        ] {
            assert!(!stands_alone(text), "{text}");
        }
    }

    #[test]
    fn plain_questions_and_courtesies_are_over_once_they_are_answered() {
        let last = "How many screens does the Family plan have?";
        for text in [
            "Is there a profile for kids?",
            "hello! how do I submit a meter reading online?",
            "got it, thanks",
            "great, thank you!",
            "你好",
            "怎么注册账号？",
        ] {
            assert!(is_over(text, last), "{text}");
        }
    }

    #[test]
    fn what_may_hold_for_later_answers_is_not_over() {
        for (text, last) in [
            ("In my novel Paris is the capital of Spain.", "What is the capital city of Spain?"),
            ("Today we discuss the year 1950.", "Who is the prime minister of France?"),
            ("I mean Georgia, the US state.", "What is the largest city in Georgia?"),
            ("Bitte auf Deutsch.", "How does a Docker image work?"),
            ("No markdown please.", "How does a Docker image work?"),
            ("Explain things like I'm five.", "Why did the Roman empire fall?"),
            ("Let's assume base 8.", "How much is 7 plus 3 in Python?"),
            ("My dog is called Napoleon.", "How much food should Napoleon eat?"),
            ("Can you explain things like to a child?", "Why did the Roman empire fall?"),
            ("What if we assume base 8?", "How much is 7 plus 3 in Python?"),
            ("Who sings with Paris Hilton?", "How old is Paris on record?"),
            ("yes please", "How does a Docker image work?"),
            ("Please answer in French from now on.", "How does a Docker image work?"),
            ("假设你是海盗。", "《红楼梦》的作者是谁？"),
            ("我用的是 Windows。", "怎么安装最新版 Docker？"),
            ("我说的苹果是公司。", "“苹果”的总部在哪里？"),
        ] {
            assert!(!is_over(text, last), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}") {
            let _ = (stands_alone(&text), is_over(&text, &text));
        }
    }
}
