//! The normal distribution.
//!
//! Near zero, G. Marsaglia's series is used (*Evaluating the Normal Distribution*, Journal of
//! Statistical Software 11(4), 2004). Farther out, Laplace's continued fraction (DLMF 7.9.3,
//! <https://dlmf.nist.gov/7.9.E3>) is used, because its relative accuracy does not depend on the
//! size of the tail.

use std::f64::consts::PI;

use crate::bisection::{DIGITS, bisect};

/// The value at which the fraction takes over from the series.
const FRACTION_FROM: f64 = 2.5;

/// The number of terms of the fraction. At [`FRACTION_FROM`], the relative error is below 1e-13.
const FRACTION_TERMS: u32 = 120;

pub fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / (2.0 * PI).sqrt()
}

/// Returns the probability that a standard normal variable is above `z`.
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

/// Returns the value that a standard normal variable exceeds with `probability`, which is between 0
/// and 1.
pub fn beyond_inverse(probability: f64) -> f64 {
    if probability > 0.5 {
        return -beyond_inverse(1.0 - probability);
    }
    // Beyond 38, the tail is smaller than the smallest normal f64.
    bisect(0.0, 38.0, DIGITS, |z| beyond(z) <= probability)
}

/// Returns the probability that a standard normal variable is between 0 and `z`: φ(z) (z + z³ ÷ 3 +
/// z⁵ ÷ 15 + …).
fn between_zero_and(z: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (z, z, 1.0);
    while term > sum * 1e-17 {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    sum * density(z)
}
