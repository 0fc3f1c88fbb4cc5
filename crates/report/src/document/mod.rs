//! A run in the columns of a published document: for a terminal, as Markdown, as a page, as CSV and as JSON.

mod csv;
mod html;
mod markdown;
mod terminal;

use std::borrow::Cow;

use gatebench_analysis::findings::{
    Correction, DocumentCell, DocumentFindings, DocumentRow, DocumentTable, Estimate, Unit,
    Validity,
};

use crate::json::document;
use crate::number::UnitScale;
use crate::table::{Cell, Column, Group, Lane, Lanes, Row, Table};

pub use csv::render as csv;
pub use html::render as html;
pub use markdown::render as markdown;
pub use terminal::render as terminal;

/// Writes the findings as JSON, indented, with a line break at the end.
pub fn json(findings: &DocumentFindings) -> String {
    document(findings)
}

/// How the tables are read.
const EXPLANATION: &str = "Cells are the median of the blocks with their range. Figures of another machine say nothing \
     beside ours, so what was published stands here only as ratios within its own table; the document's columns are measured as \
     it measures them, ours beside them as they should be.";

/// What stands over the corrections.
const CORRECTIONS: &str = "How this differs from the published table";

/// How corrections are read.
const EFFECT: &str = "Each with its effect on figures of this run (of its first gateway, where rows name none): what the document's way of \
     measuring makes of it, and what was measured.";

/// The table of a document as all tables are laid out.
pub(crate) fn table(found: &DocumentTable) -> Table {
    let row = |row: &DocumentRow| Row {
        validity: row.validity,
        absence: row.absence.clone(),
        ..Row::new(&row.name, &row.variant)
    };
    let mut place = 0;
    let mut lanes = Vec::new();
    for group in &found.groups {
        let mut of_group = Vec::new();
        for column in &group.columns {
            let cells: Vec<&DocumentCell> = found.rows.iter().map(|it| &it.cells[place]).collect();
            let head = column.head.clone().map(Cow::Owned);
            of_group.push(lane(head, column.unit, &cells));
            place += 1;
        }
        lanes.push(Lanes {
            phase: group.title.clone(),
            label: group.label.clone(),
            lanes: of_group,
        });
    }
    Table::of_lanes(found.rows.iter().map(row).collect(), lanes)
}

/// Columns that fit beside each other on a page.
const COLUMNS_MAX: usize = 9;

/// The table, or where it is too wide one for each kind of columns, one below the other.
fn parts(found: &DocumentTable) -> Vec<Table> {
    let whole = table(found);
    let columns: usize = whole.groups.iter().map(|it| it.columns.len()).sum();
    if columns <= COLUMNS_MAX {
        return vec![whole];
    }
    let kinds = whole.groups.chunk_by(|a, b| a.phase == b.phase);
    let mut from = 0;
    let part = |groups: &[Group]| {
        let cells = from..from + groups.len();
        from = cells.end;
        let row = |row: &Row| {
            let cells = row.cells.get(cells.clone()).map(<[_]>::to_vec);
            let cells = cells.unwrap_or_default();
            Row {
                validity: row.validity.map(|_| worst(&cells)),
                cells,
                ..row.clone()
            }
        };
        Table {
            groups: groups.to_vec(),
            rows: whole.rows.iter().map(row).collect(),
        }
    };
    kinds.map(part).collect()
}

/// The worst of what stands in cells.
fn worst(cells: &[Vec<Cell>]) -> Validity {
    let of = |cell: &Cell| match cell {
        Cell::Invalid => Validity::Invalid,
        Cell::Value { limited: true, .. } => Validity::Limited,
        Cell::Empty | Cell::Absent(_) | Cell::Value { .. } => Validity::Valid,
    };
    let all = cells.iter().flatten().map(of);
    all.max().unwrap_or(Validity::Valid)
}

fn lane(head: [Cow<'static, str>; 2], unit: Unit, cells: &[&DocumentCell]) -> Lane {
    let medians = cells.iter().filter_map(|cell| cell.median());
    let scale = UnitScale::of_all(medians, unit);
    let column = Column { head, scale };
    Lane {
        cells: cells.iter().map(|it| cell(it, scale)).collect(),
        column,
    }
}

fn cell(found: &DocumentCell, scale: UnitScale) -> Cell {
    if let Some(words) = &found.words {
        return Cell::words(words.clone());
    }
    let Some(validity) = found.validity else {
        return Cell::Empty;
    };
    match &found.estimate {
        Some(estimate) if estimate.interval.is_some() => with_interval(estimate, validity, scale),
        estimate => Cell::of(estimate.as_ref(), validity, scale),
    }
}

/// The interval takes the place of the range, where there is one.
fn with_interval(estimate: &Estimate, validity: Validity, scale: UnitScale) -> Cell {
    let range = estimate.interval.map_or_else(String::new, |interval| {
        format!(
            "{}–{}",
            scale.number(interval.low),
            scale.number(interval.high)
        )
    });
    Cell::Value {
        median: scale.number(estimate.median),
        range,
        limited: validity == Validity::Limited,
    }
}

/// The effect of a correction: both figures of each row, and the one over the other.
fn effects(found: &Correction) -> Table {
    let value = |value: f64, scale: UnitScale| Cell::words(scale.number(value));
    let both = found.rows.iter().flat_map(|it| [it.their_way, it.measured]);
    let scale = UnitScale::of_all(both, found.unit);
    let ratio = UnitScale::of(1.0, Unit::Ratio);
    let ratios = found.rows.iter().map(|it| match it.ratio {
        Some(it) => value(it, ratio),
        None => Cell::Empty,
    });
    let lane = |head: &str, scale, cells| Lane {
        column: Column {
            head: [Cow::Owned(head.to_owned()), Cow::Borrowed("")],
            scale,
        },
        cells,
    };
    let cells = |of: fn(&gatebench_analysis::findings::CorrectionRow) -> f64, scale| {
        found.rows.iter().map(|it| value(of(it), scale)).collect()
    };
    let lanes = Lanes {
        phase: String::new(),
        label: String::new(),
        lanes: vec![
            lane(&found.heads[0], scale, cells(|it| it.their_way, scale)),
            lane(&found.heads[1], scale, cells(|it| it.measured, scale)),
            lane("÷", ratio, ratios.collect()),
        ],
    };
    let rows = found.rows.iter().map(|it| Row::new(&it.name, "")).collect();
    Table::of_lanes(rows, vec![lanes])
}

/// `limited`, with the rows, what was seen and what to do.
fn doubt(found: &gatebench_analysis::findings::DocumentDoubt) -> [String; 2] {
    const ROWS_MAX: usize = 3;
    let mut rows = found
        .rows
        .iter()
        .take(ROWS_MAX)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    if found.rows.len() > ROWS_MAX {
        rows.push_str(&format!("; and {} more", found.rows.len() - ROWS_MAX));
    }
    [rows, format!("{} {}", found.message, found.remedy)]
}
