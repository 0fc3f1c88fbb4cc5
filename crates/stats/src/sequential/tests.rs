use super::*;
use crate::simulate::{Drift, Noise};
use crate::{Direction, Interval};
use proptest::prelude::*;

const SMALLEST_EFFECT: f64 = 0.02;

/// A function that returns the log ratios of a number of blocks without an effect, for one kind of
/// noise.
type Blocks = fn(&mut Noise, usize) -> Vec<f64>;

/// The standard deviation of a block's log ratio in the simulations, unless stated otherwise.
const DEVIATION: f64 = 0.06;

fn normal_blocks(noise: &mut Noise, count: usize) -> Vec<f64> {
    (0..count).map(|_| DEVIATION * noise.normal()).collect()
}

fn heavy_blocks(noise: &mut Noise, count: usize) -> Vec<f64> {
    (0..count).map(|_| DEVIATION * noise.heavy()).collect()
}

/// Blocks in which one trial in ten is far slower because another process uses the machine.
fn disturbed_blocks(noise: &mut Noise, count: usize) -> Vec<f64> {
    let trial = |noise: &mut Noise| {
        let disturbed = noise.uniform() < 0.1;
        0.01 * noise.normal()
            + if disturbed {
                0.1 * noise.exponential()
            } else {
                0.0
            }
    };
    (0..count).map(|_| trial(noise) - trial(noise)).collect()
}

/// Blocks on a machine whose drift, which is correlated over some 20 trials, is far larger than the
/// differences between trials. The two trials of a block are in random order.
fn drifting_blocks(noise: &mut Noise, count: usize) -> Vec<f64> {
    let mut machine = Drift::new(0.95, noise);
    let block = |_| {
        let (first, second) = (machine.next(noise), machine.next(noise));
        let rise = 0.2 * (second - first) + 0.02 * noise.normal();
        if noise.uniform() >= 0.5 { rise } else { -rise }
    };
    (0..count).map(block).collect()
}

/// Correlated log ratios, as they would be if the order in a block were always the same.
fn remembering_blocks(noise: &mut Noise, count: usize) -> Vec<f64> {
    let mut drift = Drift::new(0.3, noise);
    (0..count).map(|_| DEVIATION * drift.next(noise)).collect()
}

fn pair_of(logs: &[f64]) -> Pair {
    Pair {
        baseline: vec![1.0; logs.len()],
        candidate: logs.iter().map(|log| log.exp()).collect(),
        direction: Direction::LowerIsBetter,
    }
}

/// Returns the final verdict of a run over these blocks, and the number of blocks that it took.
fn run(plan: &Sequential, logs: &[f64]) -> (Verdict, usize) {
    for blocks in MIN_BLOCKS..=plan.blocks_max() {
        let look = plan
            .look(&pair_of(&logs[..blocks]), SMALLEST_EFFECT)
            .unwrap();
        if look.stop.is_some() {
            return (look.comparison.verdict, blocks);
        }
    }
    panic!("the plan never ends")
}

/// Returns the share of runs of two equal variants that end with the verdict better or worse.
fn false_verdicts(plan: &Sequential, blocks: Blocks, runs: usize) -> f64 {
    let mut noise = Noise::seeded(1);
    let wrong = (0..runs).filter(|_| {
        let logs = blocks(&mut noise, plan.blocks_max());
        matches!(run(plan, &logs).0, Verdict::Better | Verdict::Worse)
    });
    wrong.count() as f64 / runs as f64
}

/// Returns the share of runs with the verdict *worse*, and the mean number of blocks per run.
fn power(plan: &Sequential, effect: f64, deviation: f64, runs: usize) -> (f64, f64) {
    let mut noise = Noise::seeded(2);
    let (mut found, mut blocks_all) = (0, 0);
    for _ in 0..runs {
        let block = |_| effect.ln_1p() + deviation * noise.normal();
        let logs: Vec<f64> = (0..plan.blocks_max()).map(block).collect();
        let (verdict, blocks) = run(plan, &logs);
        found += usize::from(verdict == Verdict::Worse);
        blocks_all += blocks;
    }
    (found as f64 / runs as f64, blocks_all as f64 / runs as f64)
}

