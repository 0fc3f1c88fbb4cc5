//! A table of results, independent of its source format.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::finding::Numbering;
use crate::heading::{Meaning, meaning};
use crate::quantity::{Quantity, Unit, quantity, unit_in_heading};
use crate::tool::Mean;

#[derive(Debug)]
pub(crate) struct Table {
    /// See [`Finding::table`](crate::Finding::table).
    pub(crate) title: String,
    /// The line of the headings, or of the first row in a table without headings.
    pub(crate) line: usize,
    pub(crate) numbering: Numbering,
    /// The kind of mean in rows that do not name a tool.
    pub(crate) mean: Mean,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug)]
pub(crate) struct Column {
    /// The text in the document, with spaces in place of `<br/>`.
    pub(crate) heading: String,
    pub(crate) meaning: Meaning,
    /// The name of the subject that was measured, or empty if the heading does not contain one.
    pub(crate) family: String,
    unit: Option<(Unit, f64)>,
}

#[derive(Debug)]
pub(crate) struct Row {
    /// The line or item in the document, counted from 1.
    pub(crate) line: usize,
    /// The row's label; for the fifth row, `row 5` if it has none.
    pub(crate) name: String,
    /// The text in each column, as in the document.
    written: Vec<String>,
    /// The number in each column; `None` for a cell without a number.
    cells: Vec<Option<Quantity>>,
    /// True if any cell states the spread of its value, as `±` or as a range in parentheses.
    pub(crate) has_spread: bool,
    /// The number of users in the row's label, as in `150 VUs`.
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

pub(crate) struct Users {
    pub(crate) count: f64,
    /// The column that contains the number; `None` if the row's label contains it.
    pub(crate) column: Option<usize>,
}

impl Table {
    /// Creates a table from cells as written. Each row comes with its line or item number.
    pub(crate) fn of<H: AsRef<str>>(
        title: &str,
        headings: &[H],
        rows: Vec<(usize, Vec<String>)>,
    ) -> Self {
        let mut columns: Vec<Column> = headings.iter().map(|it| Column::of(it.as_ref())).collect();
        let measured = columns.iter().position(|it| it.meaning != Meaning::Other);
        for column in &mut columns[..measured.unwrap_or(0)] {
            column.meaning = Meaning::Label;
        }
        let rows: Vec<Row> = (1..)
            .zip(rows)
            .map(|(number, (line, cells))| Row::of(number, line, cells, &columns))
            .collect();
        let words: Vec<&str> = [title]
            .into_iter()
            .chain(headings.iter().map(H::as_ref))
            .collect();
        Self {
            title: title.to_owned(),
            line: rows.first().map_or(1, |row| row.line),
            numbering: Numbering::Line,
            mean: Mean::of_words(&words.join(" ")),
            columns,
            rows,
        }
    }

    pub(crate) fn mean_of(&self, row: &Row) -> Mean {
        match Mean::of_words(&row.name) {
            Mean::Unknown => self.mean,
            known => known,
        }
    }

    /// Reports whether the table has a column of times or rates, and a number in any cell.
    pub(crate) fn is_about_load(&self) -> bool {
        let mut cells = self.rows.iter().flat_map(|row| &row.cells);
        (self.columns.iter().any(|it| it.meaning.is_time()) || self.has(Meaning::Rate))
            && cells.any(Option::is_some)
    }

    pub(crate) fn has(&self, meaning: Meaning) -> bool {
        self.columns.iter().any(|it| it.meaning == meaning)
    }

    pub(crate) fn columns_of(
        &self,
        wanted: impl Fn(Meaning) -> bool,
    ) -> impl Iterator<Item = usize> {
        (0..self.columns.len()).filter(move |at| wanted(self.columns[*at].meaning))
    }

