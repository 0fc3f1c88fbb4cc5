use gatebench_stats::share::wilson;

#[test]
fn the_interval_matches_the_formula_in_python() {
    let expected = [
        (0, 30, 0.0, 0.113_513_393_2),
        (30, 30, 0.886_486_606_8, 1.0),
        (71, 73, 0.905_498_518_3, 0.992_454_241_3),
    ];
    for (found, trials, low, high) in expected {
        let interval = wilson(found, trials).unwrap();
        assert!((interval.low - low).abs() < 1e-9, "{interval:?}");
        assert!((interval.high - high).abs() < 1e-9, "{interval:?}");
    }
    assert!(wilson(0, 0).is_none() && wilson(2, 1).is_none());
}
