//! What a question wants to know of a deed: whether it may be done, must be, or should be.

/// Permission, duty or advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modality {
    May,
    Must,
    Should,
    /// "When can I", which "when should I" leaves open.
    OpenMay,
    OpenMust,
}

impl Modality {
    pub(super) fn excludes(self, other: Self) -> bool {
        let open = |one| matches!(one, Self::OpenMay | Self::OpenMust);
        self != other && open(self) == open(other)
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::May | Self::OpenMay => "may",
            Self::Must | Self::OpenMust => "must",
            Self::Should => "should",
        }
    }
}

/// In how many of the first words a yes-or-no question tells what it asks.
const HEAD: usize = 6;

/// What a question that opens so wants to know.
pub(super) fn modality(words: &[&str]) -> Option<Modality> {
    match words {
        ["what" | "when" | "which" | "who" | "where", rest @ ..] => open(rest),
        ["can" | "could" | "may", ..] => Some(Modality::May),
        ["should", ..] => Some(Modality::Should),
        ["must", ..] => Some(Modality::Must),
        ["do" | "does", rest @ ..] => needs(rest).then_some(Modality::Must),
        ["am" | "is" | "are", rest @ ..] => judged(rest),
        _ => None,
    }
}

/// "Have to", "need to" soon.
fn needs(words: &[&str]) -> bool {
    words.windows(2).take(HEAD - 2).any(|pair| matches!(pair, ["have" | "need" | "has" | "needs", "to"]))
}

/// "Am I allowed to", "is it required to".
fn judged(words: &[&str]) -> Option<Modality> {
    words.windows(2).take(HEAD - 2).find_map(|pair| match pair {
        ["allowed" | "permitted", "to"] => Some(Modality::May),
        ["required" | "obliged" | "obligated" | "forced" | "necessary" | "mandatory", "to"] => Some(Modality::Must),
        ["advisable" | "recommended" | "advised", "to"] => Some(Modality::Should),
        _ => None,
    })
}

/// Only the plainest words: "what do I need to do" is "what can I do".
fn open(words: &[&str]) -> Option<Modality> {
    words.iter().take(3).find_map(|word| match *word {
        "can" | "may" => Some(Modality::OpenMay),
        "must" => Some(Modality::OpenMust),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excludes(a: &str, b: &str) -> bool {
        let of = |text: &str| modality(&text.split(' ').collect::<Vec<&str>>());
        matches!((of(a), of(b)), (Some(ours), Some(theirs)) if ours.excludes(theirs) && theirs.excludes(ours))
    }

    #[test]
    fn permission_duty_and_advice_differ() {
        for (a, b) in [
            ("do i need to tip", "am i allowed to tip"),
            ("is my tenant required to tip", "is my tenant permitted to tip"),
            ("must i tip", "should i tip"),
            ("is it advisable to tip", "is it necessary to tip"),
            ("when can i leave", "when must i leave"),
            ("which forms may a guest fill in", "which forms must a guest fill in"),
        ] {
            assert!(excludes(a, b), "{a} / {b}");
        }
    }

    #[test]
    fn other_words_for_the_same_pass() {
        for (a, b) in [
            ("can i tip", "am i allowed to tip"),
            ("must i tip", "do i have to tip"),
            ("what should i pack", "what must i pack"),
            ("what can i do", "what do i need to do"),
            ("how can i leave", "how must i leave"),
        ] {
            assert!(!excludes(a, b), "{a} / {b}");
        }
    }
}
