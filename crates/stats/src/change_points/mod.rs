//! Finds the points where the distribution of a series changes, even if their number is unknown,
//! with the *e-divisive* method.
//!
//! Source: D. S. Matteson, N. A. James, *A Nonparametric Approach for Multiple Change Point
//! Analysis of Multivariate Data*, Journal of the American Statistical Association 109, 2014. The
//! exponent of the distances between values is 1. The method detects changes in level and in
//! spread, and assumes no particular distribution.

mod energy;
mod watch;

use serde::Serialize;

use crate::random::Random;
use energy::Split;

pub use watch::{Alarm, LOOKS, WATCHED_MIN, watch};

const MIN_SEGMENT: usize = 5;

/// The maximum number of values in a series. Time and memory grow with the square of the number of
/// values.
pub const VALUES_MAX: usize = 1_000;

/// The settings of a search for changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The minimum number of values between two changes, at least two. A smaller number finds
    /// shorter regimes, but only if they differ by more.
    pub min_segment: usize,
    /// The p-value above which a change is attributed to chance.
    pub significance: f64,
    /// The number of random orders that a change is compared with.
    pub permutations: usize,
    pub seed: u64,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            min_segment: MIN_SEGMENT,
            significance: 0.05,
            permutations: 499,
            seed: 1,
        }
    }
}

/// A position where the distribution of a series changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChangePoint {
    /// The index of the first value after the change.
    pub at: usize,
    /// The share of random orders that show a change at least as large as this one. Values are
    /// reordered only within the segments that were known when the change was found.
    pub p: f64,
}

/// Returns the changes in a series, in order. The most likely change is compared with the best
/// changes in random orders of the values within each segment. If it is not attributed to chance,
/// both of its sides are searched in the same way.
///
/// Returns `None` if a value is not finite or there are more than [`VALUES_MAX`] values.
pub fn change_points(values: &[f64], rule: Rule) -> Option<Vec<ChangePoint>> {
    if values.len() > VALUES_MAX || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let values = unit(values);
    let min_segment = rule.min_segment.max(2);
    let mut random = Random::seeded(rule.seed);
    let mut found: Vec<ChangePoint> = Vec::new();
    let whole = 0..values.len();
    let mut segments = Vec::from([whole]);
    let mut splits = vec![Split::best(&values, min_segment)];
    loop {
        let candidates = splits.iter().enumerate();
        let candidates = candidates.filter_map(|(i, split)| split.map(|split| (i, split)));
        let best = candidates.max_by(|(_, a), (_, b)| a.statistic.total_cmp(&b.statistic));
        let Some((index, split)) = best else { break };
        let p = p_value(
            &values,
            &segments,
            split.statistic,
            min_segment,
            &rule,
            &mut random,
        );
        if p > rule.significance {
            break;
        }
        let segment = segments[index].clone();
        let at = segment.start + split.at;
        found.push(ChangePoint { at, p });
        let sides = [segment.start..at, at..segment.end];
        splits.splice(
            index..=index,
            sides
                .clone()
                .map(|side| Split::best(&values[side], min_segment)),
        );
        segments.splice(index..=index, sides);
    }
    found.sort_by_key(|change| change.at);
    Some(found)
}

/// Returns the share of random orders within the segments whose best split is at least as good as
/// `seen`. The original order counts as one of the orders.
fn p_value(
    values: &[f64],
    segments: &[std::ops::Range<usize>],
    seen: f64,
    min_segment: usize,
    rule: &Rule,
    random: &mut Random,
) -> f64 {
    // Sums of the same numbers in another order may differ in the last digits, but must count as
    // equal.
    let seen = seen - 1e-9 * seen.abs();
    let mut shuffled = values.to_vec();
    let mut as_good = 1;
    for _ in 0..rule.permutations {
        let mut best = f64::NEG_INFINITY;
        for segment in segments {
            let part = &mut shuffled[segment.clone()];
            random.shuffle(part);
            let split = Split::best(part, min_segment);
            best = best.max(split.map_or(f64::NEG_INFINITY, |split| split.statistic));
        }
        as_good += usize::from(best >= seen);
    }
    as_good as f64 / (rule.permutations + 1) as f64
}

/// Scales the values to the range from 0 to 1, so that computations with tiny or huge values stay
/// in the range of f64. The scale does not affect the test, because the statistic is proportional
/// to it.
fn unit(values: &[f64]) -> Vec<f64> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Halve both values first, because the difference between huge values may be out of range.
    let range = high / 2.0 - low / 2.0;
    let to_unit = |value: &f64| {
        if range > 0.0 {
            (value / 2.0 - low / 2.0) / range
        } else {
            0.0
        }
    };
    values.iter().map(to_unit).collect()
}
