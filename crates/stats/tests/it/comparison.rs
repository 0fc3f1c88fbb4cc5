use gatebench_stats::comparison::{Method, Pair, Rule, compare, compare_all};
use gatebench_stats::student;
use gatebench_stats::verdict::{Direction, Verdict};
use proptest::prelude::*;

const RULE: Rule = Rule {
    smallest_effect: 0.02,
    seed: 1,
};

fn pair(baseline: &[f64], candidate: &[f64]) -> Pair {
    Pair {
        baseline: baseline.into(),
        candidate: candidate.into(),
        direction: Direction::HigherIsBetter,
    }
}

/// Returns `count` blocks, an even number, whose log ratios have this mean and standard deviation.
fn blocks(count: usize, mean: f64, deviation: f64) -> Pair {
    // Values that alternate between 1 and −1 have mean 0 and sample variance n ÷ (n − 1).
    let scale = deviation / (count as f64 / (count - 1) as f64).sqrt();
    let value = |i| (mean + if i % 2 == 0 { scale } else { -scale }).exp();
    pair(
        &vec![1.0; count],
        &(0..count).map(value).collect::<Vec<_>>(),
    )
}

fn half_of_interval(count: usize, deviation: f64) -> f64 {
    student::quantile(0.975, (count - 1) as f64) * deviation / (count as f64).sqrt()
}

fn verdict(mean: f64, deviation: f64) -> Verdict {
    compare(&blocks(10, mean, deviation), RULE).unwrap().verdict
}

#[test]
fn the_interval_is_students() {
    let found = compare(&blocks(10, 0.1, 0.05), RULE).unwrap();
    let half = 2.262_157 * 0.05 / 10.0_f64.sqrt();
    let interval = found.interval.unwrap();
    assert_eq!(found.method, Some(Method::Student));
    assert!((found.ratio.ln() - 0.1).abs() < 1e-12);
    assert!((interval.low.ln() - (0.1 - half)).abs() < 1e-6);
    assert!((interval.high.ln() - (0.1 + half)).abs() < 1e-6);
    assert!((interval.confidence - 0.95).abs() < 1e-12);
}

#[test]
fn each_verdict_has_its_case() {
    assert_eq!(verdict(0.1, 0.05), Verdict::Better);
    assert_eq!(verdict(-0.1, 0.05), Verdict::Worse);
    // The interval excludes zero, but it is within two percent, which is too small to matter.
    assert_eq!(verdict(0.01, 0.001), Verdict::NoChange);
    assert!(matches!(verdict(0.02, 0.05), Verdict::Inconclusive { .. }));
}

#[test]
fn lower_is_better_reverses_the_verdict() {
    let slower = Pair {
        direction: Direction::LowerIsBetter,
        ..blocks(10, 0.1, 0.05)
    };
    assert_eq!(compare(&slower, RULE).unwrap().verdict, Verdict::Worse);
}

#[test]
fn nine_blocks_never_yield_a_verdict() {
    let found = compare(&pair(&[1.0; 9], &[2.0; 9]), RULE).unwrap();
    assert_eq!(found.verdict, Verdict::TooFewBlocks { blocks: 9 });
    assert_eq!((found.interval, found.method), (None, None));
}

#[test]
fn twenty_blocks_are_resampled() {
    let found = compare(&blocks(20, 0.1, 0.05), RULE).unwrap();
    let half = half_of_interval(20, 0.05);
    let interval = found.interval.unwrap();
    assert_eq!(found.method, Some(Method::Bootstrap));
    assert!(
        (interval.low.ln() - (0.1 - half)).abs() < 0.003,
        "{interval:?}"
    );
    assert!(
        (interval.high.ln() - (0.1 + half)).abs() < 0.003,
        "{interval:?}"
    );
    assert_eq!(found, compare(&blocks(20, 0.1, 0.05), RULE).unwrap());
}

#[test]
fn a_clear_single_effect_may_be_chance_among_many() {
    // With t = 2.53 and nine degrees of freedom, p is 0.032.
    let close = blocks(10, 0.04, 0.05);
    assert_eq!(compare(&close, RULE).unwrap().verdict, Verdict::Better);
    let mut all = vec![close];
    all.extend((0..3).map(|_| blocks(10, 0.001, 0.1)));
    all.push(blocks(10, 0.5, 0.05));
    all.push(pair(&[1.0; 3], &[2.0; 3]));
    let found = compare_all(&all, RULE);
    let verdicts: Vec<_> = found.iter().flatten().map(|found| found.verdict).collect();
    assert!(matches!(verdicts[0], Verdict::Inconclusive { .. }));
    assert_eq!(verdicts[4], Verdict::Better);
    assert_eq!(verdicts[5], Verdict::TooFewBlocks { blocks: 3 });
    let confidence = |i: usize| found[i].as_ref().unwrap().interval.unwrap().confidence;
    // Three blocks are too few for a test, so only five of the six pairs are tested.
    assert!((confidence(4) - (1.0 - 0.05 / 5.0)).abs() < 1e-12);
    assert!((confidence(0) - (1.0 - 0.05 / 4.0)).abs() < 1e-12);
    assert_eq!(confidence(0), confidence(1));
}

#[test]
fn the_blocks_needed_settle_it_and_one_fewer_does_not() {
    let Verdict::Inconclusive {
        blocks_needed: Some(needed),
    } = verdict(0.02, 0.05)
    else {
        panic!("not inconclusive")
    };
    // No interval around a mean of 0.02 is within two percent.
    let settled = |n| half_of_interval(n, 0.05) < 0.02;
    assert!(settled(needed) && !settled(needed - 1), "{needed}");
}

#[test]
fn unpaired_and_impossible_values_are_refused() {
    for (baseline, candidate) in [
        (&[1.0][..], &[][..]),
        (&[], &[]),
        (&[0.0], &[1.0]),
        (&[1.0], &[f64::NAN]),
    ] {
        assert_eq!(compare(&pair(baseline, candidate), RULE), None);
    }
}

proptest! {
    // Each case computes dozens of quantiles by bisection.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn swapping_the_sides_inverts_the_ratio(
        pairs in prop::collection::vec((0.1_f64..10.0, 0.1_f64..10.0), 10..20),
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let there = compare(&pair(&a, &b), RULE).unwrap();
        let back = compare(&pair(&b, &a), RULE).unwrap();
        prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
        let interval = there.interval.unwrap();
        prop_assert!(interval.low <= there.ratio && there.ratio <= interval.high);
    }
}