const KINDS: [(&str, Blocks); 4] = [
    ("normal", normal_blocks),
    ("heavy-tailed", heavy_blocks),
    ("disturbed", disturbed_blocks),
    ("drifting", drifting_blocks),
];

#[test]
fn equal_variants_get_a_verdict_in_at_most_five_percent() {
    let plan = Sequential::plan(40, 0.05).unwrap();
    for (kind, blocks) in KINDS {
        let wrong = false_verdicts(&plan, blocks, 2_000);
        // With 2,000 runs, one standard error is half a percentage point.
        assert!(wrong <= 0.055, "{wrong} of {kind} runs");
    }
}

#[test]
fn an_interval_for_one_look_is_wrong_far_more_often_over_all_looks() {
    let mut plan = Sequential::plan(40, 0.05).unwrap();
    for (blocks, critical) in (MIN_BLOCKS..).zip(&mut plan.critical) {
        *critical = student_critical(blocks, 1.959_964);
    }
    let wrong = false_verdicts(&plan, normal_blocks, 1_000);
    assert!(wrong > 0.1, "{wrong}");
}

#[test]
#[ignore = "takes half a minute; `make test-full` runs it"]
fn error_rates_and_power_match_the_documents() {
    for planned in [10, 20, 40, 80, 150] {
        let plan = Sequential::plan(planned, 0.05).unwrap();
        for (kind, blocks) in KINDS {
            let wrong = false_verdicts(&plan, blocks, 20_000);
            println!("{planned} {kind}: {wrong}");
            // With 20,000 runs, one standard error is 0.0015.
            assert!(wrong <= 0.0515, "{wrong} of {kind} runs of {planned}");
        }
    }
    let plan = Sequential::plan(40, 0.05).unwrap();
    let wrong = false_verdicts(&plan, remembering_blocks, 20_000);
    println!("40 remembering: {wrong}");
    // If log ratios are correlated, far more than 5 % of verdicts are wrong. Therefore, trials are
    // in random order.
    assert!(wrong > 0.1, "{wrong}");
    for deviation in [0.01, 0.02, 0.03, 0.04, 0.06, 0.08] {
        for planned in [20, 40, 80] {
            let plan = Sequential::plan(planned, 0.05).unwrap();
            for effect in [0.0, 0.03, 0.05] {
                let (found, blocks) = power(&plan, effect, deviation, 4_000);
                println!("sd {deviation} plan {planned} effect {effect}: {found} in {blocks}");
            }
        }
    }
}

#[test]
fn a_large_effect_is_found_at_the_tenth_block_and_none_is_settled_early() {
    let plan = Sequential::plan(40, 0.05).unwrap();
    let (found, blocks) = power(&plan, 0.05, 0.01, 200);
    assert_eq!((found, blocks), (1.0, 10.0));
    let mut noise = Noise::seeded(3);
    let logs: Vec<f64> = (0..40).map(|_| 0.01 * noise.normal()).collect();
    let (verdict, blocks) = run(&plan, &logs);
    assert_eq!(verdict, Verdict::NoChange);
    assert!(blocks < 20, "{blocks}");
}

#[test]
fn fewer_than_ten_blocks_have_no_verdict_and_the_plan_ends() {
    let plan = Sequential::plan(12, 0.05).unwrap();
    let logs = [
        0.3, -0.2, 0.1, 0.2, -0.3, 0.1, 0.0, 0.3, -0.1, 0.2, 0.1, -0.2,
    ];
    let look = |blocks| {
        plan.look(&pair_of(&logs[..blocks]), SMALLEST_EFFECT)
            .unwrap()
    };
    let early = look(9);
    let verdict = early.comparison.verdict;
    assert_eq!(verdict, Verdict::TooFewBlocks { blocks: 9 });
    assert_eq!((early.stop, early.comparison.interval), (None, None));
    assert_eq!(look(11).stop, None);
    assert_eq!(look(12).stop, Some(Stop::PlanDone));
    assert_eq!(look(12).comparison.method, Some(Method::Repeated));
    assert_eq!(plan.look(&pair_of(&[0.1; 13]), SMALLEST_EFFECT), None);
}

