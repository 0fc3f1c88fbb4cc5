//! The findings of an audit.

use serde::Serialize;

/// How far a finding puts the document's figures in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It cannot be true.
    Impossible,
    /// It may be true, but does not mean what a reader takes it for.
    Misleading,
    /// A figure or a fact that a reader needs is missing.
    Missing,
}

/// The unit of a place's number.
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
    /// The word before the number.
    pub fn word(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Item => "item",
        }
    }
}

/// A cell that a finding rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Line or item of its row, from 1.
    pub line: usize,
    /// The label of its row, or `row 5` where the table has none.
    pub row: String,
    /// Its column, as it is headed.
    pub column: String,
    /// Its text, as the document has it.
    pub written: String,
}

/// One thing that is wrong with a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The rule that found it: a short name that stays the same.
    pub rule: &'static str,
    pub severity: Severity,
    /// The heading above the table.
    pub table: String,
    /// Line or item of the row, or of the first of several rows; of the headings where the whole
    /// table is meant. From 1.
    pub line: usize,
    /// The unit of `line`.
    pub numbering: Numbering,
    /// The row, where one is meant.
    pub row: Option<String>,
    /// The columns, as they are headed.
    pub columns: Vec<String>,
    /// Every cell that the finding rests on; empty only where something is missing from the table.
    pub cells: Vec<Cell>,
    /// The mistake, with its figures.
    pub says: String,
}

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Audit {
    /// Tables and printed results that were judged.
    pub tables: usize,
    /// Their rows.
    pub rows: usize,
    /// Tables that have neither times nor rates, and say nothing about load.
    pub passed_over: usize,
    /// In the order of the document.
    pub findings: Vec<Finding>,
}
