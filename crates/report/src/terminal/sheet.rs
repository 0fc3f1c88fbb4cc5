//! Lines of a terminal: headings, wrapped sentences and small tables.

use super::grid;
use super::style::{Paint, Style};
use super::{COLUMNS_MAX, COLUMNS_MIN, TerminalOptions};
use crate::table::Table;
use crate::text;

/// Blanks between two columns of a table.
const GAP: &str = "  ";

/// The lines so far, and how they are written.
pub struct Sheet {
    pub(super) lines: Vec<String>,
    pub(super) columns: usize,
    pub(super) paint: Paint,
}

impl Sheet {
    /// An empty one.
    pub fn new(options: TerminalOptions) -> Self {
        Self {
            lines: Vec::new(),
            columns: options.columns.clamp(COLUMNS_MIN, COLUMNS_MAX),
            paint: Paint::new(options.colour),
        }
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.lines.push(String::new());
    }

    /// What the lines below are about.
    pub fn heading(&mut self, words: &str) {
        let words = text::truncate(&text::clean(words), self.columns);
        self.lines.push(self.paint.with(Style::Strong, &words));
    }

    /// A heading that may take several lines.
    pub fn strong(&mut self, words: &str) {
        for line in text::wrap(words, "", self.columns) {
            self.lines.push(self.paint.with(Style::Strong, &line));
        }
    }

    /// What supports the rest.
    pub fn soft(&mut self, words: &str) {
        for line in text::wrap(words, "", self.columns) {
            self.lines.push(self.paint.with(Style::Soft, &line));
        }
    }

    /// A wrapped text behind a lead, which is painted.
    pub fn item(&mut self, lead: &str, style: Style, words: &str) {
        for (index, line) in text::wrap(words, lead, self.columns)
            .into_iter()
            .enumerate()
        {
            let line = match line.strip_prefix(lead) {
                Some(rest) if index == 0 => format!("{}{rest}", self.paint.with(style, lead)),
                _ => line,
            };
            self.lines.push(line.trim_end().into());
        }
    }

    /// Columns as wide as they must be; what does not fit is cut in the widest one.
    pub fn table(&mut self, heads: &[&str], rows: &[Vec<String>]) {
        let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
        let mut all = vec![heads];
        all.extend(
            rows.iter()
                .map(|row| row.iter().map(|cell| text::clean(cell)).collect()),
        );
        let mut widths = widths(&all);
        while total(&widths) > self.columns {
            let Some(most) = widths.iter_mut().max() else {
                break;
            };
            *most -= 1;
        }
        let mut lines = all.iter().map(|cells| line(cells, &widths));
        let head = lines.next().unwrap_or_default();
        self.lines.push(self.paint.with(Style::Soft, &head));
        self.lines.extend(lines);
    }

    /// Writes rows in columns if there is room. Returns whether there was.
    pub fn columns(&mut self, rows: &[Vec<String>]) -> bool {
        let widths = widths(rows);
        let fits = total(&widths) <= self.columns;
        if fits {
            self.lines.extend(rows.iter().map(|row| line(row, &widths)));
        }
        fits
    }

    /// A table of results, with medians and ranges.
    pub fn grid(&mut self, table: &Table) {
        self.lines
            .extend(grid::lines(table, self.columns, self.paint));
    }

    /// All lines, with a line break at the end.
    pub fn finish(self) -> String {
        self.lines.join("\n") + "\n"
    }
}

/// The width of each column.
fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| text::width(cell)).max().unwrap_or(0)
    };
    (0..columns).map(widest).collect()
}

/// Columns that a line takes.
fn total(widths: &[usize]) -> usize {
    widths.iter().map(|width| GAP.len() + width).sum()
}

/// A line of cells, those that are too wide cut.
fn line(cells: &[String], widths: &[usize]) -> String {
    let pad = |(cell, width): (&String, &usize)| {
        format!(
            "{GAP}{}",
            text::pad_end(&text::truncate(cell, *width), *width)
        )
    };
    let line: String = cells.iter().zip(widths).map(pad).collect();
    line.trim_end().to_owned()
}
