//! The lines that a target draws: from which probability on a pair of its kind is served.

use serde::Deserialize;

use crate::policy::language::Language;

/// Probabilities from which a pair is served.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// A cheap probability from here on is a yes without reading.
    pub sure: f64,
    /// A full probability from here on is a yes.
    pub pass: f64,
}

impl Mark {
    /// What nothing but certainty reaches.
    pub(super) const CERTAIN: Self = Self { sure: 1.0, pass: 1.0 };
}

/// How two wordings differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// English: nothing but what comes and goes in a question (particles and the like), and words that are equal in it.
    Particles,
    /// Most words are the same.
    Edit,
    /// Other words.
    Rewording,
    /// Other words that the embedder puts close together.
    Near,
}

impl Change {
    /// Its name, as in a judge's file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Particles => "particles",
            Self::Edit => "edit",
            Self::Rewording => "rewording",
            Self::Near => "near",
        }
    }

    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::Particles, Self::Edit, Self::Rewording, Self::Near];
}

/// What a pair is, as far as its lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The language of the two prompts.
    pub language: Language,
    /// How their wordings differ.
    pub change: Change,
}

/// The lines that a policy's target draws, for each language.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lines {
    /// Cosine from which a candidate is worth a look, 0 to 1.
    pub floor: f32,
    /// By [`Language::place`].
    pub each: [Marks; 3],
}

/// The lines within one language.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marks {
    /// A cheap probability under this is a no.
    pub hopeless: f64,
    /// For particles.
    pub particles: Mark,
    /// For other edits.
    pub edit: Mark,
    /// For rewordings.
    pub rewording: Mark,
    /// For rewordings that are near.
    pub near: Mark,
}

/// What the cheap stage settles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Serve without reading.
    Yes,
    /// Don't, and don't read.
    No,
    /// The reader has to say.
    Open,
}

impl Lines {
    /// What a cheap probability settles.
    pub fn settle(&self, kind: Kind, cheap: f64) -> Settled {
        if cheap >= self.needed(kind, false) {
            Settled::Yes
        } else if cheap < self.each[kind.language.place()].hopeless {
            Settled::No
        } else {
            Settled::Open
        }
    }

    /// Is a full probability a yes?
    pub fn pass(&self, kind: Kind, full: f64) -> bool {
        full >= self.needed(kind, true)
    }

    /// The probability from which a pair is served: once read, or by the cheap stage alone.
    pub fn needed(&self, kind: Kind, read: bool) -> f64 {
        let mark = self.each[kind.language.place()].mark(kind.change);
        if read { mark.pass } else { mark.sure }
    }
}

impl Marks {
    fn mark(&self, change: Change) -> Mark {
        match change {
            Change::Particles => self.particles,
            Change::Edit => self.edit,
            Change::Rewording => self.rewording,
            Change::Near => self.near,
        }
    }
}
