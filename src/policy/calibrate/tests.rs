//! A calibrated threshold keeps its promise, and none is given on too little evidence.

use proptest::prelude::*;

use super::*;

fn others(scores: impl IntoIterator<Item = f64>) -> Vec<Labelled> {
    scores.into_iter().map(|score| Labelled { score: Some(score), same: false }).collect()
}

fn aim(target: f64) -> Aim {
    Aim::new(target, Aim::CONFIDENCE).unwrap()
}

fn shortage(pairs: &[Labelled], target: f64) -> Shortage {
    match calibrate(pairs, &grid(1000, 500), aim(target)).unwrap() {
        Calibration::NotEnough(shortage) => shortage,
        Calibration::Found(found) => panic!("{found:?}"),
    }
}

#[test]
fn no_labels_give_no_threshold_but_the_number_that_is_missing() {
    let nothing = shortage(&[], 0.01);
    assert_eq!((nothing.more, nothing.false_hits.of), (299, 0));
    assert!(nothing.bound >= 1.0, "no data bound nothing");
    let only_true = vec![Labelled { score: Some(0.9), same: true }; 5000];
    assert_eq!(shortage(&only_true, 0.01).more, 299, "true pairs say nothing about false hits");
    assert_eq!(shortage(&others([0.1; 298]), 0.01).more, 1);
    assert_eq!(shortage(&others([0.1; 100]), 0.001).more, 2895);
    assert!(shortage(&others([0.1; 100]), 0.01).to_string().contains("need about 199 more"));
}

#[test]
fn observed_false_hits_ask_for_more_labels() {
    let mut pairs = others([0.1; 300]);
    pairs.extend(others([1.0]));
    let missing = shortage(&pairs, 0.01);
    assert_eq!((missing.false_hits, missing.more), (Rate::new(1, 301), 473 - 301));
}

#[test]
fn enough_labels_give_the_loosest_threshold_that_holds() {
    let mut pairs = others((0..1000).map(|i| 0.3003 + 0.0005 * f64::from(i)));
    pairs.extend([0.7, 0.79, 0.9].map(|score| Labelled { score: Some(score), same: true }));
    let Calibration::Found(found) = calibrate(&pairs, &grid(1000, 500), aim(0.01)).unwrap() else {
        panic!("not found")
    };
    // Four false hits of a thousand are bounded by 0.0091, five by 0.0105.
    assert_eq!(found.false_hits, Rate::new(4, 1000));
    assert!((found.threshold - 0.798).abs() < 1e-9 && found.bound <= 0.01, "{found:?}");
    assert_eq!(found.hits, Rate::new(1, 3));
}

#[test]
fn forbidden_pairs_are_evidence_that_never_fails() {
    let pairs = vec![Labelled { score: None, same: false }; 299];
    let Calibration::Found(found) = calibrate(&pairs, &grid(1000, 500), aim(0.01)).unwrap() else {
        panic!("not found")
    };
    assert!((found.threshold - 0.5).abs() < 1e-9);
    assert_eq!(found.false_hits, Rate::new(0, 299));
    assert!(found.bound > 0.0, "nothing of something is not nothing");
}

#[test]
fn values_out_of_range_are_named() {
    assert!(Aim::new(0.0, 0.95).unwrap_err().to_string().starts_with("target: "));
    assert!(Aim::new(0.01, 1.0).unwrap_err().to_string().starts_with("confidence: "));
    assert!(Aim::new(f64::NAN, 0.95).is_err());
    assert!(calibrate(&others([1.5]), &grid(1000, 500), aim(0.01)).unwrap_err().to_string().starts_with("score: "));
    for grid in [&[][..], &[0.5, 0.6], &[2.0, 1.0]] {
        assert!(calibrate(&[], grid, aim(0.01)).is_err(), "{grid:?}");
    }
}

/// Numbers in 0..1 that are the same on every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[test]
fn the_promise_is_broken_no_more_often_than_it_says() {
    // Scores of others are uniform, so the true rate of false hits at a threshold is 1 - threshold.
    let (mut dice, runs, target) = (Dice(7), 1000, 0.1);
    let (mut broken, mut found) = (0, 0);
    for _ in 0..runs {
        let pairs = others((0..150).map(|_| dice.roll()));
        if let Calibration::Found(bounded) = calibrate(&pairs, &grid(1000, 500), aim(target)).unwrap() {
            found += 1;
            broken += u32::from(1.0 - bounded.threshold > target + 1e-9);
        }
    }
    assert_eq!(found, runs);
    // 50 expected at most; 50 + 3 standard deviations.
    assert!(broken <= 50 + 21, "{broken} of {runs}");
    assert!(broken > 10, "{broken} of {runs}: far stricter than it needs to be");
}

proptest! {
    #[test]
    fn a_looser_target_never_gives_a_stricter_threshold(
        scores in prop::collection::vec(prop::option::of(0.0_f64..=1.0), 0..400), target in 0.005_f64..0.3,
    ) {
        let pairs: Vec<Labelled> = scores.into_iter().map(|score| Labelled { score, same: false }).collect();
        let threshold = |target: f64| match calibrate(&pairs, &grid(1000, 500), aim(target)).unwrap() {
            Calibration::Found(found) => { assert!(found.bound <= target + 1e-9); found.threshold }
            Calibration::NotEnough(shortage) => { assert!(shortage.more > 0); 2.0 }
        };
        prop_assert!(threshold(target * 2.0) <= threshold(target));
    }
}