#[test]
fn impossible_plans_are_refused() {
    for (blocks, alpha) in [
        (9, 0.05),
        (2_001, 0.05),
        (20, 0.0),
        (20, 1.0),
        (20, f64::NAN),
    ] {
        assert!(
            Sequential::plan(blocks, alpha).is_none(),
            "{blocks} {alpha}"
        );
    }
    assert_eq!(Sequential::plan(2_000, 0.05).unwrap().blocks_max(), 2_000);
}

#[test]
fn the_blocks_needed_would_settle_it_if_nothing_changed() {
    let plan = Sequential::plan(30, 0.05).unwrap();
    let spread = |logs: &[f64]| Spread::of(logs);
    // With mean 0.02 and standard deviation 0.04, t is 1.6 at ten blocks.
    let logs: Vec<f64> = (0..10)
        .map(|i| 0.02 + if i % 2 == 0 { 0.038 } else { -0.038 })
        .collect();
    let look = plan.look(&pair_of(&logs), SMALLEST_EFFECT).unwrap();
    let Verdict::Inconclusive {
        blocks_needed: Some(needed),
    } = look.comparison.verdict
    else {
        panic!("not inconclusive")
    };
    let settled =
        |n| Reading::of(spread(&logs).within(n, plan.critical(n)), SMALLEST_EFFECT).settles();
    assert!(settled(needed) && !settled(needed - 1), "{needed}");
    assert!((20..=30).contains(&needed), "{needed}");
}

#[test]
fn larger_plans_raise_the_last_boundary_little() {
    let last = |blocks| Sequential::plan(blocks, 0.05).unwrap().last_boundary;
    let (small, large) = (last(40), last(400));
    assert!(small < large && large < small + 0.07, "{small} {large}");
}

#[test]
fn constant_tiny_and_huge_blocks_never_yield_nan() {
    let plan = Sequential::plan(20, 0.05).unwrap();
    for (base, new) in [
        (5.0, 5.0),
        (5.0, 6.0),
        (1e-300, 1e-300),
        (1e300, 1e-300),
        (1e-300, 1e300),
    ] {
        let pair = Pair {
            baseline: vec![base; 12],
            candidate: vec![new; 12],
            direction: Direction::LowerIsBetter,
        };
        let found = plan.look(&pair, SMALLEST_EFFECT).unwrap().comparison;
        let interval = found.interval.unwrap();
        assert!(!interval.low.is_nan() && !interval.high.is_nan() && !found.ratio.is_nan());
        let expected = match new.total_cmp(&base) {
            std::cmp::Ordering::Less => Verdict::Better,
            std::cmp::Ordering::Equal => Verdict::NoChange,
            std::cmp::Ordering::Greater => Verdict::Worse,
        };
        assert_eq!(found.verdict, expected, "{base} {new}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn neither_unit_nor_order_nor_side_matters(
        pairs in prop::collection::vec((0.5_f64..2.0, 0.5_f64..2.0), 10..30), unit in 1e-6_f64..1e6,
    ) {
        let plan = Sequential::plan(30, 0.05).unwrap();
        let look = |pairs: &[(f64, f64)], unit: f64| {
            let pair = Pair {
                baseline: pairs.iter().map(|(base, _)| base * unit).collect(),
                candidate: pairs.iter().map(|(_, new)| new * unit).collect(),
                direction: Direction::LowerIsBetter,
            };
            plan.look(&pair, SMALLEST_EFFECT).unwrap().comparison.interval.unwrap()
        };
        let same = |a: Interval, b: Interval| {
            (a.low / b.low - 1.0).abs() < 1e-9 && (a.high / b.high - 1.0).abs() < 1e-9
        };
        let found = look(&pairs, 1.0);
        prop_assert!(same(found, look(&pairs, unit)));
        let reversed: Vec<_> = pairs.iter().rev().copied().collect();
        prop_assert!(same(found, look(&reversed, 1.0)));
        let swapped: Vec<_> = pairs.iter().map(|(base, new)| (*new, *base)).collect();
        let turned = look(&swapped, 1.0);
        let inverse = Interval { low: 1.0 / turned.high, high: 1.0 / turned.low, ..turned };
        prop_assert!(same(found, inverse));
    }
}
