//! The cheap signals about a pair of prompts: how their tokens align, how they are worded, what the guards find.
//!
//! Symmetric: where a signal has a direction, the lower and the higher of both are given. The embedder's token vectors
//! know the context of a word, so `pay` aligns with `settle`, while `enable` stays apart from `disable` more often than
//! the two prompts' own vectors show (late interaction: Khattab and Zaharia 2020, arXiv 2004.12832).

use crate::policy::guard::{self, Features, GuardName};
use crate::policy::wording::{self, Wording};
use crate::settings::Guards;
use crate::tokens::TokenVectors;

/// One prompt as the verifier looks at it.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The prompt.
    pub text: &'a str,
    /// Its wording.
    pub wording: &'a Wording,
    /// What the guards look at.
    pub features: &'a Features,
    /// Its token vectors.
    pub tokens: &'a TokenVectors,
}

/// The names of the signals, in their order; a trained judge lists the ones that it was trained on.
pub fn names() -> Vec<&'static str> {
    let guards = GuardName::ALL.into_iter().map(GuardName::as_str);
    ["cosine"].into_iter().chain(ALIGNMENT).chain(wording::NAMES).chain(guard::HINTS).chain(guards).collect()
}

/// All signals of a pair, under [`names`]; `None` when the token vectors are of different dimensions.
///
/// `weight` is the information in a token, 0 (everywhere) to 1 (rare).
pub fn of(a: &Side<'_>, b: &Side<'_>, cosine: f32, weight: &impl Fn(u32) -> f32) -> Option<Vec<f32>> {
    let mut signals = vec![cosine];
    signals.extend(alignment(a.tokens, b.tokens, weight)?);
    signals.extend(a.wording.compare(b.wording, cosine));
    signals.extend(guard::hints(a.features, b.features).signals());
    let verdicts = guard::verdicts(a.features, b.features, &every_guard());
    signals.extend(verdicts.iter().map(|(_, veto)| f32::from(u8::from(veto.is_some()))));
    Some(signals)
}

/// The guards' findings are signals whether a policy lets them forbid or not.
fn every_guard() -> Guards {
    Guards::default()
}

const ALIGNMENT: [&str; 21] = [
    "best_mean_low",
    "best_mean_high",
    "best_least_low",
    "best_least_high",
    "best_least_two_low",
    "best_least_two_high",
    "weighted_mean_low",
    "weighted_mean_high",
    "gap_worst_low",
    "gap_worst_high",
    "gap_sum_low",
    "gap_sum_high",
    "inversions",
    "ids_alike",
    "id_gap_worst_low",
    "id_gap_worst_high",
    "id_gap_sum_low",
    "id_gap_sum_high",
    "ids_equal",
    "gap_at_id_gap_low",
    "gap_at_id_gap_high",
];

/// A token's best partner on the other side.
struct Best {
    cosine: f32,
    at: usize,
    weight: f32,
    /// Is the very token on the other side?
    known: bool,
}

fn alignment(a: &TokenVectors, b: &TokenVectors, weight: &impl Fn(u32) -> f32) -> Option<[f32; ALIGNMENT.len()]> {
    let cosines = a.cosines(b)?;
    let width = b.len();
    let forth = side(a, b, weight, |i, j| cosines[i * width + j]);
    let back = side(b, a, weight, |j, i| cosines[i * width + j]);
    let [mean, least, two, weighted, worst, sum, id_worst, id_sum, both] = pairwise(&forth, &back);
    let mut sorted = [a.ids().to_vec(), b.ids().to_vec()];
    for ids in &mut sorted {
        ids.sort_unstable();
    }
    Some([
        mean.0,
        mean.1,
        least.0,
        least.1,
        two.0,
        two.1,
        weighted.0,
        weighted.1,
        worst.0,
        worst.1,
        sum.0,
        sum.1,
        f32::midpoint(inversions(&forth), inversions(&back)),
        ids_alike(&forth, &back),
        id_worst.0,
        id_worst.1,
        id_sum.0,
        id_sum.1,
        f32::from(u8::from(sorted[0] == sorted[1])),
        both.0,
        both.1,
    ])
}

fn side(
    from: &TokenVectors,
    to: &TokenVectors,
    weight: &impl Fn(u32) -> f32,
    cosine: impl Fn(usize, usize) -> f32,
) -> Vec<Best> {
    let best = |(i, id): (usize, &u32)| {
        let scored = (0..to.len()).map(|j| (cosine(i, j), j));
        let (cosine, at) = scored.fold((-1.0, 0), |best, next| if next.0 > best.0 { next } else { best });
        Best { cosine, at, weight: weight(*id), known: to.ids().contains(id) }
    };
    from.ids().iter().enumerate().map(best).collect()
}

