//! Latency of a closed loop at saturation: the mean is the number of users divided by the rate, so
//! it adds no information to the rate.

use super::in_flight::{InFlight, in_flight};
use super::{Judge, digits, median, ratio};
use crate::finding::Severity;
use crate::table::Row;

/// Rows whose numbers of requests in flight differ by at most this share had the same users, which
/// were always busy.
const SAME: f64 = 0.08;

/// If rates differ by less than this factor, equal requests in flight indicate nothing.
const RATES_APART_MIN: f64 = 1.3;

const ROWS_MIN: usize = 3;

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    let rows = table.rows.iter();
    let all: Vec<(&Row, InFlight)> = rows
        .filter_map(|row| Some((row, in_flight(table, row)?)))
        .collect();
    let Some(middle) = median(all.iter().map(|it| it.1.count)) else {
        return;
    };
    let same: Vec<&(&Row, InFlight)> = all
        .iter()
        .filter(|it| (it.1.count / middle - 1.0).abs() <= SAME)
        .collect();
    let apart = ratio(same.iter().map(|it| it.1.rate.value));
    if same.len() < ROWS_MIN || apart < RATES_APART_MIN {
        return;
    }
    let rows: Vec<&Row> = same.iter().map(|it| it.0).collect();
    let columns = same[0].1.columns;
    let says = format!(
        "in {} of {} rows the rates differ by a factor of {} and {} requests are always in flight (rate × mean time): \
         a closed loop at saturation, where the mean time is users ÷ rate and says nothing that the rate does not; \
         latency is comparable at equal rate only",
        same.len(),
        all.len(),
        digits(apart),
        digits(middle)
    );
    judge.rows(
        "latency-at-saturation",
        Severity::Misleading,
        &rows,
        &columns,
        says,
    );
}
