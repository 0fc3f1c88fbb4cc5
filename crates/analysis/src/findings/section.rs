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
}
