//! Lays out a table of results within a limited width. Each cell takes up to two lines: the median,
//! and the range below it. Columns that do not fit side by side are printed in several parts, one
//! below the other.

use super::style::{Paint, Style};
use crate::table::{Cell, Column, Row, Table};
use crate::text;

const NAME_COLUMNS_MAX: usize = 18;
/// The maximum width of the name of a part, which includes the variant.
const PART_COLUMNS_MAX: usize = 28;
const NAME_COLUMNS_MIN: usize = 9;
const GAP: usize = 2;
const GROUP_GAP: usize = 3;

/// A column with its position in the table and its width on a terminal.
#[derive(Clone, Copy)]
struct Slot<'a> {
    group: usize,
    index: usize,
    column: &'a Column,
    width: usize,
    /// The maximum width of the symbols after a median. Cells with fewer symbols are padded to this
    /// width.
    signs: usize,
}

impl Slot<'_> {
    /// Right-aligns the text before the space that is reserved for symbols. `gap` spaces precede
    /// the slot.
    fn place(&self, content: &str, signs: &str, gap: usize) -> String {
        let signs = text::pad_end(signs, self.signs);
        text::pad_start(&format!("{content}{signs}"), gap + self.width)
    }
}

pub fn lines(table: &Table, columns: usize, paint: Paint) -> Vec<String> {
    let names = table.rows.iter().map(|row| text::clean(&row.name));
    let longest = names.map(|name| text::width(&name)).max().unwrap_or(0);
    let most = match table.rows.iter().any(|row| row.name != row.variant) {
        true => PART_COLUMNS_MAX,
        false => NAME_COLUMNS_MAX,
    };
    let name_width = longest.clamp(NAME_COLUMNS_MIN, most);
    let part = |slots| Part {
        table,
        slots,
        name_width,
        columns,
        paint,
    };
    let parts = parts(table, columns - name_width).into_iter();
    parts.flat_map(|slots| part(slots).lines()).collect()
}

/// Returns the style of a median or its replacement.
pub fn style_of(cell: &Cell) -> Style {
    match cell {
        Cell::Empty | Cell::Absent(_) => Style::Soft,
        Cell::Invalid => Style::Bad,
        Cell::Value { limited: true, .. } => Style::Fair,
        Cell::Value { best: true, .. } => Style::Good,
        Cell::Value { .. } => Style::Plain,
    }
}

/// Splits the columns into parts that fit the width: one part if all columns fit, otherwise one for
/// each group, or several for a group that does not fit.
fn parts(table: &Table, room: usize) -> Vec<Vec<Slot<'_>>> {
    let all = slots(table);
    if total_width(&all) <= room {
        return vec![all];
    }
    let mut parts: Vec<Vec<Slot<'_>>> = Vec::new();
    for slot in all {
        match parts.last_mut() {
            Some(part) if fits(part, slot, room) => part.push(slot),
            _ => parts.push(vec![slot]),
        }
    }
    parts
}

fn fits(part: &[Slot<'_>], slot: Slot<'_>, room: usize) -> bool {
    let same_group = part.last().is_some_and(|last| last.group == slot.group);
    same_group && total_width(part) + GAP + slot.width <= room
}

fn slots(table: &Table) -> Vec<Slot<'_>> {
    let mut slots = Vec::new();
    for (group, columns) in table.groups.iter().map(|group| &group.columns).enumerate() {
        for (index, column) in columns.iter().enumerate() {
            let cells = || table.rows.iter().map(|row| &row.cells[group][index]);
            let signs = cells().map(|cell| text::width(cell.signs()));
            let signs = signs.max().unwrap_or(0);
            let subhead = column.subhead();
            let contents = cells().flat_map(|cell| [cell.median(), cell.range()]);
            let widths = contents
                .chain([&*column.head[0], &subhead])
                .map(text::width);
            slots.push(Slot {
                group,
                index,
                column,
                width: widths.max().unwrap_or(0) + signs,
                signs,
            });
        }
    }
    slots
}

fn with_gaps<'s, 'a>(slots: &'s [Slot<'a>]) -> impl Iterator<Item = (&'s Slot<'a>, usize)> {
    slots.iter().enumerate().map(|(at, slot)| {
        let continues = at > 0 && slots[at - 1].group == slot.group;
        (slot, if continues { GAP } else { GROUP_GAP })
    })
}

