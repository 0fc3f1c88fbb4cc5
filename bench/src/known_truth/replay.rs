//! Simulates comparisons: applies the procedure of `gatebench ab` to blocks that are drawn from a
//! recording of equal gateways and have an added effect. Most of the simulated combinations of
//! scenario, metric and effect size are in no live comparison.
//!
//! Blocks are drawn with replacement, and the three equal processes of a block are put in random
//! order, so a simulated comparison has the noise of the recording but not its order. An effect is
//! a factor applied to the candidate's value: the simulation covers its size, not its kind.

use std::collections::BTreeMap;

use gatebench_stats::random::Random;
use gatebench_stats::{Direction, MIN_BLOCKS, Pair, Sequential, Verdict};

use super::record::{Key, Values};
use super::results::rate;

/// The defaults of `gatebench ab`: the maximum number of blocks, the smallest effect that matters,
/// and the error rate.
const BLOCKS_MAX: usize = 40;
const SMALLEST_EFFECT: f64 = 0.02;
const ALPHA: f64 = 0.05;

/// The number of simulated comparisons for each cell.
const RUNS: usize = 2_000;

/// The effects, each with the factor by which it makes the candidate worse: it multiplies a metric
/// of which less is better, and divides a metric of which more is better.
const EFFECTS: [(&str, f64); 3] = [("none", 1.0), ("3 %", 1.03), ("5 %", 1.05)];

/// The metrics on which `gatebench ab` can base a verdict: name, phase, and direction.
const METRICS: [(&str, &str, Direction); 5] = [
    (
        "gateway_cpu_per_request_ns",
        "side-by-side",
        Direction::LowerIsBetter,
    ),
    (
        "throughput_per_second",
        "throughput",
        Direction::HigherIsBetter,
    ),
    ("added_p50_ns", "latency", Direction::LowerIsBetter),
    ("added_p99_ns", "latency", Direction::LowerIsBetter),
    (
        "gateway_rss_anon_max_bytes",
        "latency",
        Direction::LowerIsBetter,
    ),
];

pub fn table(recorded: &Values) -> Result<String, String> {
    let plan = Sequential::plan(BLOCKS_MAX, ALPHA).ok_or("no comparison can be planned")?;
    let mut lines = vec![
        "Simulated from recorded blocks of equal gateways, not measured:".to_owned(),
        String::new(),
        "| scenario | metric | recorded blocks | effect | better | worse | refused |".to_owned(),
        "|---|---|--:|--:|--:|--:|--:|".to_owned(),
    ];
    for (metric, phase, direction) in METRICS {
        let of = |(_, own, name): &Key| own == phase && name == metric;
        for ((scenario, ..), variants) in recorded.0.iter().filter(|(key, _)| of(key)) {
            let blocks = whole(variants);
            if blocks.len() < MIN_BLOCKS {
                continue;
            }
            for (effect, factor) in EFFECTS {
                let factor = match direction {
                    Direction::LowerIsBetter => factor,
                    Direction::HigherIsBetter => 1.0 / factor,
                };
                let ends = ends(&plan, &blocks, factor, direction);
                lines.push(format!(
                    "| {scenario} | {metric} | {} | {effect} | {} |",
                    blocks.len(),
                    ends.map(|count| rate(count, RUNS)).join(" | ")
                ));
            }
        }
    }
    Ok(lines.join("\n"))
}

/// The blocks in which all three processes have positive values.
fn whole(variants: &BTreeMap<String, BTreeMap<u32, f64>>) -> Vec<[f64; 3]> {
    let mut variants = variants.values();
    let (Some(first), Some(second), Some(third)) =
        (variants.next(), variants.next(), variants.next())
    else {
        return Vec::new();
    };
    let block = |(block, value): (&u32, &f64)| {
        let all = [*value, *second.get(block)?, *third.get(block)?];
        all.iter().all(|it| *it > 0.0).then_some(all)
    };
    first.iter().filter_map(block).collect()
}

/// Returns how many comparisons end with the verdict better, how many with the verdict worse, and
/// how many are refused because the baseline differs from itself.
fn ends(plan: &Sequential, blocks: &[[f64; 3]], factor: f64, direction: Direction) -> [usize; 3] {
    let mut random = Random::seeded(1);
    let mut counts = [0; 3];
    for _ in 0..RUNS {
        let (mut one, mut own) = (Vec::new(), Vec::new());
        let mut candidate = Vec::new();
        for _ in 0..plan.blocks_max() {
            let mut block = blocks[random.index(blocks.len())];
            random.shuffle(&mut block);
            candidate.push(factor * block[0]);
            one.push(block[1]);
            own.push(block[2]);
        }
        let judged = Pair {
            baseline: one.clone(),
            candidate,
            direction,
        };
        let own_pair = Pair {
            baseline: own.clone(),
            candidate: one,
            direction,
        };
        let Some(judged) = judged.with_again(&own) else {
            continue;
        };
        if let Some(end) = end(plan, &judged, &own_pair) {
            counts[end] += 1;
        }
    }
    counts
}

/// Returns how a comparison ends: 0 for better, 1 for worse, 2 for refused, and `None` if it ends
/// in any other way.
fn end(plan: &Sequential, judged: &Pair, own: &Pair) -> Option<usize> {
    let cut = |pair: &Pair, blocks: usize| Pair {
        baseline: pair.baseline[..blocks].to_vec(),
        candidate: pair.candidate[..blocks].to_vec(),
        direction: pair.direction,
    };
    for blocks in MIN_BLOCKS..=plan.blocks_max() {
        let look = plan.look(&cut(judged, blocks), SMALLEST_EFFECT)?;
        if look.stop.is_none() {
            continue;
        }
        let own = plan.look(&cut(own, blocks), SMALLEST_EFFECT)?;
        return match (own.comparison.verdict, look.comparison.verdict) {
            (Verdict::Better | Verdict::Worse, _) => Some(2),
            (_, Verdict::Better) => Some(0),
            (_, Verdict::Worse) => Some(1),
            _ => None,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_added_effect_is_found_and_no_other() {
        // Thirty blocks whose values differ from 1 by at most half a percent.
        let value = |block: u64, salt: u64| {
            1.0 + 0.005 * (((block * 31 + salt * 17) % 7) as f64 / 3.0 - 1.0)
        };
        let blocks: Vec<[f64; 3]> = (0..30)
            .map(|it| [0, 1, 2].map(|salt| value(it, salt)))
            .collect();
        let plan = Sequential::plan(12, ALPHA).unwrap();
        let [better, worse, _] = ends(&plan, &blocks, 1.0, Direction::LowerIsBetter);
        assert!(better + worse <= RUNS / 20, "{better} {worse}");
        let [better, worse, refused] = ends(&plan, &blocks, 1.05, Direction::LowerIsBetter);
        assert!(better == 0 && worse + refused == RUNS, "{worse} {refused}");
        assert!(refused <= RUNS / 20, "{refused}");
    }
}
