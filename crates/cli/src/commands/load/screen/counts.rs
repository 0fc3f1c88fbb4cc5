//! The counts, a line for each kind.

use gatebench_engine::{Class, ErrorKind};
use gatebench_report::Unit;
use gatebench_report::format::{grouped, quantity};
use gatebench_report::load::WordTable;

use crate::commands::load::figures::{Figures, class_word};
use crate::commands::load::judged::percent;
use crate::commands::load::results::Results;

/// Columns of a line's name.
const NAME: usize = 11;

/// The lines that have content.
pub fn table(results: &Results<'_>) -> WordTable {
    let figures = &results.figures;
    let requests = results.sends_requests();
    let lines = [
        ("Status", requests, statuses(figures)),
        ("No response", true, errors(&figures.counts().errors)),
        ("Checks", true, checks(figures)),
        ("Arrivals", results.open, arrivals(figures)),
        ("Bytes", requests, bytes(figures)),
        ("Connections", true, connections(figures)),
        ("Load generator", true, engine(results)),
    ];
    let shown = lines.into_iter();
    let shown = shown.filter(|(_, is_shown, parts)| *is_shown && !parts.is_empty());
    let shown: Vec<_> = shown.collect();
    let states_failures = |name: &str| match name {
        "No response" => true,
        "Checks" => figures.counts().responses_failing_checks > 0,
        _ => false,
    };
    let failed = (0..).zip(&shown);
    let failed = failed.filter(|(_, (name, ..))| states_failures(name));
    WordTable {
        title: "Counts",
        failed: failed.map(|(row, _)| [row, 1]).collect(),
        rows: shown
            .iter()
            .map(|(name, _, parts)| vec![format!("{name:NAME$}"), parts.join(" · ")])
            .collect(),
        foot: String::new(),
    }
}

fn statuses(figures: &Figures<'_>) -> Vec<String> {
    let known = Class::ALL
        .into_iter()
        .filter(|class| figures.responses(*class) > 0);
    known
        .map(|class| {
            let count = grouped(figures.responses(class) as f64);
            format!("{} {count}{}", class_word(class), codes(figures, class))
        })
        .collect()
}

/// Which statuses of a class there were: ` (404)`, ` (401 12, 429 3)`; nothing for 200 alone.
fn codes(figures: &Figures<'_>, class: Class) -> String {
    let statuses = figures.outcome.statuses.iter();
    let of_class: Vec<_> = statuses
        .filter(|(status, _)| Class::of(**status) == class)
        .collect();
    match of_class.as_slice() {
        [] | [(200, _)] => String::new(),
        [(only, _)] => format!(" ({only})"),
        several => {
            let each = several
                .iter()
                .map(|(status, count)| format!("{status} {}", grouped(**count as f64)));
            format!(" ({})", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The failures by reason.
fn errors(counts: &[u64; ErrorKind::ALL.len()]) -> Vec<String> {
    let kinds = ErrorKind::ALL.into_iter().zip(counts);
    kinds
        .filter(|(_, count)| **count > 0)
        .map(|(kind, count)| {
            let word = match kind {
                ErrorKind::Connect => "not connected",
                ErrorKind::Reset => "reset",
                ErrorKind::ClosedEarly => "closed early",
                ErrorKind::Timeout => "timed out",
                ErrorKind::Protocol => "not HTTP",
                ErrorKind::Tls => "TLS failed",
            };
            format!("{word} {}", grouped(*count as f64))
        })
        .collect()
}

fn checks(figures: &Figures<'_>) -> Vec<String> {
    if !figures.checked {
        return Vec::new();
    }
    let counts = figures.counts();
    let passed = counts.completed - counts.responses_failing_checks;
    let share = percent(passed as f64 / counts.completed.max(1) as f64);
    let mut parts = vec![format!(
        "{} of {} responses passed ({share})",
        grouped(passed as f64),
        grouped(counts.completed as f64)
    )];
    for (text, failed) in figures
        .failed_checks()
        .into_iter()
        .filter(|(_, failed)| *failed > 0)
    {
        parts.push(format!("{text}: {} failed", grouped(failed as f64)));
    }
    parts
}

/// The scheduled arrivals and their outcome.
fn arrivals(figures: &Figures<'_>) -> Vec<String> {
    let counts = figures.counts();
    let number = |count: u64, word: &str| format!("{} {word}", grouped(count as f64));
    vec![
        number(counts.intended, "intended"),
        number(counts.sent, "sent"),
        number(counts.completed, "completed"),
        number(counts.dropped, "dropped"),
        format!("at most {} queued", grouped(counts.queued_max as f64)),
    ]
}

fn bytes(figures: &Figures<'_>) -> Vec<String> {
    let counts = figures.counts();
    let size = |bytes: f64| quantity(bytes, Unit::Bytes);
    let flow = |bytes: u64, word: &str| {
        format!(
            "{} {word} ({}/s)",
            size(bytes as f64),
            size(figures.per_second(bytes))
        )
    };
    let mut parts = vec![
        flow(counts.bytes_sent, "sent"),
        flow(counts.bytes_received, "received"),
    ];
    // Both count what arrived within the window.
    if counts.completed_in_window > 0 {
        parts.push(format!(
            "{} per response",
            size(counts.bytes_received as f64 / counts.completed_in_window as f64)
        ));
    }
    parts
}

fn connections(figures: &Figures<'_>) -> Vec<String> {
    let opened = figures.counts().connections_opened;
    let mut parts = vec![format!("{} opened", grouped(opened as f64))];
    if figures.outcome.resumed > 0 {
        parts.push(format!(
            "{} TLS sessions resumed",
            grouped(figures.outcome.resumed as f64)
        ));
    }
    let failed = &figures.counts().connections_failed;
    if failed.iter().any(|count| *count > 0) {
        let kinds = errors(failed).join(", ");
        parts.push(format!("failed attempts: {kinds}"));
    }
    parts
}

fn engine(results: &Results<'_>) -> Vec<String> {
    let figures = &results.figures;
    let workers = match figures.outcome.workers.len() {
        1 => "1 worker".to_owned(),
        several => format!("{several} workers"),
    };
    let mut parts = vec![figures.outcome.backend.as_str().to_owned(), workers];
    if let Some(ns) = figures.cpu_ns_per_request() {
        parts.push(quantity(ns, Unit::CpuNanosecondsPerRequest));
    }
    parts.push(format!("busy {}", percent(figures.busy_share().min(1.0))));
    parts
}
