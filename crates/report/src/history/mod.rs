//! The history of a folder of runs: for a terminal, as a page and as JSON.

mod html;
mod terminal;

use gatebench_analysis::findings::HistoryFindings;

use crate::json::document;

pub use html::render as html;
pub use terminal::render as terminal;

/// Writes the history as JSON, indented, with a line break at the end.
pub fn json(findings: &HistoryFindings) -> String {
    document(findings)
}

/// What changes are, in a sentence for whoever did not choose the method.
const EXPLANATION: &str = "A change is one that random orders of the runs hardly show (e-divisive, blocks of runs in any order) \
     at several looks in a row: over all series and all looks together, one is reported by chance in 5 of 100 histories. The \
     floor's change is removed first. Runs on another machine, or under another load, are a series of their own.";
