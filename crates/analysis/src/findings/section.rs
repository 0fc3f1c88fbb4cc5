//! What only some runs measure.

use serde::Serialize;

use super::DocumentTable;

/// A part of a report that only some runs have.
#[derive(Clone, Debug, Serialize)]
pub struct SectionFindings {
    /// What it is called in links, a word.
    pub id: &'static str,
    /// Its heading.
    pub heading: &'static str,
    /// How its table is read.
    pub explanation: &'static str,
    /// Its table.
    pub table: DocumentTable,
    /// Its graphs, which are files of their own beside the page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<FlameGraph>,
}

/// Stacks of functions, as wide as what they use.
#[derive(Clone, Debug, Serialize)]
pub struct FlameGraph {
    /// The file that it is drawn to, in the run directory.
    pub file: String,
    /// Whose it is.
    pub title: String,
    /// How it is read.
    pub text: String,
    /// A line for each stack: its functions from the outermost on, between semicolons, and its width in nanoseconds
    /// of CPU time per request; in a difference two widths, first the one that it is compared with.
    #[serde(skip)]
    pub stacks: Vec<String>,
}
