//! Finds latencies of a closed loop at saturation, where the mean is the number of users divided by
//! the rate and therefore adds no information beyond the rate.

use super::in_flight::all_in_flight;
use super::{Judge, digits, median, ratio};
use crate::finding::Severity;
use crate::table::Row;

/// The maximum relative deviation of a row's number of requests in flight from the median. Rows
/// that deviate less are taken to have the same number of users, each always with a request in
/// flight.
const SAME: f64 = 0.08;

/// The smallest ratio between rows' rates that makes equal numbers of requests in flight
/// suspicious.
const RATES_APART_MIN: f64 = 1.3;

const ROWS_MIN: usize = 3;

pub(super) fn judge(judge: &mut Judge<'_>) {
    let all = all_in_flight(judge.table);
    let Some(middle) = median(all.iter().map(|it| it.1.count)) else {
        return;
    };
    let is_same = |count: f64| (count / middle - 1.0).abs() <= SAME;
    let same: Vec<_> = all.iter().filter(|it| is_same(it.1.count)).collect();
    let apart = ratio(same.iter().map(|it| it.1.rate.value));
    if same.len() < ROWS_MIN || apart < RATES_APART_MIN {
        return;
    }
    let rows: Vec<&Row> = same.iter().map(|it| it.0).collect();
    let columns = same[0].1.columns;
    let says = format!(
        "in {} of {} rows, the rates differ by a factor of {}, but about {} requests are in flight (rate × mean time): \
         this is a closed loop at saturation, whose mean time is users ÷ rate and adds no information beyond the rate; \
         latencies are comparable only at equal rates",
        same.len(),
        all.len(),
        digits(apart),
        digits(middle)
    );
    let severity = Severity::Misleading;
    judge.rows("latency-at-saturation", severity, &rows, &columns, says);
}