/// Each measure of both sides, the lower first.
fn pairwise(forth: &[Best], back: &[Best]) -> [(f32, f32); 9] {
    let (a, b) = (measures(forth), measures(back));
    std::array::from_fn(|i| (a[i].min(b[i]), a[i].max(b[i])))
}

fn measures(side: &[Best]) -> [f32; 9] {
    let count = number(side.len());
    let mut cosines: Vec<f32> = side.iter().map(|best| best.cosine).collect();
    cosines.sort_by(f32::total_cmp);
    let weights: f32 = side.iter().map(|best| best.weight).sum::<f32>().max(1e-6);
    let gap = |best: &Best| best.weight * (1.0 - best.cosine);
    let id_gap = |best: &Best| if best.known { 0.0 } else { best.weight };
    let worst = |gap: &dyn Fn(&Best) -> f32| side.iter().map(gap).fold(0.0, f32::max);
    [
        cosines.iter().sum::<f32>() / count,
        cosines.first().copied().unwrap_or(0.0),
        cosines.iter().take(2).sum::<f32>() / number(cosines.len().min(2)),
        side.iter().map(|best| best.weight * best.cosine).sum::<f32>() / weights,
        worst(&gap),
        side.iter().map(gap).sum(),
        worst(&id_gap),
        side.iter().map(id_gap).sum(),
        worst(&|best| if best.known { 0.0 } else { gap(best) }),
    ]
}

/// The share of neighbouring tokens whose partners stand the other way round: another order of the same words.
fn inversions(side: &[Best]) -> f32 {
    let sure: Vec<usize> = side.iter().filter(|best| best.cosine > 0.5).map(|best| best.at).collect();
    let turned = sure.windows(2).filter(|pair| pair[0] > pair[1]).count();
    if sure.len() < 2 { 0.0 } else { number(turned) / number(sure.len() - 1) }
}

/// The share of the weight that is in tokens of both sides.
fn ids_alike(forth: &[Best], back: &[Best]) -> f32 {
    let all: f32 = forth.iter().chain(back).map(|best| best.weight).sum();
    let common: f32 = forth.iter().chain(back).filter(|best| best.known).map(|best| best.weight).sum();
    if all > 0.0 { common / all } else { 1.0 }
}

#[allow(clippy::cast_precision_loss)] // Counts of tokens.
fn number(count: usize) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(vectors: &[(u32, [f32; 2])]) -> TokenVectors {
        TokenVectors::of(vectors.iter().map(|(id, vector)| (*id, &vector[..]))).unwrap()
    }

    fn signal(a: &TokenVectors, b: &TokenVectors, name: &str) -> f32 {
        let weight = |id: u32| if id < 10 { 0.1 } else { 1.0 };
        let at = ALIGNMENT.iter().position(|known| *known == name).unwrap();
        let (forth, back) = (alignment(a, b, &weight).unwrap(), alignment(b, a, &weight).unwrap());
        assert_eq!(forth.map(f32::to_bits), back.map(f32::to_bits), "symmetric");
        forth[at]
    }

    #[test]
    fn equal_texts_have_no_gap() {
        let text = tokens(&[(1, [1.0, 0.0]), (20, [0.0, 1.0])]);
        for (name, expected) in [
            ("best_mean_low", 1.0),
            ("gap_sum_high", 0.0),
            ("id_gap_sum_high", 0.0),
            ("ids_alike", 1.0),
            ("inversions", 0.0),
        ] {
            assert!((signal(&text, &text, name) - expected).abs() < 0.02, "{name}");
        }
    }

    #[test]
    fn a_rare_word_without_a_partner_weighs_more_than_a_common_one() {
        let base = tokens(&[(1, [1.0, 0.0])]);
        let rare = tokens(&[(1, [1.0, 0.0]), (20, [0.0, 1.0])]);
        let common = tokens(&[(1, [1.0, 0.0]), (2, [0.0, 1.0])]);
        assert!(signal(&base, &rare, "gap_worst_high") > 5.0 * signal(&base, &common, "gap_worst_high"));
        assert!(signal(&base, &rare, "gap_worst_low") < 0.02);
    }

    #[test]
    fn another_order_of_the_same_words_shows() {
        let one = tokens(&[(1, [1.0, 0.0]), (20, [0.0, 1.0]), (30, [-1.0, 0.0])]);
        let other = tokens(&[(30, [-1.0, 0.0]), (20, [0.0, 1.0]), (1, [1.0, 0.0])]);
        assert!(signal(&one, &other, "inversions") > 0.9);
        assert!((signal(&one, &other, "ids_equal") - 1.0).abs() < 1e-6);
    }

    #[test]
    fn every_signal_has_a_name() {
        assert_eq!(
            names().len(),
            1 + ALIGNMENT.len() + wording::NAMES.len() + guard::HINTS.len() + GuardName::ALL.len()
        );
    }
}
