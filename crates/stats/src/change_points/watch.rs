//! Raises alarms for an observer who tests a series after each new value.
//!
//! If each look has a 5 % risk of a false alarm, far more than 5 % of the series that are examined
//! every night have at least one. Here, the share of false alarms applies to all looks together,
//! even if the values are correlated. A look at n values may spend 9 ÷ (n(n − 1)) of the share;
//! from n = 10 on, these parts sum to 1. A change is compared with random orders of blocks of
//! adjacent values, and several successive looks must find it at nearly the same place.
//!
//! Sources: H. R. Künsch, *The Jackknife and the Bootstrap for General Stationary Observations*,
//! Annals of Statistics 17(3), 1989 (blocks); T. A. Knijnenburg et al., *Fewer permutations, more
//! accurate P-values*, Bioinformatics 25(12), 2009 (the tail of the statistic in random orders,
//! which is assumed to be exponential here).

use std::ops::Range;

use serde::Serialize;

use super::energy::Split;
use super::{MIN_SEGMENT, unit};
use crate::leak::memory_of_rests;
use crate::random::Random;
use crate::{normal, student};

pub const WATCHED_MIN: usize = 2 * MIN_SEGMENT;

/// The number of successive looks that must find a change.
pub const LOOKS: usize = 4;

/// The shortest correlation time that is assumed, in values, if there are at least twelve values.
/// It corresponds to a correlation of 0.5 with the previous value. A few dozen values appear less
/// correlated than they are.
const MEMORY_MIN: f64 = 3.0;

/// The maximum shift of a change from one look to the next, in values.
const MOVES_MAX: usize = 2;

/// The maximum number of values that are searched, counted back from the latest.
const SEARCHED_MAX: usize = 100;

/// The number of random orders that a change is compared with.
const ORDERS: usize = 199;

/// A change is attributed to chance if at least this many of the first [`ORDERS_FIRST`] random
/// orders show a change at least as large.
const AS_GOOD_MAX: usize = 2;
const ORDERS_FIRST: usize = 19;

/// The share of the random orders that counts as the tail.
const TAIL: f64 = 0.1;

/// A change that was found in [`LOOKS`] looks in a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alarm {
    pub at: usize,
    /// The number of values when the alarm was raised.
    pub told_with: usize,
    /// The estimated share of random orders with a change at least as large as this one when the
    /// alarm was raised.
    pub p: f64,
    /// The share of the control's changes, from 0 to 1, that was subtracted from the values when
    /// the alarm was raised.
    pub share: f64,
}

/// Returns the alarms of a series in chronological order. `false_alarms` is the accepted share of
/// unchanged series with at least one alarm. If there is a control, the movements that it shares
/// with the series are first subtracted from the series.
///
/// Returns `None` if a value is not finite or the control has a different length.
pub fn watch(values: &[f64], control: Option<&[f64]>, false_alarms: f64) -> Option<Vec<Alarm>> {
    let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
    let fits = |control: &[f64]| control.len() == values.len() && finite(control);
    if !finite(values) || !control.is_none_or(fits) {
        return None;
    }
    let mut found: Vec<Alarm> = Vec::new();
    let (mut begin, mut seen, mut times) = (0, 0, 0);
    for count in WATCHED_MIN..=values.len() {
        let looks_at = begin.max(count.saturating_sub(SEARCHED_MAX))..count;
        let may_spend = false_alarms * (WATCHED_MIN - 1) as f64 / (count * (count - 1)) as f64;
        let (stretch, control) = (
            &values[looks_at.clone()],
            control.map(|it| &it[looks_at.clone()]),
        );
        let (rest, share) = control.map_or((stretch.to_vec(), 0.0), |it| without(stretch, it));
        let Some((at, p)) = look(&unit(&rest), may_spend) else {
            times = 0;
            continue;
        };
        let at = looks_at.start + at;
        times = if at.abs_diff(seen) <= MOVES_MAX {
            times + 1
        } else {
            1
        };
        seen = at;
        if times >= LOOKS {
            found.push(Alarm {
                at,
                told_with: count,
                p,
                share,
            });
            (begin, times) = (at, 0);
        }
    }
    Some(found)
}

