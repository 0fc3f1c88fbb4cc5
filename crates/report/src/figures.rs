//! Tables of figures. A cell contains a number with its unit and range, or text that replaces the
//! number. JSON contains the numbers; the other forms lay them out as an ordinary table.

use gatebench_stats::Estimate;
use serde::Serialize;

use crate::format::{Unit, UnitScale, ends};
use crate::table::{Cell, Column, Lane, Lanes, Row, Table};
use crate::validity::{Validity, estimate_of};

/// A table of figures.
#[derive(Clone, Debug, Serialize)]
pub struct FigureTable {
    pub title: String,
    /// The header of the first column, such as `scenario` or `connections`.
    pub first: &'static str,
    pub groups: Vec<FigureGroup>,
    pub rows: Vec<FigureRow>,
}

/// A group of columns.
#[derive(Clone, Debug, Serialize)]
pub struct FigureGroup {
    pub title: String,
    /// Text that distinguishes the group, such as its variant; may be empty.
    pub label: String,
    pub columns: Vec<FigureColumn>,
}

impl FigureGroup {
    pub fn new(
        title: impl Into<String>,
        label: impl Into<String>,
        columns: impl Into<Vec<FigureColumn>>,
    ) -> Self {
        Self {
            title: title.into(),
            label: label.into(),
            columns: columns.into(),
        }
    }
}

/// The header of a column: a measured quantity with its unit.
#[derive(Clone, Debug, Serialize)]
pub struct FigureColumn {
    pub head: [String; 2],
    pub unit: Unit,
}

impl FigureColumn {
    pub fn new(head: [&str; 2], unit: Unit) -> Self {
        let head = head.map(str::to_owned);
        Self { head, unit }
    }
}

/// A row of cells, in the order of the columns.
#[derive(Clone, Debug, Serialize)]
pub struct FigureRow {
    pub name: String,
    /// The label of the variant, which determines the row's color; may be empty.
    pub variant: String,
    /// The text that a row without cells shows instead.
    pub absence: Option<String>,
    /// The worst validity of the row's figures; `None` if the row does not state it.
    pub validity: Option<Validity>,
    /// The cells of all groups, one for each column.
    pub cells: Vec<FigureCell>,
}

impl FigureRow {
    /// Creates a row that does not state the validity of its cells.
    pub fn new(name: String, variant: &str, cells: Vec<FigureCell>) -> Self {
        Self {
            name,
            variant: variant.to_owned(),
            absence: None,
            validity: None,
            cells,
        }
    }

    /// Creates a row that states the worst validity of its cells, unless all are valid.
    pub fn judged(name: String, variant: &str, cells: Vec<FigureCell>) -> Self {
        let worst = cells.iter().filter_map(|cell| cell.validity).max();
        Self {
            validity: worst.filter(|validity| *validity != Validity::Valid),
            ..Self::new(name, variant, cells)
        }
    }
}

/// A value with its range and validity, or a text; empty if the value was not measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FigureCell {
    /// The median and range over the blocks; `None` if nothing was measured or no block is usable.
    pub estimate: Option<Estimate>,
    /// The worst validity of the usable values: invalid if no block is usable, `None` if nothing
    /// was measured.
    pub validity: Option<Validity>,
    pub words: Option<String>,
}

impl FigureCell {
    /// Creates a cell with a single number without a range: a published figure, or a count over all
    /// blocks.
    pub fn of_one(value: Option<f64>) -> Self {
        Self {
            estimate: value.and_then(|value| Estimate::of_blocks(&[value])),
            validity: value.map(|_| Validity::Valid),
            words: None,
        }
    }

    /// Summarizes the usable values.
    pub fn over(values: impl IntoIterator<Item = (Validity, f64)>) -> Self {
        let (estimate, validity) = estimate_of(values);
        Self {
            estimate,
            validity,
            words: None,
        }
    }

    pub fn median(&self) -> Option<f64> {
        Some(self.estimate.as_ref()?.median)
    }
}

impl FigureTable {
    pub fn laid_out(&self) -> Table {
        let row = |row: &FigureRow| Row {
            validity: row.validity,
            absence: row.absence.clone(),
            ..Row::new(&row.name, &row.variant)
        };
        let mut place = 0;
        let mut lanes = Vec::new();
        for group in &self.groups {
            let mut of_group = Vec::new();
            for column in &group.columns {
                let cells: Vec<&FigureCell> = self.rows.iter().map(|it| &it.cells[place]).collect();
                of_group.push(lane(column, &cells));
                place += 1;
            }
            lanes.push(Lanes::new(&group.title, &group.label, of_group));
        }
        Table::of_lanes(self.rows.iter().map(row).collect(), lanes)
    }
}

fn lane(column: &FigureColumn, cells: &[&FigureCell]) -> Lane {
    let medians = cells.iter().filter_map(|cell| cell.median());
    let scale = UnitScale::of_all(medians, column.unit);
    let head = column.head.clone();
    Lane {
        cells: cells.iter().map(|it| cell(it, scale)).collect(),
        column: Column { head, scale },
    }
}

fn cell(found: &FigureCell, scale: UnitScale) -> Cell {
    if let Some(words) = &found.words {
        return Cell::words(words.clone());
    }
    let Some(validity) = found.validity else {
        return Cell::Empty;
    };
    let estimate = found.estimate.as_ref();
    // An interval replaces the range.
    match estimate.and_then(|it| Some((it.median, it.interval?))) {
        Some((median, interval)) => {
            let interval = ends(&scale.number(interval.low), &scale.number(interval.high));
            Cell::value(scale.number(median), interval, validity)
        }
        None => Cell::of(estimate, validity, scale),
    }
}
