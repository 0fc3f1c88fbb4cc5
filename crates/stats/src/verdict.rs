//! The verdict of a paired comparison, computed here and nowhere else.

use serde::Serialize;

use crate::sign_flip::sign_flip_p;
use crate::{Interval, student};

/// Blocks below which there is no verdict.
pub const MIN_BLOCKS: usize = 10;

/// Confidence of the interval of a comparison.
pub const CONFIDENCE: f64 = 0.95;

/// The most blocks that are worth being suggested.
const SUGGESTED_BLOCKS_MAX: usize = 10_000;

/// Which values are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// As for throughput.
    HigherIsBetter,
    /// As for latency and CPU time.
    LowerIsBetter,
}

/// What a comparison says of the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// The interval excludes no change, to the good side.
    Better,
    /// The interval excludes no change, to the bad side.
    Worse,
    /// The whole interval lies within the smallest effect that matters.
    NoChange,
    /// Neither.
    Inconclusive {
        /// Blocks in all that would settle it if effect and spread stay; none beyond 10,000.
        blocks_needed: Option<usize>,
    },
    /// There is no verdict below [`MIN_BLOCKS`] blocks.
    TooFewBlocks {
        /// Blocks there are.
        blocks: usize,
    },
}

/// A candidate against a baseline, block by block.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The geometric mean of the blocks' ratios, candidate ÷ baseline.
    pub ratio: f64,
    /// Its interval; none below [`MIN_BLOCKS`] blocks.
    pub interval: Option<Interval>,
    /// p of the sign-flip test, a check on the interval; none above 20 blocks.
    pub sign_flip_p: Option<f64>,
    /// What it says.
    pub verdict: Verdict,
}

/// Compares values of the same blocks. The effect is the mean of the paired log ratios, its
/// interval Student's t on them; `smallest_effect` (0.02 is two per cent) is what matters. None
/// where the slices differ in length, are empty, or hold a value that is not positive.
pub fn compare(
    baseline: &[f64],
    candidate: &[f64],
    direction: Direction,
    smallest_effect: f64,
) -> Option<Comparison> {
    let logs = log_ratios(baseline, candidate)?;
    let spread = Spread::of(&logs);
    let sign_flip_p = sign_flip_p(&logs);
    let ratio = spread.mean.exp();
    if logs.len() < MIN_BLOCKS {
        let verdict = Verdict::TooFewBlocks { blocks: logs.len() };
        return Some(Comparison {
            ratio,
            interval: None,
            sign_flip_p,
            verdict,
        });
    }
    let (low, high) = spread.interval(logs.len());
    let interval = Interval {
        low: low.exp(),
        high: high.exp(),
        confidence: CONFIDENCE,
    };
    let verdict = judge(&spread, logs.len(), direction, smallest_effect);
    Some(Comparison {
        ratio,
        interval: Some(interval),
        sign_flip_p,
        verdict,
    })
}

fn log_ratios(baseline: &[f64], candidate: &[f64]) -> Option<Vec<f64>> {
    let usable = |value: &f64| value.is_finite() && *value > 0.0;
    let comparable = baseline.len() == candidate.len() && !baseline.is_empty();
    if !comparable || !baseline.iter().chain(candidate).all(usable) {
        return None;
    }
    Some(
        baseline
            .iter()
            .zip(candidate)
            .map(|(base, new)| (new / base).ln())
            .collect(),
    )
}

/// Mean and standard deviation of the log ratios.
struct Spread {
    mean: f64,
    deviation: f64,
}

impl Spread {
    fn of(logs: &[f64]) -> Self {
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let deviation = (squares / (logs.len().max(2) - 1) as f64).sqrt();
        Self { mean, deviation }
    }

    /// The t interval if there were `blocks` blocks of this spread.
    fn interval(&self, blocks: usize) -> (f64, f64) {
        let t = student::quantile(0.5 + CONFIDENCE / 2.0, (blocks - 1) as f64);
        let half = t * self.deviation / (blocks as f64).sqrt();
        (self.mean - half, self.mean + half)
    }

    /// What that interval says: whether it lies within the smallest effect that matters, and
    /// whether it excludes zero.
    fn reading(&self, blocks: usize, smallest_effect: f64) -> (bool, bool) {
        let (low, high) = self.interval(blocks);
        let within = low >= (1.0 - smallest_effect).ln() && high <= (1.0 + smallest_effect).ln();
        (within, low > 0.0 || high < 0.0)
    }
}

fn judge(spread: &Spread, blocks: usize, direction: Direction, smallest_effect: f64) -> Verdict {
    let (within, excludes_zero) = spread.reading(blocks, smallest_effect);
    if within {
        return Verdict::NoChange;
    }
    if excludes_zero {
        let higher = spread.mean > 0.0;
        return if higher == (direction == Direction::HigherIsBetter) {
            Verdict::Better
        } else {
            Verdict::Worse
        };
    }
    Verdict::Inconclusive {
        blocks_needed: blocks_needed(spread, blocks, smallest_effect),
    }
}

