//! Verdicts in words, the same in every report.

use gatebench_analysis::findings::{
    Comparison, ComparisonFindings, Decision, ScenarioFindings, Validity, Verdict,
};
use gatebench_analysis::format::ratio_and_interval;

use crate::chapter::Text;

/// A verdict in a word or two.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NoChange => "no change",
        Verdict::Inconclusive { .. } => "inconclusive",
        Verdict::TooFewBlocks { .. } => "too few blocks",
    }
}

/// The class of a verdict on the page.
pub fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NoChange => "same",
        Verdict::Inconclusive { .. } | Verdict::TooFewBlocks { .. } => "open",
    }
}

/// A verdict in the colour of its class.
pub fn chip(verdict: Verdict) -> Text {
    Text::chip(class(verdict), word(verdict))
}

/// The ratio of a comparison, with its interval if it has one.
pub fn ratio(found: &Comparison) -> String {
    match ratio_and_interval(found) {
        (ratio, interval) if interval.is_empty() => ratio,
        (ratio, interval) => format!("{ratio} ({interval})"),
    }
}

/// The sign of a decision in a pull request.
pub fn mark(decision: Decision) -> &'static str {
    match decision {
        Decision::Fine => "✅",
        Decision::Worse => "❌",
        Decision::Open => "❔",
    }
}

/// The load that a metric was compared at.
pub fn load<'a>(scenario: &'a ScenarioFindings, found: &'a ComparisonFindings) -> &'a str {
    scenario.load(&found.phase).unwrap_or(&found.phase)
}

/// The number of blocks that were paired; marked where some of them are limited.
pub fn blocks(found: &ComparisonFindings) -> String {
    let mark = if found.validity == Validity::Limited {
        "*"
    } else {
        ""
    };
    format!("{}{mark}", found.blocks.len())
}
