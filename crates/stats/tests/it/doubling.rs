use gatebench_stats::doubling::Doubling;

#[test]
fn a_value_that_halves_with_each_doubling_is_measured_exactly() {
    let line = Doubling::through(&[(1.0, 800.0), (2.0, 400.0), (8.0, 100.0)]).unwrap();
    assert!((line.factor - 0.5).abs() < 1e-12);
    assert!((line.at(4.0) - 200.0).abs() < 1e-9);
}

#[test]
fn noise_around_a_constant_is_not_growth() {
    let points = [(10.0, 99.0), (100.0, 101.0), (1000.0, 99.0)];
    let line = Doubling::through(&points).unwrap();
    assert!((line.factor - 1.0).abs() < 1e-12);
}

#[test]
fn a_single_count_has_no_line() {
    assert_eq!(Doubling::through(&[(5.0, 1.0), (5.0, 2.0)]), None);
    assert_eq!(Doubling::through(&[(1.0, 1.0), (2.0, 0.0)]), None);
    assert_eq!(Doubling::through(&[]), None);
}
