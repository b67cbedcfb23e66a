//! The judges of one verifier: one for each language that has lines of its own.

use std::sync::Arc;

use super::Glance;
use super::judge::Judge;
use super::lines::{Kind, Lines};
use crate::policy::language::Language;

/// A judge, and how much stricter than asked a language is held.
#[derive(Clone)]
pub struct Seat {
    /// The judge.
    pub judge: Arc<Judge>,
    /// What a policy's target is divided by, at least 1.
    pub strictness: f64,
}

/// A judge for every language.
pub struct Judges([Seat; 3]);

impl Judges {
    /// `own` are those that judge one language; `usual` judges the others.
    pub fn new(usual: Judge, own: Vec<(Language, Judge, f64)>) -> Self {
        let usual = Seat { judge: Arc::new(usual), strictness: 1.0 };
        let mut seats = [usual.clone(), usual.clone(), usual];
        for (language, judge, strictness) in own {
            seats[language.place()] = Seat { judge: Arc::new(judge), strictness };
        }
        Self(seats)
    }

    fn seat(&self, language: Language) -> &Seat {
        &self.0[language.place()]
    }

    /// The lines that a target draws.
    pub fn lines(&self, target: f64) -> Lines {
        let floor = self.0.iter().map(|seat| seat.judge.floor()).fold(1.0, f32::min);
        let marks = |language| {
            let seat = self.seat(language);
            seat.judge.lines(target / seat.strictness)
        };
        Lines { floor, each: Language::ALL.map(marks) }
    }

    /// What the cheap stage says of a pair in this language; `particles`: its wordings differ in nothing but such.
    pub fn glance(&self, language: Language, signals: Vec<f32>, particles: bool) -> Glance {
        let judge = &self.seat(language).judge;
        let kind = Kind { language, change: judge.change(&signals, particles) };
        Glance { probability: judge.cheap(&signals), kind, signals }
    }

    /// The probability once the reader has given its log-odds, 0 to 1.
    pub fn full(&self, glance: &Glance, read: f32) -> f64 {
        self.seat(glance.kind.language).judge.full(&glance.signals, read)
    }

    /// The strictest target at which a pair is served, above 0, at most 1.
    pub fn strictest(&self, glance: &Glance, full: f64) -> f64 {
        let seat = self.seat(glance.kind.language);
        (seat.judge.strictest(glance.kind.change, glance.probability, full) * seat.strictness).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Change;
    use crate::verify::judge::tests::by_cosine;
    use crate::verify::signals;

    fn judge(json: &str) -> Judge {
        Judge::read(json.as_bytes()).unwrap()
    }

    fn judges() -> Judges {
        let strange = by_cosine().replace("\"pass\":0.9", "\"pass\":0.95");
        let own = vec![(Language::Chinese, judge(&strange), 1.0), (Language::Other, judge(&by_cosine()), 10.0)];
        Judges::new(judge(&by_cosine()), own)
    }

    #[test]
    fn a_language_has_the_lines_of_its_own_judge() {
        let lines = judges().lines(0.001);
        let edit = |language| lines.needed(Kind { language, change: Change::Edit }, true);
        assert!((edit(Language::English) - 0.9).abs() < 1e-9);
        assert!((edit(Language::Chinese) - 0.95).abs() < 1e-9);
    }

    #[test]
    fn a_stricter_language_is_served_where_the_stricter_target_serves_it() {
        let judges = judges();
        let [english, other] = [Language::English, Language::Other].map(|language| {
            let glance = judges.glance(language, vec![0.0; signals::names().len()], false);
            (glance.kind, judges.strictest(&glance, 0.62))
        });
        assert!((other.1 - (english.1 * 10.0).min(1.0)).abs() < 1e-9 && english.1 < 0.1);
        for target in [0.005, 0.02, 0.04, 0.08] {
            let lines = judges.lines(target);
            assert_eq!(lines.pass(english.0, 0.62), target >= english.1, "{target}");
            assert_eq!(lines.pass(other.0, 0.62), target >= other.1, "{target}");
        }
    }
}
