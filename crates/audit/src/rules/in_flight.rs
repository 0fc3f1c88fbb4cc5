//! Applies Little's law: the mean number of requests in flight is the number of requests per second
//! times the mean time of a request. The product cannot exceed the number of users if each user
//! sends one request at a time and the mean covers exactly the requests sent. A mean that includes
//! samples added by the tool is higher. Rows with different numbers of requests in flight are not
//! comparable.

use gatebench_stats::concurrency;

use super::{Judge, digits, median, time};
use crate::finding::Severity;
use crate::heading::Meaning;
use crate::quantity::Quantity;
use crate::table::{Row, Table, Users};
use crate::tool::Mean;

/// The relative tolerance for a rate and a mean that were measured over slightly different periods.
const TOLERANCE: f64 = 0.02;

/// If the share of users with a request in flight is smaller than this, most users were evidently
/// not waiting for a response.
const BUSY_SHARE_MIN: f64 = 0.5;

/// The maximum factor by which a row's number of requests in flight may differ from the median if
/// all rows were measured at the same level of concurrency.
const ALIKE_MAX: f64 = 1.25;

/// The mean number of requests in flight in a row, computed from the row's rate and mean time.
pub(super) struct InFlight {
    pub(super) count: f64,
    /// The maximum relative rounding error of the count, to first order: the sum of those of the
    /// rate and the mean.
    rounding: f64,
    pub(super) rate: Quantity,
    mean: Quantity,
    pub(super) columns: [usize; 2],
}

pub(super) fn all_in_flight(table: &Table) -> Vec<(&Row, InFlight)> {
    let rows = table.rows.iter();
    let rows = rows.filter_map(|row| Some((row, in_flight(table, row)?)));
    rows.collect()
}

fn in_flight(table: &Table, row: &Row) -> Option<InFlight> {
    let (rate_at, rate) = table.figure(row, Meaning::Rate)?;
    let (mean_at, mean) = table.mean(row)?;
    let is_known = rate.value > 0.0 && mean.value > 0.0;
    is_known.then(|| InFlight {
        count: concurrency(rate.value, mean.value * 1e9),
        rounding: (rate.step / rate.value + mean.step / mean.value) / 2.0,
        rate,
        mean,
        columns: [rate_at, mean_at],
    })
}

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    for (row, found) in all_in_flight(table) {
        if let Some(users) = table.users(row) {
            against_users(judge, row, &found, &users);
        }
    }
    if table.rows.iter().all(|row| table.users(row).is_none()) {
        among_rows(judge);
    }
}

fn against_users(judge: &mut Judge<'_>, row: &Row, found: &InFlight, users: &Users) {
    let (count, allowed) = (digits(found.count), digits(users.count));
    let (rate, mean) = (digits(found.rate.value), time(found.mean.value));
    let product = format!("{rate} requests/s of {mean} each");
    let columns: Vec<usize> = found.columns.into_iter().chain(users.column).collect();
    if found.count > users.count * (1.0 + TOLERANCE + found.rounding) {
        let says = format!(
            "{product} keep {count} in flight (Little's law), but there are only {allowed} connections or users"
        );
        let (severity, says) = match judge.table.mean_of(row).why_above_users() {
            None => (Severity::Impossible, says),
            Some(why) => (Severity::Misleading, format!("{says}: {why}")),
        };
        judge.rows("in-flight", severity, &[row], &columns, says);
    } else if found.count < users.count * BUSY_SHARE_MIN {
        let says = format!(
            "{product} keep only {count} in flight for {allowed} users: most users were not waiting for a response, \
             so the latency is not that of this number of concurrent users"
        );
        judge.misleading("in-flight", row, &columns, says);
    }
}

fn among_rows(judge: &mut Judge<'_>) {
    let table = judge.table;
    let counts = all_in_flight(table);
    let Some(middle) = median(counts.iter().map(|it| it.1.count)) else {
        return;
    };
    let is_unlike = |found: &InFlight| {
        let apart = (found.count / middle).max(middle / found.count);
        apart > ALIKE_MAX * (1.0 + found.rounding)
    };
    for (row, found) in counts.iter().filter(|it| is_unlike(&it.1)) {
        let cause = match table.mean_of(row) {
            Mean::OfSent | Mean::OfSeveral => {
                "the rows were measured at different levels of concurrency"
            }
            Mean::WithAdded | Mean::Unknown => {
                "the rows were measured at different levels of concurrency (or the tool adds \
                 samples to its means, as wrk does)"
            }
        };
        let says = format!(
            "{} requests were in flight in this row (rate × mean time, by Little's law), but {} in the median row: \
             {cause}, so their times and rates are not comparable",
            digits(found.count),
            digits(middle)
        );
        judge.misleading("different-concurrency", row, &found.columns, says);
    }
}
