//! A run in a document's columns as CSV: a line for each cell, in base units. A cell of words, as `100 %` of checks,
//! has them in the last column and no numbers.

use gatebench_analysis::findings::{DocumentCell, DocumentFindings};

use crate::csv::{Sheet, field, suffix};

const HEAD: [&str; 14] = [
    "table",
    "row",
    "variant",
    "group",
    "column",
    "unit",
    "median",
    "min",
    "max",
    "blocks",
    "validity",
    "interval_low",
    "interval_high",
    "words",
];

/// Writes every cell that has a value.
pub fn render(found: &DocumentFindings) -> String {
    let mut sheet = Sheet::new(HEAD);
    for table in &found.tables {
        let columns: Vec<_> = table
            .groups
            .iter()
            .flat_map(|group| {
                group
                    .columns
                    .iter()
                    .map(move |column| (&*group.title, column))
            })
            .collect();
        for row in &table.rows {
            for ((group, column), cell) in columns.iter().zip(&row.cells) {
                if cell.estimate.is_none() && cell.words.is_none() {
                    continue;
                }
                let head = column.head.join(" ");
                let place = [&*table.title, &row.name, &row.variant, group, head.trim()];
                let [table, name, variant, group, column_name] = place.map(field);
                let unit = suffix(column.unit).to_owned();
                let [median, min, max, blocks, validity, low, high, words] = values(cell);
                sheet.push([
                    table,
                    name,
                    variant,
                    group,
                    column_name,
                    unit,
                    median,
                    min,
                    max,
                    blocks,
                    validity,
                    low,
                    high,
                    words,
                ]);
            }
        }
    }
    sheet.into_text()
}

/// The fields after the unit.
fn values(cell: &DocumentCell) -> [String; 8] {
    let validity = cell.validity.map_or("", crate::problems::word).to_owned();
    let words = cell.words.as_deref().map(field).unwrap_or_default();
    let estimate = cell.estimate.as_ref();
    let [median, min, max, blocks] = estimate.map_or_else(Default::default, |it| {
        [
            it.median.to_string(),
            it.min.to_string(),
            it.max.to_string(),
            it.blocks.to_string(),
        ]
    });
    let interval = estimate.and_then(|it| it.interval);
    let [low, high] = interval.map_or_else(Default::default, |it| {
        [it.low.to_string(), it.high.to_string()]
    });
    [median, min, max, blocks, validity, low, high, words]
}
