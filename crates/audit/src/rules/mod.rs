//! The rules for a table, grouped in files by subject.

mod bucket;
mod closed_loop;
mod counts;
mod cpu;
mod in_flight;
mod mean;
mod order;
mod repetition;
mod resolution;

use crate::finding::{Cell, Finding, Severity};
use crate::table::{Row, Table};

pub(crate) struct Judge<'t> {
    pub(crate) table: &'t Table,
    findings: Vec<Finding>,
}

pub(crate) fn judge(table: &Table) -> Vec<Finding> {
    let mut judge = Judge {
        table,
        findings: Vec::new(),
    };
    for rule in [
        order::judge,
        mean::judge,
        in_flight::judge,
        closed_loop::judge,
        bucket::judge,
        resolution::judge,
        counts::judge,
        cpu::judge,
        repetition::judge,
    ] {
        rule(&mut judge);
    }
    judge.findings.sort_by_key(|it| it.line);
    judge.findings
}

impl Judge<'_> {
    fn impossible(&mut self, rule: &'static str, row: &Row, columns: &[usize], says: String) {
        self.rows(rule, Severity::Impossible, &[row], columns, says);
    }

    fn misleading(&mut self, rule: &'static str, row: &Row, columns: &[usize], says: String) {
        self.rows(rule, Severity::Misleading, &[row], columns, says);
    }

    fn rows(
        &mut self,
        rule: &'static str,
        severity: Severity,
        rows: &[&Row],
        columns: &[usize],
        says: String,
    ) {
        let heading = |at: &usize| self.table.columns[*at].heading.clone();
        let cell = |row: &Row, at: &usize| Cell {
            line: row.line,
            row: row.name.clone(),
            column: heading(at),
            written: row.written(*at).to_owned(),
        };
        let of_row = |row: &&Row| columns.iter().map(|at| cell(row, at)).collect::<Vec<_>>();
        let finding = Finding {
            rule,
            severity,
            table: self.table.title.clone(),
            line: rows.first().map_or(self.table.line, |row| row.line),
            numbering: self.table.numbering,
            row: (rows.len() == 1).then(|| rows[0].name.clone()),
            columns: columns.iter().map(heading).collect(),
            cells: rows.iter().flat_map(of_row).collect(),
            says,
        };
        self.findings.push(finding);
    }

    fn missing(&mut self, rule: &'static str, says: &str) {
        self.rows(rule, Severity::Missing, &[], &[], says.to_owned());
    }
}

/// Formats a time in the largest of s, ms and µs in which it is at least 1, or else in ns. Zero is
/// formatted in ms.
fn time(seconds: f64) -> String {
    let (value, unit) = match seconds.abs() {
        it if it >= 1.0 => (seconds, "s"),
        it if it >= 1e-3 || it == 0.0 => (seconds * 1e3, "ms"),
        it if it >= 1e-6 => (seconds * 1e6, "µs"),
        _ => (seconds * 1e9, "ns"),
    };
    format!("{} {unit}", digits(value))
}

/// Formats a number with two decimal places below 10, one below 100 and none from 100, without
/// trailing zeros.
fn digits(value: f64) -> String {
    let places = match value.abs() {
        it if it >= 100.0 => 0,
        it if it >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Returns the ratio of the largest number to the smallest, or 1 if there are no numbers or one of
/// them is not positive.
fn ratio(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
    let least = values.fold(f64::INFINITY, f64::min);
    if least > 0.0 && most.is_finite() {
        most / least
    } else {
        1.0
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    gatebench_stats::median(&values.collect::<Vec<_>>())
}
