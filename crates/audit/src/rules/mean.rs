//! A mean that the percentiles do not allow. Whatever lies between two percentiles, lies between their
//! values: so the share between them times the lower value is a part of the mean at the least, and times the
//! upper value at the most.

use super::{Judge, time};
use crate::finding::Severity;
use crate::heading::Meaning;
use crate::quantity::Quantity;
use crate::table::{Row, Table};

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    for family in table.families() {
        for row in &table.rows {
            let Some((column, mean)) = figure(table, row, family, Meaning::Mean) else {
                continue;
            };
            let mut known: Vec<(f64, usize, Quantity)> = table
                .columns_of(Meaning::is_time)
                .filter(|at| table.columns[*at].family == family)
                .filter_map(|at| Some((table.columns[at].meaning.rank()?, at, row.figure(at)?)))
                .collect();
            known.sort_by(|a, b| a.0.total_cmp(&b.0));
            let columns: Vec<usize> = [column]
                .into_iter()
                .chain(known.iter().map(|it| it.1))
                .collect();
            let (least, most) = bounds(&known);
            let says = if mean.value + mean.step / 2.0 < least {
                format!(
                    "the mean is {}, but the percentiles alone make it {} at least",
                    time(mean.value),
                    time(least)
                )
            } else if most.is_some_and(|most| mean.value - mean.step / 2.0 > most) {
                let most = most.unwrap_or_default();
                format!(
                    "the mean is {}, but the percentiles allow {} at most",
                    time(mean.value),
                    time(most)
                )
            } else {
                continue;
            };
            judge.row(
                "mean-and-percentiles",
                Severity::Impossible,
                row,
                &columns,
                says,
            );
        }
    }
}

fn figure(table: &Table, row: &Row, family: &str, meaning: Meaning) -> Option<(usize, Quantity)> {
    let mut columns = table.columns_of(|it| it == meaning);
    columns.find_map(|at| {
        let is_of = table.columns[at].family == family;
        Some((at, row.figure(at).filter(|_| is_of)?))
    })
}

/// What the mean is at least, and at most where the longest time is known. Rounding is granted.
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
