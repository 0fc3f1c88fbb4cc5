//! Builds the lines for a terminal: headings, wrapped sentences and tables.

use super::style::{Paint, Style};
use super::{COLUMNS_MAX, COLUMNS_MIN, TerminalOptions};
use super::{grid, inline};
use crate::chapter::TableBlock;
use crate::text;

/// The spaces before each column of a table.
const GAP: &str = "  ";

/// The text of a cell and its style.
pub type Cell = (String, Style);

/// The lines written so far, and the properties of the terminal.
pub struct Sheet {
    pub(super) lines: Vec<String>,
    pub(super) columns: usize,
    pub(super) paint: Paint,
}

impl Sheet {
    pub fn new(options: TerminalOptions) -> Self {
        Self {
            lines: Vec::new(),
            columns: options.columns.clamp(COLUMNS_MIN, COLUMNS_MAX),
            paint: Paint::new(options.color),
        }
    }

    pub fn blank(&mut self) {
        self.lines.push(String::new());
    }

    /// Writes a heading, which may take several lines.
    pub fn strong(&mut self, words: &str) {
        for line in text::wrap(words, "", self.columns) {
            self.lines.push(self.paint.with(Style::Strong, &line));
        }
    }

    /// Writes secondary text.
    pub fn soft(&mut self, words: &str) {
        for line in text::wrap(words, "", self.columns) {
            self.lines.push(self.paint.with(Style::Soft, &line));
        }
    }

    /// Writes wrapped text after a styled prefix.
    pub fn item(&mut self, lead: &str, style: Style, words: &str) {
        let lines = text::wrap(words, lead, self.columns).into_iter();
        for (index, line) in lines.enumerate() {
            let line = match line.strip_prefix(lead) {
                Some(rest) if index == 0 => self.paint.with(style, lead) + rest,
                _ => line,
            };
            self.lines.push(line.trim_end().into());
        }
    }

    /// Writes columns that are as wide as necessary. If they do not fit, cells in the widest
    /// columns are truncated.
    pub fn table(&mut self, heads: &[&str], rows: &[Vec<String>]) {
        let cell = |words: &str| (text::clean(words), Style::Plain);
        let mut all: Vec<Vec<Cell>> = vec![heads.iter().map(|it| cell(it)).collect()];
        all.extend(rows.iter().map(|it| it.iter().map(|it| cell(it)).collect()));
        let (mut widths, paint) = (widths(&all), self.paint);
        while total(&widths) > self.columns
            && let Some(most) = widths.iter_mut().max()
        {
            *most -= 1;
        }
        let mut lines = all.iter().map(|cells| line(cells, &widths, paint));
        let head = lines.next().unwrap_or_default();
        self.lines.push(self.paint.with(Style::Soft, &head));
        self.lines.extend(lines);
    }

    /// Writes rows in columns if they fit, and reports whether they do.
    pub fn columns(&mut self, rows: &[Vec<Cell>]) -> bool {
        let (widths, paint) = (widths(rows), self.paint);
        let fits = total(&widths) <= self.columns;
        if fits {
            let lines = rows.iter().map(|row| line(row, &widths, paint));
            self.lines.extend(lines);
        }
        fits
    }

    pub fn results(&mut self, block: &TableBlock) {
        let (table, columns, paint) = (&block.table, self.columns, self.paint);
        let inline = block
            .is_summary
            .then(|| inline::lines(table, columns, paint));
        let lines = inline.flatten();
        let lines = lines.unwrap_or_else(|| grid::lines(table, columns, paint));
        self.lines.extend(lines);
        if table.has_limits() && !block.is_summary {
            self.soft("* limited: see Validity below");
        }
    }

    pub fn finish(self) -> String {
        self.lines.join("\n") + "\n"
    }
}

fn widths(rows: &[Vec<Cell>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let widths = cells.map(|(words, _)| text::width(words));
        widths.max().unwrap_or(0)
    };
    (0..columns).map(widest).collect()
}

fn total(widths: &[usize]) -> usize {
    widths.iter().map(|width| GAP.len() + width).sum()
}

/// Returns a line of cells. A cell that is too wide is truncated.
fn line(cells: &[Cell], widths: &[usize], paint: Paint) -> String {
    let pad = |((words, style), width): (&Cell, &usize)| {
        let words = text::truncate(words, *width);
        let rest = width.saturating_sub(text::width(&words));
        format!("{GAP}{}{:rest$}", paint.with(*style, &words), "")
    };
    let line: String = cells.iter().zip(widths).map(pad).collect();
    line.trim_end().to_owned()
}
