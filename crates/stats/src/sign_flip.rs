//! The exact sign-flip permutation test of paired differences.
//!
//! Source: R. A. Fisher, *The Design of Experiments*, 1935, section 21; M. D. Ernst, *Permutation
//! Methods: A Basis for Exact Inference*, Statistical Science 19(4), 2004.

/// Above this many pairs the 2ⁿ sign patterns are not enumerated.
pub const PAIRS_MAX: usize = 20;

/// Two-sided p of the hypothesis that the differences are symmetric around zero: the share of all 2ⁿ
/// sign patterns whose sum is at least as far from zero as the one seen. None without pairs and
/// above [`PAIRS_MAX`]. Its smallest value is 2 ÷ 2ⁿ: 0.25 for 3 pairs, 0.06 for 5.
pub fn sign_flip_p(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() || differences.len() > PAIRS_MAX {
        return None;
    }
    let size: f64 = differences.iter().map(|d| d.abs()).sum();
    // Sums of the same numbers in another order differ in the last digits; a tie must count.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_pairs_cannot_be_significant() {
        assert_eq!(sign_flip_p(&[1.0, 2.0, 3.0]), Some(0.25));
        assert_eq!(sign_flip_p(&[1.0, 1.0, 1.0, 1.0, 1.0]), Some(0.0625));
        assert_eq!(sign_flip_p(&[]), None);
    }

    #[test]
    fn counted_by_hand() {
        // Of the 8 patterns of {1, 2, −3} all sums are 0, ±2, ±4 or ±6; the one seen is 0.
        assert_eq!(sign_flip_p(&[1.0, 2.0, -3.0]), Some(1.0));
        // |2 + 3 − 1| = 4: reached by ±4 and ±6, four patterns of eight.
        assert_eq!(sign_flip_p(&[2.0, 3.0, -1.0]), Some(0.5));
    }

    proptest! {
        #[test]
        fn neither_sign_nor_scale_matters(
            values in prop::collection::vec(-5.0_f64..5.0, 1..10), scale in 0.1_f64..100.0,
        ) {
            let p = sign_flip_p(&values);
            let turned: Vec<f64> = values.iter().map(|v| -v * scale).collect();
            prop_assert_eq!(p, sign_flip_p(&turned));
            let smallest = 2.0 / f64::from(1_u32 << values.len());
            prop_assert!(p.is_some_and(|p| (smallest..=1.0).contains(&p)));
        }
    }
}
