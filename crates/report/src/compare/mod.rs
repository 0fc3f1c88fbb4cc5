//! Two runs beside each other, or a run and its baseline: for a terminal, as Markdown, as a page and as JSON.

mod html;
mod markdown;
mod terminal;

use gatebench_analysis::findings::{
    CellFindings, CompareFindings, CompareMode, Control, Validity, Verdict, Weight,
};
use gatebench_analysis::words::{capitalised, metric_title, ratio_and_interval};

use crate::json::document;
use crate::number::Scale;

pub use html::render as html;
pub use markdown::render as markdown;
pub use terminal::render as terminal;

/// Writes the comparison as JSON, indented, with a line break at the end.
pub fn json(findings: &CompareFindings) -> String {
    document(findings)
}

/// `candidate against baseline`, by their names.
fn title(found: &CompareFindings) -> String {
    let baseline: Vec<&str> = found.baseline.iter().map(|run| run.name.as_str()).collect();
    let against = match (found.mode, baseline.as_slice()) {
        (CompareMode::Blocks, [one]) => (*one).to_owned(),
        (_, runs) => format!("a baseline of {}", runs.len()),
    };
    format!("{} against {against}", found.candidate.name)
}

/// What the intervals are, in a sentence for whoever did not choose the method.
fn explanation(mode: CompareMode) -> &'static str {
    match mode {
        CompareMode::Blocks => {
            "Candidate ÷ baseline. The interval holds the true ratio of these two runs in 95 of 100 cases (Welch, on the \
             logarithms of the blocks, widened for the number of comparisons)."
        }
        CompareMode::Runs => {
            "Candidate ÷ the baseline's mean. The interval is as wide as runs of the baseline differ among themselves: what \
             excludes 1 is rarer than 5 in 100 runs without a change (prediction interval, widened for the number of comparisons)."
        }
    }
}

/// A cell in words.
struct Row {
    gateway: String,
    metric: String,
    load: String,
    baseline: String,
    candidate: String,
    ratio: String,
    interval: String,
    verdict: &'static str,
    count: String,
}

fn row(found: &CellFindings, mode: CompareMode) -> Row {
    let (ratio, interval) = ratio_and_interval(&found.result);
    let medians = [found.baseline.median, found.candidate.median];
    let scale = Scale::of_all(medians, found.unit);
    let limited = if found.validity == Validity::Limited {
        "*"
    } else {
        ""
    };
    Row {
        gateway: found.gateway.clone(),
        metric: capitalised(metric_title(found.metric)),
        load: found.load.clone(),
        baseline: scale.full(medians[0]),
        candidate: scale.full(medians[1]),
        ratio,
        interval,
        verdict: verdict(found, mode),
        count: format!(
            "{} / {}{limited}",
            found.baseline.blocks, found.candidate.blocks
        ),
    }
}

/// A verdict in a word or two; a control's says what it tells of the machine.
fn verdict(found: &CellFindings, mode: CompareMode) -> &'static str {
    match (found.result.verdict, found.control, mode) {
        (Verdict::Better | Verdict::Worse, Some(_), _) => "moved",
        (Verdict::NoChange, Some(_), _) => "still",
        (Verdict::TooFewBlocks { .. }, _, CompareMode::Runs) => "too few runs",
        (verdict, _, _) => crate::verdicts::word(verdict),
    }
}

/// What a cell without a judgement is for.
fn role(control: Option<Control>) -> &'static str {
    match control {
        None => "",
        Some(Control::SameGateway) => "unchanged",
        Some(Control::Floor) => "no gateway",
    }
}

fn weight(weight: Weight) -> &'static str {
    match weight {
        Weight::Forbids => "cannot be compared",
        Weight::LeavesOut => "left out",
        Weight::Caution => "caution",
        Weight::Subject => "changed",
        Weight::Told => "differs",
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "–" } else { value }
}

/// The scenarios of the cells, each once, in order.
fn scenarios(found: &CompareFindings) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for cell in &found.cells {
        if !names.contains(&cell.scenario.as_str()) {
            names.push(&cell.scenario);
        }
    }
    names
}
