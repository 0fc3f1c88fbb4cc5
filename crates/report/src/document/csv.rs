//! A run in a document's columns as CSV: a line for each cell, in base units.

use gatebench_analysis::findings::DocumentFindings;

use crate::csv::{field, suffix};

/// Writes every cell that has a value.
pub fn render(found: &DocumentFindings) -> String {
    let mut out =
        String::from("table,row,variant,group,column,unit,median,min,max,blocks,validity\n");
    for table in &found.tables {
        let columns: Vec<_> = table
            .groups
            .iter()
            .flat_map(|group| group.columns.iter().map(|column| (group.title, column)))
            .collect();
        for row in &table.rows {
            for ((group, column), cell) in columns.iter().zip(&row.cells) {
                let Some(estimate) = &cell.estimate else {
                    continue;
                };
                let validity = cell.validity.map_or("", crate::problems::word);
                let head = column.head.join(" ");
                let words = [&*table.title, &row.name, &row.variant, group, head.trim()].map(field);
                out.push_str(&format!(
                    "{},{},{},{},{},{validity}\n",
                    words.join(","),
                    suffix(column.unit),
                    estimate.median,
                    format_args!("{},{}", estimate.min, estimate.max),
                    estimate.blocks
                ));
            }
        }
    }
    out
}
