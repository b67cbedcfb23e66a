//! The least that a change may leave: a TOML table of floors, held against the reports.
//!
//! ```toml
//! [fow_questions.guarded]
//! min_hit_rate = 0.5
//! max_false_hit_rate = 0.02
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::eval::policy::Policy;
use crate::eval::report::Report;

/// The floors of all sets.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Floors(BTreeMap<String, BTreeMap<Policy, Floor>>);

/// What a policy must reach on a set at the shipped point; both 0 to 1.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Floor {
    min_hit_rate: Option<f64>,
    max_false_hit_rate: Option<f64>,
}

impl Floors {
    /// Reads a TOML table `[SET.POLICY]`.
    ///
    /// # Errors
    /// Line and field of what is wrong, or that there is nothing to hold.
    pub fn parse(text: &str) -> Result<Self, String> {
        let floors: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut rates = 0;
        for (set, policy, floor) in floors.all() {
            let named = [("min_hit_rate", floor.min_hit_rate), ("max_false_hit_rate", floor.max_false_hit_rate)];
            for (field, value) in named.into_iter().filter_map(|(field, value)| Some((field, value?))) {
                rates += 1;
                if !(0.0..=1.0).contains(&value) {
                    let field = format!("{set}.{}.{field}", policy.as_str());
                    return Err(format!("{field}: {value} is out of range; accepted: 0 to 1"));
                }
            }
        }
        if rates == 0 {
            Err("has no floors; accepted: [SET.POLICY] with min_hit_rate or max_false_hit_rate".into())
        } else {
            Ok(floors)
        }
    }

    fn all(&self) -> impl Iterator<Item = (&str, Policy, &Floor)> {
        self.0.iter().flat_map(|(set, floors)| floors.iter().map(move |(policy, floor)| (set.as_str(), *policy, floor)))
    }

    /// Every floor that does not hold, each as a sentence.
    pub fn broken(&self, reports: &[Report]) -> Vec<String> {
        self.all()
            .flat_map(|(set, policy, floor)| {
                let name = format!("{set}.{}", policy.as_str());
                match reports.iter().find(|report| report.set == set && report.policy == policy) {
                    Some(report) => floor.broken(&name, report),
                    None => vec![format!("{name}: was not measured")],
                }
            })
            .collect()
    }
}

impl Floor {
    fn broken(self, name: &str, report: &Report) -> Vec<String> {
        let (hits, wrong) = (report.shipped.hit_rate, report.shipped.false_hit_rate);
        let mut said = Vec::new();
        // A rate of nothing holds no floor: a set that lost its pairs must not pass.
        if let Some(least) = self.min_hit_rate
            && !hits.value().is_some_and(|rate| rate >= least)
        {
            said.push(format!("{name}.min_hit_rate: {} of {} pairs, less than {least}", hits.count, hits.of));
        }
        if let Some(most) = self.max_false_hit_rate
            && !wrong.value().is_some_and(|rate| rate <= most)
        {
            said.push(format!("{name}.max_false_hit_rate: {} of {} pairs, more than {most}", wrong.count, wrong.of));
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_floors_are_named() {
        for (text, word) in [
            ("[a.guarded]\nmin_hits = 1", "min_hits"),
            ("[a.guessed]\nmin_hit_rate = 1", "guessed"),
            ("[a.guarded]\nmin_hit_rate = 1.5", "a.guarded.min_hit_rate"),
            ("", "no floors"),
        ] {
            let said = Floors::parse(text).unwrap_err();
            assert!(said.contains(word), "{text}: {said}");
        }
    }

    #[test]
    fn a_set_that_was_not_measured_fails() {
        let floors = Floors::parse("[a.guarded]\nmin_hit_rate = 0.0").unwrap();
        assert_eq!(floors.broken(&[]), ["a.guarded: was not measured"]);
    }
}
