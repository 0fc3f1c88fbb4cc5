//! The procedure of a comparison, played on contiguous segments of the recording.

use std::collections::BTreeMap;

use gatebench_stats::{Direction, MIN_BLOCKS, Pair, Sequential, Verdict, median};

use super::plan::SLOWED;
use super::record::{Recorded, SAME};
use crate::bench::spread;

/// What `gatebench ab` takes: the smallest effect that matters, and the error rate.
const SMALLEST_EFFECT: f64 = 0.02;
const ALPHA: f64 = 0.05;

/// Two variants of the recording, block by block.
struct Pairs {
    gateway: Pair,
}

impl Pairs {
    fn of(recorded: &Recorded, baseline: &str, candidate: &str) -> Self {
        let of = |name: &str| recorded.gateway_ns.get(name).cloned().unwrap_or_default();
        let (baseline, candidate) = (of(baseline), of(candidate));
        let blocks = baseline
            .keys()
            .filter(|block| candidate.contains_key(block));
        let blocks: Vec<u32> = blocks.copied().collect();
        Self {
            gateway: Pair {
                baseline: blocks.iter().map(|block| baseline[block]).collect(),
                candidate: blocks.iter().map(|block| candidate[block]).collect(),
                direction: Direction::LowerIsBetter,
            },
        }
    }

    fn len(&self) -> usize {
        self.gateway.baseline.len()
    }

    fn segment(&self, from: usize, to: usize) -> Pair {
        Pair {
            baseline: self.gateway.baseline[from..to].to_vec(),
            candidate: self.gateway.candidate[from..to].to_vec(),
            direction: self.gateway.direction,
        }
    }

    /// The verdict at which a comparison that began at this block would have ended, and the blocks it took.
    fn verdict(&self, plan: &Sequential, from: usize) -> Option<(Verdict, usize)> {
        (MIN_BLOCKS..=plan.blocks_max()).find_map(|blocks| {
            let look = plan.look(&self.segment(from, from + blocks), SMALLEST_EFFECT)?;
            look.stop.map(|_| (look.comparison.verdict, blocks))
        })
    }
}

/// How the comparisons of one truth ended.
#[derive(Default)]
struct Ends {
    worse: usize,
    better: usize,
    no_change: usize,
    open: usize,
    blocks: Vec<f64>,
}

impl Ends {
    fn add(&mut self, (verdict, blocks): (Verdict, usize)) {
        let count = match verdict {
            Verdict::Worse => &mut self.worse,
            Verdict::Better => &mut self.better,
            Verdict::NoChange => &mut self.no_change,
            Verdict::Inconclusive { .. } | Verdict::TooFewBlocks { .. } => &mut self.open,
        };
        *count += 1;
        self.blocks.push(blocks as f64);
    }

    fn row(&self, truth: &str, pairs: &Pairs) -> String {
        let all = self.blocks.len();
        let share = |count: usize| format!("{:.0} %", 100.0 * count as f64 / all.max(1) as f64);
        let blocks = median(&self.blocks).map_or("–".into(), |blocks| format!("{blocks:.0}"));
        let ratios = pairs.gateway.candidate.iter().zip(&pairs.gateway.baseline);
        let ratios: Vec<f64> = ratios.map(|(new, base)| new / base).collect();
        let ratio = spread::ratios(&ratios).and_then(|it| it.interval);
        let ratio = ratio.map_or("–".into(), |(low, high)| format!("{low:.3}–{high:.3}"));
        let shares = [self.worse, self.better, self.no_change, self.open].map(share);
        format!(
            "| {truth} | {all} | {} | {blocks} | {ratio} |",
            shares.join(" | ")
        )
    }
}

/// The table, in Markdown: a row for each truth.
pub fn table(recorded: &Recorded, blocks: usize) -> Result<String, String> {
    let plan = Sequential::plan(blocks, ALPHA).ok_or(format!(
        "a comparison of {blocks} blocks is none: give it more --minutes"
    ))?;
    if recorded.blocks < blocks {
        return Err(format!(
            "{} blocks were recorded, fewer than the {blocks} of one comparison: record more --blocks",
            recorded.blocks
        ));
    }
    let mut lines = vec![
        "| truth | segments | worse | better | no change | open | blocks, median | ratio over all blocks |".to_owned(),
        "|---|--:|--:|--:|--:|--:|--:|--:|".to_owned(),
    ];
    let [one, other] = SAME;
    let same = [(one, other), (other, one)];
    lines.push(row(recorded, &plan, "the same gateway", &same));
    for (name, share) in SLOWED {
        let truth = format!("slower by {share}");
        lines.push(row(recorded, &plan, &truth, &[(one, name), (other, name)]));
    }
    Ok(lines.join("\n"))
}

fn row(recorded: &Recorded, plan: &Sequential, truth: &str, sides: &[(&str, &str)]) -> String {
    let mut ends = Ends::default();
    let all = sides
        .iter()
        .map(|(baseline, candidate)| Pairs::of(recorded, baseline, candidate));
    let all: Vec<Pairs> = all.collect();
    for pairs in &all {
        let last = pairs.len().saturating_sub(plan.blocks_max());
        let verdicts = (0..=last).filter_map(|from| {
            (from + plan.blocks_max() <= pairs.len()).then(|| pairs.verdict(plan, from))?
        });
        verdicts.for_each(|verdict| ends.add(verdict));
    }
    ends.row(truth, &all[0])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Forty blocks of a machine that changes by a tenth, in which the slowed gateways are slower by what they say.
    fn recorded() -> Recorded {
        let machine = |block: u32| 1.0 + 0.1 * f64::from((block * 7_919) % 11) / 10.0;
        let noise = |block: u32, salt: u32| 0.004 * f64::from((block * 31 + salt * 17) % 7) / 7.0;
        let values = |effect: f64, salt: u32| -> BTreeMap<u32, f64> {
            let value = |block: u32| (block, effect * machine(block) + noise(block, salt));
            (1..=40).map(value).collect()
        };
        let names = ["reference", "reference-2", SLOWED[0].0, SLOWED[1].0];
        let effects = [1.0, 1.0, 1.03, 1.05];
        let of = |effects: [f64; 4]| {
            let all = names.iter().zip(effects).zip(0_u32..);
            all.map(|((name, effect), salt)| ((*name).to_owned(), values(effect, salt)))
                .collect()
        };
        Recorded {
            gateway_ns: of(effects),
            blocks: 40,
            block_seconds: 4.0,
        }
    }

    #[test]
    fn what_is_slower_is_found_and_what_is_the_same_is_not() {
        let text = table(&recorded(), 30).unwrap();
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert!(
            rows[0].starts_with("| the same gateway | 22 | 0 % | 0 % |"),
            "{text}"
        );
        assert!(
            rows[1].starts_with("| slower by 3% | 22 | 100 % | 0 % |"),
            "{text}"
        );
        assert!(
            rows[2].starts_with("| slower by 5% | 22 | 100 % | 0 % |"),
            "{text}"
        );
    }

    #[test]
    fn too_little_is_said() {
        assert!(table(&recorded(), 9).is_err_and(|it| it.contains("--minutes")));
        assert!(table(&recorded(), 41).is_err_and(|it| it.contains("--blocks")));
    }
}
