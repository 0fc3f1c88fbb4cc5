//! Summarizes values by their median and range.

use serde::Serialize;

/// A summary of the blocks of one variant: the median, the range and, if one was computed, an
/// interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub blocks: usize,
    /// The confidence interval; `None` unless the caller of [`Self::of_blocks`] adds one.
    pub interval: Option<Interval>,
}

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    pub confidence: f64,
}

impl Interval {
    pub(crate) fn of(ends: (f64, f64), confidence: f64) -> Self {
        let (low, high) = ends;
        Self {
            low,
            high,
            confidence,
        }
    }
}

impl Estimate {
    /// Returns `None` if there are no values or one is not finite.
    pub fn of_blocks(values: &[f64]) -> Option<Self> {
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        Some(Self {
            median: median(values)?,
            min: values.iter().copied().reduce(f64::min)?,
            max: values.iter().copied().reduce(f64::max)?,
            blocks: values.len(),
            interval: None,
        })
    }

    /// Reports whether the ranges of two estimates overlap or touch.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.min <= other.max && other.min <= self.max
    }
}

/// Returns the median or, for an even number of values, the mean of the middle two. Returns `None`
/// if there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = sorted[sorted.len() / 2 - 1];
    Some(lower + (upper - lower) / 2.0)
}
