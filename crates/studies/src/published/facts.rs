//! A run in the columns of a published document, and the corrections.

use gatebench_report::figures::FigureTable;
use gatebench_report::{Unit, Validity};
use serde::Serialize;

/// A run in the columns of a published document.
#[derive(Clone, Debug, Serialize)]
pub struct DocumentFindings {
    /// Its name on the command line: `soap`.
    pub document: String,
    /// A description.
    pub title: String,
    /// The machine and software of the measurement, as a sentence.
    pub setting: String,
    /// The suite that has its scenarios.
    pub suite: String,
    /// The command line that repeats the run, quoted for a shell.
    pub command: String,
    /// Version of the gatebench that measured.
    pub gatebench: String,
    /// The tables; those of which the run has nothing are named in the notes.
    pub tables: Vec<FigureTable>,
    /// Notes: the parts that the run lacks, and the limits of the others.
    pub notes: Vec<String>,
    /// The reasons that make figures of these tables limited or invalid, each once.
    pub doubts: Vec<DocumentDoubt>,
    /// The differences in method from the document, with their effects on this run's figures.
    pub corrections: Vec<Correction>,
}

/// Why figures of the tables are limited or invalid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DocumentDoubt {
    /// Its severity.
    pub validity: Validity,
    /// Which rows it concerns.
    pub rows: Vec<String>,
    /// The observation in the first of them, as a sentence.
    pub message: String,
    /// The remedy, as a sentence.
    pub remedy: String,
}

/// Something that is done otherwise than in the document.
#[derive(Clone, Debug, Serialize)]
pub struct Correction {
    /// The subject.
    pub title: String,
    /// The method of the document, and the meaning of its figures that follows from it.
    pub published: String,
    /// The method of gatebench.
    pub here: String,
    /// The heads of the two figures of each row: by the document's method, and as measured.
    pub heads: [String; 2],
    /// Their unit.
    pub unit: Unit,
    /// The effect on this run's figures.
    pub rows: Vec<CorrectionRow>,
    /// Why there are no rows.
    pub untold: Option<String>,
}

/// The effect of a correction on one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CorrectionRow {
    /// Which row.
    pub name: String,
    /// The figure of this run by the document's method.
    pub their_way: f64,
    /// The figure as measured.
    pub measured: f64,
    /// The one over the other; none if nothing was measured.
    pub ratio: Option<f64>,
}
