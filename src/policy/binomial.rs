//! Exact bounds on a rate of which only a count is known.
//!
//! Clopper and Pearson (Biometrika 26, 1934): the bounds are the rates at which the count would be just too surprising.
//! They hold at any number of trials, also when nothing failed, where a normal approximation would claim certainty.
//!
//! The binomial tail is a regularised incomplete beta function (DLMF 8.17.5), computed by its continued fraction
//! (DLMF 8.17.22, modified Lentz) over a log-gamma function by Lanczos' series; the bounds by halving, since the tail is
//! monotone. Good to nine digits up to millions of trials.

/// Lanczos' series for g = 7 (the coefficients that Godfrey computed); relative error below 1e-14 for x of 0.5 and more.
const LANCZOS: [f64; 9] = [
    0.999_999_999_999_809_9,
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];

/// Where the continued fraction is given up; it needs some `sqrt(max(a, b))` steps.
const MOST_STEPS: u32 = 200_000;

/// ln Γ(x) for x of 0.5 and more.
fn ln_gamma(x: f64) -> f64 {
    let x = x - 1.0;
    let base = x + 7.5;
    let terms = LANCZOS.iter().zip(0_u32..).skip(1).map(|(c, i)| c / (x + f64::from(i)));
    let series = LANCZOS[0] + terms.sum::<f64>();
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * base.ln() - base + series.ln()
}

/// The continued fraction of the incomplete beta function.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let kept = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut above, mut below) = (1.0, 1.0 / kept(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = below;
    for step in (1..=MOST_STEPS).map(f64::from) {
        let even = step * (b - step) * x / ((a + 2.0 * step - 1.0) * (a + 2.0 * step));
        let odd = -(a + step) * (a + b + step) * x / ((a + 2.0 * step) * (a + 2.0 * step + 1.0));
        let mut change = 1.0;
        for numerator in [even, odd] {
            below = 1.0 / kept(1.0 + numerator * below);
            above = kept(1.0 + numerator / above);
            change = above * below;
            value *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The regularised incomplete beta function `I_x(a, b)` for a and b of 1 and more.
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    let value = if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    };
    value.clamp(0.0, 1.0)
}

/// The probability of at most `count` successes in `trials` that succeed with probability `p`.
pub fn tail(count: u64, trials: u64, p: f64) -> f64 {
    if count >= trials { 1.0 } else { 1.0 - beta(p, count as f64 + 1.0, (trials - count) as f64) }
}

/// The one-sided upper bound: with `confidence` (0 to 1, exclusive) the rate behind `count` of `trials` is at most this.
/// 1 without trials.
pub fn upper_bound(count: u64, trials: u64, confidence: f64) -> f64 {
    if count >= trials {
        return 1.0;
    }
    let (mut low, mut high) = (count as f64 / trials as f64, 1.0);
    while high - low > 1e-13 {
        let middle = f64::midpoint(low, high);
        if tail(count, trials, middle) > 1.0 - confidence { low = middle } else { high = middle }
    }
    high
}

/// The one-sided lower bound: with `confidence` the rate is at least this. 0 without trials.
pub fn lower_bound(count: u64, trials: u64, confidence: f64) -> f64 {
    1.0 - upper_bound(trials.saturating_sub(count), trials, confidence)
}

