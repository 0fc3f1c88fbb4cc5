//! What is held against a table, one rule a file. A rule speaks only where the table itself shows it.

mod bucket;
mod closed_loop;
mod counts;
mod cpu;
mod in_flight;
mod mean;
mod order;
mod repetition;
mod resolution;

use crate::finding::{Finding, Severity};
use crate::table::{Row, Table};

/// A table and what is found in it.
pub(crate) struct Judge<'t> {
    pub(crate) table: &'t Table,
    findings: Vec<Finding>,
}

/// Everything that is wrong with a table, by line.
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
    /// A row is wrong.
    fn row(
        &mut self,
        rule: &'static str,
        severity: Severity,
        row: &Row,
        columns: &[usize],
        says: String,
    ) {
        let finding = self.finding(rule, severity, columns, says);
        self.findings.push(Finding {
            line: row.line,
            row: Some(row.name.clone()),
            ..finding
        });
    }

    /// The table is wrong as a whole.
    fn whole(&mut self, rule: &'static str, severity: Severity, columns: &[usize], says: String) {
        let finding = self.finding(rule, severity, columns, says);
        self.findings.push(finding);
    }

    fn finding(
        &self,
        rule: &'static str,
        severity: Severity,
        columns: &[usize],
        says: String,
    ) -> Finding {
        let heading = |at: &usize| self.table.columns[*at].heading.clone();
        Finding {
            rule,
            severity,
            table: self.table.title.clone(),
            line: self.table.rows.first().map_or(1, |row| row.line),
            row: None,
            columns: columns.iter().map(heading).collect(),
            says,
        }
    }
}

/// A time for a reader, to three digits.
fn time(seconds: f64) -> String {
    let (value, unit) = match seconds.abs() {
        it if it >= 1.0 => (seconds, "s"),
        it if it >= 1e-3 || it == 0.0 => (seconds * 1e3, "ms"),
        it if it >= 1e-6 => (seconds * 1e6, "µs"),
        _ => (seconds * 1e9, "ns"),
    };
    format!("{} {unit}", digits(value))
}

/// A number to three digits, and all of those before the point.
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

/// The largest of some numbers divided by the smallest; 1 where there are fewer than two.
fn ratio(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
    let least = values.fold(f64::INFINITY, f64::min);
    if least > 0.0 && most.is_finite() {
        most / least
    } else {
        1.0
    }
}

/// The middle one of some numbers.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    gatebench_stats::median(&values.collect::<Vec<_>>())
}
