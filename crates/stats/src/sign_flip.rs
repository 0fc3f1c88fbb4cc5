//! The exact sign-flip permutation test of paired differences.
//!
//! Source: R. A. Fisher, *The Design of Experiments*, 1935, section 21; M. D. Ernst, *Permutation
//! Methods: A Basis for Exact Inference*, Statistical Science 19(4), 2004.

/// The maximum number of pairs for which the 2ⁿ sign patterns are enumerated.
pub const PAIRS_MAX: usize = 20;

/// Returns the two-sided p-value of the hypothesis that the differences are symmetric around zero.
/// It is the share of all 2ⁿ sign patterns whose sum is at least as far from zero as the observed
/// sum. Returns `None` if there are no pairs or more than [`PAIRS_MAX`]. The smallest possible
/// p-value is 2 ÷ 2ⁿ, which is 0.25 for 3 pairs and 0.06 for 5.
pub fn sign_flip_p(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() || differences.len() > PAIRS_MAX {
        return None;
    }
    let size: f64 = differences.iter().map(|d| d.abs()).sum();
    // Sums that are equal in exact arithmetic may differ by rounding errors, but must be treated as
    // equal.
    let seen = differences.iter().sum::<f64>().abs() - size * 1e-12;
    let patterns = 1_u32 << differences.len();
    let as_far = (0..patterns)
        .filter(|pattern| flipped_sum(differences, *pattern).abs() >= seen)
        .count();
    Some(as_far as f64 / f64::from(patterns))
}

fn flipped_sum(differences: &[f64], pattern: u32) -> f64 {
    let signed = differences.iter().enumerate();
    signed
        .map(|(index, d)| if pattern >> index & 1 == 1 { -d } else { *d })
        .sum()
}
