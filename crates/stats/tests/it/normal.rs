use gatebench_stats::normal::{beyond, beyond_inverse};
use proptest::prelude::*;

/// The output of SciPy 1.17.1 for `from scipy.stats import norm; [norm.sf(z) for z in (0, .5, 1,
/// 1.96, 2.4, 2.6, 4, 6, 10, 30)]`.
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
fn tails_match_scipy() {
    for (z, expected) in SCIPY {
        let found = beyond(z);
        assert!(
            (found / expected - 1.0).abs() < 1e-12,
            "{found} instead of {expected} beyond {z}"
        );
    }
}

proptest! {
    #[test]
    fn the_inverse_inverts(z in -5.0_f64..30.0) {
        prop_assert!((beyond_inverse(beyond(z)) - z).abs() < 1e-9);
    }

    #[test]
    fn both_tails_sum_to_one(z in -8.0_f64..8.0) {
        prop_assert!((beyond(z) + beyond(-z) - 1.0).abs() < 1e-14);
    }
}
