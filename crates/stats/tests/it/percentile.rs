use gatebench_stats::percentile::{highest_trustworthy_percentile, is_trustworthy};
use proptest::prelude::*;

#[test]
fn the_usual_percentiles_require_known_numbers_of_samples() {
    for (percentile, needed) in [(50.0, 20), (90.0, 100), (99.0, 1_000), (99.9, 10_000)] {
        assert!(
            is_trustworthy(percentile, needed),
            "p{percentile} of {needed}"
        );
        assert!(
            !is_trustworthy(percentile, needed - 1),
            "p{percentile} of {}",
            needed - 1
        );
    }
}

#[test]
fn ten_samples_support_no_percentile() {
    assert_eq!(highest_trustworthy_percentile(0), None);
    assert_eq!(highest_trustworthy_percentile(10), None);
    assert_eq!(highest_trustworthy_percentile(1_000), Some(99.0));
}

proptest! {
    #[test]
    fn the_highest_is_trustworthy_and_anything_higher_is_not(count in 11_u64..10_000_000) {
        let highest = highest_trustworthy_percentile(count).unwrap_or(100.0);
        prop_assert!(is_trustworthy(highest, count));
        prop_assert!(!is_trustworthy(highest + 200.0 / count as f64, count));
    }
}
