use gatebench_stats::change_points::{Rule, VALUES_MAX, change_points};
use gatebench_stats::simulate::{Drift, Noise};
use proptest::prelude::*;

mod nights;

/// Ten values around 2, ten around 4, and ten that swing.
const THREE_REGIMES: [f64; 30] = [
    2.1, 1.7, 2.4, 1.9, 2.2, 2.0, 1.8, 2.3, 1.6, 2.5, 4.1, 3.8, 4.4, 4.0, 3.7, 4.2, 3.9, 4.3, 4.6,
    3.6, 4.05, 1.0, 7.2, 2.5, 5.9, 0.6, 6.8, 3.3, 8.1, -0.4,
];

/// The first example of N. A. James, D. S. Matteson, *ecp: An R Package for Nonparametric Multiple
/// Change Point Analysis of Multivariate Data*, Journal of Statistical Software 62(7), 2014: the
/// spread changes after 100 and after 200 values, the mean does not. R 4.2.2: `set.seed(250);
/// round(c(rnorm(100), rnorm(100, 0, 3), rnorm(100)), 2)`.
#[allow(
    clippy::approx_constant,
    reason = "random numbers, one of them near 2π"
)]
const SPREAD_CHANGES: [f64; 300] = [
    -0.63, -0.96, 0.84, 0.94, 0.00, -0.37, -0.38, 0.00, -0.52, -0.16, 0.57, 0.46, -0.16, -0.15,
    -0.21, 0.87, -1.20, -0.57, -0.05, 0.28, 0.57, -0.25, -0.41, 0.80, -1.90, 1.27, -1.13, 1.50,
    0.54, -0.86, 0.15, -1.27, 0.76, 0.38, -0.17, -0.08, -0.65, -0.36, 0.14, -2.09, -1.27, 2.43,
    0.74, 2.57, 0.03, -0.30, 0.08, -0.81, 0.41, 1.28, -0.04, -0.92, 0.76, -1.46, -0.06, -0.33,
    0.68, -0.36, 0.55, -1.14, -1.16, 0.13, -0.41, 1.53, 0.52, 0.61, 1.00, -0.43, -0.65, 0.96, 0.21,
    -2.14, 0.36, 0.22, 1.33, 0.68, 0.78, 1.85, 1.22, -1.45, -0.31, 0.81, -0.19, -1.29, 0.58, -0.19,
    -1.61, -1.61, 1.42, -1.21, -0.90, 0.67, 0.36, -1.61, 0.80, 0.35, -0.04, 1.52, 0.55, 1.07, 0.11,
    0.44, -1.08, -3.90, 1.51, -0.33, -0.12, 6.37, -0.18, -6.75, -1.51, 1.78, -2.32, 2.86, 0.26,
    -2.46, -2.51, 5.44, 0.13, 1.74, -1.18, 4.51, -2.79, -0.41, -0.56, -3.79, -1.52, -4.06, -1.40,
    0.43, 1.58, -0.28, -1.19, 1.64, -2.98, 3.63, 1.56, 4.13, -2.16, 2.19, 2.31, 0.05, 1.91, 2.20,
    0.21, 0.34, 1.73, 0.04, -1.92, -3.52, -5.84, -3.68, 7.24, -8.04, 0.04, 4.97, 2.33, 2.94, 1.76,
    1.92, -2.52, 6.28, -2.38, -1.54, -0.29, -2.63, 1.81, 0.61, -1.40, 8.11, 0.11, 4.32, -0.34,
    0.33, -0.91, 4.15, 7.10, 1.51, 0.48, -4.71, -0.68, 1.44, -1.69, -0.03, -2.28, 3.16, -6.94,
    -0.10, 2.68, -3.17, 2.73, -5.77, -2.70, -5.50, -1.40, -0.23, 2.19, 4.24, -5.64, -1.05, -0.62,
    0.64, 0.23, 0.66, 0.22, -0.93, -0.22, 0.44, 1.06, 0.26, -1.48, -0.51, -0.24, 0.47, 0.82, -0.81,
    -0.61, 1.31, -1.25, -0.80, 0.62, -1.37, -0.96, -0.58, 0.28, -0.78, 0.86, -0.95, -0.62, 0.50,
    -0.10, 1.39, -0.88, -0.07, -0.91, 1.24, 1.21, -0.35, 0.09, -0.44, -0.30, 0.28, 1.98, -1.57,
    -0.58, 1.25, -0.33, -0.01, -2.40, -1.00, -0.85, 0.12, -1.21, -0.34, 0.06, 0.79, -0.69, -1.12,
    0.48, 0.99, 2.28, -0.55, -0.47, -0.13, 0.34, 0.24, -0.08, 0.24, -1.47, 2.35, 2.09, 1.22, 0.11,
    -1.62, -0.66, -0.07, -0.59, 0.28, -1.26, 0.09, 0.52, -0.65, 0.46, -0.04, 0.63, -1.84, -0.32,
    -1.22, -1.67, 0.75, -0.38, 1.76, 0.16, 1.32, -0.72, -0.43, 0.06, -0.94, -0.28, 1.11,
];

