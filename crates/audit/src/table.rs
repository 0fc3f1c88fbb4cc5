//! A table of results, independent of its source format.

use crate::finding::Numbering;
use crate::heading::{Meaning, meaning};
use crate::quantity::{Quantity, Unit, quantity, unit_in_heading};
use crate::tool::Mean;

/// A table of results.
#[derive(Debug)]
pub(crate) struct Table {
    /// The heading above it, or the tool that printed it.
    pub(crate) title: String,
    /// The line of the headings, or of the first row in a table without headings.
    pub(crate) line: usize,
    pub(crate) numbering: Numbering,
    /// The kind of mean in rows that do not name a tool themselves.
    mean: Mean,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug)]
pub(crate) struct Column {
    /// The text in the document.
    pub(crate) heading: String,
    pub(crate) meaning: Meaning,
    /// The measured thing, if the heading names one.
    pub(crate) family: String,
    unit: Option<(Unit, f64)>,
}

#[derive(Debug)]
pub(crate) struct Row {
    /// Line number in the document, from 1.
    pub(crate) line: usize,
    /// The row's label, or `row 5` if it has none.
    pub(crate) name: String,
    /// The texts by column, as in the document.
    written: Vec<String>,
    /// The numbers by column; none for a cell without a number.
    cells: Vec<Option<Quantity>>,
    /// True if a cell states how far its value may be off.
    pub(crate) has_spread: bool,
    /// The number of users in the row's name, as in `150 VUs`.
    named_users: Option<f64>,
}

impl Column {
    fn of(heading: &str) -> Self {
        let heading = heading.replace("<br/>", " ").trim().to_owned();
        let (meaning, family) = meaning(&heading);
        Self {
            unit: unit_in_heading(&heading),
            heading,
            meaning,
            family,
        }
    }
}

/// Connections or users of a row.
pub(crate) struct Users {
    pub(crate) count: f64,
    /// None if the label of the row states them.
    pub(crate) column: Option<usize>,
}

impl Table {
    /// A table of cells as written, each row with its line.
    pub(crate) fn of(title: &str, headings: &[String], rows: Vec<(usize, Vec<String>)>) -> Self {
        let mut columns: Vec<Column> = headings.iter().map(|it| Column::of(it)).collect();
        let measured = columns.iter().position(|it| it.meaning != Meaning::Other);
        for column in &mut columns[..measured.unwrap_or(0)] {
            column.meaning = Meaning::Label;
        }
        let rows: Vec<Row> = (1..)
            .zip(rows)
            .map(|(number, (line, cells))| Row::of(number, line, &cells, &columns))
            .collect();
        let words = [title].into_iter();
        let words = words.chain(headings.iter().map(String::as_str));
        Self {
            title: title.to_owned(),
            line: rows.first().map_or(1, |row| row.line),
            numbering: Numbering::Line,
            mean: Mean::of_words(&words.collect::<Vec<_>>().join(" ")),
            columns,
            rows,
        }
    }

    /// Returns the table with its headings on this line.
    pub(crate) fn headed_at(self, line: usize) -> Self {
        Self { line, ..self }
    }

    /// Returns the table with its rows numbered as items.
    pub(crate) fn of_items(self) -> Self {
        let numbering = Numbering::Item;
        Self { numbering, ..self }
    }

    /// Returns the table with a known kind of mean.
    pub(crate) fn with_mean(self, mean: Mean) -> Self {
        Self { mean, ..self }
    }

    /// The kind of the row's mean time.
    pub(crate) fn mean_of(&self, row: &Row) -> Mean {
        match Mean::of_words(&row.name) {
            Mean::Unknown => self.mean,
            known => known,
        }
    }

    /// Reports whether it has figures that can be judged.
    pub(crate) fn is_about_load(&self) -> bool {
        (self.columns.iter().any(|it| it.meaning.is_time()) || self.has(Meaning::Rate))
            && self
                .rows
                .iter()
                .any(|row| row.cells.iter().any(Option::is_some))
    }

    /// Reports whether a column has this meaning.
    pub(crate) fn has(&self, meaning: Meaning) -> bool {
        self.columns.iter().any(|it| it.meaning == meaning)
    }

