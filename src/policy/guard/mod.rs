//! Hard vetoes: the differences between two prompts that an embedding does not see and an answer does.
//!
//! Opposites, numbers, names and swapped roles barely move a vector, so nearness can't be trusted with them. Each guard
//! compares one kind of evidence in two texts and may forbid a semantic hit; none ever allows one. A wrong veto costs a
//! hit, a missed one serves a wrong answer, so in doubt a guard forbids.
//!
//! Pure: no I/O, no clock, no panic on any text. Equal texts always pass, and the order of a pair never matters.
//! [`Features::of`] reads a text once; comparing two features is cheap.

mod asked;
mod casing;
mod direction;
mod extra;
mod hidden;
mod lexicon;
mod names;
mod negation;
mod numbers;
mod payload;
mod polarity;
mod quantity;
mod relation;
mod text;
mod time;

pub use hidden::has_hidden;
pub use time::time_sensitive;

use crate::reason::MissReason;
use crate::settings::{Guards, TimeGuard};

/// The guards, in the order in which they judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuardName {
    /// Numbers, units, dates, versions.
    Numbers,
    /// Negation and opposites.
    Negation,
    /// Proper names.
    Names,
    /// Capitals and accents that make another word.
    Casing,
    /// Roles exchanged, or something else asked for.
    Direction,
    /// Quoted, fenced or delimited material.
    Payload,
    /// Relative times.
    Time,
}

impl GuardName {
    /// All guards, in order.
    pub const ALL: [Self; 7] =
        [Self::Numbers, Self::Negation, Self::Names, Self::Casing, Self::Direction, Self::Payload, Self::Time];

    /// The label in explain answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::Negation => "negation",
            Self::Names => "names",
            Self::Casing => "casing",
            Self::Direction => "direction",
            Self::Payload => "payload",
            Self::Time => "time",
        }
    }

    /// The reason of a miss that this guard caused.
    pub fn miss_reason(self) -> MissReason {
        match self {
            Self::Numbers => MissReason::GuardNumbers,
            Self::Negation => MissReason::GuardNegation,
            Self::Names => MissReason::GuardNames,
            Self::Casing => MissReason::GuardCasing,
            Self::Direction => MissReason::GuardDirection,
            Self::Payload => MissReason::GuardPayload,
            Self::Time => MissReason::GuardTime,
        }
    }

    /// Do these settings ask for it?
    pub fn is_on(self, guards: &Guards) -> bool {
        match self {
            Self::Numbers => guards.numbers,
            Self::Negation => guards.negation,
            Self::Names => guards.names,
            Self::Casing => guards.casing,
            Self::Direction => true,
            Self::Payload => guards.payload,
            Self::Time => guards.time != TimeGuard::Off,
        }
    }
}

/// A guard's no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Veto {
    /// Who forbids.
    pub guard: GuardName,
    /// What differs, for people; it quotes the prompts, so it belongs into explain answers and never into logs.
    pub difference: String,
}

/// Everything that the guards look at in one text.
#[derive(Clone, Debug)]
pub struct Features {
    composed: String,
    numbers: numbers::Numbers,
    negation: negation::Negation,
    names: names::Names,
    casing: casing::Casing,
    order: direction::Order,
    asked: asked::Asked,
    relations: relation::Relations,
    words: extra::Words,
    payload: payload::Payload,
    moments: time::Moments,
}

impl Features {
    /// Reads a text.
    pub fn of(text: &str) -> Self {
        let text = text::Text::of(text);
        Self {
            numbers: numbers::Numbers::of(&text),
            negation: negation::Negation::of(&text),
            names: names::Names::of(&text),
            casing: casing::Casing::of(&text),
            order: direction::Order::of(&text),
            asked: asked::Asked::of(&text),
            relations: relation::Relations::of(&text),
            words: extra::Words::of(&text),
            payload: payload::Payload::of(&text),
            moments: time::Moments::of(&text),
            composed: text.composed,
        }
    }

    fn difference(&self, other: &Self, guard: GuardName) -> Option<String> {
        match guard {
            GuardName::Numbers => self.numbers.difference(&other.numbers),
            GuardName::Negation => self.negation.difference(&other.negation),
            GuardName::Names => self.names.difference(&other.names),
            GuardName::Casing => self.casing.difference(&other.casing),
            GuardName::Direction => {
                let order = self.order.difference(&other.order);
                let order = order.or_else(|| self.relations.difference(&other.relations));
                order.or_else(|| self.asked.difference(&other.asked))
            }
            GuardName::Payload => {
                self.payload.difference(&other.payload).or_else(|| self.words.difference(&other.words))
            }
            GuardName::Time => self.moments.difference(&other.moments),
        }
    }

    fn veto(&self, other: &Self, guard: GuardName) -> Option<Veto> {
        if self.composed == other.composed {
            return None;
        }
        self.difference(other, guard).map(|difference| Veto { guard, difference })
    }
}

/// The first veto of the guards that are on. Symmetric: the order of the two decides the wording only.
pub fn judge(query: &Features, candidate: &Features, guards: &Guards) -> Option<Veto> {
    GuardName::ALL.into_iter().filter(|guard| guard.is_on(guards)).find_map(|guard| query.veto(candidate, guard))
}

/// The word of every guard that is on, for an explanation.
pub fn verdicts(query: &Features, candidate: &Features, guards: &Guards) -> Vec<(GuardName, Option<Veto>)> {
    let on = GuardName::ALL.into_iter().filter(|guard| guard.is_on(guards));
    on.map(|guard| (guard, query.veto(candidate, guard))).collect()
}

#[cfg(test)]
mod tests;
