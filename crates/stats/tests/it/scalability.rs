use gatebench_stats::scalability::{Law, Point, Scalability};
use gatebench_stats::simulate::Noise;
use proptest::prelude::*;

/// SPEC SDM 91 on a Sun SPARCcenter 2000, from Gunther 2007 and the R package usl.
const SPEC_SDM_91: [(f64, f64); 7] = [
    (1.0, 64.9),
    (18.0, 995.9),
    (36.0, 1_652.4),
    (72.0, 1_853.2),
    (108.0, 1_828.9),
    (144.0, 1_775.0),
    (216.0, 1_702.2),
];

/// A ray tracer on an SGI Origin 2000, from Gunther 2007 and the R package usl.
const RAY_TRACER: [(f64, f64); 11] = [
    (1.0, 20.0),
    (4.0, 78.0),
    (8.0, 130.0),
    (12.0, 170.0),
    (16.0, 190.0),
    (20.0, 200.0),
    (24.0, 210.0),
    (28.0, 230.0),
    (32.0, 260.0),
    (48.0, 280.0),
    (64.0, 310.0),
];

fn points(pairs: &[(f64, f64)]) -> Vec<Point> {
    let point = |(cores, throughput_per_second): &(f64, f64)| Point {
        cores: *cores,
        throughput_per_second: *throughput_per_second,
    };
    pairs.iter().map(point).collect()
}

fn fit(pairs: &[(f64, f64)]) -> Scalability {
    Scalability::fit(&points(pairs), 1).unwrap()
}

fn parameters(law: Law) -> [f64; 3] {
    match law {
        Law::Universal {
            per_core,
            contention,
            coherency,
        } => [per_core, contention, coherency],
        Law::Linear { .. } => panic!("linear"),
    }
}

#[test]
fn published_measurements_have_scipys_parameters() {
    // Computed with SciPy 1.17.1, where p is the number of cores and x is the throughput:
    //   A = np.stack([np.ones_like(p), p - 1, p * (p - 1)], 1) * (x / p)[:, None]
    //   a, b, c = scipy.optimize.nnls(A, np.ones(len(p)))[0]; print(1 / a, b / a, c / a)
    for (data, expected) in [
        (
            &SPEC_SDM_91[..],
            [68.160_705_215, 0.013_361_254_590_6, 1.152_025_984_7e-4],
        ),
        (
            &RAY_TRACER[..],
            [21.746_235_099_6, 0.056_856_528_418_3, 3.454_758_405e-6],
        ),
    ] {
        for (found, expected) in parameters(fit(data).law).into_iter().zip(expected) {
            assert!(
                (found / expected - 1.0).abs() < 1e-7,
                "{found} instead of {expected}"
            );
        }
    }
}

#[test]
fn the_peak_is_near_the_published_one() {
    // The usl package, which minimizes absolute errors, finds the peak at 96.5 users.
    let peak = fit(&SPEC_SDM_91).law.peak_cores().unwrap();
    assert!((peak - 92.5).abs() < 0.1, "{peak}");
}

#[test]
fn more_than_full_contention_has_its_peak_at_one_core() {
    let law = |contention: f64| Law::Universal {
        per_core: 100.0,
        contention,
        coherency: 0.0,
    };
    assert_eq!(law(0.5).peak_cores(), None);
    let falling = law(2.0);
    assert_eq!(falling.peak_cores(), Some(1.0));
    assert!(falling.at(2.0) < falling.at(1.0));
}

#[test]
fn a_law_without_noise_is_recovered_and_sized() {
    let law = Law::Universal {
        per_core: 10_000.0,
        contention: 0.05,
        coherency: 0.002,
    };
    let exact: Vec<(f64, f64)> = [1.0, 2.0, 3.0, 4.0].map(|n| (n, law.at(n))).to_vec();
    let scalability = fit(&exact);
    for (found, expected) in parameters(scalability.law).into_iter().zip(parameters(law)) {
        assert!(
            (found / expected - 1.0).abs() < 1e-8,
            "{found} instead of {expected}"
        );
    }
    let six = scalability.cores_for(law.at(6.0)).unwrap();
    assert_eq!((six.cores, six.extrapolated), (6, true));
    assert_eq!((six.cores_low, six.cores_high), (Some(6), Some(6)));
    let more = scalability.cores_for(law.at(3.0) * 1.01).unwrap();
    assert_eq!((more.cores, more.extrapolated), (4, false));
    // Cores beyond √(0.95 ÷ 0.002) = 21.8 lower the throughput.
    assert_eq!(scalability.cores_for(law.at(21.8) * 1.01), None);
    assert!(scalability.predict(5.0).unwrap().extrapolated);
    assert!(!scalability.predict(4.0).unwrap().extrapolated);
}

