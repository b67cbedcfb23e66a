//! The words that come and go in an English question, and those that are equal.

/// Particles, as [`without`](crate::policy::frame::without) leaves them: the things asked about are not among them, nor what is
/// asked of them.
pub(super) const PARTICLES: [&str; 10] = ["is", "be", "do", "that", "please", "kindly", "just", "and", "then", "such"];
/// They come and go before a participle.
pub(super) const PERFECT: [&str; 2] = ["have", "has"];
/// Prepositions that are often put for one another. Not particles: who writes in a document doesn't write one.
pub(super) const PLACES: [&str; 5] = ["in", "on", "at", "of", "during"];
/// Whose it is: left out where it goes without saying.
pub(super) const OWNERS: [&str; 6] = ["my", "your", "his", "her", "their", "its"];
/// They add nothing to the [`POINTS`] of a thing.
pub(super) const FAINT: [&str; 5] = ["key", "main", "major", "primary", "common"];
/// Of these, a question for the main ones is one for all.
pub(super) const POINTS: [&str; 18] = [
    "symptoms",
    "misconceptions",
    "features",
    "benefits",
    "advantages",
    "disadvantages",
    "drawbacks",
    "differences",
    "similarities",
    "concepts",
    "components",
    "characteristics",
    "principles",
    "takeaways",
    "aspects",
    "points",
    "factors",
    "causes",
];
/// Plurals that mean something else than more of the singular.
pub(super) const OWN_PLURALS: [&str; 12] = [
    "arms", "customs", "goods", "means", "news", "minutes", "works", "looks", "papers", "savings", "contents",
    "spirits",
];
/// Behind these it matters whose a thing is: who finds a phone may look for a shop, who deletes an account may be an
/// administrator.
pub(super) const SEEKING: [&str; 23] = [
    "find", "locate", "choose", "pick", "select", "get", "change", "see", "show", "check", "know", "need", "want",
    "have", "delete", "remove", "close", "edit", "open", "view", "manage", "access", "share",
];
/// What is between two things whatever their order: not so a rate of exchange.
pub(super) const MUTUAL: [&str; 8] =
    ["difference", "differences", "distinction", "relation", "relationship", "similarities", "distance", "comparison"];
/// A new one of these is made in any case.
pub(super) const MAKING: [&str; 5] = ["create", "make", "build", "add", "generate"];
/// Nouns, singular, that are of, for, on or in something: "policy on remote work" is "remote work policy".
pub(super) const RELATIONAL: [&str; 34] = [
    "policy",
    "claim",
    "software",
    "tool",
    "interface",
    "price",
    "cost",
    "fee",
    "limit",
    "deductible",
    "guide",
    "example",
    "definition",
    "meaning",
    "requirement",
    "rule",
    "law",
    "algorithm",
    "form",
    "idea",
    "symptom",
    "recipe",
    "list",
    "size",
    "version",
    "feature",
    "option",
    "setting",
    "template",
    "allowance",
    "process",
    "procedure",
    "deadline",
    "speed",
];
/// What stands between such a noun and what it is of.
pub(super) const RELATING: [&str; 4] = ["of", "for", "on", "in"];
/// Words that end a phrase.
pub(super) const ENDS: [&str; 40] = [
    "to", "for", "in", "on", "at", "of", "with", "from", "by", "using", "and", "or", "when", "if", "during", "after",
    "before", "is", "do", "be", "was", "can", "i", "you", "that", "what", "which", "who", "how", "why", "where", "as",
    "than", "without", "not", "between", "about", "should", "my", "your",
];
/// Words, singular, that are equal in a question, behind the one that stands for them.
pub(super) const EQUAL: [(&str, &[&str]); 36] = [
    ("what", &["which", "<what>"]),
    ("can", &["could"]),
    ("each", &["every", "per"]),
    ("to", &["into"]),
    ("with", &["using"]),
    ("2", &["two"]),
    ("3", &["three"]),
    ("4", &["four"]),
    ("5", &["five"]),
    ("6", &["six"]),
    ("7", &["seven"]),
    ("8", &["eight"]),
    ("9", &["nine"]),
    ("10", &["ten"]),
    ("reply", &["respond", "answer", "response"]),
    ("give", &["provide"]),
    ("make", &["create", "build"]),
    ("get", &["obtain"]),
    ("buy", &["purchase"]),
    ("start", &["begin"]),
    ("help", &["assist"]),
    ("fix", &["resolve", "solve", "repair"]),
    ("write", &["compose", "draft"]),
    ("file", &["submit"]),
    ("fast", &["quickly"]),
    ("repo", &["repository", "repositorie"]),
    ("javascript", &["js"]),
    ("picture", &["photo", "photograph"]),
    ("favorite", &["favourite"]),
    ("color", &["colour"]),
    ("behavior", &["behaviour"]),
    ("license", &["licence"]),
    ("center", &["centre"]),
    ("gray", &["grey"]),
    ("canceled", &["cancelled"]),
    ("counseling", &["counselling"]),
];
