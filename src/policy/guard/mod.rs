//! Hard vetoes: the differences between two prompts that an embedding does not see and an answer does.
//!
//! Opposites, numbers, names and swapped roles barely move a vector, so nearness can't be trusted with them. Each guard
//! compares one kind of evidence in two texts and may forbid a semantic hit; none ever allows one.
//!
//! A missed difference serves a wrong answer, and a wrong veto loses a right one for ever. So a guard forbids where its
//! evidence decides: between texts that say the rest alike (`nearness`) every difference does, between two tellings of
//! one story few do. What is left open is for the verifier behind the guards.
//!
//! Pure: no I/O, no clock, no panic on any text. Equal texts always pass, and the order of a pair never matters.
//! [`Features::of`] reads a text once; comparing two features is cheap.

mod account;
mod asked;
mod casing;
mod deeds;
mod direction;
mod extra;
mod fold;
mod forms;
mod gap;
mod hidden;
mod hints;
mod lexicon;
mod modality;
mod names;
mod nearness;
mod negation;
mod numbers;
mod numerals;
mod payload;
mod polarity;
mod quantifiers;
mod quantity;
mod reader;
mod relation;
mod role;
mod script;
mod stem;
mod symbols;
mod text;
mod time;
mod words;

pub use hidden::has_hidden;
pub use hints::{HINTS, Hints, hints};
pub(crate) use lexicon::{is_function_word, is_irregular};
pub use time::time_sensitive;

use nearness::Nearness;

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
    /// Roles exchanged.
    Direction,
    /// Something else asked for: who, when, why, how many.
    Asked,
    /// Quoted, fenced or delimited material.
    Payload,
    /// Another word in the same place, or words more.
    Words,
    /// Another language or script.
    Script,
    /// Relative times.
    Time,
}

impl GuardName {
    /// All guards, in order.
    pub const ALL: [Self; 10] = [
        Self::Numbers,
        Self::Negation,
        Self::Names,
        Self::Casing,
        Self::Direction,
        Self::Asked,
        Self::Payload,
        Self::Script,
        Self::Time,
        Self::Words,
    ];

    /// The label in explain answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::Negation => "negation",
            Self::Names => "names",
            Self::Casing => "casing",
            Self::Direction => "direction",
            Self::Asked => "asked",
            Self::Payload => "payload",
            Self::Words => "words",
            Self::Script => "script",
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
            Self::Asked => MissReason::GuardAsked,
            Self::Payload => MissReason::GuardPayload,
            Self::Words => MissReason::GuardWords,
            Self::Script => MissReason::GuardScript,
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
            Self::Direction | Self::Asked | Self::Script | Self::Words => true,
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
    content: nearness::Content,
    numbers: numbers::Numbers,
    quantifiers: quantifiers::Quantifiers,
    negation: negation::Negation,
    names: names::Names,
    casing: casing::Casing,
    order: direction::Order,
    gap: gap::Gap,
    deeds: deeds::Deeds,
    asked: asked::Asked,
    relations: relation::Relations,
    words: words::Words,
    roles: role::Roles,
    forms: forms::Forms,
    extra: extra::Extra,
    payload: payload::Payload,
    script: script::Script,
    moments: time::Moments,
}

impl Features {
    /// Reads a text.
    pub fn of(text: &str) -> Self {
        let text = text::Text::of(text);
        Self {
            content: nearness::Content::of(&text),
            numbers: numbers::Numbers::of(&text),
            quantifiers: quantifiers::Quantifiers::of(&text),
            negation: negation::Negation::of(&text),
            names: names::Names::of(&text),
            casing: casing::Casing::of(&text),
            order: direction::Order::of(&text),
            gap: gap::Gap::of(&text),
            deeds: deeds::Deeds::of(&text),
            asked: asked::Asked::of(&text),
            relations: relation::Relations::of(&text),
            words: words::Words::of(&text),
            roles: role::Roles::of(&text),
            forms: forms::Forms::of(&text),
            extra: extra::Extra::of(&text),
            payload: payload::Payload::of(&text),
            script: script::Script::of(&text),
            moments: time::Moments::of(&text),
            composed: text.composed,
        }
    }

