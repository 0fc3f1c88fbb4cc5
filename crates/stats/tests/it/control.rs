use gatebench_stats::comparison::Pair;
use gatebench_stats::simulate::Noise;
use gatebench_stats::verdict::{MIN_BLOCKS, Verdict};
use gatebench_stats::{Direction, Sequential};

#[test]
fn the_baseline_is_the_geometric_mean_of_its_processes() {
    let pair = Pair {
        baseline: vec![2.0, 1e300],
        candidate: vec![3.0, 1.0],
        direction: Direction::LowerIsBetter,
    };
    let both = pair.with_again(&[8.0, 1e300]).unwrap();
    assert!((both.baseline[0] - 4.0).abs() < 1e-12);
    assert!((both.baseline[1] / 1e300 - 1.0).abs() < 1e-12);
    assert_eq!(both.candidate, pair.candidate);
    assert!(pair.with_again(&[1.0]).is_none());
}

/// Returns the final verdict of a run over these values, and the number of blocks that it took.
fn end(plan: &Sequential, pair: &Pair) -> (Verdict, usize) {
    let look = |blocks: usize| {
        let cut = |values: &[f64]| values[..blocks].to_vec();
        let so_far = Pair {
            baseline: cut(&pair.baseline),
            candidate: cut(&pair.candidate),
            direction: pair.direction,
        };
        let look = plan.look(&so_far, 0.02).unwrap();
        look.stop.map(|_| (look.comparison.verdict, blocks))
    };
    (MIN_BLOCKS..=plan.blocks_max()).find_map(look).unwrap()
}

/// Returns the share of runs that end with the verdict better or worse, and the mean number of
/// blocks. The first pair is for the comparison with one process of the baseline, the second for
/// the comparison with both.
fn found(effect: f64, deviation: f64, runs: usize) -> [(f64, f64); 2] {
    let plan = Sequential::plan(40, 0.05).unwrap();
    let mut noise = Noise::seeded(5);
    let mut totals = [(0, 0); 2];
    for _ in 0..runs {
        let mut values = |effect: f64| -> Vec<f64> {
            let block = |_| (effect + deviation * noise.heavy()).exp();
            (0..plan.blocks_max()).map(block).collect()
        };
        let one = Pair {
            candidate: values(effect),
            baseline: values(0.0),
            direction: Direction::LowerIsBetter,
        };
        let both = one.with_again(&values(0.0)).unwrap();
        for ((differs, blocks), pair) in totals.iter_mut().zip([one, both]) {
            let (verdict, taken) = end(&plan, &pair);
            *differs += usize::from(matches!(verdict, Verdict::Better | Verdict::Worse));
            *blocks += taken;
        }
    }
    let share = |count: usize| count as f64 / runs as f64;
    totals.map(|(differs, blocks)| (share(differs), share(blocks)))
}

#[test]
fn equal_gateways_stay_equal_and_small_effects_are_found_sooner() {
    let [_, (wrong, _)] = found(0.0, 0.05, 400);
    // With 400 runs, one standard error is 1.1 percentage points.
    assert!(wrong <= 0.07, "{wrong}");
    let [(one, blocks), (both, fewer)] = found(0.05, 0.05, 200);
    assert!(both > 0.9 && both > one && fewer < blocks, "{one} {both}");
}