    /// The columns with a meaning.
    pub(crate) fn columns_of(
        &self,
        wanted: impl Fn(Meaning) -> bool,
    ) -> impl Iterator<Item = usize> {
        let columns = self.columns.iter().enumerate();
        columns
            .filter(move |(_, it)| wanted(it.meaning))
            .map(|(at, _)| at)
    }

    /// The ranks and columns of the times of a family, from the shortest time to the longest.
    pub(crate) fn ranked_times(&self, family: &str) -> Vec<(f64, usize)> {
        let columns = self.columns.iter().enumerate();
        let mut ranked: Vec<(f64, usize)> = columns
            .filter(|(_, it)| it.family == family)
            .filter_map(|(at, it)| Some((it.meaning.rank()?, at)))
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        ranked
    }

    /// The things whose times are measured, without duplicates, in the order of their columns.
    pub(crate) fn families(&self) -> Vec<&str> {
        let mut families: Vec<&str> = Vec::new();
        for column in self.columns.iter().filter(|it| it.meaning.is_time()) {
            if !families.contains(&column.family.as_str()) {
                families.push(&column.family);
            }
        }
        families
    }

    /// The figure of a row with this meaning, and its column. If there are several, the first that
    /// has a number.
    pub(crate) fn figure(&self, row: &Row, wanted: Meaning) -> Option<(usize, Quantity)> {
        self.columns_of(|it| it == wanted)
            .find_map(|at| Some((at, row.figure(at)?)))
    }

    /// The mean time of a row in seconds, and its column.
    pub(crate) fn mean(&self, row: &Row) -> Option<(usize, Quantity)> {
        let found = self.figure(row, Meaning::Mean)?;
        (found.1.unit == Unit::Seconds).then_some(found)
    }

    /// Connections or users of a row.
    pub(crate) fn users(&self, row: &Row) -> Option<Users> {
        let in_column = self.figure(row, Meaning::Users).map(|(at, users)| Users {
            count: users.value,
            column: Some(at),
        });
        let named = row.named_users.map(|count| Users {
            count,
            column: None,
        });
        in_column.or(named)
    }
}

impl Row {
    fn of(number: usize, line: usize, cells: &[String], columns: &[Column]) -> Self {
        let label = |(cell, column): (&String, &Column)| {
            let cell = cell.replace("<br/>", ", ");
            let is_telling =
                column.meaning == Meaning::Label && !["", "N/A", "-", "–"].contains(&cell.trim());
            is_telling.then(|| cell.trim().to_owned())
        };
        let name = cells.iter().zip(columns).filter_map(label);
        let name = name.collect::<Vec<_>>().join(" ");
        let named_users = users_in(&name);
        let cell = |at: usize| {
            let column = &columns[at];
            let text = cells.get(at)?;
            (column.meaning != Meaning::Label)
                .then(|| quantity(text, column.unit))
                .flatten()
        };
        let figures: Vec<Option<Quantity>> = (0..columns.len()).map(cell).collect();
        let has_spread = |(text, figure): (&String, &Option<Quantity>)| {
            let is_range = text.contains('(') && (text.contains('–') || text.contains(" - "));
            figure.is_some() && (text.contains('±') || is_range)
        };
        Self {
            line,
            named_users,
            name: if name.is_empty() {
                format!("row {number}")
            } else {
                name
            },
            written: cells.to_vec(),
            has_spread: cells.iter().zip(&figures).any(has_spread),
            cells: figures,
        }
    }

    /// The number in a column.
    pub(crate) fn figure(&self, column: usize) -> Option<Quantity> {
        self.cells.get(column).copied().flatten()
    }

    /// The text in a column.
    pub(crate) fn written(&self, column: usize) -> &str {
        self.written.get(column).map_or("", |text| text.trim())
    }
}

/// The number before `VUs`, `users`, `connections` or `clients`.
fn users_in(name: &str) -> Option<f64> {
    let words: Vec<&str> = name
        .split(|it: char| it.is_whitespace() || it == ',')
        .filter(|word| !word.is_empty())
        .collect();
    words.windows(2).find_map(|pair| {
        let unit = pair[1].to_lowercase();
        ["vu", "vus", "users", "connections", "clients"]
            .contains(&unit.as_str())
            .then(|| pair[0].parse().ok())
            .flatten()
    })
}