/// Returns the total width of the slots, including the gap before each.
fn total_width(slots: &[Slot<'_>]) -> usize {
    with_gaps(slots).map(|(slot, gap)| gap + slot.width).sum()
}

/// Slots next to each other, with the names on the left.
struct Part<'a> {
    table: &'a Table,
    slots: Vec<Slot<'a>>,
    name_width: usize,
    columns: usize,
    paint: Paint,
}

impl Part<'_> {
    fn lines(&self) -> Vec<String> {
        let mut rows = Vec::new();
        for row in &self.table.rows {
            self.row(row, &mut rows);
        }
        // If nothing was measured, the rows contain only the reasons for that.
        if self.slots.is_empty() {
            return rows;
        }
        let rule = "─".repeat(self.name_width + total_width(&self.slots));
        let rule = self.paint.with(Style::Soft, &rule);
        let mut lines = vec![
            self.loads(),
            self.line("", Style::Soft, |slot| slot.column.head[0].clone()),
            self.line("", Style::Soft, |slot| slot.column.subhead()),
            rule.clone(),
        ];
        lines.extend(rows);
        lines.push(rule);
        lines
    }

    /// Returns the line with each group's label, or its phase if the label is empty, above the
    /// group's columns.
    fn loads(&self) -> String {
        let mut line = " ".repeat(self.name_width);
        for slots in self.slots.chunk_by(|a, b| a.group == b.group) {
            let width = total_width(slots) - GROUP_GAP;
            let group = &self.table.groups[slots[0].group];
            let label = match group.label.is_empty() {
                true => &group.phase,
                false => &group.label,
            };
            let label = text::truncate(&text::clean(label), self.label_room(width));
            let rest = width.saturating_sub(text::width(&label));
            line.push_str(&" ".repeat(GROUP_GAP));
            line.push_str(&"─".repeat(rest.saturating_sub(1)));
            line.push_str(&" ".repeat(rest.min(1)));
            line.push_str(&label);
        }
        self.paint.with(Style::Soft, line.trim_end())
    }

    /// Returns the space for the label above a group of this width. A group that is alone on its
    /// line, such as the last columns of a wide group, can use the whole line.
    fn label_room(&self, width: usize) -> usize {
        let groups = [self.slots.first(), self.slots.last()].map(|slot| slot.map(|it| it.group));
        match groups[0] == groups[1] {
            true => width.max(self.columns - self.name_width - GROUP_GAP),
            false => width,
        }
    }

    fn row(&self, row: &Row, lines: &mut Vec<String>) {
        // A name that is too long continues on the line of the ranges and on lines below it.
        let mut name = text::wrap(&row.name, "", self.name_width).into_iter();
        let mut next = || name.next().unwrap_or_default();
        let padded = text::pad_end(&next(), self.name_width);
        if let Some(absence) = &row.absence {
            let room = self.columns - self.name_width - GROUP_GAP;
            let words = text::truncate(&text::clean(absence), room);
            let name = self.paint.with(Style::Strong, &padded);
            let words = self.paint.with(Style::Fair, &words);
            lines.push(format!("{name}{}{words}", " ".repeat(GROUP_GAP)));
        } else {
            lines.push(self.medians(row, &padded));
            let range = |slot: &Slot<'_>| row.cells[slot.group][slot.index].range().to_owned();
            if self.slots.iter().any(|slot| !range(slot).is_empty()) {
                lines.push(self.line(&next(), Style::Soft, range));
            }
        }
        lines.extend(name.map(|rest| self.paint.with(Style::Strong, &rest)));
    }

    fn medians(&self, row: &Row, name: &str) -> String {
        let mut line = self.paint.with(Style::Strong, name);
        for (slot, gap) in with_gaps(&self.slots) {
            let cell = &row.cells[slot.group][slot.index];
            let padded = slot.place(cell.median(), cell.signs(), gap);
            line.push_str(&self.paint.with(style_of(cell), &padded));
        }
        line
    }

    fn line(&self, name: &str, style: Style, of: impl Fn(&Slot<'_>) -> String) -> String {
        let blanks = self.name_width.saturating_sub(text::width(name));
        let mut line = " ".repeat(blanks);
        for (slot, gap) in with_gaps(&self.slots) {
            line.push_str(&slot.place(&of(slot), "", gap));
        }
        let name = self.paint.with(Style::Strong, name);
        format!("{name}{}", self.paint.with(style, line.trim_end()))
    }
}
