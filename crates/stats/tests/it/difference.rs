use gatebench_stats::difference::difference;

/// Returns a baseline that drifts by far more than the differences, as on a real machine, and the
/// candidate.
fn drifting(differences: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let baseline: Vec<f64> = (0..differences.len())
        .map(|block| 100.0 + 10.0 * block as f64)
        .collect();
    let candidate = baseline.iter().zip(differences);
    let candidate = candidate.map(|(base, more)| base + more).collect();
    (baseline, candidate)
}

#[test]
fn the_interval_is_students_on_the_differences() {
    let (baseline, candidate) = drifting(&[4.0, 6.0, 4.0, 6.0, 4.0, 6.0, 4.0, 6.0, 4.0, 6.0]);
    let found = difference(&baseline, &candidate, 0.95, 1).unwrap();
    // The standard deviation is √(10 ÷ 9) and t(0.975, 9) is 2.262157, so the half-width of the
    // interval is 0.754052.
    let interval = found.interval.unwrap();
    assert!((found.effect - 5.0).abs() < 1e-9);
    assert!(
        (interval.low - (5.0 - 0.754_052)).abs() < 1e-5,
        "{interval:?}"
    );
    assert!(
        (interval.high - (5.0 + 0.754_052)).abs() < 1e-5,
        "{interval:?}"
    );
    assert_eq!(found.span(), (interval.low, interval.high));
}

#[test]
fn fewer_than_ten_blocks_have_only_a_median_and_a_range() {
    let (baseline, candidate) = drifting(&[1.0, 9.0, 2.0]);
    let found = difference(&baseline, &candidate, 0.95, 1).unwrap();
    assert_eq!((found.effect, found.interval), (2.0, None));
    assert_eq!((found.span(), found.blocks), ((1.0, 9.0), 3));
}

#[test]
fn twenty_blocks_are_resampled_and_the_seed_determines_the_interval() {
    let more: Vec<f64> = (0..20).map(|block| f64::from(block).sqrt()).collect();
    let (baseline, candidate) = drifting(&more);
    let at = |seed| difference(&baseline, &candidate, 0.95, seed).unwrap();
    assert_eq!(at(3), at(3));
    assert_ne!(at(3).interval, at(4).interval);
    let interval = at(3).interval.unwrap();
    assert!(interval.low < 2.9 && 2.9 < interval.high, "{interval:?}");
}

#[test]
fn values_that_cannot_be_paired_have_no_difference() {
    assert_eq!(difference(&[1.0], &[], 0.95, 1), None);
    assert_eq!(difference(&[], &[], 0.95, 1), None);
    assert_eq!(difference(&[f64::NAN], &[1.0], 0.95, 1), None);
}
