//! The first lines and the last ones: what it was, what it came to, what must be thought of.

use gatebench_analysis::findings::Unit;
use gatebench_analysis::words::{grouped, quantity};
use gatebench_engine::Class;

use super::super::judged::{Judged, percent};
use super::super::results::Results;
use super::super::validity::Caution;
use super::paint::Paint;
use crate::terminal::wrapped;

/// Target, load, and the result in a sentence.
pub fn lines(results: &Results<'_>, paint: Paint, width: usize) -> Vec<String> {
    let figures = &results.figures;
    let mut lines = vec![
        paint.title(&wrapped(&results.target, width, 2)),
        wrapped(&results.load, width, 2),
        String::new(),
    ];
    if figures.ended() == 0 {
        lines.push(paint.bad(&format!(
            "No {} ended in the measured time.",
            results.unit()
        )));
        return lines;
    }
    let interrupted = if figures.outcome.interrupted {
        "Interrupted: "
    } else {
        ""
    };
    let said = format!(
        "{interrupted}{} in {}, {}",
        counted(figures.ended(), results.unit()),
        quantity(figures.window_s * 1e9, Unit::Nanoseconds),
        per_second(results)
    );
    let (bad, words) = goodness(results);
    let words = if bad {
        paint.bad(&words)
    } else {
        paint.good(&words)
    };
    lines.push(format!("{}, {words}", paint.title(&said)));
    lines
}

fn counted(count: u64, unit: &str) -> String {
    match count {
        1 => format!("1 {unit}"),
        count => format!("{} {unit}s", grouped(count as f64)),
    }
}

fn per_second(results: &Results<'_>) -> String {
    let rate = results.figures.rate_per_second();
    if results.sends_requests() {
        quantity(rate, Unit::RequestsPerSecond)
    } else {
        format!("{} connections/s", grouped(rate))
    }
}

/// Whether something failed, and what in words.
fn goodness(results: &Results<'_>) -> (bool, String) {
    let figures = &results.figures;
    let all = figures.ended();
    let failed = figures.failed();
    if failed == 0 && !results.sends_requests() {
        return (false, "all made".into());
    }
    if failed == 0 {
        let words = match (figures.checked, figures.answers(Class::Success) == all) {
            (true, _) => "all answered and all checks passed",
            (false, true) => "all answered with 2xx",
            (false, false) => "all answered with 2xx or 3xx",
        };
        return (false, words.into());
    }
    let share = percent(failed as f64 / all as f64);
    (true, format!("{} ({share}) failed", grouped(failed as f64)))
}

/// The thresholds.
pub fn judged(results: &Results<'_>, paint: Paint, width: usize) -> Vec<String> {
    let texts = results.judged.iter().map(|it| it.text.chars().count());
    let column = texts.max().unwrap_or(0);
    let line = |it: &Judged| {
        let mark = if it.held {
            paint.good("✓")
        } else {
            paint.bad("✗")
        };
        let state = if it.held { "kept" } else { "not kept" };
        let rest = wrapped(
            &format!("{state}: {}", it.words),
            width - 4 - column,
            column + 4,
        );
        format!("{mark} {:<column$}  {rest}", it.text)
    };
    let lines: Vec<String> = results.judged.iter().map(line).collect();
    titled("Thresholds", lines, paint)
}

/// What limits the figures, and what to do.
pub fn cautions(results: &Results<'_>, paint: Paint, width: usize) -> Vec<String> {
    let one = |it: &Caution| {
        let what = wrapped(&it.message, width - 4, 2);
        let remedy = wrapped(&it.remedy, width - 6, 6);
        format!("{} {what}\n    → {remedy}", paint.caution("!"))
    };
    titled(
        "Validity",
        results.cautions.iter().map(one).collect(),
        paint,
    )
}

fn titled(title: &str, lines: Vec<String>, paint: Paint) -> Vec<String> {
    if lines.is_empty() {
        return lines;
    }
    std::iter::once(paint.title(title)).chain(lines).collect()
}