/// The fewest trials at which `count` successes bound the rate by `target` (0 to 1, exclusive) with `confidence`.
pub fn trials_needed(count: u64, target: f64, confidence: f64) -> u64 {
    let enough = |trials: u64| tail(count, trials, target) <= 1.0 - confidence;
    let (mut low, mut high) = (count, count + 1);
    while !enough(high) && high < u64::MAX / 4 {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-3)
    }

    /// The tail, term by term.
    fn summed(count: u64, trials: u64, p: f64) -> f64 {
        let mut term = (1.0 - p).powi(i32::try_from(trials).unwrap());
        let mut sum = term;
        for k in 0..count {
            term *= (trials - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
            sum += term;
        }
        sum
    }

    #[test]
    fn the_gamma_function_is_the_factorial() {
        let mut factorial = 1.0_f64;
        for n in 1..100_u32 {
            assert!(near(ln_gamma(f64::from(n)), factorial.ln()), "{n}");
            factorial *= f64::from(n);
        }
        assert!(near(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln()));
        // Stirling's series at a million.
        let x = 1e6_f64;
        let stirling = (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + 1.0 / (12.0 * x);
        assert!(near(ln_gamma(x), stirling));
    }

    #[test]
    fn known_bounds_come_out() {
        // Nothing of n: 1 - (1 - confidence)^(1/n), some 3/n at 95 % ("rule of three").
        for (count, trials, bound) in
            [(0, 300, 0.009_936_081_9), (0, 299, 0.009_969_146_8), (0, 10, 0.258_865_550_9), (0, 1, 0.95)]
        {
            let exact = 1.0 - 0.05_f64.powf(1.0 / trials as f64);
            assert!((upper_bound(count, trials, 0.95) - bound).abs() < 1e-8, "{count} of {trials}");
            assert!(near(upper_bound(count, trials, 0.95), exact));
        }
        // The two-sided 95 % interval of 5 of 10, as every table has it, and of 1 of 20.
        assert!((lower_bound(5, 10, 0.975) - 0.187_086).abs() < 1e-6);
        assert!((upper_bound(5, 10, 0.975) - 0.812_914).abs() < 1e-6);
        assert!((lower_bound(1, 20, 0.975) - 0.001_265).abs() < 1e-6);
        assert!((upper_bound(1, 20, 0.975) - 0.248_733).abs() < 1e-6);
        assert!((upper_bound(3, 500, 0.95) - 0.015_433_734_9).abs() < 1e-9);
    }

    #[test]
    fn no_data_bound_nothing() {
        assert!(near(upper_bound(0, 0, 0.95), 1.0) && lower_bound(0, 0, 0.95).abs() < 1e-12);
        assert!(near(upper_bound(7, 7, 0.95), 1.0) && lower_bound(0, 7, 0.95).abs() < 1e-12);
    }

    #[test]
    fn the_trials_needed_are_the_first_that_are_enough() {
        assert_eq!(trials_needed(0, 0.01, 0.95), 299);
        assert_eq!(trials_needed(0, 0.001, 0.95), 2995);
        assert_eq!(trials_needed(1, 0.01, 0.95), 473);
        assert_eq!(trials_needed(0, 1e-6, 0.95), 2_995_731);
    }

    #[test]
    fn an_interval_covers_the_rate_at_least_as_often_as_it_claims() {
        for trials in [1, 7, 40, 300] {
            let intervals: Vec<(f64, f64)> =
                (0..=trials).map(|k| (lower_bound(k, trials, 0.975), upper_bound(k, trials, 0.975))).collect();
            for step in 1..40 {
                let p = f64::from(step) / 40.0;
                let missed: f64 = (0..=trials)
                    .zip(&intervals)
                    .filter(|(_, (low, high))| !(*low..=*high).contains(&p))
                    .map(|(k, _)| summed(k, trials, p) - if k == 0 { 0.0 } else { summed(k - 1, trials, p) })
                    .sum();
                assert!(missed <= 0.05 + 1e-9, "{trials} trials at {p}: {missed}");
            }
        }
    }

    #[test]
    fn millions_of_trials_are_no_trouble() {
        let bound = upper_bound(10_000, 1_000_000, 0.95);
        // The normal approximation is good here: 0.01 + 1.645 * sqrt(0.01 * 0.99 / 1e6).
        assert!((bound - 0.010_164).abs() < 5e-6, "{bound}");
    }

    proptest! {
        #[test]
        fn the_tail_is_the_sum_of_its_terms(trials in 1_u64..200, share in 0.0_f64..1.0, p in 0.001_f64..0.95) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let count = (share * trials as f64) as u64;
            let sum = if count >= trials { 1.0 } else { summed(count, trials, p) };
            prop_assert!((tail(count, trials, p) - sum).abs() < 1e-10);
        }

        #[test]
        fn more_failures_raise_the_bound_and_more_trials_lower_it(
            count in 0_u64..50, more in 1_u64..500, confidence in 0.5_f64..0.999,
        ) {
            let trials = count + more;
            let bound = upper_bound(count, trials, confidence);
            prop_assert!(bound > count as f64 / trials as f64 && bound <= 1.0);
            prop_assert!(upper_bound(count + 1, trials, confidence) >= bound);
            prop_assert!(upper_bound(count, trials + 1, confidence) <= bound);
            prop_assert!(upper_bound(count, trials, f64::midpoint(confidence, 1.0)) >= bound);
            prop_assert!(lower_bound(count, trials, confidence) <= count as f64 / trials as f64 + 1e-12);
            prop_assert!((tail(count, trials, bound) - (1.0 - confidence)).abs() < 1e-8);
        }

        #[test]
        fn a_bound_and_the_trials_for_it_agree(count in 0_u64..30, target in 0.001_f64..0.5) {
            let trials = trials_needed(count, target, 0.95);
            prop_assert!(upper_bound(count, trials, 0.95) <= target + 1e-12);
            prop_assert!(upper_bound(count, trials - 1, 0.95) > target);
        }
    }
}
