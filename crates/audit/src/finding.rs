//! What is found in a table.

use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It cannot be true.
    Impossible,
    /// It may be true, but does not mean what a reader takes it for.
    Misleading,
    /// What a reader needs to judge the figures is not told.
    Missing,
}

/// One thing that is wrong with a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The rule that found it: a short name that stays the same.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The heading that the table stands under.
    pub table: String,
    /// Line of the document, from 1.
    pub line: usize,
    /// The row, where one is meant.
    pub row: Option<String>,
    /// The columns, as they are headed.
    pub columns: Vec<String>,
    /// What is wrong, with the figures.
    pub says: String,
}

/// What an audit came to.
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