    /// Returns the ranks and columns of a family's times, in the order of the ranks.
    pub(crate) fn ranked_times(&self, family: &str) -> Vec<(f64, usize)> {
        let columns = self.columns.iter().enumerate();
        let columns = columns.filter(|(_, it)| it.family == family);
        let ranked = columns.filter_map(|(at, it)| Some((it.meaning.rank()?, at)));
        let mut ranked: Vec<(f64, usize)> = ranked.collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        ranked
    }

    /// Returns the distinct families whose times are in the table, in the order of their columns.
    pub(crate) fn families(&self) -> Vec<&str> {
        let mut families: Vec<&str> = Vec::new();
        for column in self.columns.iter().filter(|it| it.meaning.is_time()) {
            if !families.contains(&column.family.as_str()) {
                families.push(&column.family);
            }
        }
        families
    }

    /// Returns the first figure in a row with this meaning, and its column.
    pub(crate) fn figure(&self, row: &Row, wanted: Meaning) -> Option<(usize, Quantity)> {
        self.columns_of(|it| it == wanted)
            .find_map(|at| Some((at, row.figure(at)?)))
    }

    /// Returns the mean time of a row in seconds, and its column.
    pub(crate) fn mean(&self, row: &Row) -> Option<(usize, Quantity)> {
        let found = self.figure(row, Meaning::Mean)?;
        (found.1.unit == Unit::Seconds).then_some(found)
    }

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
    fn of(number: usize, line: usize, written: Vec<String>, columns: &[Column]) -> Self {
        let is_label = |column: &Column| column.meaning == Meaning::Label;
        let labels = written.iter().zip(columns).filter(|(_, it)| is_label(it));
        let labels = labels.map(|(text, _)| text.replace("<br/>", ", ").trim().to_owned());
        let labels = labels.filter(|label| !["", "N/A", "-", "–"].contains(&label.as_str()));
        let name = labels.collect::<Vec<_>>().join(" ");
        let cell = |(text, column): (&String, &Column)| match is_label(column) {
            true => None,
            false => quantity(text, column.unit),
        };
        let cells: Vec<Option<Quantity>> = written.iter().zip(columns).map(cell).collect();
        let has_spread = |(text, figure): (&String, &Option<Quantity>)| {
            let is_range = text.contains('(') && (text.contains('–') || text.contains(" - "));
            figure.is_some() && (text.contains('±') || is_range)
        };
        Self {
            line,
            named_users: users_in(&name),
            name: match name.is_empty() {
                true => format!("row {number}"),
                false => name,
            },
            has_spread: written.iter().zip(&cells).any(has_spread),
            written,
            cells,
        }
    }

    pub(crate) fn figure(&self, column: usize) -> Option<Quantity> {
        self.cells.get(column).copied().flatten()
    }

    pub(crate) fn written(&self, column: usize) -> &str {
        self.written.get(column).map_or("", |text| text.trim())
    }
}

/// Matches a number of users in a label. Commas may separate thousands. With a space, as in `1 500
/// users`, the digits before it may be a part of the number.
static USERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?:^|[\s,])(\d{1,3}\s\d{3}|[1-9]\d{0,2}(?:,\d{3})+|\d+)[\s\u{a0}\u{202f}]+(?:vus?|users|connections|clients)(?:[\s,]|$)",
    )
    .expect("the pattern is a constant")
});

/// Returns the number before `VU`, `VUs`, `users`, `connections` or `clients`, or `None` if there
/// is no number or the number is unclear.
fn users_in(name: &str) -> Option<f64> {
    let found = USERS.captures(name)?;
    found[1].replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_in_labels() {
        for (label, expected) in [
            ("kong, 150 VUs", Some(150.0)),
            ("kong 3.4,150 vus", Some(150.0)),
            ("1,000 connections, TLS", Some(1000.0)),
            ("64\u{a0}clients", Some(64.0)),
            ("1 000 users", None),
            ("1\u{202f}000 users", None),
            ("2 000 000 users", None),
            ("superusers", None),
        ] {
            assert_eq!(users_in(label), expected, "{label}");
        }
    }
}
