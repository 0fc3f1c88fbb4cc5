//! Finds a mean that contradicts the percentiles. A request between two percentiles takes at least
//! the lower value and at most the upper value. The requests between them therefore contribute at
//! least their share times the lower value to the mean, and at most their share times the upper
//! value.

use super::{Judge, time};
use crate::heading::Meaning;
use crate::quantity::Quantity;
use crate::table::{Row, Table};

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    for family in table.families() {
        let ranked = table.ranked_times(family);
        for row in &table.rows {
            let Some((column, mean)) = mean_of(table, row, family) else {
                continue;
            };
            let known = ranked.iter();
            let known = known.filter_map(|(rank, at)| Some((*rank, *at, row.figure(*at)?)));
            // Only numbers in the same unit can be compared.
            let known = known.filter(|(_, _, it)| it.unit == mean.unit);
            let known: Vec<(f64, usize, Quantity)> = known.collect();
            let columns = [column].into_iter().chain(known.iter().map(|it| it.1));
            let columns: Vec<usize> = columns.collect();
            let (least, most) = bounds(&known);
            let limit = if mean.value + mean.step / 2.0 < least {
                format!("require at least {}", time(least))
            } else if let Some(most) = most.filter(|it| mean.value - mean.step / 2.0 > *it) {
                format!("allow at most {}", time(most))
            } else {
                continue;
            };
            let mean = time(mean.value);
            let says = format!("the mean is {mean}, but the percentiles {limit}");
            judge.impossible("mean-and-percentiles", row, &columns, says);
        }
    }
}

fn mean_of(table: &Table, row: &Row, family: &str) -> Option<(usize, Quantity)> {
    let mut columns = table.columns_of(|it| it == Meaning::Mean);
    columns.find_map(|at| {
        let is_of = table.columns[at].family == family;
        Some((at, row.figure(at).filter(|_| is_of)?))
    })
}

/// Returns the lower bound of the mean and, if the longest time is known, the upper bound, both
/// with a margin for rounding.
fn bounds(known: &[(f64, usize, Quantity)]) -> (f64, Option<f64>) {
    let mut least = 0.0;
    let mut most = 0.0;
    let mut below = 0.0;
    for (at, (rank, _, value)) in known.iter().enumerate() {
        let above = known.get(at + 1).map_or(1.0, |next| next.0);
        least += (above - rank) * (value.value - value.step / 2.0).max(0.0);
        most += (rank - below) * (value.value + value.step / 2.0);
        below = *rank;
    }
    let has_longest = known.last().is_some_and(|it| it.0 >= 1.0);
    (least, has_longest.then_some(most))
}
