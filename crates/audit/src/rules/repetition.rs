//! Repetitions of a measurement: they must exist and agree.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::{Judge, digits, ratio};
use crate::finding::Severity;
use crate::heading::Meaning;
use crate::quantity::Quantity;
use crate::table::Row;

/// If repetitions steadily rise or fall by more than this in total, the measurement was not steady
/// yet.
const DRIFT_MAX: f64 = 0.05;

/// Figures written in steps smaller than this part of their spread pretend to a precision that they
/// do not have.
const STEP_OF_SPREAD_MIN: f64 = 0.001;

const RUNS_MIN: usize = 3;

/// `(run 2)`, `run 2` or `#2` at the end of a row's name.
static RUN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[\s(]*(?:run|repetition|trial|block|#)\s*\d+\)?:?\s*$")
        .expect("the pattern is a constant")
});

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    let is_stated = table.has(Meaning::Repetition) || table.rows.iter().any(|row| row.has_spread);
    let mut names: Vec<String> = Vec::new();
    for row in table.rows.iter().filter(|row| RUN.is_match(&row.name)) {
        let name = RUN.replace(&row.name, "").into_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if !is_stated && names.is_empty() {
        let says = "each row was measured once, or the table does not state how far repetitions lie apart: \
                    whether two rows differ cannot be judged"
            .to_owned();
        judge.missing("no-repetition", says);
    }
    for name in names {
        let runs = table
            .rows
            .iter()
            .filter(|row| RUN.is_match(&row.name) && RUN.replace(&row.name, "") == name);
        repeated(judge, &runs.collect::<Vec<_>>());
    }
}

/// Judges the rates of several repetitions of the same measurement.
fn repeated(judge: &mut Judge<'_>, runs: &[&Row]) {
    let table = judge.table;
    let rated = |row: &&&Row| table.figure(row, Meaning::Rate).is_some();
    let runs: Vec<&Row> = runs.iter().filter(rated).copied().collect();
    let rates: Vec<(usize, Quantity)> = runs
        .iter()
        .filter_map(|row| table.figure(row, Meaning::Rate))
        .collect();
    let values = || rates.iter().map(|it| it.1.value);
    let (Some((column, first)), Some((_, last))) = (rates.first(), rates.last()) else {
        return;
    };
    if rates.len() < RUNS_MIN {
        return;
    }
    let pairs = rates
        .windows(2)
        .map(|pair| pair[1].1.value - pair[0].1.value);
    let is_one_way = pairs.clone().all(|it| it > 0.0) || pairs.clone().all(|it| it < 0.0);
    let change = last.value / first.value - 1.0;
    if is_one_way && change.abs() > DRIFT_MAX {
        let says = format!(
            "over {} repetitions the rate moves in one direction, by {} %: it had not settled, as without a warm-up; \
             their mean depends on how many there were",
            rates.len(),
            digits(100.0 * change)
        );
        judge.rows("drift", Severity::Misleading, &runs, &[*column], says);
    }
    let spread = values().fold(0.0, f64::max) * (1.0 - 1.0 / ratio(values()));
    if first.step < spread * STEP_OF_SPREAD_MIN {
        let says = format!(
            "stated in steps of {}/s, while repetitions lie {}/s apart",
            digits(first.step),
            digits(spread)
        );
        judge.rows(
            "false-precision",
            Severity::Misleading,
            &runs,
            &[*column],
            says,
        );
    }
}
