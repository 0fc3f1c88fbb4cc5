//! Numbers of requests: beside rate and duration, those that failed, and those that a percentile rests on.

use gatebench_stats::is_trustworthy;

use super::{Judge, digits};
use crate::finding::Severity;
use crate::heading::Meaning;
use crate::quantity::Unit;
use crate::table::{Row, Table};

/// A rate may differ by this from requests ÷ duration, for what ran on after the end.
const RATE_TOLERANCE: f64 = 0.03;

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    for row in &table.rows {
        against_duration(judge, row);
        failures(judge, row);
        samples(judge, row);
    }
    let has_errors = table
        .columns_of(|it| it == Meaning::Errors)
        .next()
        .is_some();
    if !has_errors {
        let says =
            "how many requests failed is not told; answers that are errors are often the fastest"
                .to_owned();
        judge.missing("errors-not-told", says);
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
        let kind = if off > 0.0 {
            "above: a peak, not the mean"
        } else {
            "below"
        };
        let says = format!(
            "{} requests in {} s are {}/s, and the rate is told as {}/s, {} % {kind}",
            digits(requests),
            digits(duration.value),
            digits(mean),
            digits(rate.value),
            digits(100.0 * off.abs())
        );
        judge.row(
            "rate-and-count",
            Severity::Misleading,
            row,
            &[requests_at, duration_at, rate_at],
            says,
        );
    }
}

fn failures(judge: &mut Judge<'_>, row: &Row) {
    let table = judge.table;
    let Some((column, errors)) = table.figure(row, Meaning::Errors) else {
        return;
    };
    if errors.value <= 0.0 {
        return;
    }
    let of = requests(table, row).filter(|_| errors.unit != Unit::Share);
    let columns: Vec<usize> = [column].into_iter().chain(of.map(|it| it.0)).collect();
    let says = match (errors.unit, of) {
        (Unit::Share, _) => format!("{} % of the requests failed", digits(100.0 * errors.value)),
        (_, Some((_, requests))) => format!(
            "{} of {} requests failed ({} %)",
            digits(errors.value),
            digits(requests),
            digits(100.0 * errors.value / requests)
        ),
        _ => format!("{} requests failed", digits(errors.value)),
    };
    let says = format!("{says}; whether rate and times count them is not told");
    judge.row("errors", Severity::Misleading, row, &columns, says);
}

fn samples(judge: &mut Judge<'_>, row: &Row) {
    let table = judge.table;
    let Some((requests_at, requests)) = requests(table, row) else {
        return;
    };
    let told = table
        .columns_of(Meaning::is_time)
        .filter(|at| row.figure(*at).is_some());
    for column in told {
        let Meaning::Quantile(quantile) = table.columns[column].meaning else {
            continue;
        };
        if !is_trustworthy(quantile * 100.0, requests as u64) {
            let says = format!(
                "{} requests have {} beyond this percentile; with fewer than 10 it is chance",
                digits(requests),
                digits(requests * (1.0 - quantile))
            );
            judge.row(
                "too-few-samples",
                Severity::Misleading,
                row,
                &[column, requests_at],
                says,
            );
        }
    }
}
