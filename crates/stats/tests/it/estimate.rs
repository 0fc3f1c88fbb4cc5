use gatebench_stats::estimate::{Estimate, median};
use proptest::prelude::*;

#[test]
fn medians_of_odd_and_even_counts_are_correct() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median(&[]), None);
}

#[test]
fn values_that_are_not_numbers_have_no_estimate() {
    assert_eq!(Estimate::of_blocks(&[1.0, f64::NAN]), None);
    assert_eq!(Estimate::of_blocks(&[]), None);
}

#[test]
fn ranges_that_touch_overlap() {
    let of = |values: &[f64]| Estimate::of_blocks(values).unwrap();
    assert!(of(&[1.0, 2.0]).overlaps(&of(&[2.0, 3.0])));
    assert!(!of(&[1.0, 2.0]).overlaps(&of(&[2.1, 3.0])));
}

proptest! {
    #[test]
    fn the_median_is_within_the_range(values in prop::collection::vec(-1e9_f64..1e9, 1..50)) {
        let estimate = Estimate::of_blocks(&values).unwrap();
        prop_assert!(estimate.min <= estimate.median && estimate.median <= estimate.max);
    }
}
