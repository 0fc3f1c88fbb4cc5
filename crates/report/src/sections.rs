//! What only some runs measure: a heading, how to read it, a table.

use gatebench_analysis::findings::SectionFindings;

use crate::document;
use crate::table::Table;

/// The heading over the table.
pub fn title(found: &SectionFindings) -> String {
    format!("{} · {}", found.heading, found.table.title)
}

/// The table.
pub fn table(found: &SectionFindings) -> Table {
    document::table(&found.table)
}