fn found(values: &[f64], min_segment: usize) -> Vec<usize> {
    let rule = Rule {
        min_segment,
        ..Rule::default()
    };
    let changes = change_points(values, rule).unwrap();
    changes.iter().map(|change| change.at).collect()
}

#[test]
fn the_authors_example_has_the_changes_their_package_finds() {
    // ecp 3.1.6: e.divisive(matrix(x), R = 499, alpha = 1) estimates the positions 108 and 200
    // (counted from 1) with p values of 0.002 each, and a third with 0.946; min.size is 30.
    assert_eq!(found(&SPREAD_CHANGES, 30), [107, 199]);
}

#[test]
fn p_values_are_those_of_the_authors_package() {
    // e.divisive(x, R = 999, min.size = 5, alpha = 1): 11 with p = 0.002, 22 with p = 0.078.
    let rule = Rule {
        permutations: 999,
        ..Rule::default()
    };
    let first = change_points(&THREE_REGIMES, rule).unwrap();
    assert_eq!(first.len(), 1);
    assert!(first[0].at == 10 && first[0].p <= 0.005, "{first:?}");
    let both = change_points(
        &THREE_REGIMES,
        Rule {
            significance: 0.12,
            ..rule
        },
    )
    .unwrap();
    assert_eq!((both[0].at, both[1].at), (10, 21));
    assert!((both[1].p - 0.078).abs() < 0.03, "{both:?}");
}

#[test]
fn a_history_without_a_change_has_one_in_at_most_five_per_cent() {
    let mut noise = Noise::seeded(4);
    let rule = |seed| Rule {
        permutations: 99,
        seed,
        ..Rule::default()
    };
    let wrong = (0..400).filter(|seed| {
        let values: Vec<f64> = (0..40).map(|_| 100.0 + noise.heavy()).collect();
        !change_points(&values, rule(*seed)).unwrap().is_empty()
    });
    let wrong = wrong.count();
    println!("{wrong} of 400");
    // With a true share of 5 %, more than 28 occur once in forty times.
    assert!(wrong <= 28, "{wrong} of 400");
}

#[test]
fn a_shift_of_two_deviations_is_found_where_it_is() {
    let mut noise = Noise::seeded(5);
    let mut near = 0;
    for _ in 0..100 {
        let value = |i| if i < 20 { 0.0 } else { 2.0 } + noise.normal();
        let values: Vec<f64> = (0..40).map(value).collect();
        near += usize::from(found(&values, 5).iter().any(|at| at.abs_diff(20) <= 2));
    }
    assert!(near >= 90, "{near} of 100");
}

#[test]
fn correlated_values_look_like_changes() {
    // The assumption of the permutation test, which a history must meet: a fresh process each time.
    let mut noise = Noise::seeded(6);
    let wrong = (0..50).filter(|_| {
        let mut drift = Drift::new(0.9, &mut noise);
        let values: Vec<f64> = (0..60).map(|_| drift.next(&mut noise)).collect();
        !found(&values, 5).is_empty()
    });
    assert!(wrong.count() > 25);
}

#[test]
fn constant_short_and_impossible_series() {
    assert_eq!(found(&[7.0; 40], 5), Vec::<usize>::new());
    assert_eq!(found(&[], 5), Vec::<usize>::new());
    assert_eq!(found(&[1.0, 2.0, 3.0], 5), Vec::<usize>::new());
    assert_eq!(change_points(&[f64::NAN; 20], Rule::default()), None);
    assert_eq!(change_points(&[0.0; VALUES_MAX + 1], Rule::default()), None);
    let step = |low: f64, high: f64| [vec![low; 12], vec![high; 12]].concat();
    for (low, high) in [(1.0, 2.0), (-f64::MAX, f64::MAX), (1e-320, 2e-320)] {
        assert_eq!(found(&step(low, high), 5), [12], "{low} {high}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn neither_unit_nor_origin_nor_direction_matters(
        values in prop::collection::vec(-10_i32..10, 20..40), scale in 0.5_f64..100.0, shift in -50.0_f64..50.0,
    ) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let rule = Rule { permutations: 99, ..Rule::default() };
        let here = change_points(&values, rule).unwrap();
        let there: Vec<f64> = values.iter().map(|value| shift - scale * value).collect();
        let there = change_points(&there, rule).unwrap();
        prop_assert_eq!(here.len(), there.len());
        for change in &here {
            prop_assert!((0.01..=0.05).contains(&change.p));
        }
    }
}
