//! The findings of an audit.

use serde::Serialize;

/// The degree to which a finding casts doubt on the document's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The figures cannot be true.
    Impossible,
    /// The figures may be true, but do not mean what a reader would assume.
    Misleading,
    /// The table does not state a figure or fact that a reader needs.
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
    pub fn word(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Item => "item",
        }
    }
}

/// A cell that a finding is based on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// The line or item of the cell's row, counted from 1.
    pub line: usize,
    /// The label of the cell's row; for the fifth row, `row 5` if it has no label.
    pub row: String,
    pub column: String,
    /// The cell's text in the document, trimmed.
    pub written: String,
}

/// A problem in a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The short, stable name of the rule that found the problem.
    pub rule: &'static str,
    pub severity: Severity,
    /// The heading above a Markdown table, the name of a JSON list or, for the quoted output of a
    /// load tool, a text such as `what wrk printed`; empty if there is none, as in CSV.
    pub table: String,
    /// The line or item of the first row that the finding concerns, counted from 1. For a finding
    /// that concerns the whole table, this is the line of the headings, or the first row if the
    /// table has no line of headings.
    pub line: usize,
    pub numbering: Numbering,
    /// The label of the row, if the finding concerns a single row.
    pub row: Option<String>,
    pub columns: Vec<String>,
    /// All cells that the finding is based on; empty only if the table lacks a fact.
    pub cells: Vec<Cell>,
    pub says: String,
}

/// The findings of an audit, with the numbers of tables and rows that were judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Audit {
    /// The number of tables that were judged, including the quoted output of load tools.
    pub tables: usize,
    pub rows: usize,
    /// The number of tables that were not judged because they contain no times or rates.
    pub passed_over: usize,
    /// The findings, grouped by table and ordered by line within each table. The tables are in
    /// document order, except that the quoted output of load tools comes last.
    pub findings: Vec<Finding>,
}
