//! Examines a published table of results for impossible figures, misleading figures and missing
//! information.
//!
//! Only tables and the quoted output of wrk and siege are judged. Nothing is measured again, and
//! the only other text that matters is the heading above a table, which may name a load tool. The
//! rules report figures that contradict each other or arithmetic (Little's law, the order of
//! percentiles, the bounds that percentiles impose on a mean), figures that look like artifacts,
//! and missing information.

mod finding;
mod heading;
mod quantity;
mod read;
mod rules;
mod table;
mod tool;

use std::fmt;

pub use finding::{Audit, Cell, Finding, Numbering, Severity};
pub use read::Form;

/// The reason why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditError {
    pub line: usize,
    pub what: String,
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for AuditError {}

/// Judges every table that contains times or rates.
///
/// # Errors
/// Fails if the text is not valid CSV or JSON. Any text is valid Markdown.
pub fn audit(text: &str, form: Form) -> Result<Audit, AuditError> {
    let (judged, other): (Vec<_>, Vec<_>) = read::tables(text, form)?
        .into_iter()
        .partition(table::Table::is_about_load);
    Ok(Audit {
        tables: judged.len(),
        rows: judged.iter().map(|it| it.rows.len()).sum(),
        passed_over: other.len(),
        findings: judged.iter().flat_map(rules::judge).collect(),
    })
}

/// Judges figures that gatebench measured but has not yet written to a document. Write cells and
/// headings as in a document, with units. Mean times must cover exactly the requests sent, and the
/// number of users must be the limit on requests in flight.
pub fn audit_rows(title: &str, headings: &[String], rows: Vec<Vec<String>>) -> Vec<Finding> {
    rules::judge(&table::Table {
        mean: tool::Mean::OfSent,
        ..table::Table::of(title, headings, (1..).zip(rows).collect())
    })
}
