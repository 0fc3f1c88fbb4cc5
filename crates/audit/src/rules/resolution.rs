//! Finds times, except minima, for which the timer or the notation was too coarse. Each cell is
//! judged separately.

use super::{Judge, digits, time};
use crate::heading::Meaning;
use crate::quantity::{Quantity, Unit};
use crate::table::Row;

/// The maximum share of a time that one step may take up. Larger steps hide relevant differences.
const STEP_SHARE_MAX: f64 = 0.1;

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    for row in &table.rows {
        let times: Vec<(usize, Quantity)> = table
            .columns_of(|it| it.is_time() && it != Meaning::Min)
            .filter_map(|at| Some((at, row.figure(at)?)))
            .filter(|(_, it)| it.unit == Unit::Seconds)
            .collect();
        let (zeros, others): (Vec<_>, Vec<_>) =
            times.into_iter().partition(|(_, it)| it.value == 0.0);
        let coarse = |it: &(usize, Quantity)| it.1.step / it.1.value > STEP_SHARE_MAX;
        let coarse: Vec<_> = others.into_iter().filter(coarse).collect();
        if let Some((_, first)) = zeros.first() {
            let says = format!(
                "zero: times are written in steps of {}, and this time was shorter than one step",
                time(first.step)
            );
            cells(judge, row, &zeros, says);
        }
        let share = |(_, it): &(usize, Quantity)| 100.0 * it.step / it.value;
        let worst = coarse.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
        if let Some(worst) = worst {
            let says = format!(
                "written in steps of {}, which is {} % of {}",
                time(worst.1.step),
                digits(share(worst)),
                time(worst.1.value)
            );
            cells(judge, row, &coarse, says);
        }
    }
}

fn cells(judge: &mut Judge<'_>, row: &Row, found: &[(usize, Quantity)], says: String) {
    let columns: Vec<usize> = found.iter().map(|it| it.0).collect();
    judge.misleading("resolution", row, &columns, says);
}
