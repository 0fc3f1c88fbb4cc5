//! Checks that measurements were repeated, that the rates of repetitions do not drift, and that
//! these rates are not written with far more digits than their spread justifies.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::{Judge, digits, ratio};
use crate::finding::Severity;
use crate::heading::Meaning;
use crate::quantity::Quantity;
use crate::table::Row;

/// The maximum share by which the rates of successive repetitions may steadily rise or fall in
/// total. Beyond it, the measurement was not in a steady state.
const DRIFT_MAX: f64 = 0.05;

/// The minimum step of a figure, as a share of its spread. Smaller steps suggest a precision that
/// the figure does not have.
const STEP_OF_SPREAD_MIN: f64 = 0.001;

const RUNS_MIN: usize = 3;

/// Matches the number of a repetition at the end of a row's name, such as `(run 2)`, `trial 2` or
/// `#2`.
static RUN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[\s(]*(?:run|repetition|trial|block|#)\s*\d+\)?:?\s*$")
        .expect("the pattern is a constant")
});

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    let is_stated = table.has(Meaning::Repetition) || table.rows.iter().any(|row| row.has_spread);
    let mut repeated: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in table.rows.iter().filter(|row| RUN.is_match(&row.name)) {
        let name = RUN.replace(&row.name, "").into_owned();
        match repeated.iter_mut().find(|it| it.0 == name) {
            Some((_, runs)) => runs.push(row),
            None => repeated.push((name, vec![row])),
        }
    }
    if !is_stated && repeated.is_empty() {
        let says = "each row was measured once, or the table does not state how much repetitions differ, so \
                    differences between rows cannot be judged";
        judge.missing("no-repetition", says);
    }
    for (_, runs) in repeated {
        judge_runs(judge, &runs);
    }
}

fn judge_runs(judge: &mut Judge<'_>, runs: &[&Row]) {
    let table = judge.table;
    let rated = runs
        .iter()
        .filter_map(|row| Some((*row, table.figure(row, Meaning::Rate)?)));
    let (runs, rates): (Vec<&Row>, Vec<(usize, Quantity)>) = rated.unzip();
    let [(column, first), .., (_, last)] = &rates[..] else {
        return;
    };
    if rates.len() < RUNS_MIN {
        return;
    }
    let values: Vec<f64> = rates.iter().map(|it| it.1.value).collect();
    let is_one_way = values.is_sorted_by(|a, b| a < b) || values.is_sorted_by(|a, b| a > b);
    let change = last.value / first.value - 1.0;
    if is_one_way && change.abs() > DRIFT_MAX {
        let says = format!(
            "over {} repetitions, the rate moves in one direction, by {} %: it had not settled, perhaps for lack of a \
             warm-up, so the mean depends on the number of repetitions",
            rates.len(),
            digits(100.0 * change)
        );
        judge.rows("drift", Severity::Misleading, &runs, &[*column], says);
    }
    let most = values.iter().copied().fold(0.0, f64::max);
    let spread = most * (1.0 - 1.0 / ratio(values.into_iter()));
    if first.step < spread * STEP_OF_SPREAD_MIN {
        let (step, spread) = (digits(first.step), digits(spread));
        let says =
            format!("written in steps of {step}/s, although repetitions differ by {spread}/s");
        judge.rows(
            "false-precision",
            Severity::Misleading,
            &runs,
            &[*column],
            says,
        );
    }
}
