//! Times that the timer, or the writing, was too coarse for.

use super::{Judge, digits, time};
use crate::finding::Severity;
use crate::heading::Meaning;
use crate::quantity::{Quantity, Unit};

/// A step that is a larger part of the least time hides differences that matter.
const STEP_SHARE_MAX: f64 = 0.1;

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    let columns = table.columns_of(|it| it.is_time() && it != Meaning::Min);
    for column in columns {
        let cells = table.rows.iter().filter_map(|row| row.figure(column));
        let times: Vec<Quantity> = cells.filter(|it| it.unit == Unit::Seconds).collect();
        let zeros = times.iter().filter(|it| it.value == 0.0).count();
        let Some(least) = times
            .iter()
            .copied()
            .min_by(|a, b| a.value.total_cmp(&b.value))
        else {
            continue;
        };
        let says = if zeros > 0 {
            format!(
                "{zeros} of {} are zero: the time is told in steps of {}, and was less than half of one",
                times.len(),
                time(least.step)
            )
        } else if least.step / least.value > STEP_SHARE_MAX {
            format!(
                "told in steps of {}, {} % of the least, {}",
                time(least.step),
                digits(100.0 * least.step / least.value),
                time(least.value)
            )
        } else {
            continue;
        };
        judge.whole("resolution", Severity::Misleading, &[column], says);
    }
}
