//! A run in the columns of a published document, and what was corrected.

use gatebench_stats::Estimate;
use serde::Serialize;

use super::{Unit, Validity};

/// A run in the columns of a published document.
#[derive(Clone, Debug, Serialize)]
pub struct DocumentFindings {
    /// Its name on the command line: `soap`.
    pub document: String,
    /// What it is.
    pub title: String,
    /// What it was measured on, as a sentence.
    pub setting: String,
    /// The suite that has its scenarios.
    pub suite: String,
    /// The command line that repeats the run, quoted for a shell.
    pub command: String,
    /// Version of the gatebench that measured.
    pub gatebench: String,
    /// The tables; those of which the run has nothing are named in the notes.
    pub tables: Vec<DocumentTable>,
    /// What is not in the run, and what must be known of what is.
    pub notes: Vec<String>,
    /// What makes figures of these tables limited or invalid, each once.
    pub doubts: Vec<DocumentDoubt>,
    /// What is done otherwise than in the document, with the effect that it has on this run's figures.
    pub corrections: Vec<Correction>,
}

/// A table of the document.
#[derive(Clone, Debug, Serialize)]
pub struct DocumentTable {
    /// What it shows, and of which gateway.
    pub title: String,
    /// What the first column is: `scenario`, `connections`.
    pub first: &'static str,
    /// Columns that stand together: the document's, ours, both in ratios.
    pub groups: Vec<DocumentGroup>,
    /// The rows, in the document's order.
    pub rows: Vec<DocumentRow>,
}

/// Columns that stand together.
#[derive(Clone, Debug, Serialize)]
pub struct DocumentGroup {
    /// What they have in common.
    pub title: String,
    /// The load in words, or what the ratios are to.
    pub label: String,
    /// The columns.
    pub columns: Vec<DocumentColumn>,
}

/// A column.
#[derive(Clone, Debug, Serialize)]
pub struct DocumentColumn {
    /// Its head, in up to two lines.
    pub head: [String; 2],
    /// Unit of its values.
    pub unit: Unit,
}

impl DocumentColumn {
    pub(crate) fn new(head: [&str; 2], unit: Unit) -> Self {
        let head = head.map(str::to_owned);
        Self { head, unit }
    }
}

/// A row.
#[derive(Clone, Debug, Serialize)]
pub struct DocumentRow {
    /// What the document calls it.
    pub name: String,
    /// Label of the variant.
    pub variant: String,
    /// Stands in place of the cells where there are none.
    pub absence: Option<String>,
    /// Worst validity of its figures.
    pub validity: Option<Validity>,
    /// A cell for each column of all groups.
    pub cells: Vec<DocumentCell>,
}

/// A cell.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DocumentCell {
    /// Median and range over the blocks; none where it was not measured, or no block may be used.
    pub estimate: Option<Estimate>,
    /// Worst validity of what it is made of; none where it was not measured.
    pub validity: Option<Validity>,
    /// What stands there where it is no number.
    pub words: Option<String>,
}

impl DocumentCell {
    /// One number without a range: a published figure, or a count over all blocks.
    pub(crate) fn of_one(value: Option<f64>) -> Self {
        Self {
            estimate: value.and_then(|value| Estimate::of_blocks(&[value])),
            validity: value.map(|_| Validity::Valid),
            words: None,
        }
    }

    /// The median, where there is one.
    pub fn median(&self) -> Option<f64> {
        Some(self.estimate.as_ref()?.median)
    }
}

/// Why figures of the tables are limited or invalid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DocumentDoubt {
    /// How bad it is.
    pub validity: Validity,
    /// Which rows it concerns.
    pub rows: Vec<String>,
    /// What was seen in the first of them, as a sentence.
    pub message: String,
    /// What to do, as a sentence.
    pub remedy: String,
}

/// Something that is done otherwise than in the document.
#[derive(Clone, Debug, Serialize)]
pub struct Correction {
    /// What it is about.
    pub title: String,
    /// What the document does, and what its figures therefore say.
    pub published: String,
    /// What is done here.
    pub here: String,
    /// What the two figures of each row are: measured as the document does, and as it was.
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
    /// What the document's way of measuring makes of this run.
    pub their_way: f64,
    /// What was measured.
    pub measured: f64,
    /// The one over the other; none where nothing was measured.
    pub ratio: Option<f64>,
}
