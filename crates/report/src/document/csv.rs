//! A run in a document's columns as CSV: a line for each cell, in base units. A cell of words, as `100 %` of checks,
//! has them in the last column and no numbers.

use gatebench_analysis::findings::{DocumentCell, DocumentFindings};

use crate::csv::{field, suffix};

/// Writes every cell that has a value.
pub fn render(found: &DocumentFindings) -> String {
    let mut out = String::from(
        "table,row,variant,group,column,unit,median,min,max,blocks,validity,interval_low,interval_high,words\n",
    );
    for table in &found.tables {
        let columns: Vec<_> = table
            .groups
            .iter()
            .flat_map(|group| group.columns.iter().map(|column| (group.title, column)))
            .collect();
        for row in &table.rows {
            for ((group, column), cell) in columns.iter().zip(&row.cells) {
                if cell.estimate.is_none() && cell.words.is_none() {
                    continue;
                }
                let head = column.head.join(" ");
                let place = [&*table.title, &row.name, &row.variant, group, head.trim()].map(field);
                let unit = suffix(column.unit);
                out.push_str(&format!("{},{unit},{}\n", place.join(","), values(cell)));
            }
        }
    }
    out
}

/// What stands after the unit.
fn values(cell: &DocumentCell) -> String {
    let validity = cell.validity.map_or("", crate::problems::word);
    let words = cell.words.as_deref().map(field).unwrap_or_default();
    let numbers = cell.estimate.as_ref().map(|it| {
        let blocks = format!("{},{},{},{}", it.median, it.min, it.max, it.blocks);
        let interval = it.interval.map(|it| format!("{},{}", it.low, it.high));
        (blocks, interval)
    });
    let (blocks, interval) = numbers.unwrap_or_else(|| (",,,".into(), None));
    let interval = interval.unwrap_or_else(|| ",".into());
    format!("{blocks},{validity},{interval},{words}")
}