/// The fewest blocks that settle it if mean and deviation stay. Both intervals only shrink with
/// more blocks, so the answer is found by bisection.
fn blocks_needed(spread: &Spread, blocks: usize, smallest_effect: f64) -> Option<usize> {
    let settled = |n| {
        let (within, excludes_zero) = spread.reading(n, smallest_effect);
        within || excludes_zero
    };
    if !settled(SUGGESTED_BLOCKS_MAX) {
        return None;
    }
    let (mut open, mut done) = (blocks, SUGGESTED_BLOCKS_MAX);
    while done - open > 1 {
        let middle = open + (done - open) / 2;
        if settled(middle) {
            done = middle
        } else {
            open = middle
        }
    }
    Some(done)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const HIGHER: Direction = Direction::HigherIsBetter;

    /// Ten ratios with this mean log and deviation `spread`.
    fn candidate(mean: f64, spread: f64) -> Vec<f64> {
        // Alternating ±1 has mean 0 and sample variance 10/9.
        let scale = spread / (10.0_f64 / 9.0).sqrt();
        (0..10)
            .map(|i| (mean + if i % 2 == 0 { scale } else { -scale }).exp())
            .collect()
    }

    fn verdict(mean: f64, spread: f64) -> Verdict {
        compare(&[1.0; 10], &candidate(mean, spread), HIGHER, 0.02)
            .unwrap()
            .verdict
    }

    #[test]
    fn the_interval_is_students() {
        let found = compare(&[1.0; 10], &candidate(0.1, 0.05), HIGHER, 0.02).unwrap();
        let half = 2.262_157 * 0.05 / 10.0_f64.sqrt();
        let interval = found.interval.unwrap();
        assert!((found.ratio.ln() - 0.1).abs() < 1e-12);
        assert!((interval.low.ln() - (0.1 - half)).abs() < 1e-6);
        assert!((interval.high.ln() - (0.1 + half)).abs() < 1e-6);
    }

    #[test]
    fn each_verdict_has_its_case() {
        assert_eq!(verdict(0.1, 0.05), Verdict::Better);
        assert_eq!(verdict(-0.1, 0.05), Verdict::Worse);
        // Excludes zero, but lies within two per cent: too small to matter.
        assert_eq!(verdict(0.01, 0.001), Verdict::NoChange);
        assert!(matches!(verdict(0.02, 0.05), Verdict::Inconclusive { .. }));
    }

    #[test]
    fn lower_is_better_turns_it_round() {
        let slower = compare(
            &[1.0; 10],
            &candidate(0.1, 0.05),
            Direction::LowerIsBetter,
            0.02,
        );
        assert_eq!(slower.unwrap().verdict, Verdict::Worse);
    }

    #[test]
    fn nine_blocks_carry_no_verdict_however_clear() {
        let found = compare(&[1.0; 9], &[2.0; 9], HIGHER, 0.02).unwrap();
        assert_eq!(found.verdict, Verdict::TooFewBlocks { blocks: 9 });
        assert_eq!(found.interval, None);
    }

    #[test]
    fn the_blocks_needed_settle_it_and_one_fewer_does_not() {
        let Verdict::Inconclusive {
            blocks_needed: Some(needed),
        } = verdict(0.02, 0.05)
        else {
            panic!("not inconclusive")
        };
        let spread = Spread {
            mean: 0.02,
            deviation: 0.05,
        };
        assert!(
            spread.reading(needed, 0.02).1 && !spread.reading(needed - 1, 0.02).1,
            "{needed}"
        );
    }

    #[test]
    fn unpaired_and_impossible_values_are_refused() {
        assert_eq!(compare(&[1.0], &[], HIGHER, 0.02), None);
        assert_eq!(compare(&[], &[], HIGHER, 0.02), None);
        assert_eq!(compare(&[0.0], &[1.0], HIGHER, 0.02), None);
        assert_eq!(compare(&[1.0], &[f64::NAN], HIGHER, 0.02), None);
    }

    proptest! {
        // Each case asks for hundreds of quantiles.
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn swapping_the_sides_inverts_the_ratio(
            pairs in prop::collection::vec((0.1_f64..10.0, 0.1_f64..10.0), 10..30),
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let (there, back) = (
                compare(&a, &b, HIGHER, 0.02).unwrap(), compare(&b, &a, HIGHER, 0.02).unwrap(),
            );
            prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
            let interval = there.interval.unwrap();
            prop_assert!(interval.low <= there.ratio && there.ratio <= interval.high);
        }
    }
}
