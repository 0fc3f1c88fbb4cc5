//! Compares runs that were measured at different times. Their values are not paired, so a
//! disturbance of the machine during one run does not cancel out.
//!
//! Two runs are compared by their blocks (Welch): B. L. Welch, *The Generalization of `Student's'
//! Problem when Several Different Population Variances are Involved*, Biometrika 34, 1947; degrees
//! of freedom by F. E. Satterthwaite, *An Approximate Distribution of Estimates of Variance
//! Components*, Biometrics Bulletin 2(6), 1946. Welch's interval accounts for the variation between
//! blocks, but not for the variation between runs. If one run is compared with several other runs,
//! the interval accounts for both. It is the prediction interval for one more value, as in G. J.
//! Hahn, *Factors for Calculating Two-Sided Prediction Intervals for Samples from a Normal
//! Distribution*, Journal of the American Statistical Association 64, 1969.

use crate::comparison::{CONFIDENCE, Comparison, Method};
use crate::spread::{Spread, fewest_beyond};
use crate::verdict::{Direction, MIN_BLOCKS, Reading, judge};
use crate::{holm, student};

/// The minimum number of baseline runs for an interval. Two runs are too few to show a spread.
pub const MIN_RUNS: usize = 3;

/// The values of two sides that were measured at different times. All values must be positive,
/// because the comparison is about their ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct Sides {
    /// The blocks of a run, or one value for each of several runs.
    pub baseline: Vec<f64>,
    /// The values to be judged: the blocks of a run, or the run's single value.
    pub candidate: Vec<f64>,
    /// The typical standard error of the logarithm of a run's value, derived from the blocks of the
    /// runs. Only [`compare_with_runs`] uses it: runs are assumed to vary by at least this much,
    /// even if their values happen to be equal.
    pub run_error: f64,
    pub direction: Direction,
}

/// Compares two runs by their blocks, cell by cell. All verdicts of better or worse are
/// simultaneously correct with [`CONFIDENCE`] (Holm). `smallest_effect` is the smallest effect that
/// matters: 0.02 is two percent.
///
/// If a side of a cell has fewer than [`MIN_BLOCKS`] blocks, the cell has no interval, and its
/// verdict is that there are too few blocks. The result is `None` for a cell with an empty side or
/// a value that is not positive and finite.
pub fn compare_runs(cells: &[Sides], smallest_effect: f64) -> Vec<Option<Comparison>> {
    judge_all(cells, smallest_effect, Apart::of_blocks)
}

/// Compares a run's value with the values of several runs, cell by cell, as [`compare_runs`] does.
/// The interval allows for the variation between the baseline's runs, which is assumed to be at
/// least the error of the runs' own blocks.
///
/// If the baseline of a cell has fewer than [`MIN_RUNS`] runs, the cell has no interval, and its
/// verdict is that there are too few blocks. The result is `None` for a cell whose candidate is not
/// a single value, whose baseline has no runs, or that contains a value that is not positive and
/// finite.
pub fn compare_with_runs(cells: &[Sides], smallest_effect: f64) -> Vec<Option<Comparison>> {
    judge_all(cells, smallest_effect, Apart::of_runs)
}

struct Apart {
    effect: f64,
    /// `None` if there are too few values for a verdict.
    known: Option<Known>,
    /// The number of blocks of the side that has fewer, or the number of baseline runs.
    values: usize,
    method: Method,
}

struct Known {
    error: f64,
    freedom: f64,
    /// The standard deviations of the two sides; `None` in a comparison with several runs, for
    /// which no number of blocks is suggested.
    deviations: Option<[f64; 2]>,
}

fn judge_all(
    cells: &[Sides],
    smallest_effect: f64,
    of: fn(&[f64], &[f64], f64) -> Option<Apart>,
) -> Vec<Option<Comparison>> {
    let apart: Vec<Option<Apart>> = cells
        .iter()
        .map(|cell| {
            let (own, other) = (logs(&cell.candidate)?, logs(&cell.baseline)?);
            of(&own, &other, cell.run_error)
        })
        .collect();
    let p_values: Vec<f64> = apart.iter().flatten().filter_map(Apart::p_value).collect();
    let mut levels = holm::levels(&p_values, 1.0 - CONFIDENCE).into_iter();
    let compared = cells.iter().zip(apart).map(|(cell, apart)| {
        let apart = apart?;
        let level = apart.known.as_ref().and_then(|_| levels.next());
        Some(apart.judged(cell.direction, smallest_effect, level.unwrap_or(1.0)))
    });
    compared.collect()
}

fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let usable = values.iter().all(|value| value.is_finite() && *value > 0.0);
    (usable && !values.is_empty()).then(|| values.iter().map(|value| value.ln()).collect())
}

impl Apart {
    fn of_blocks(candidate: &[f64], baseline: &[f64], _: f64) -> Option<Self> {
        let (own, other) = (Spread::of(candidate), Spread::of(baseline));
        let values = candidate.len().min(baseline.len());
        let deviations = [own.deviation, other.deviation];
        Some(Self {
            effect: own.mean - other.mean,
            known: (values >= MIN_BLOCKS)
                .then(|| Known::welch(deviations, [candidate.len(), baseline.len()])),
            values,
            method: Method::Welch,
        })
    }

    fn of_runs(candidate: &[f64], baseline: &[f64], run_error: f64) -> Option<Self> {
        let [own] = candidate else { return None };
        let other = Spread::of(baseline);
        let runs = baseline.len();
        Some(Self {
            effect: own - other.mean,
            known: (runs >= MIN_RUNS).then(|| Known {
                error: other.deviation.max(run_error) * (1.0 + 1.0 / runs as f64).sqrt(),
                freedom: (runs - 1) as f64,
                deviations: None,
            }),
            values: runs,
            method: Method::Prediction,
        })
    }

    /// Returns the two-sided p-value of the hypothesis that there is no difference, or `None` if
    /// there are too few values for a verdict.
    fn p_value(&self) -> Option<f64> {
        let known = self.known.as_ref()?;
        if self.effect == 0.0 {
            return Some(1.0);
        }
        let t = self.effect.abs() / known.error;
        Some(2.0 * student::cdf(-t, known.freedom))
    }

    fn judged(self, direction: Direction, smallest_effect: f64, level: f64) -> Comparison {
        let mut found = Comparison::without_interval(self.effect.exp(), self.values);
        if let Some(known) = &self.known {
            let confidence = 1.0 - level;
            let ends = known.interval(self.effect, confidence);
            found.add_interval(self.method, ends, confidence);
            found.verdict = judge(ends, direction, smallest_effect, || {
                known.blocks_needed(self.effect, self.values, confidence, smallest_effect)
            });
        }
        found
    }
}

impl Known {
    /// Returns the error and the degrees of freedom of the difference between two means.
    fn welch(deviations: [f64; 2], blocks: [usize; 2]) -> Self {
        let [own, other] = [0, 1].map(|side| deviations[side].powi(2) / blocks[side] as f64);
        let [own_freedom, other_freedom] = blocks.map(|count| (count - 1) as f64);
        let parts = own.powi(2) / own_freedom + other.powi(2) / other_freedom;
        Self {
            error: (own + other).sqrt(),
            // For values that do not vary, the formula would yield 0 ÷ 0. Their error is 0, so the
            // degrees of freedom do not matter.
            freedom: if parts > 0.0 {
                (own + other).powi(2) / parts
            } else {
                own_freedom + other_freedom
            },
            deviations: Some(deviations),
        }
    }

    fn interval(&self, effect: f64, confidence: f64) -> (f64, f64) {
        let half = student::quantile(0.5 + confidence / 2.0, self.freedom) * self.error;
        (effect - half, effect + half)
    }

    /// Returns the smallest number of blocks per side, larger than `blocks`, that settles the
    /// comparison if the effect and the standard deviations stay the same. Returns `None` if that
    /// is more than 10,000 or unknown.
    fn blocks_needed(
        &self,
        effect: f64,
        blocks: usize,
        confidence: f64,
        smallest_effect: f64,
    ) -> Option<usize> {
        let deviations = self.deviations?;
        fewest_beyond(blocks, |count| {
            let known = Self::welch(deviations, [count, count]);
            Reading::of(known.interval(effect, confidence), smallest_effect).settles()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_needed_settle_it_and_one_fewer_does_not() {
        let known = |count| Known::welch([0.05, 0.03], [count, count]);
        let needed = known(10).blocks_needed(0.01, 10, 0.95, 0.02).unwrap();
        let settles = |count| Reading::of(known(count).interval(0.01, 0.95), 0.02).settles();
        assert!(settles(needed) && !settles(needed - 1), "{needed}");
    }
}
