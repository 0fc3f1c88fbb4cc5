//! The result of printing a run in the columns of a published document, with the differences in
//! method.

use gatebench_report::figures::FigureTable;
use gatebench_report::{Unit, Validity};
use serde::Serialize;

/// A run in the columns of a published document.
#[derive(Clone, Debug, Serialize)]
pub struct DocumentFindings {
    /// The document's name on the command line, such as `soap`.
    pub document: String,
    pub title: String,
    /// The machine and software of the published measurement, as a sentence.
    pub setting: String,
    /// The suite that contains the document's scenarios.
    pub suite: String,
    /// The command line that repeats the run, quoted for a shell.
    pub command: String,
    /// The version of gatebench that measured the run.
    pub gatebench: String,
    /// The tables that the run has figures for.
    pub tables: Vec<FigureTable>,
    /// Notes on the run's loads and on the document, and on missing tables, rows and columns.
    pub notes: Vec<String>,
    /// The reasons why figures of these tables are limited or invalid, without duplicates.
    pub doubts: Vec<DocumentDoubt>,
    /// The differences in method from the document, with their effects on this run's figures.
    pub corrections: Vec<Correction>,
}

/// A reason why figures of the tables are limited or invalid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DocumentDoubt {
    pub validity: Validity,
    /// The rows that the reason concerns.
    pub rows: Vec<String>,
    /// The observation in the first of these rows, in complete sentences.
    pub message: String,
    pub remedy: String,
}

/// A difference in method from the document.
#[derive(Clone, Debug, Serialize)]
pub struct Correction {
    pub title: String,
    /// The method of the document, and the resulting meaning of its figures.
    pub published: String,
    /// The method of gatebench.
    pub here: String,
    /// The headers of the two figures of each row: by the document's method, and as measured.
    pub heads: [String; 2],
    pub unit: Unit,
    pub rows: Vec<CorrectionRow>,
    /// The reason why there are no rows; `None` if there are rows.
    pub untold: Option<String>,
}

/// The effect of a correction on one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CorrectionRow {
    pub name: String,
    /// The figure of this run by the document's method.
    pub their_way: f64,
    pub measured: f64,
    /// The first figure divided by the second; `None` if the second is 0.
    pub ratio: Option<f64>,
}
