//! The frames that are known, as words in lower case without articles.

/// Words without weight of their own in an English question.
pub(super) const ARTICLES: [&str; 3] = ["a", "an", "the"];
/// Words that add nothing to a question.
pub(super) const FILLERS: [&str; 12] =
    ["any", "some", "very", "really", "actually", "currently", "also", "there", "me", "so", "exactly", "ever"];
/// Words that stand for one another in a question.
pub(super) const ALIKE: [(&str, &str); 14] = [
    ("are", "is"),
    ("am", "is"),
    ("were", "was"),
    ("does", "do"),
    ("we", "i"),
    ("our", "my"),
    ("one", "i"),
    ("within", "in"),
    ("inside", "in"),
    ("upon", "on"),
    ("utilize", "use"),
    ("utilized", "used"),
    ("utilise", "use"),
    ("utilised", "used"),
];
/// What may stand before a question and says nothing.
pub(super) const GREETINGS: [&str; 19] = [
    "hi there",
    "hello there",
    "hi",
    "hello",
    "hey",
    "good morning",
    "good evening",
    "dear support",
    "ok",
    "okay",
    "so",
    "um",
    "well",
    "sorry",
    "please",
    "quick question",
    "question",
    "just curious",
    "thanks",
];
/// What may stand before a question word and only says that one asks.
pub(super) const TELLING: [&str; 24] = [
    "can you tell me",
    "could you tell me",
    "will you tell me",
    "would you tell me",
    "can you please tell me",
    "could you please tell me",
    "can you explain",
    "could you explain",
    "can you please explain",
    "could you please explain",
    "can you explain to me",
    "could you explain to me",
    "please tell me",
    "please explain",
    "tell me",
    "explain",
    "let me know",
    "do you know",
    "i want to know",
    "i need to know",
    "i would like to know",
    "does anyone know",
    "may i know",
    "i was wondering",
];
/// The words that such a frame must stand before.
pub(super) const ASKING: [&str; 10] = ["what", "how", "why", "when", "where", "who", "which", "if", "whether", "whose"];
/// What may stand after a question and says nothing.
pub(super) const CLOSINGS: [&str; 6] =
    ["thank you in advance", "thanks in advance", "thank you", "thanks", "please", "exactly"];
/// Heads that ask the same, and what stands for all of them.
pub(super) const HEADS: [(&str, &[&str]); 8] = [
    (
        "<how>",
        &[
            "how do i",
            "how can i",
            "how could i",
            "how would i",
            "how may i",
            "how do we",
            "how can we",
            "how to",
            "how i can",
            "how i could",
            "how we can",
            "what are steps to",
            "what is process to",
            "what is procedure to",
            "what is way to",
            "in what way can i",
            "what do i do to",
            "what should i do to",
            "what do i need to do to",
            "i want to know how to",
            "can you explain how to",
            "could you explain how to",
            "can you show me how to",
            "could you show me how to",
            "please show me how to",
            "show me how to",
            "can you provide information on how to",
        ],
    ),
    ("<how-you>", &["how do you", "how can you", "how could you", "how would you"]),
    (
        "<where>",
        &["where do i", "where can i", "where could i", "where may i", "where i can", "where do we", "where can we"],
    ),
    ("<who>", &["who do i", "who can i", "whom do i", "whom can i"]),
    (
        "<can>",
        &[
            "can i",
            "could i",
            "may i",
            "can we",
            "am i able to",
            "is it possible to",
            "is it possible for me to",
            "is there way to",
            "is there any way to",
            "is there way for me to",
        ],
    ),
    (
        "<must>",
        &[
            "do i have to",
            "do i need to",
            "must i",
            "am i required to",
            "is it necessary to",
            "do we have to",
            "do we need to",
        ],
    ),
    (
        "<do>",
        &[
            "can you please",
            "could you please",
            "would you please",
            "will you please",
            "can you",
            "could you",
            "would you",
            "will you",
            "is it possible for you to",
            "are you able to",
            "i want you to",
            "i need you to",
            "i would like you to",
        ],
    ),
    (
        "<what>",
        &[
            "what exactly is",
            "what is",
            "what are",
            "can you tell me about",
            "could you tell me about",
            "tell me about",
            "can you provide information about",
            "can you provide information on",
            "can you provide me with information about",
            "can you provide me with information on",
            "could you provide information about",
            "could you provide information on",
            "what can you tell me about",
            "do you know about",
            "do you know anything about",
            "can you explain",
            "can you explain what",
            "please explain",
            "explain",
            "define",
            "what is meaning of",
            "what is definition of",
            "what do you mean by",
            "what is meant by",
        ],
    ),
];
/// Heads of a question for a price.
pub(super) const PRICES: [&str; 3] = ["what is price of", "what is cost of", "how much is"];
/// What begins a phrase that may stand before the question as well as behind it.
pub(super) const PLACING: [&str; 15] = [
    "in", "on", "at", "for", "with", "by", "from", "as", "under", "after", "before", "during", "if", "when", "without",
];
/// What begins the question behind such a phrase.
pub(super) const OPENING: [&str; 17] = [
    "how", "what", "which", "when", "where", "who", "why", "can", "could", "is", "are", "do", "does", "will", "should",
    "did", "may",
];
/// Tails of "what does X mean".
pub(super) const MEANING: [&str; 3] = ["mean", "refer to", "stand for"];
pub(super) const CONTRACTIONS: [(&str, &str); 30] = [
    ("whats", "what is"),
    ("hows", "how is"),
    ("wheres", "where is"),
    ("whos", "who is"),
    ("what's", "what is"),
    ("how's", "how is"),
    ("where's", "where is"),
    ("who's", "who is"),
    ("that's", "that is"),
    ("i'd", "i would"),
    ("i'm", "i am"),
    ("can't", "cannot"),
    ("don't", "do not"),
    ("doesn't", "does not"),
    ("didn't", "did not"),
    ("isn't", "is not"),
    ("aren't", "are not"),
    ("won't", "will not"),
    ("couldn't", "could not"),
    ("shouldn't", "should not"),
    ("wouldn't", "would not"),
    ("it's", "it is"),
    ("i've", "i have"),
    ("i'll", "i will"),
    ("you're", "you are"),
    ("we're", "we are"),
    ("they're", "they are"),
    ("there's", "there is"),
    ("pls", "please"),
    ("plz", "please"),
];
