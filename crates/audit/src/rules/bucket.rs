//! Percentiles interpolated in a histogram's lowest bucket. A quantile interpolated in a bucket
//! from 0 to `bound` is `quantile × bound ÷ share`, where `share` is the part of the requests in
//! that bucket: it lies between `quantile × bound` and `bound`, however long the requests took.

use super::{Judge, digits, ratio, time};
use crate::finding::Severity;
use crate::heading::Meaning;
use crate::quantity::Unit;
use crate::table::Row;

/// The bounds of the lowest buckets that gateways and client libraries use by default, in seconds.
const BOUNDS: [f64; 8] = [0.000_5, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5];

/// The smallest quantile that is judged; the range of a lower one in a bucket is too wide to
/// indicate anything.
const QUANTILE_MIN: f64 = 0.9;

/// The smallest ratio of loads at which equal percentiles are suspicious.
const LOAD_APART_MIN: f64 = 1.5;

const ROWS_MIN: usize = 3;

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    let rate = |row| table.figure(row, Meaning::Rate).map(|it| it.1.value);
    let rates: Vec<f64> = table.rows.iter().filter_map(rate).collect();
    let apart = ratio(rates.iter().copied());
    if apart < LOAD_APART_MIN {
        return;
    }
    for column in table.columns_of(Meaning::is_time) {
        let Meaning::Quantile(quantile) = table.columns[column].meaning else {
            continue;
        };
        let timed = |row| Row::figure(row, column).filter(|it| it.unit == Unit::Seconds);
        let rows: Vec<&Row> = table
            .rows
            .iter()
            .filter(|row| timed(row).is_some())
            .collect();
        let values: Vec<f64> = rows
            .iter()
            .filter_map(|row| timed(row))
            .map(|it| it.value)
            .collect();
        if quantile < QUANTILE_MIN || values.len() < ROWS_MIN {
            continue;
        }
        let Some(bound) = BOUNDS
            .into_iter()
            .find(|it| all_within(&values, quantile, *it))
        else {
            continue;
        };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        let share = |value: f64| digits(100.0 * (quantile * bound / value).min(1.0));
        let says = format!(
            "{} to {} in every row, while the rates differ by a factor of {}: what interpolation in a histogram's lowest \
             bucket, 0 to {}, gives; it says that {} to {} % of the requests were in that bucket, and nothing of their time",
            time(least),
            time(most),
            digits(apart),
            time(bound),
            share(most),
            share(least)
        );
        judge.rows(
            "histogram-bucket",
            Severity::Misleading,
            &rows,
            &[column],
            says,
        );
    }
}

fn all_within(values: &[f64], quantile: f64, bound: f64) -> bool {
    // Half a unit in the last place that is usually written.
    let slack = bound * 0.005;
    values
        .iter()
        .all(|it| (quantile * bound - slack..=bound + slack).contains(it))
}
