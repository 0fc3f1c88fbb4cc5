//! The findings of an audit.

use serde::Serialize;

/// How far a finding puts the document's figures in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The figures cannot be true.
    Impossible,
    /// The figures may be true, but do not mean what a reader would assume.
    Misleading,
    /// The document does not state a figure or fact that a reader needs.
    Missing,
}

/// The unit in which positions are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Numbering {
    /// Lines of the document.
    #[default]
    Line,
    /// Items of a JSON list, which may all be on one line.
    Item,
}

impl Numbering {
    /// The word to print before the number.
    pub fn word(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Item => "item",
        }
    }
}

/// A cell on which a finding is based.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// The line or item of the cell's row, counted from 1.
    pub line: usize,
    /// The label of the cell's row, or `row 5` if the table has no labels.
    pub row: String,
    /// The heading of the cell's column.
    pub column: String,
    /// The cell's text in the document.
    pub written: String,
}

/// A problem in a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The short, stable name of the rule that found the problem.
    pub rule: &'static str,
    pub severity: Severity,
    /// The heading above the table.
    pub table: String,
    /// The line or item of the first row that the finding concerns, or of the headings if it
    /// concerns the whole table. Counted from 1.
    pub line: usize,
    /// The unit of `line`.
    pub numbering: Numbering,
    /// The row, if the finding concerns a single row.
    pub row: Option<String>,
    /// The headings of the columns that the finding concerns.
    pub columns: Vec<String>,
    /// All cells on which the finding is based; empty only if the table lacks a fact.
    pub cells: Vec<Cell>,
    /// A description of the problem, with the figures.
    pub says: String,
}

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Audit {
    /// The number of tables that were judged, including the quoted output of load tools.
    pub tables: usize,
    /// The number of rows in these tables.
    pub rows: usize,
    /// The number of tables that were not judged, because they have no times or rates.
    pub passed_over: usize,
    /// The findings in document order.
    pub findings: Vec<Finding>,
}
