//! The common layout of a table for the terminal, Markdown and HTML: the columns, their units, and
//! the content of each cell.

use gatebench_stats::Estimate;

use crate::format::{Unit, UnitScale, grouped};
use crate::validity::Validity;

/// A table of medians and ranges.
#[derive(Clone, Debug)]
pub struct Table {
    /// The columns of each phase, from left to right.
    pub groups: Vec<Group>,
    /// One row for each variant, part of a variant, or other subject.
    pub rows: Vec<Row>,
}

/// Columns that belong together.
#[derive(Clone, Debug)]
pub struct Group {
    /// The name of the phase, or of another property that the columns share.
    pub phase: String,
    /// Text that distinguishes the group, such as its load; may be empty.
    pub label: String,
    /// At least one column.
    pub columns: Vec<Column>,
}

/// A quantity that each row shows, with its unit.
#[derive(Clone, Debug)]
pub struct Column {
    /// The two lines of the header: the name, and text that distinguishes columns of the same name.
    pub head: [String; 2],
    pub scale: UnitScale,
}

/// A column of cells, from top to bottom.
pub struct Lane {
    pub column: Column,
    pub cells: Vec<Cell>,
}

/// A group of columns whose cells are not yet distributed among the rows.
pub struct Lanes {
    /// The name of the phase, or of another property that the columns share.
    pub phase: String,
    /// Text that distinguishes the group, such as its load; may be empty.
    pub label: String,
    pub lanes: Vec<Lane>,
}

/// The row of a variant, of a part of a variant, or of another subject.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: String,
    /// Text that explains the name; the page shows it below the name, and Markdown after it.
    pub note: Option<&'static str>,
    /// The label of the variant, which determines the color.
    pub variant: String,
    /// The validity of the variant's trials or of the row's figures, if the row states it.
    pub validity: Option<Validity>,
    /// The text that replaces the cells if nothing was measured.
    pub absence: Option<String>,
    /// The cells of each group, one for each column.
    pub cells: Vec<Vec<Cell>>,
}

/// The content of a cell, or the reason why it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// There is no value. For example, the direct variant has no gateway and therefore no CPU time
    /// of a gateway.
    Empty,
    /// The value was measured, but no block is usable.
    Invalid,
    /// There is no value, for the reason given.
    Absent(&'static str),
    Value {
        median: String,
        /// The range, such as `39.8–41.6k`; empty for a single block.
        range: String,
        /// True if something other than the gateway limited this value.
        limited: bool,
        /// True if, according to the verdicts, the value is better than all others in its column.
        best: bool,
    },
}

impl Cell {
    /// Returns the cell of an estimate. Without one, the cell is invalid or empty, depending on the
    /// validity.
    pub fn of(estimate: Option<&Estimate>, validity: Validity, scale: UnitScale) -> Self {
        let Some(estimate) = estimate else {
            return match validity {
                Validity::Invalid => Self::Invalid,
                _ => Self::Empty,
            };
        };
        let range = match estimate.blocks {
            0 | 1 => String::new(),
            _ => scale.range(estimate.min, estimate.max),
        };
        Self::value(scale.number(estimate.median), range, validity)
    }

    pub fn value(median: String, range: String, validity: Validity) -> Self {
        let limited = validity == Validity::Limited;
        Self::Value {
            median,
            range,
            limited,
            best: false,
        }
    }

    pub fn mark_best(&mut self) {
        if let Self::Value { best, .. } = self {
            *best = true;
        }
    }

    /// Returns a valid cell without a range.
    pub fn words(median: String) -> Self {
        Self::value(median, String::new(), Validity::Valid)
    }

    /// Returns the median or its replacement, followed by the symbols.
    pub fn mark(&self) -> String {
        format!("{}{}", self.median(), self.signs())
    }

    pub fn median(&self) -> &str {
        match self {
            Self::Empty => "–",
            Self::Invalid => "invalid",
            Self::Absent(why) => why,
            Self::Value { median, .. } => median,
        }
    }

    /// Returns an asterisk if the median is limited, and a check mark if it is the best.
    pub fn signs(&self) -> &'static str {
        let Self::Value { limited, best, .. } = self else {
            return "";
        };
        match (limited, best) {
            (true, true) => "*✓",
            (true, false) => "*",
            (false, true) => "✓",
            (false, false) => "",
        }
    }

    pub fn range(&self) -> &str {
        match self {
            Self::Value { range, .. } => range,
            Self::Empty | Self::Invalid | Self::Absent(_) => "",
        }
    }
}

