//! The normal distribution.
//!
//! Near zero by G. Marsaglia's series (*Evaluating the Normal Distribution*, Journal of Statistical
//! Software 11(4), 2004), beyond by Laplace's continued fraction (DLMF 7.9.3,
//! <https://dlmf.nist.gov/7.9.E3>), which keeps its relative accuracy however small the tail is.

use std::f64::consts::PI;

/// Where the series ends and the fraction begins.
const FRACTION_FROM: f64 = 2.5;

/// Terms of the fraction: at [`FRACTION_FROM`] they leave a relative error below 1e-13.
const FRACTION_TERMS: u32 = 120;

/// The density at `z`.
pub fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / (2.0 * PI).sqrt()
}

/// The probability that a standard normal variable is above `z`.
pub fn beyond(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - beyond(-z);
    }
    if z < FRACTION_FROM {
        return 0.5 - between_zero_and(z);
    }
    let fraction = (1..=FRACTION_TERMS)
        .rev()
        .fold(z, |below, k| z + f64::from(k) / below);
    density(z) / fraction
}

/// The value that a standard normal variable is above with `probability`, which lies in 0 to 1.
pub fn beyond_inverse(probability: f64) -> f64 {
    if probability > 0.5 {
        return -beyond_inverse(1.0 - probability);
    }
    // Beyond 38 the tail is smaller than the smallest number. Each step halves the interval.
    let (mut low, mut high) = (0.0, 38.0);
    for _ in 0..60 {
        let middle = low + (high - low) / 2.0;
        if beyond(middle) > probability {
            low = middle
        } else {
            high = middle
        }
    }
    high
}

/// φ(z) (z + z³ ÷ 3 + z⁵ ÷ 15 + …).
fn between_zero_and(z: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (z, z, 1.0);
    while term > sum * 1e-17 {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    sum * density(z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `from scipy.stats import norm; [norm.sf(z) for z in (0, .5, 1, 1.96, 2.4, 2.6, 4, 6, 10, 30)]`
    /// (scipy 1.17.1).
    const SCIPY: [(f64, f64); 10] = [
        (0.0, 0.5),
        (0.5, 0.308_537_538_725_986_9),
        (1.0, 0.158_655_253_931_457_05),
        (1.96, 0.024_997_895_148_220_435),
        (2.4, 0.008_197_535_924_596_131),
        (2.6, 0.004_661_188_023_718_747),
        (4.0, 3.167_124_183_311_998_6e-5),
        (6.0, 9.865_876_450_376_946e-10),
        (10.0, 7.619_853_024_160_583e-24),
        (30.0, 4.906_713_927_148_187e-198),
    ];

    #[test]
    fn tails_are_scipys() {
        for (z, expected) in SCIPY {
            let found = beyond(z);
            assert!(
                (found / expected - 1.0).abs() < 1e-12,
                "{found} for {expected} beyond {z}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_inverse_inverts(z in -5.0_f64..30.0) {
            prop_assert!((beyond_inverse(beyond(z)) - z).abs() < 1e-9);
        }

        #[test]
        fn both_tails_make_one(z in -8.0_f64..8.0) {
            prop_assert!((beyond(z) + beyond(-z) - 1.0).abs() < 1e-14);
        }
    }
}
