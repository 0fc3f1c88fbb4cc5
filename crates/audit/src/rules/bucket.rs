//! Finds percentiles that were interpolated in a histogram's lowest bucket. If the quantile `q` is
//! interpolated in a bucket from 0 to `bound`, its value is `q × bound ÷ share`, where `share` is
//! the share of the requests in that bucket. The value is therefore between `q × bound` and
//! `bound`, no matter how long the requests took.

use super::{Judge, digits, ratio, time};
use crate::finding::Severity;
use crate::heading::Meaning;
use crate::quantity::Unit;
use crate::table::Row;

/// The bounds of the lowest buckets that gateways and client libraries use by default, in seconds.
const BOUNDS: [f64; 8] = [0.000_5, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5];

/// The lowest quantile that is judged. The range of a lower quantile is too wide to indicate
/// interpolation.
const QUANTILE_MIN: f64 = 0.9;

/// The smallest ratio between rows' rates that makes equal percentiles suspicious.
const LOAD_APART_MIN: f64 = 1.5;

const ROWS_MIN: usize = 3;

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    let rate = |row| table.figure(row, Meaning::Rate).map(|it| it.1.value);
    let apart = ratio(table.rows.iter().filter_map(rate));
    if apart < LOAD_APART_MIN {
        return;
    }
    for column in table.columns_of(Meaning::is_time) {
        let Meaning::Quantile(quantile) = table.columns[column].meaning else {
            continue;
        };
        let time_of = |row: &Row| row.figure(column).filter(|it| it.unit == Unit::Seconds);
        let timed = table
            .rows
            .iter()
            .filter_map(|it| Some((it, time_of(it)?.value)));
        let (rows, values): (Vec<&Row>, Vec<f64>) = timed.unzip();
        if quantile < QUANTILE_MIN || values.len() < ROWS_MIN {
            continue;
        }
        let mut bounds = BOUNDS.into_iter();
        let Some(bound) = bounds.find(|it| all_within(&values, quantile, *it)) else {
            continue;
        };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        let share = |value: f64| digits(100.0 * (quantile * bound / value).min(1.0));
        let says = format!(
            "{} to {} in every row, although the rates differ by a factor of {}: the values are interpolated in a \
             histogram's lowest bucket, from 0 to {}; they show that {} to {} % of the requests were in that bucket, but \
             not how long they took",
            time(least),
            time(most),
            digits(apart),
            time(bound),
            share(most),
            share(least)
        );
        let severity = Severity::Misleading;
        judge.rows("histogram-bucket", severity, &rows, &[column], says);
    }
}

fn all_within(values: &[f64], quantile: f64, bound: f64) -> bool {
    // The values may be rounded by up to 0.5 % of the bound.
    let slack = bound * 0.005;
    let range = quantile * bound - slack..=bound + slack;
    values.iter().all(|it| range.contains(it))
}
