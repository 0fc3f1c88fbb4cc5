//! Derives the verdict of a comparison from its interval.

use serde::Serialize;

/// The minimum number of blocks for a verdict.
pub const MIN_BLOCKS: usize = 10;

/// The direction in which values improve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    HigherIsBetter,
    LowerIsBetter,
}

/// The verdict on the candidate of a comparison. It follows from the interval, unless spoiled
/// blocks change it ([`crate::Spoiled::weigh`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is on the better side of zero, and at least part of it is beyond the
    /// smallest effect that matters.
    Better,
    /// The whole interval is on the worse side of zero, and at least part of it is beyond the
    /// smallest effect that matters.
    Worse,
    /// The whole interval is between the smallest effects that matter in the two directions.
    NoChange,
    /// No other verdict applies.
    Inconclusive {
        /// The number of blocks per side, including the present ones, that would settle the
        /// comparison if the effect and the spread stay the same; `None` if that is more than
        /// 10,000 or unknown.
        blocks_needed: Option<usize>,
    },
    /// There are too few values for a verdict: fewer than [`MIN_BLOCKS`] blocks, or fewer than
    /// [`crate::MIN_RUNS`] baseline runs.
    TooFewBlocks { blocks: usize },
}

/// The position of an interval of log ratios relative to zero and to the smallest effect that
/// matters.
pub(crate) struct Reading {
    /// True if the interval is between the smallest effects that matter in the two directions.
    within: bool,
    excludes_zero: bool,
}

impl Reading {
    pub(crate) fn of(ends: (f64, f64), smallest_effect: f64) -> Self {
        let (low, high) = ends;
        Self {
            within: low >= (1.0 - smallest_effect).ln() && high <= (1.0 + smallest_effect).ln(),
            excludes_zero: low > 0.0 || high < 0.0,
        }
    }

    /// Reports whether the interval allows a verdict other than inconclusive, so that no more
    /// blocks are needed.
    pub(crate) fn settles(&self) -> bool {
        self.within || self.excludes_zero
    }
}

/// Returns the verdict on an interval of log ratios. `blocks_needed` is called only if the verdict
/// is inconclusive.
pub(crate) fn judge(
    ends: (f64, f64),
    direction: Direction,
    smallest_effect: f64,
    blocks_needed: impl FnOnce() -> Option<usize>,
) -> Verdict {
    let reading = Reading::of(ends, smallest_effect);
    // An effect that is too small to matter counts as no change, even if it is certain.
    if reading.within {
        return Verdict::NoChange;
    }
    if !reading.excludes_zero {
        let blocks_needed = blocks_needed();
        return Verdict::Inconclusive { blocks_needed };
    }
    let higher = ends.0 > 0.0;
    if higher == (direction == Direction::HigherIsBetter) {
        Verdict::Better
    } else {
        Verdict::Worse
    }
}
