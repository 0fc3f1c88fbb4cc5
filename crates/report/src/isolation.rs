//! A test of isolation in words that every form of the report shares.

use gatebench_analysis::findings::{
    Comparison, IsolationCounts, IsolationFindings, IsolationMeasure, Verdict,
};
use gatebench_analysis::words::{capitalised, grouped, ratio_and_interval};

use crate::verdicts;

/// The heading.
pub const TITLE: &str = "Isolation";

/// The section of docs/METHOD.md that says how it is computed.
pub const METHOD: &str = "Isolation";

/// How to read it.
pub const EXPLANATION: &str = "The good group beside failing groups, over the same group beside healthy ones, at the same \
     rates, paired by blocks of fresh processes; beside itself stands the healthy run once more, which is the noise of this \
     machine.";

/// A measure as the cells of a row.
pub struct Line {
    /// Its name.
    pub title: String,
    /// The verdict.
    pub verdict: &'static str,
    /// Which colour it is told in.
    pub class: &'static str,
    /// Beside failing ÷ beside healthy.
    pub ratio: String,
    /// Beside healthy ÷ beside healthy.
    pub own: String,
    /// Blocks that both have.
    pub blocks: usize,
    /// Whether it decides.
    pub decides: bool,
}

/// The rows of a test.
pub fn lines(found: &IsolationFindings) -> Vec<Line> {
    found.measures.iter().map(line).collect()
}

fn line(measure: &IsolationMeasure) -> Line {
    let told = |it: &Comparison| match ratio_and_interval(it) {
        (ratio, interval) if interval.is_empty() => ratio,
        (ratio, interval) => format!("{ratio} ({interval})"),
    };
    Line {
        title: capitalised(measure.title),
        verdict: verdicts::word(measure.result.verdict),
        class: match measure.result.verdict {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoChange => "same",
            Verdict::Inconclusive { .. } | Verdict::TooFewBlocks { .. } => "open",
        },
        ratio: told(&measure.result),
        own: measure.own.as_ref().map(told).unwrap_or_default(),
        blocks: measure.blocks.len(),
        decides: measure.decides,
    }
}

/// What became of the good group's requests on one side.
pub fn counts(counts: IsolationCounts) -> String {
    format!(
        "{} answers, {} failed a check, {} without an answer, {} never sent",
        grouped(counts.answers as f64),
        grouped(counts.checks_failed as f64),
        grouped(counts.errors as f64),
        grouped(counts.dropped as f64)
    )
}
