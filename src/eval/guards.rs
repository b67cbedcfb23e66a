//! What each guard forbids, rightly and wrongly.

use crate::eval::pairs::Judged;
use crate::policy::guard::GuardName;
use crate::policy::rate::Rate;

/// One guard on one set, whatever the cosine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuardRow {
    /// The guard.
    pub guard: GuardName,
    /// Vetoed pairs of label 0: what it is there for.
    pub others: Rate,
    /// Vetoed pairs of label 1: what it costs.
    pub same: Rate,
    /// Pairs of label 1 that no other guard vetoes and no bypass keeps out.
    pub lost_alone: u64,
    /// Those of them that are near enough for a hit: what switching it off would win.
    pub lost_near: u64,
}

impl GuardRow {
    /// The share of its vetoes that are right.
    pub fn precision(&self) -> Rate {
        Rate::new(self.others.count, self.others.count + self.same.count)
    }
}

/// All guards on a set; `near` is the cosine from which a pair would be a hit.
pub fn table(judged: &[Judged], near: f64) -> Vec<GuardRow> {
    GuardName::ALL.into_iter().map(|guard| row(judged, guard, near)).collect()
}

fn row(judged: &[Judged], guard: GuardName, near: f64) -> GuardRow {
    let vetoed = |pair: &&Judged| pair.vetoes.contains(&guard);
    let of = |same: bool| {
        let class = || judged.iter().filter(move |pair| pair.same == same);
        Rate::new(class().filter(vetoed).count() as u64, class().count() as u64)
    };
    let alone = |pair: &&Judged| pair.same && pair.vetoes == [guard] && pair.bypass.is_none();
    let lost = judged.iter().filter(alone);
    GuardRow {
        guard,
        others: of(false),
        same: of(true),
        lost_alone: lost.clone().count() as u64,
        lost_near: lost.filter(|pair| pair.cosine >= near).count() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_charged_for_what_it_alone_forbids() {
        let pair = |same, cosine, vetoes: &[GuardName]| Judged {
            id: String::new(),
            same,
            bypass: None,
            cosine,
            vetoes: vetoes.to_vec(),
            target: None,
            would: crate::cache::Would::default(),
        };
        let judged = [
            pair(false, 0.9, &[GuardName::Names]),
            pair(false, 0.9, &[]),
            pair(true, 0.95, &[GuardName::Names]),
            pair(true, 0.5, &[GuardName::Names]),
            pair(true, 0.99, &[GuardName::Names, GuardName::Numbers]),
        ];
        let rows = table(&judged, 0.93);
        let names = rows.iter().find(|row| row.guard == GuardName::Names).unwrap();
        assert_eq!((names.others, names.same), (Rate::new(1, 2), Rate::new(3, 3)));
        assert_eq!((names.lost_alone, names.lost_near, names.precision()), (2, 1, Rate::new(1, 4)));
    }
}
