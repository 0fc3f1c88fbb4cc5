use gatebench_stats::sign_flip::sign_flip_p;
use proptest::prelude::*;

#[test]
fn few_pairs_cannot_be_significant() {
    assert_eq!(sign_flip_p(&[1.0, 2.0, 3.0]), Some(0.25));
    assert_eq!(sign_flip_p(&[1.0, 1.0, 1.0, 1.0, 1.0]), Some(0.0625));
    assert_eq!(sign_flip_p(&[]), None);
}

#[test]
fn p_values_match_a_count_by_hand() {
    // The sums of the eight sign patterns of {1, 2, −3} are 0, ±2, ±4 or ±6; the observed sum is 0.
    assert_eq!(sign_flip_p(&[1.0, 2.0, -3.0]), Some(1.0));
    // The observed sum is |2 + 3 − 1| = 4. Four of the eight patterns reach it, with sums of ±4 and
    // ±6.
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
