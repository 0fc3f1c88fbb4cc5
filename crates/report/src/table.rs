//! A table, laid out once for the terminal, Markdown and HTML: which columns there are, in which
//! unit, and the content of each cell.

use std::borrow::Cow;

use gatebench_stats::Estimate;

use crate::format::{Unit, UnitScale, grouped};
use crate::validity::Validity;

/// A table of medians and ranges.
#[derive(Clone, Debug)]
pub struct Table {
    /// The columns of each phase, from left to right.
    pub groups: Vec<Group>,
    /// One row per variant, or per part of one.
    pub rows: Vec<Row>,
}

/// Columns that belong together.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name of the phase, or another common part of the columns.
    pub phase: String,
    /// The load as text.
    pub label: String,
    /// The columns, never none.
    pub columns: Vec<Column>,
}

/// A quantity that each row shows, with its unit.
#[derive(Clone, Debug)]
pub struct Column {
    /// Head: the name, and if needed which of several.
    pub head: [Cow<'static, str>; 2],
    /// The scale of its values.
    pub scale: UnitScale,
}

/// A column with its cells, from top to bottom.
pub struct Lane {
    pub column: Column,
    /// A cell for each row.
    pub cells: Vec<Cell>,
}

/// Lanes that belong together.
pub struct Lanes {
    /// Name of the phase, or another common part.
    pub phase: String,
    /// The load as text.
    pub label: String,
    pub lanes: Vec<Lane>,
}

/// A variant, or a part of it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name: the variant, or the part.
    pub name: String,
    /// Label of the variant, which gives the colour.
    pub variant: String,
    /// Validity of its trials.
    pub validity: Option<Validity>,
    /// The text in place of the cells if nothing was measured.
    pub absence: Option<String>,
    /// The cells of each group, as many as it has columns.
    pub cells: Vec<Vec<Cell>>,
}

/// The content of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing of the kind exists for the variant, as gateway CPU for the direct variant.
    Empty,
    /// It was measured in no block that may be used.
    Invalid,
    /// The reason for an empty cell, in short.
    Absent(&'static str),
    /// Median and range of the blocks.
    Value {
        median: String,
        /// The range, `39.8–41.6k`; empty for a single block.
        range: String,
        /// True if the limit that the row's reasons name applies.
        limited: bool,
        /// True if verdicts find it better than every other one of its column.
        best: bool,
    },
}

impl Cell {
    /// The cell of an estimate. Without an estimate, the validity decides whether the cell is
    /// invalid or empty.
    pub fn of(estimate: Option<&Estimate>, validity: Validity, scale: UnitScale) -> Self {
        let Some(estimate) = estimate else {
            return if validity == Validity::Invalid {
                Self::Invalid
            } else {
                Self::Empty
            };
        };
        let range = match estimate.blocks {
            0 | 1 => String::new(),
            _ => scale.range(estimate.min, estimate.max),
        };
        Self::value(scale.number(estimate.median), range, validity)
    }

    /// The cell of a value with its range, which may be empty.
    pub fn value(median: String, range: String, validity: Validity) -> Self {
        let limited = validity == Validity::Limited;
        Self::Value {
            median,
            range,
            limited,
            best: false,
        }
    }

    /// Marks the cell as the best one of its column.
    pub fn mark_best(&mut self) {
        if let Self::Value { best, .. } = self {
            *best = true;
        }
    }

    /// A cell without a range.
    pub fn words(median: String) -> Self {
        Self::value(median, String::new(), Validity::Valid)
    }

    /// The median, or its replacement, with its signs.
    pub fn mark(&self) -> String {
        format!("{}{}", self.median(), self.signs())
    }

    /// The median, or its replacement.
    pub fn median(&self) -> &str {
        match self {
            Self::Empty => "–",
            Self::Invalid => "invalid",
            Self::Absent(why) => why,
            Self::Value { median, .. } => median,
        }
    }

