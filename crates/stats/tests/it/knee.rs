use gatebench_stats::knee::knee;
use proptest::prelude::*;

/// Returns the throughput and response time of an M/G/1 queue at utilizations from 1 to 99 %, by
/// the Pollaczek-Khinchine formula. `variation` is the squared coefficient of variation of the
/// service time.
fn queue(variation: f64) -> Vec<(f64, f64)> {
    let at = |percent: i32| {
        let load = f64::from(percent) / 100.0;
        (load, 1.0 + load * (1.0 + variation) / 2.0 / (1.0 - load))
    };
    (1..100).map(at).collect()
}

#[test]
fn queues_have_the_published_knees() {
    // Kleinrock's knee is 1 ÷ (1 + √((1 + C²) ÷ 2)): one half for M/M/1, and 2 − √2 for M/D/1.
    for variation in [0.0, 1.0, 4.0, 16.0_f64] {
        let expected = 1.0 / (1.0 + ((1.0 + variation) / 2.0).sqrt());
        let points = queue(variation);
        let found = knee(&points).map(|index| points[index].0);
        assert!(
            found.is_some_and(|load| (load - expected).abs() <= 0.006),
            "{found:?} instead of {expected}"
        );
    }
}

#[test]
fn points_without_a_measurement_have_no_knee() {
    assert_eq!(knee(&[]), None);
    assert_eq!(
        knee(&[(0.0, 1.0), (1.0, f64::NAN), (f64::INFINITY, 1.0)]),
        None
    );
    assert_eq!(knee(&[(1e300, 1e-300), (2.0, 1.0)]), Some(0));
    assert_eq!(knee(&[(5.0, 1.0), (5.0, 1.0)]), Some(0));
}

proptest! {
    #[test]
    fn neither_unit_matters(
        points in prop::collection::vec((1_u32..1_000, 1_u32..1_000), 1..30), exponent in -20_i32..20,
    ) {
        // Scaling by powers of two leaves ratios unchanged.
        let unit = 2_f64.powi(exponent);
        let plain: Vec<_> = points.iter().map(|(x, t)| (f64::from(*x), f64::from(*t))).collect();
        let scaled: Vec<_> = plain.iter().map(|(x, t)| (x * unit, t / unit)).collect();
        let power = |index: Option<usize>| index.map(|i| plain[i].0 / plain[i].1);
        let (here, there) = (power(knee(&plain)), power(knee(&scaled)));
        prop_assert!(here.zip(there).is_some_and(|(a, b)| (a / b - 1.0).abs() < 1e-9));
    }
}
