//! Tables in the form that the page's templates use: finished text and CSS classes.

use serde::Serialize;

use crate::Validity;
use crate::palette::Palette;
use crate::table::{Cell, Column, Group, Row, Table};

/// A table in which every cell is finished text.
#[derive(Serialize)]
pub struct TableView {
    groups: Vec<GroupView>,
    rows: Vec<RowView>,
    columns: usize,
    has_limits: bool,
    has_ranges: bool,
}

#[derive(Serialize)]
struct GroupView {
    phase: String,
    label: String,
    columns: Vec<ColumnView>,
}

#[derive(Serialize)]
struct ColumnView {
    head: String,
    unit: &'static str,
}

#[derive(Serialize)]
struct RowView {
    name: String,
    note: Option<&'static str>,
    class: String,
    /// The row's validity; `None` if it is valid or the row does not state it.
    validity: Option<&'static str>,
    absence: Option<String>,
    groups: Vec<Vec<CellView>>,
}

#[derive(Serialize)]
struct CellView {
    mark: String,
    range: String,
    rank: String,
    class: &'static str,
}

pub fn table_view(table: &Table, palette: &Palette) -> TableView {
    let column = |column: &Column| ColumnView {
        head: column.head.join(" ").trim().into(),
        unit: column.scale.unit,
    };
    let group = |group: &Group| GroupView {
        phase: group.phase.clone(),
        // The template prints the name of the phase before the label.
        label: group.label.replace(&format!(" ({})", group.phase), ""),
        columns: group.columns.iter().map(column).collect(),
    };
    let rows = table.rows.iter().map(|row| row_view(row, palette));
    TableView {
        columns: table.groups.iter().map(|group| group.columns.len()).sum(),
        groups: table.groups.iter().map(group).collect(),
        rows: rows.collect(),
        has_limits: table.has_limits(),
        has_ranges: cells(table).any(|cell| !cell.range().is_empty()),
    }
}

fn cells(table: &Table) -> impl Iterator<Item = &Cell> {
    table.rows.iter().flat_map(|row| row.cells.iter().flatten())
}

fn row_view(row: &Row, palette: &Palette) -> RowView {
    let not_valid = row.validity.filter(|validity| *validity != Validity::Valid);
    let groups = row.cells.iter();
    let groups = groups.map(|cells| cells.iter().map(cell_view).collect());
    RowView {
        name: row.name.clone(),
        note: row.note,
        class: palette.class(&row.variant),
        validity: not_valid.map(Validity::word),
        absence: row.absence.clone(),
        groups: groups.collect(),
    }
}

fn cell_view(cell: &Cell) -> CellView {
    // The rank of a cost follows its range: `1.2–1.4 #2`.
    let (range, rank) = cell.range().rsplit_once('#').unwrap_or((cell.range(), ""));
    CellView {
        mark: cell.mark(),
        range: range.trim_end().into(),
        rank: rank.into(),
        class: match cell {
            Cell::Empty | Cell::Absent(_) => "absent",
            Cell::Invalid => "invalid",
            Cell::Value { best: true, .. } => "median best",
            Cell::Value { .. } => "median",
        },
    }
}
