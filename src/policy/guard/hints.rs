//! What the guards see and do not veto: evidence that is too weak to decide alone, for a verifier to weigh.
//!
//! Between two tellings of one story a number, a name or a denial of one side alone is as common among texts that ask the
//! same as among those that do not, so it is no veto; beside a model's opinion it still counts.

use super::Features;

/// The weak evidence about a pair of texts. Symmetric but for [`Hints::ours`] and [`Hints::theirs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// Words of content that both have.
    pub common: usize,
    /// Words of content that only the first has.
    pub ours: usize,
    /// Words of content that only the second has.
    pub theirs: usize,
    /// The wordings are so near that the guards trust any difference.
    pub close: bool,
    /// A number in one text only.
    pub number: bool,
    /// A name in one text only.
    pub name: bool,
    /// One text denies more often.
    pub denial: bool,
    /// Opposite words.
    pub opposite: bool,
}

/// The names of what [`Hints::signals`] gives, in its order.
pub const HINTS: [&str; 8] = [
    "hint_common",
    "hint_alone_low",
    "hint_alone_high",
    "hint_close",
    "hint_number",
    "hint_name",
    "hint_denial",
    "hint_opposite",
];

impl Hints {
    /// The evidence as numbers, under [`HINTS`]. Symmetric.
    #[allow(clippy::cast_precision_loss)] // Counts of words.
    pub fn signals(&self) -> [f32; HINTS.len()] {
        let flag = |is: bool| f32::from(u8::from(is));
        [
            self.common as f32,
            self.ours.min(self.theirs) as f32,
            self.ours.max(self.theirs) as f32,
            flag(self.close),
            flag(self.number),
            flag(self.name),
            flag(self.denial),
            flag(self.opposite),
        ]
    }
}

/// The weak evidence about two texts.
pub fn hints(query: &Features, candidate: &Features) -> Hints {
    let near = query.content.against(&candidate.content);
    Hints {
        common: near.common(),
        ours: near.ours().len(),
        theirs: near.theirs().len(),
        close: near.close(),
        number: query.numbers.alone(&candidate.numbers),
        name: query.names.alone(&candidate.names),
        denial: query.negation.alone(&candidate.negation),
        opposite: query.negation.opposed(&candidate.negation, &near),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_guard_vetoes_is_told() {
        let seen = |a: &str, b: &str| hints(&Features::of(a), &Features::of(b));
        let told = seen(
            "My kettle from Bergen leaks at the handle since I dropped it 3 days ago, can it be repaired at all?",
            "The handle of a kettle that fell does not hold water any more. Is there a way to fix this?",
        );
        assert_eq!(told.signals()[3..7], [0.0, 1.0, 1.0, 1.0]);
        assert!(!told.close && told.number && told.name && told.denial && told.common >= 2);
        let same = seen("How do I peel a plum?", "How can I peel plums?");
        assert_eq!(
            (same.ours, same.theirs, same.number, same.name, same.denial, same.opposite),
            (0, 0, false, false, false, false)
        );
    }
}