impl Row {
    pub fn new(name: impl Into<String>, variant: &str) -> Self {
        Self {
            name: name.into(),
            note: None,
            variant: variant.to_owned(),
            validity: None,
            absence: None,
            cells: Vec::new(),
        }
    }
}

impl Column {
    /// Creates a column whose header has one line.
    pub fn named(head: &str, scale: UnitScale) -> Self {
        Self::new([head, ""], scale)
    }

    pub fn new(head: [&str; 2], scale: UnitScale) -> Self {
        let head = head.map(str::to_owned);
        Self { head, scale }
    }

    /// Returns the header and the unit on one line.
    pub fn title(&self) -> String {
        let name = self.head.join(" ");
        let unit = match self.scale.unit {
            "" => String::new(),
            unit => format!(", {unit}"),
        };
        format!("{}{unit}", name.trim())
    }

    /// Returns the second line of the header, followed by the unit.
    pub fn subhead(&self) -> String {
        format!("{} {}", self.head[1], self.scale.unit)
            .trim()
            .into()
    }
}

impl Lanes {
    pub fn new(phase: &str, label: &str, lanes: Vec<Lane>) -> Self {
        Self {
            phase: phase.to_owned(),
            label: label.to_owned(),
            lanes,
        }
    }
}

impl Lane {
    /// Returns a column of estimates on a common scale. A row whose entry is `None` gets an empty
    /// cell; [`Cell::of`] determines the other cells.
    pub fn of<'a>(
        head: [&'static str; 2],
        unit: Unit,
        found: impl Iterator<Item = Option<(Option<&'a Estimate>, Validity)>>,
    ) -> Self {
        let found: Vec<_> = found.collect();
        let medians = found.iter().flatten().filter_map(|(estimate, _)| *estimate);
        let scale = UnitScale::of_all(medians.map(|estimate| estimate.median), unit);
        Self::in_scale(head, scale, found)
    }

    pub fn in_scale(
        head: [&'static str; 2],
        scale: UnitScale,
        found: Vec<Option<(Option<&Estimate>, Validity)>>,
    ) -> Self {
        let cell = |(estimate, validity)| Cell::of(estimate, validity, scale);
        let cells = found.into_iter().map(|it| it.map_or(Cell::Empty, cell));
        Self {
            cells: cells.collect(),
            column: Column::new(head, scale),
        }
    }

    pub fn counts(head: [&'static str; 2], counts: impl Iterator<Item = Option<u64>>) -> Self {
        let cell =
            |it: Option<u64>| it.map_or(Cell::Empty, |count| Cell::words(grouped(count as f64)));
        Self {
            column: Column::new(head, UnitScale::of(0.0, Unit::Count)),
            cells: counts.map(cell).collect(),
        }
    }
}

impl Table {
    /// Distributes the cells of the columns among the rows, which must not have cells yet. Groups
    /// without columns are left out.
    pub fn of_lanes(mut rows: Vec<Row>, lanes: Vec<Lanes>) -> Self {
        let filled = lanes.into_iter().filter(|it| !it.lanes.is_empty());
        let group = |group: Lanes| {
            for (index, row) in rows.iter_mut().enumerate() {
                let cells = group.lanes.iter().map(|lane| lane.cells[index].clone());
                row.cells.push(cells.collect());
            }
            Group {
                phase: group.phase,
                label: group.label,
                columns: group.lanes.into_iter().map(|lane| lane.column).collect(),
            }
        };
        Self {
            groups: filled.map(group).collect(),
            rows,
        }
    }

    /// Returns a separate table for each group of columns, because the groups side by side would be
    /// too wide.
    pub fn by_phase(self) -> Vec<Self> {
        let Self { groups, rows } = self;
        let of_phase = |(index, group): (usize, Group)| {
            let row = |row: &Row| Row {
                cells: vec![row.cells[index].clone()],
                ..row.clone()
            };
            Self {
                rows: rows.iter().map(row).collect(),
                groups: vec![group],
            }
        };
        groups.into_iter().enumerate().map(of_phase).collect()
    }

    /// Reports whether any cell is limited and the mark therefore needs an explanation.
    pub fn has_limits(&self) -> bool {
        let mut cells = self.rows.iter().flat_map(|row| row.cells.iter().flatten());
        cells.any(|cell| matches!(cell, Cell::Value { limited: true, .. }))
    }
}