/// Returns the change in a stretch and its p-value, or `None` if there is no change or its p-value
/// exceeds the share that the look may spend.
fn look(values: &[f64], may_spend: f64) -> Option<(usize, f64)> {
    let split = Split::best(values, MIN_SEGMENT)?;
    let rests = rests(values, split.at);
    let count = values.len() as f64;
    let memory = memory_of_rests(&rests).max(MEMORY_MIN).min(count / 4.0);
    // A few correlated values show little of the random variation, so chance differences are
    // assumed to be larger by the factor `expanded`. The statistic grows with the square of a small
    // shift, so it is divided by the square of this factor.
    let freedom = (count / memory - 2.0).max(1.0);
    let expanded =
        student::quantile(1.0 - may_spend / 2.0, freedom) / normal::beyond_inverse(may_spend / 2.0);
    let seen = split.statistic / (expanded * expanded);
    let p = p_value(&rests, seen, (2.0 * memory).ceil() as usize);
    (p <= may_spend).then_some((split.at, p))
}

fn rests(values: &[f64], at: usize) -> Vec<f64> {
    let (before, after) = values.split_at(at);
    let centered = |side: &[f64]| -> Vec<f64> {
        let mean = side.iter().sum::<f64>() / side.len() as f64;
        side.iter().map(|value| value - mean).collect()
    };
    [centered(before), centered(after)].concat()
}

/// Estimates the share of random orders of blocks whose best split is at least as good as `seen`.
/// Within the best tenth of the orders, the share is assumed to fall exponentially as the
/// statistic of the split grows.
fn p_value(rests: &[f64], seen: f64, block: usize) -> f64 {
    let mut random = Random::seeded(rests.len() as u64);
    let mut one = || {
        let order = in_blocks(rests, block, &mut random);
        Split::best(&order, MIN_SEGMENT).map_or(0.0, |split| split.statistic)
    };
    let (mut orders, mut as_good) = (Vec::with_capacity(ORDERS), 0);
    for number in 1..=ORDERS {
        let order = one();
        as_good += usize::from(order >= seen);
        if as_good >= AS_GOOD_MAX && number <= ORDERS_FIRST {
            return as_good as f64 / number as f64;
        }
        orders.push(order);
    }
    orders.sort_by(f64::total_cmp);
    let (_, tail) = orders.split_at(((1.0 - TAIL) * ORDERS as f64) as usize);
    let begin = tail[0];
    if seen <= begin {
        return (as_good + 1) as f64 / (ORDERS + 1) as f64;
    }
    let mean = tail.iter().map(|order| order - begin).sum::<f64>() / tail.len() as f64;
    TAIL * (-(seen - begin) / mean).exp()
}

/// Shuffles the values in blocks: joins the ends of the series to form a circle, cuts the circle
/// into blocks from a random position, and shuffles the blocks.
fn in_blocks(values: &[f64], block: usize, random: &mut Random) -> Vec<f64> {
    let mut circle = values.to_vec();
    circle.rotate_left(random.index(values.len()));
    let mut blocks: Vec<Range<usize>> = (0..values.len())
        .step_by(block)
        .map(|begin| begin..(begin + block).min(values.len()))
        .collect();
    random.shuffle(&mut blocks);
    blocks
        .into_iter()
        .flat_map(|block| circle[block].to_vec())
        .collect()
}

/// Subtracts a share of the control's changes from the values, and also returns the share. Least
/// squares determine the share, which is limited to the range from 0 to 1.
fn without(values: &[f64], control: &[f64]) -> (Vec<f64>, f64) {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (level, middle) = (mean(values), mean(control));
    let pairs = || values.iter().zip(control.iter().map(|it| it - middle));
    let products: f64 = pairs().map(|(value, away)| (value - level) * away).sum();
    let squares: f64 = pairs().map(|(_, away)| away * away).sum();
    let share = match squares > 0.0 {
        true => (products / squares).clamp(0.0, 1.0),
        false => 0.0,
    };
    let rest = pairs().map(|(value, away)| value - share * away);
    (rest.collect(), share)
}
