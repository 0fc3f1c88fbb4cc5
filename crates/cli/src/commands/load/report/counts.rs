//! The counts of a load, one line for each kind.

use gatebench_engine::{Class, ErrorKind};
use gatebench_report::Unit;
use gatebench_report::chapter::{Chapter, Head, Line, Lines, Text};
use gatebench_report::format::{counted, grouped, quantity};

use super::headed;
use crate::commands::load::figures::{Figures, class_word};
use crate::commands::load::judged::percent;
use crate::commands::load::results::Results;

pub fn chapter(results: &Results<'_>) -> Chapter {
    let figures = &results.figures;
    let requests = results.sends_requests();
    let failing_checks = figures.counts().responses_failing_checks > 0;
    let lines = [
        ("Status", requests, false, statuses(figures)),
        ("No response", true, true, errors(&figures.counts().errors)),
        ("Checks", true, failing_checks, checks(figures)),
        ("Arrivals", results.open, false, arrivals(figures)),
        ("Bytes", requests, false, bytes(figures)),
        ("Connections", true, false, connections(figures)),
        ("Load generator", true, false, engine(results)),
    ];
    let lines = lines
        .into_iter()
        .filter(|(_, is_shown, _, parts)| *is_shown && !parts.is_empty())
        .map(|(name, _, failed, parts)| {
            let class = if failed { "failed" } else { "" };
            let words = Text::styled(class, &parts.join(" · "));
            Line {
                brief: vec![words.clone()],
                ..Line::new(name, vec![words.into()])
            }
        });
    let lines = Lines::new("Counts", Head::row("|"), lines);
    headed("Counts", "counts", vec![lines.into()])
}

fn statuses(figures: &Figures<'_>) -> Vec<String> {
    let classes = Class::ALL.into_iter();
    let words = |class: Class| {
        let count = grouped(figures.responses(class) as f64);
        format!("{} {count}{}", class_word(class), codes(figures, class))
    };
    let seen = classes.filter(|class| figures.responses(*class) > 0);
    seen.map(words).collect()
}

/// Formats the statuses of a class: ` (404)`, ` (401 12, 429 3)`; empty if 200 is the only status.
fn codes(figures: &Figures<'_>, class: Class) -> String {
    let statuses = figures.outcome.statuses.iter();
    let of_class: Vec<_> = statuses
        .filter(|(status, _)| Class::of(**status) == class)
        .collect();
    match of_class.as_slice() {
        [] | [(200, _)] => String::new(),
        [(only, _)] => format!(" ({only})"),
        several => {
            let each = several.iter();
            let each = each.map(|(status, count)| format!("{status} {}", grouped(**count as f64)));
            format!(" ({})", Vec::from_iter(each).join(", "))
        }
    }
}

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
    let (passed, all) = (grouped(passed as f64), grouped(counts.completed as f64));
    let mut parts = vec![format!("{passed} of {all} responses passed ({share})")];
    let failed = figures.failed_checks().into_iter();
    let failed = failed.filter(|(_, failed)| *failed > 0);
    parts.extend(failed.map(|(text, failed)| format!("{text}: {} failed", grouped(failed as f64))));
    parts
}

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
        let per_second = size(figures.per_second(bytes));
        format!("{} {word} ({per_second}/s)", size(bytes as f64))
    };
    let mut parts = vec![
        flow(counts.bytes_sent, "sent"),
        flow(counts.bytes_received, "received"),
    ];
    // `bytes_received` and `completed_in_window` count only what arrived within the window.
    if counts.completed_in_window > 0 {
        let each = counts.bytes_received as f64 / counts.completed_in_window as f64;
        parts.push(format!("{} per response", size(each)));
    }
    parts
}

fn connections(figures: &Figures<'_>) -> Vec<String> {
    let opened = figures.counts().connections_opened;
    let mut parts = vec![format!("{} opened", grouped(opened as f64))];
    if figures.outcome.resumed > 0 {
        let resumed = grouped(figures.outcome.resumed as f64);
        parts.push(format!("{resumed} TLS sessions resumed"));
    }
    let failed = errors(&figures.counts().connections_failed);
    if !failed.is_empty() {
        parts.push(format!("failed attempts: {}", failed.join(", ")));
    }
    parts
}

pub fn engine(results: &Results<'_>) -> Vec<String> {
    let figures = &results.figures;
    let workers = counted(figures.outcome.workers.len() as u64, "worker");
    let mut parts = vec![figures.outcome.backend.as_str().to_owned(), workers];
    if let Some(ns) = figures.cpu_ns_per_request() {
        parts.push(quantity(ns, Unit::CpuNanosecondsPerRequest));
    }
    parts.push(format!("busy {}", percent(figures.busy_share().min(1.0))));
    parts
}
