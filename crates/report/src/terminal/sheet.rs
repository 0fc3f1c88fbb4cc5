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
    lines: Vec<String>,
    columns: usize,
    paint: Paint,
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
        let cleaned: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.iter().map(|cell| text::clean(cell)).collect())
            .collect();
        let widest = |at: usize| {
            let cells = cleaned.iter().filter_map(|row| row.get(at));
            cells
                .map(|cell| text::width(cell))
                .fold(text::width(heads[at]), usize::max)
        };
        let mut widths: Vec<usize> = (0..heads.len()).map(widest).collect();
        let gaps = GAP.len() * heads.len();
        while widths.iter().sum::<usize>() + gaps > self.columns {
            let Some(most) = widths.iter_mut().max() else {
                break;
            };
            *most -= 1;
        }
        let line = |cells: &[String]| {
            let cells = cells.iter().zip(&widths);
            let padded =
                cells.map(|(cell, width)| text::pad_end(&text::truncate(cell, *width), *width));
            let padded: Vec<String> = padded.collect();
            format!("{GAP}{}", padded.join(GAP)).trim_end().to_owned()
        };
        let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
        let head = self.paint.with(Style::Soft, &line(&heads));
        self.lines.push(head);
        self.lines.extend(cleaned.iter().map(|row| line(row)));
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
