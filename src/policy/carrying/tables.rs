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
pub(super) const FAINT: [&str; 4] = ["key", "main", "major", "primary"];
/// Of these, a question for the main ones is one for all.
pub(super) const POINTS: [&str; 16] = [
    "features", "benefits", "advantages", "disadvantages", "drawbacks", "differences", "similarities", "concepts",
    "components", "characteristics", "principles", "takeaways", "aspects", "points", "factors", "causes",
];
/// Plurals that mean something else than more of the singular.
pub(super) const OWN_PLURALS: [&str; 12] = [
    "arms", "customs", "goods", "means", "news", "minutes", "works", "looks", "papers", "savings", "contents",
    "spirits",
];
/// Words, singular, that are equal in a question, and the one that stands for them.
pub(super) const EQUAL: [(&str, &str); 30] = [
    ("which", "what"),
    ("<what>", "what"),
    ("could", "can"),
    ("respond", "reply"),
    ("answer", "reply"),
    ("provide", "give"),
    ("repository", "repo"),
    ("repositorie", "repo"),
    ("purchase", "buy"),
    ("begin", "start"),
    ("photo", "picture"),
    ("photograph", "picture"),
    ("quickly", "fast"),
    ("assist", "help"),
    ("obtain", "get"),
    ("receive", "get"),
    ("create", "make"),
    ("build", "make"),
    ("develop", "make"),
    ("using", "with"),
    ("favourite", "favorite"),
    ("colour", "color"),
    ("flavour", "flavor"),
    ("behaviour", "behavior"),
    ("neighbour", "neighbor"),
    ("licence", "license"),
    ("centre", "center"),
    ("grey", "gray"),
    ("cancelled", "canceled"),
    ("counselling", "counseling"),
];
