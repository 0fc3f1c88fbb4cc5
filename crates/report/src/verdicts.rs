//! The text of verdicts, which is the same in every report.

use gatebench_stats::{Comparison, Verdict};

use crate::Validity;
use crate::chapter::Text;
use crate::format::ratio_and_interval;

pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NoChange => "no change",
        Verdict::Inconclusive { .. } => "inconclusive",
        Verdict::TooFewBlocks { .. } => "too few blocks",
    }
}

pub fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NoChange => "same",
        Verdict::Inconclusive { .. } | Verdict::TooFewBlocks { .. } => "open",
    }
}

pub fn chip(verdict: Verdict) -> Text {
    Text::chip(class(verdict), word(verdict))
}

/// Returns the text, followed by the validity in color unless it is valid.
pub fn with_validity(words: &str, validity: Validity) -> Text {
    match (validity, validity.word()) {
        (Validity::Valid, _) => words.into(),
        (_, word) => Text::from(format!("{words} ")).and_styled(&format!("chip {word}"), word),
    }
}

/// Formats the ratio of a comparison, with its interval if it has one.
pub fn ratio(found: &Comparison) -> String {
    match ratio_and_interval(found) {
        (ratio, interval) if interval.is_empty() => ratio,
        (ratio, interval) => format!("{ratio} ({interval})"),
    }
}
