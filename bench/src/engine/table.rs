//! Formats the figures of a cell for a terminal or as Markdown.

use super::cells::{Cell, Goal};
use super::rounds::{Measured, Row, Sample};
use crate::client::Run;
use crate::spread::{Spread, ratios, spread};
use crate::table::Table;
use crate::tools::ours::OURS;

/// If the upstream uses more than this share of its core, the rate may be limited by the upstream
/// and not by the tool.
const UPSTREAM_BUSY_MAX: f64 = 0.9;
/// If other processes used more than this share of the two cores, they disturbed the run.
const FOREIGN_MAX: f64 = 0.05;

const HEAD: [&str; 7] = [
    "",
    "requests/s",
    "CPU µs/request",
    "calls/request",
    "upstream busy",
    "CPU ÷ gatebench",
    "rate ÷ gatebench",
];

pub fn text(cell: &Cell, measured: &Measured, markdown: bool) -> String {
    let mut table = Table::new(1, HEAD);
    for row in &measured.rows {
        if let Some(line) = line(row, &measured.rows[0]) {
            table.row(line);
        }
    }
    let title = format!("{} ({})", cell.title, cell.name);
    let table = table.render(markdown);
    let mut out = match markdown {
        true => format!("### {title}\n\n{table}\n"),
        false => format!("{title}\n{table}"),
    };
    for note in notes(cell, measured) {
        out.push_str(&format!("{} {note}\n", if markdown { "-" } else { " " }));
    }
    out
}

fn line(row: &Row, first: &Row) -> Option<[String; 7]> {
    let of = |pick: fn(&Sample) -> f64| {
        spread(&row.rounds.iter().flatten().map(pick).collect::<Vec<_>>())
    };
    let rate = of(|sample| sample.run.rate_per_second())?;
    let cost = of(|sample| sample.run.cpu_us_per_request())?;
    let busy = of(|sample| sample.upstream_busy)?;
    let calls = row
        .syscalls
        .map_or("–".into(), |calls| match calls.io_uring_enter {
            enters if enters > 0.0 => format!("{:.2} ({enters:.2} enter)", calls.all),
            _ => format!("{:.2}", calls.all),
        });
    let ratio =
        |pick: fn(&Run) -> f64| paired(row, first, pick).map_or("–".into(), |it| shown(&it));
    let is_ours = row.name == OURS.name;
    Some([
        row.name.into(),
        thousands(rate.median),
        cost.to_string(),
        calls,
        format!("{:.0} %", busy.median * 100.0),
        if is_ours {
            "1".into()
        } else {
            ratio(Run::cpu_us_per_request)
        },
        if is_ours {
            "1".into()
        } else {
            ratio(Run::rate_per_second)
        },
    ])
}

/// Returns the spread of a row's figure as a multiple of gatebench's in the same round. Returns
/// `None` if gatebench has no row, or if there is no round in which both runs succeeded.
fn paired(row: &Row, first: &Row, pick: fn(&Run) -> f64) -> Option<Spread> {
    if first.name != OURS.name {
        return None;
    }
    let rounds = row.rounds.iter().zip(&first.rounds);
    let both = rounds.filter_map(|(theirs, ours)| theirs.as_ref().zip(ours.as_ref()));
    ratios(
        &both
            .map(|(theirs, ours)| pick(&theirs.run) / pick(&ours.run))
            .collect::<Vec<_>>(),
    )
}

fn shown(ratio: &Spread) -> String {
    match ratio.interval {
        Some((low, high)) => format!("{ratio}, 95 % {low:.2}–{high:.2}"),
        None => ratio.to_string(),
    }
}

fn notes(cell: &Cell, measured: &Measured) -> Vec<String> {
    let mut notes: Vec<String> = cell
        .goals
        .iter()
        .filter_map(|goal| goal_note(*goal, measured))
        .collect();
    for row in &measured.rows {
        let samples = || row.rounds.iter().flatten();
        let busy = spread(&samples().map(|it| it.upstream_busy).collect::<Vec<_>>());
        if let Some(busy) = busy.filter(|busy| busy.median > UPSTREAM_BUSY_MAX) {
            let share = busy.median * 100.0;
            let name = row.name;
            notes.push(format!(
                "the upstream was {share:.0} % busy while {name} ran, so the rate of {name} is a lower bound"
            ));
        }
        if let Some(last) = row.lost.last() {
            let (lost, all) = (row.lost.len(), row.rounds.len());
            notes.push(format!(
                "{}: {lost} of {all} runs do not count; reason for the last one: {last}",
                row.name
            ));
        }
    }
    let samples = measured
        .rows
        .iter()
        .flat_map(|row| row.rounds.iter().flatten());
    let foreign = samples.map(|it| it.foreign).fold(0.0, f64::max);
    if foreign > FOREIGN_MAX {
        notes.push(format!(
            "other processes took up to {:.0} % of the two cores; repeat this on a quiet machine",
            foreign * 100.0
        ));
    }
    notes.extend(
        measured
            .absent
            .iter()
            .map(|(name, reason)| format!("no {name}: {reason}")),
    );
    notes
}

/// Returns a note on a goal: reached if the whole interval meets it, missed if no part of the
/// interval meets it, and otherwise undecided.
fn goal_note(goal: Goal, measured: &Measured) -> Option<String> {
    let row = measured.rows.iter().find(|row| row.name == goal.peer)?;
    let ratio = paired(row, &measured.rows[0], Run::cpu_us_per_request)?;
    let verdict = match ratio.interval {
        Some((low, _)) if low >= goal.at_least => "reached",
        Some((_, high)) if high < goal.at_least => "missed",
        _ => "undecided after these rounds",
    };
    let (peer, least) = (goal.peer, goal.at_least);
    Some(format!(
        "required CPU {peer} ÷ gatebench: at least {least:.2}; measured {:.2}: {verdict}",
        ratio.median
    ))
}

fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