#[test]
fn fewer_than_four_core_counts_are_fitted_with_a_line() {
    let scalability = fit(&[(1.0, 100.0), (2.0, 190.0), (2.0, 190.0), (4.0, 400.0)]);
    assert!(matches!(scalability.law, Law::Linear { .. }));
    let eight = scalability.predict(8.0).unwrap();
    let interval = eight.interval.unwrap();
    assert!(
        eight.extrapolated && interval.low < 780.0 && 780.0 < interval.high,
        "{eight:?}"
    );
    let alone = fit(&[(2.0, 200.0)]);
    assert_eq!(alone.predict(3.0).unwrap().interval, None);
    let sizing = alone.cores_for(450.0).unwrap();
    assert_eq!(
        (sizing.cores, sizing.cores_low, sizing.cores_high),
        (5, None, None)
    );
}

#[test]
fn better_scaling_than_a_line_is_a_line() {
    // Negative contention or coherency would promise unlimited growth.
    let [_, contention, coherency] =
        parameters(fit(&[(1.0, 100.0), (2.0, 210.0), (4.0, 430.0), (8.0, 900.0)]).law);
    assert_eq!((contention, coherency), (0.0, 0.0));
}

#[test]
fn intervals_have_their_stated_coverage() {
    let law = Law::Universal {
        per_core: 10_000.0,
        contention: 0.03,
        coherency: 0.001,
    };
    let cores = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
    let mut noise = Noise::seeded(8);
    for (repeats, predicted) in [(1, 6.0), (5, 16.0)] {
        let covered = (0..150).filter(|seed| {
            let measured = cores.iter().flat_map(|n| std::iter::repeat_n(*n, repeats));
            let point = |n| (n, law.at(n) * (0.03 * noise.normal()).exp());
            let pairs: Vec<(f64, f64)> = measured.map(point).collect();
            let scalability = Scalability::fit(&points(&pairs), *seed).unwrap();
            let interval = scalability.predict(predicted).unwrap().interval.unwrap();
            (interval.low..=interval.high).contains(&law.at(predicted))
        });
        let covered = covered.count();
        println!("{repeats} repeats, {predicted} cores: {covered} of 150");
        // If the true coverage is 95 %, the probability that fewer than 135 of the 150 intervals
        // contain the true value is four in a thousand.
        assert!(
            covered >= 135,
            "{repeats} repeats, {predicted} cores: {covered} of 150"
        );
    }
}

#[test]
fn impossible_measurements_have_no_law() {
    for pair in [
        (0.0, 1.0),
        (1.0, 0.0),
        (1.0, f64::NAN),
        (f64::INFINITY, 1.0),
        (-1.0, 1.0),
    ] {
        assert_eq!(
            Scalability::fit(&points(&[(1.0, 1.0), pair]), 1),
            None,
            "{pair:?}"
        );
    }
    assert_eq!(Scalability::fit(&[], 1), None);
    assert_eq!(fit(&[(1.0, 1.0)]).predict(0.0), None);
}

#[test]
fn constant_tiny_and_huge_throughputs_never_yield_nan() {
    for throughput in [5.0, 1e-300, 1e300] {
        let scalability = fit(&[1.0, 2.0, 4.0, 8.0].map(|n| (n, throughput)));
        let predicted = scalability.predict(16.0).unwrap();
        let interval = predicted.interval.unwrap();
        assert!(
            (predicted.throughput_per_second / throughput - 1.0).abs() < 1e-6,
            "{predicted:?}"
        );
        assert!(interval.low <= interval.high, "{predicted:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn neither_unit_nor_order_matters(
        throughputs in prop::collection::vec(0.5_f64..2.0, 6), unit in 1e-6_f64..1e6,
    ) {
        let pairs: Vec<(f64, f64)> = (1..).map(f64::from).zip(throughputs).collect();
        let here = fit(&pairs);
        let scaled: Vec<_> = pairs.iter().map(|(n, x)| (*n, x * unit)).collect();
        let reversed: Vec<_> = pairs.iter().rev().copied().collect();
        for cores in [1.0, 3.0, 12.0] {
            let expected = here.law.at(cores);
            prop_assert!((fit(&scaled).law.at(cores) / unit / expected - 1.0).abs() < 1e-6);
            prop_assert!((fit(&reversed).law.at(cores) / expected - 1.0).abs() < 1e-6);
        }
    }
}