    fn difference(&self, other: &Self, guard: GuardName, near: &Nearness<'_>) -> Option<String> {
        match guard {
            GuardName::Numbers => {
                let numbers = self.numbers.difference(&other.numbers, near);
                numbers.or_else(|| self.quantifiers.difference(&other.quantifiers, near))
            }
            GuardName::Negation => self.negation.difference(&other.negation, near),
            GuardName::Names => self.names.difference(&other.names, near),
            GuardName::Casing => self.casing.difference(&other.casing),
            GuardName::Direction => {
                let swapped = self.order.difference(&other.order, near);
                let turned = || self.relations.difference(&other.relations, near);
                let asked = || self.gap.difference(&other.gap, near);
                swapped.or_else(turned).or_else(asked).or_else(|| self.deeds.difference(&other.deeds))
            }
            GuardName::Asked => self.asked.difference(&other.asked, near),
            GuardName::Payload => self.payload.difference(&other.payload, near),
            GuardName::Words => {
                let exchanged = self.words.difference(&other.words, near);
                let added = || self.extra.difference(&other.extra, near);
                let formed = || self.forms.difference(&other.forms, near);
                exchanged.or_else(added).or_else(formed).or_else(|| self.roles.difference(&other.roles, near))
            }
            GuardName::Script => self.script.difference(&other.script),
            GuardName::Time => self.moments.difference(&other.moments, near),
        }
    }

    /// The words of the guards that are on, in order; none about equal texts.
    fn vetoes<'a>(
        &'a self,
        other: &'a Self,
        guards: &'a Guards,
    ) -> impl Iterator<Item = (GuardName, Option<Veto>)> + 'a {
        let same = self.composed == other.composed;
        let near = self.content.against(&other.content);
        GuardName::ALL.into_iter().filter(|guard| guard.is_on(guards)).map(move |guard| {
            let silent = same || guard == GuardName::Words && self.excused(other, guards, &near);
            let difference = if silent { None } else { self.difference(other, guard, &near) };
            (guard, difference.map(|difference| Veto { guard, difference }))
        })
    }

    /// Is the difference of a kind that the policy does not care for? A guard that is off must not come back as a word
    /// exchanged for another.
    fn excused(&self, other: &Self, guards: &Guards, near: &Nearness<'_>) -> bool {
        let mut off = GuardName::ALL.into_iter().filter(|guard| !guard.is_on(guards));
        off.any(|guard| self.difference(other, guard, near).is_some())
    }
}

/// The first veto of the guards that are on. Symmetric: the order of the two decides the wording only.
pub fn judge(query: &Features, candidate: &Features, guards: &Guards) -> Option<Veto> {
    query.vetoes(candidate, guards).find_map(|(_, veto)| veto)
}

/// The word of every guard that is on, for an explanation.
pub fn verdicts(query: &Features, candidate: &Features, guards: &Guards) -> Vec<(GuardName, Option<Veto>)> {
    query.vetoes(candidate, guards).collect()
}

/// What one part of the evidence says of two texts; for the tables of examples.
#[cfg(test)]
fn differ<T>(
    a: &str,
    b: &str,
    of: impl Fn(&text::Text) -> T,
    difference: impl Fn(&T, &T, &Nearness<'_>) -> Option<String>,
) -> Option<String> {
    let (a, b) = (text::Text::of(a), text::Text::of(b));
    let (ours, theirs) = (nearness::Content::of(&a), nearness::Content::of(&b));
    difference(&of(&a), &of(&b), &ours.against(&theirs))
}

#[cfg(test)]
mod cases;
#[cfg(test)]
mod swaps;
#[cfg(test)]
mod tests;
