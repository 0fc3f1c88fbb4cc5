//! Lays out a table of results with one line per row, in which each range follows its median.

use super::grid::style_of;
use super::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text;

const GAP: usize = 2;

/// A column with the widths of its parts.
struct Slot<'a> {
    head: String,
    cells: Vec<&'a Cell>,
    median: usize,
    signs: usize,
    range: usize,
}

/// Returns the lines of the table; `None` if they are too wide or the table has no rows.
pub fn lines(table: &Table, columns: usize, paint: Paint) -> Option<Vec<String>> {
    let names: Vec<String> = table.rows.iter().map(|it| text::clean(&it.name)).collect();
    let name_width = names.iter().map(|it| text::width(it)).max()?;
    let slots = slots(table);
    let total = name_width + slots.iter().map(|it| GAP + it.width()).sum::<usize>();
    if total > columns {
        return None;
    }
    let heads = slots.iter();
    let heads = heads.map(|it| text::pad_start(&it.head, GAP + it.width()));
    let head = " ".repeat(name_width) + &heads.collect::<String>();
    let rows = table.rows.iter().zip(&names).enumerate();
    let row = |(index, (row, name)): (usize, (&crate::table::Row, &String))| {
        let name = paint.with(Style::Strong, &text::pad_end(name, name_width));
        let rest = match &row.absence {
            Some(words) => {
                let words = text::truncate(
                    &text::clean(words),
                    columns.saturating_sub(name_width + GAP),
                );
                format!("{}{}", " ".repeat(GAP), paint.with(Style::Fair, &words))
            }
            None => slots.iter().map(|it| it.cell(index, paint)).collect(),
        };
        format!("{name}{rest}").trim_end().to_owned()
    };
    let head = paint.with(Style::Soft, &head);
    Some(std::iter::once(head).chain(rows.map(row)).collect())
}

fn slots(table: &Table) -> Vec<Slot<'_>> {
    let mut slots = Vec::new();
    for (group, columns) in table.groups.iter().map(|group| &group.columns).enumerate() {
        for (index, column) in columns.iter().enumerate() {
            let cells = table.rows.iter().map(|row| &row.cells[group][index]);
            slots.push(Slot::new(column.title(), cells.collect()));
        }
    }
    slots
}

impl<'a> Slot<'a> {
    fn new(head: String, cells: Vec<&'a Cell>) -> Self {
        let widest = |of: fn(&Cell) -> &str| {
            let values = cells.iter().filter(|it| matches!(it, Cell::Value { .. }));
            values.map(|it| text::width(of(it))).max().unwrap_or(0)
        };
        Self {
            median: widest(Cell::median),
            signs: widest(Cell::signs),
            range: widest(Cell::range),
            head,
            cells,
        }
    }

    /// Returns the width of the symbols and the range after the median.
    fn rest(&self) -> usize {
        self.signs + if self.range > 0 { 1 + self.range } else { 0 }
    }

    fn width(&self) -> usize {
        let words = self.cells.iter().map(|it| text::width(it.median()));
        let words = words.chain([text::width(&self.head)]).max().unwrap_or(0);
        words.max(self.median + self.rest())
    }

    /// Returns the cell of a row, preceded by the gap between columns. A cell of text takes the
    /// space of the median and the range.
    fn cell(&self, row: usize, paint: Paint) -> String {
        let cell = self.cells[row];
        let is_words = text::width(cell.median()) > self.median;
        let rest = if is_words { 0 } else { self.rest() };
        let median = text::pad_start(cell.median(), GAP + self.width() - rest);
        let median = paint.with(style_of(cell), &(median + cell.signs()));
        let range_width = rest.saturating_sub(text::width(cell.signs()));
        let range = text::pad_start(cell.range(), range_width);
        median + &paint.with(Style::Soft, &range)
    }
}
