//! Lapses: steps that miss for a reason other than the load, and would miss at any rate.
//!
//! If a gateway misses one step in ten at every rate, there is no rate that it sustains with a
//! probability of 95 %, regardless of the curve. The share of lapses is estimated from the steps.
//! Like the widths of the curve, shares on a grid are weighted by the likelihood of all steps, with
//! a log-uniform prior.
//!
//! Source: F. A. Wichmann, N. J. Hill, *The psychometric function: I. Fitting, sampling, and
//! goodness of fit*, Perception & Psychophysics 63(8), 2001.

use serde::Serialize;

use crate::Interval;

/// The bounds of the cells of the grid of shares. One of them is 1 −
/// [`super::SUSTAINED_PROBABILITY`].
const ENDS: [f64; COUNT + 1] = [0.000_1, 0.004, 0.01, 0.022, 0.05, 0.09, 0.165, 0.3];

pub(super) const COUNT: usize = 7;

const CONFIDENCE: f64 = 0.95;

/// The share of steps that miss regardless of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lapses {
    /// The logarithmic middle of the grid cell that contains the median of the share's
    /// distribution, given the steps.
    pub share: f64,
    /// The 95 % interval of the share. Its ends are bounds of grid cells, with 0 in place of the
    /// lowest bound.
    pub interval: Interval,
}

/// Returns the share at the logarithmic middle of the cell at `index`.
pub(super) fn share(index: usize) -> f64 {
    (ENDS[index] * ENDS[index + 1]).sqrt()
}

pub(super) fn prior(index: usize) -> f64 {
    (ENDS[index + 1] / ENDS[index]).ln()
}

impl Lapses {
    pub(super) fn of(weights: [f64; COUNT]) -> Self {
        let all: f64 = weights.iter().sum();
        let tail = (1.0 - CONFIDENCE) / 2.0;
        let cell = |wanted: f64| {
            let mut sum = 0.0;
            let reached = weights.iter().position(|weight| {
                sum += weight;
                sum >= wanted * all
            });
            reached.unwrap_or(COUNT - 1)
        };
        let lowest = cell(tail);
        let low = if lowest == 0 { 0.0 } else { ENDS[lowest] };
        let high = ENDS[cell(1.0 - tail) + 1];
        Self {
            share: share(cell(0.5)),
            interval: Interval::of((low, high), CONFIDENCE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::SUSTAINED_PROBABILITY;

    #[test]
    fn no_cell_is_on_both_sides_of_the_share_that_may_miss() {
        let may_miss = 1.0 - SUSTAINED_PROBABILITY;
        assert!(ENDS.iter().any(|end| (end - may_miss).abs() < 1e-12));
        assert!(ENDS.is_sorted());
    }

    #[test]
    fn an_interval_spans_the_cells_that_contain_it() {
        let mut weights = [0.0; COUNT];
        weights[0] = 1.0;
        let none = Lapses::of(weights);
        assert_eq!((none.interval.low, none.interval.high), (0.0, 0.004));
        assert!(none.share < 0.001);
        (weights[5], weights[6], weights[4]) = (90.0, 5.0, 5.0);
        let many = Lapses::of(weights);
        assert_eq!((many.interval.low, many.interval.high), (0.05, 0.3));
        assert!((many.share - 0.122).abs() < 0.001, "{}", many.share);
    }
}
