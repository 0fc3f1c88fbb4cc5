//! Verdicts in words, the same in every report.

use gatebench_analysis::findings::{ComparisonFindings, ScenarioFindings, Validity, Verdict};

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