    /// An asterisk behind a limited median, and a tick behind the best one.
    pub fn signs(&self) -> &'static str {
        match self {
            Self::Value { limited, best, .. } => match (limited, best) {
                (true, true) => "*✓",
                (true, false) => "*",
                (false, true) => "✓",
                (false, false) => "",
            },
            Self::Empty | Self::Invalid | Self::Absent(_) => "",
        }
    }

    /// The range of the blocks; empty if there is none.
    pub fn range(&self) -> &str {
        match self {
            Self::Value { range, .. } => range,
            Self::Empty | Self::Invalid | Self::Absent(_) => "",
        }
    }
}

impl Row {
    /// A row without cells yet, of a variant or of a part of it.
    pub fn new(name: impl Into<String>, variant: &str) -> Self {
        Self {
            name: name.into(),
            variant: variant.to_owned(),
            validity: None,
            absence: None,
            cells: Vec::new(),
        }
    }
}

impl Column {
    /// A column with a head of one line that is not known beforehand.
    pub fn named(head: &str, scale: UnitScale) -> Self {
        let head = [Cow::Owned(head.to_owned()), Cow::Borrowed("")];
        Self { head, scale }
    }

    /// A column with a head that is known beforehand.
    pub fn new(head: [&'static str; 2], scale: UnitScale) -> Self {
        let head = head.map(Cow::Borrowed);
        Self { head, scale }
    }

    /// The head in one line: the name, which of several, and the unit.
    pub fn title(&self) -> String {
        let name = self.head.join(" ");
        let unit = match self.scale.unit {
            "" => String::new(),
            unit => format!(", {unit}"),
        };
        format!("{}{unit}", name.trim())
    }

    /// The second line of the head: which of several, and the unit.
    pub fn subhead(&self) -> String {
        [self.head[1].as_ref(), self.scale.unit]
            .join(" ")
            .trim()
            .into()
    }
}

impl Lanes {
    /// Lanes with their common part.
    pub fn new(phase: &str, label: &str, lanes: Vec<Lane>) -> Self {
        Self {
            phase: phase.to_owned(),
            label: label.to_owned(),
            lanes,
        }
    }
}

impl Lane {
    /// Returns a column of estimates in one scale, with an empty cell for each row that has none.
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

    /// Returns a column of estimates in a scale.
    pub fn in_scale(
        head: [&'static str; 2],
        scale: UnitScale,
        found: Vec<Option<(Option<&Estimate>, Validity)>>,
    ) -> Self {
        let cell = |(estimate, validity)| Cell::of(estimate, validity, scale);
        Self {
            cells: found
                .into_iter()
                .map(|it| it.map_or(Cell::Empty, cell))
                .collect(),
            column: Column::new(head, scale),
        }
    }

    /// Returns a column of counts.
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
    /// Puts the cells of lanes into rows, which have none yet. Groups without columns are left
    /// out.
    pub fn of_lanes(mut rows: Vec<Row>, lanes: Vec<Lanes>) -> Self {
        let filled = lanes.into_iter().filter(|lanes| !lanes.lanes.is_empty());
        let mut groups = Vec::new();
        for Lanes {
            phase,
            label,
            lanes,
        } in filled
        {
            for (index, row) in rows.iter_mut().enumerate() {
                let cells = lanes.iter().map(|lane| lane.cells[index].clone());
                row.cells.push(cells.collect());
            }
            let columns = lanes.into_iter().map(|lane| lane.column).collect();
            groups.push(Group {
                phase,
                label,
                columns,
            });
        }
        Self { groups, rows }
    }

    /// A table for each phase, because two next to each other are too wide.
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

    /// Reports whether any cell is limited: its mark then needs an explanation.
    pub fn has_limits(&self) -> bool {
        let limited = |cell: &Cell| matches!(cell, Cell::Value { limited: true, .. });
        self.rows
            .iter()
            .any(|row| row.cells.iter().flatten().any(limited))
    }
}
