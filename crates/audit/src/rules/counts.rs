//! Compares the number of requests with the rate and the duration, and checks the number of failed
//! requests and the number of samples above a percentile.

use gatebench_stats::is_trustworthy;

use super::{Judge, digits};
use crate::heading::Meaning;
use crate::quantity::Unit;
use crate::table::{Row, Table};

/// The tolerated relative difference between the rate and requests ÷ duration, which exists because
/// requests may end after the load.
const RATE_TOLERANCE: f64 = 0.03;

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    for row in &table.rows {
        against_duration(judge, row);
        failures(judge, row);
        samples(judge, row);
    }
    if !table.has(Meaning::Errors) {
        let says = "the table does not state how many requests failed, and errors are often the fastest responses";
        judge.missing("errors-not-reported", says);
    }
}

fn requests(table: &Table, row: &Row) -> Option<(usize, f64)> {
    let (column, requests) = table.figure(row, Meaning::Requests)?;
    (requests.unit == Unit::None).then_some((column, requests.value))
}

fn against_duration(judge: &mut Judge<'_>, row: &Row) {
    let table = judge.table;
    let (Some((requests_at, requests)), Some((duration_at, duration)), Some((rate_at, rate))) = (
        requests(table, row),
        table.figure(row, Meaning::Duration),
        table.figure(row, Meaning::Rate),
    ) else {
        return;
    };
    if duration.unit != Unit::Seconds || duration.value <= 0.0 {
        return;
    }
    let mean = requests / duration.value;
    let rounding = (duration.step / duration.value + rate.step / rate.value.max(1e-9)) / 2.0;
    let off = rate.value / mean - 1.0;
    if off.abs() > RATE_TOLERANCE + rounding {
        let direction = match off > 0.0 {
            true => "higher: it may be a peak instead of the mean",
            false => "lower",
        };
        let says = format!(
            "{} requests in {} s are {}/s, but the table states a rate of {}/s, {} % {direction}",
            digits(requests),
            digits(duration.value),
            digits(mean),
            digits(rate.value),
            digits(100.0 * off.abs())
        );
        let columns = [requests_at, duration_at, rate_at];
        judge.misleading("rate-and-count", row, &columns, says);
    }
}

fn failures(judge: &mut Judge<'_>, row: &Row) {
    let table = judge.table;
    let errors = table.figure(row, Meaning::Errors);
    let Some((column, errors)) = errors.filter(|it| it.1.value > 0.0) else {
        return;
    };
    // Without a unit, a rate may be a fraction or a percentage, but it is not a count.
    let heading = table.columns[column].heading.to_lowercase();
    let is_rate = errors.unit == Unit::None && heading.contains("rate");
    let is_count = errors.unit != Unit::Share && !is_rate;
    let of = requests(table, row).filter(|_| is_count);
    let columns: Vec<usize> = [column].into_iter().chain(of.map(|it| it.0)).collect();
    let says = match (errors.unit, of) {
        (Unit::Share, _) => format!("{} % of the requests failed", digits(100.0 * errors.value)),
        _ if is_rate => format!("the error rate is {}", digits(errors.value)),
        (_, Some((_, requests))) => format!(
            "{} of {} requests failed ({} %)",
            digits(errors.value),
            digits(requests),
            digits(100.0 * errors.value / requests)
        ),
        _ => format!("{} requests failed", digits(errors.value)),
    };
    let says = format!(
        "{says}; the table does not state whether the request rate and the times include failed requests"
    );
    judge.misleading("errors", row, &columns, says);
}

fn samples(judge: &mut Judge<'_>, row: &Row) {
    let table = judge.table;
    let Some((requests_at, requests)) = requests(table, row) else {
        return;
    };
    for (column, it) in table.columns.iter().enumerate() {
        let Meaning::Quantile(quantile) = it.meaning else {
            continue;
        };
        if row.figure(column).is_some() && !is_trustworthy(quantile * 100.0, requests as u64) {
            let says = format!(
                "only {} of {} requests are above this percentile: with fewer than 10, its value is a matter of chance",
                digits(requests * (1.0 - quantile)),
                digits(requests)
            );
            judge.misleading("too-few-samples", row, &[column, requests_at], says);
        }
    }
}
