//! The table of results within a fixed number of columns. Each cell takes two lines: the median,
//! and the range below it. Columns that do not fit next to each other are printed below each other.

use super::style::{Paint, Style};
use crate::table::{Cell, Column, Row, Table};
use crate::text;

const NAME_COLUMNS_MAX: usize = 18;
/// The same limit for the name of a part, which is followed by its variant.
const PART_COLUMNS_MAX: usize = 28;
const NAME_COLUMNS_MIN: usize = 9;
const GAP: usize = 2;
const GROUP_GAP: usize = 3;

/// A column with its position in the table and its width in characters.
#[derive(Clone, Copy)]
struct Slot<'a> {
    group: usize,
    index: usize,
    column: &'a Column,
    width: usize,
    /// The largest number of symbols after a median; the other lines reserve room for them.
    signs: usize,
}

impl Slot<'_> {
    /// Right-aligns the text in the slot, after `gap` spaces. Symbols extend beyond the slot.
    fn place(&self, content: &str, signs: &str, gap: usize) -> String {
        let signs = text::pad_end(signs, self.signs);
        text::pad_start(&format!("{content}{signs}"), gap + self.width)
    }
}

/// The lines of the table.
pub fn lines(table: &Table, columns: usize, paint: Paint) -> Vec<String> {
    let longest = table
        .rows
        .iter()
        .map(|row| text::width(&text::clean(&row.name)));
    let of_parts = table.rows.iter().any(|row| row.name != row.variant);
    let most = if of_parts {
        PART_COLUMNS_MAX
    } else {
        NAME_COLUMNS_MAX
    };
    let name_width = longest.max().unwrap_or(0).clamp(NAME_COLUMNS_MIN, most);
    let mut lines = Vec::new();
    for slots in parts(table, columns - name_width) {
        let part = Part {
            table,
            slots,
            name_width,
            columns,
            paint,
        };
        lines.extend(part.lines());
    }
    lines
}

/// The style of a median, or of its replacement.
pub fn style_of(cell: &Cell) -> Style {
    match cell {
        Cell::Empty | Cell::Absent(_) => Style::Soft,
        Cell::Invalid => Style::Bad,
        Cell::Value { limited: true, .. } => Style::Fair,
        Cell::Value { best: true, .. } => Style::Good,
        Cell::Value { .. } => Style::Plain,
    }
}

/// Splits the columns into parts that fit the width: all columns if possible, otherwise those of
/// one group, otherwise as many as fit.
fn parts(table: &Table, room: usize) -> Vec<Vec<Slot<'_>>> {
    let all = slots(table);
    if all.is_empty() {
        return vec![all];
    }
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
            let heads = [text::width(&column.head[0]), text::width(&column.subhead())];
            let contents =
                cells().flat_map(|cell| [text::width(cell.median()), text::width(cell.range())]);
            slots.push(Slot {
                group,
                index,
                column,
                width: heads.into_iter().chain(contents).max().unwrap_or(0) + signs,
                signs,
            });
        }
    }
    slots
}

/// The width of the slots, with the gap before each.
fn total_width(slots: &[Slot<'_>]) -> usize {
    let mut last_group = None;
    let mut total = 0;
    for slot in slots {
        total += gap(last_group, slot.group) + slot.width;
        last_group = Some(slot.group);
    }
    total
}

fn gap(last_group: Option<usize>, group: usize) -> usize {
    if last_group == Some(group) {
        GAP
    } else {
        GROUP_GAP
    }
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
        let mut lines = vec![self.loads()];
        lines.push(self.line("", Style::Soft, |slot| slot.column.head[0].to_string()));
        lines.push(self.line("", Style::Soft, |slot| slot.column.subhead()));
        let rule = "─".repeat(self.name_width + total_width(&self.slots));
        lines.push(self.paint.with(Style::Soft, &rule));
        for row in &self.table.rows {
            self.row(row, &mut lines);
        }
        lines.push(self.paint.with(Style::Soft, &rule));
        lines
    }

    /// The load of each group, above its columns.
    fn loads(&self) -> String {
        let mut line = " ".repeat(self.name_width);
        let mut last_group = None;
        for slot in &self.slots {
            if last_group != Some(slot.group) {
                let group: Vec<Slot<'_>> = self.of_group(slot.group);
                let width = total_width(&group) - GROUP_GAP;
                let group = &self.table.groups[slot.group];
                let label = if group.label.is_empty() {
                    &group.phase
                } else {
                    &group.label
                };
                let label = text::clean(label);
                let label = text::truncate(&label, self.label_room(width));
                let rest = width.saturating_sub(text::width(&label) + 1);
                let rule = if rest > 0 {
                    format!("{} ", "─".repeat(rest))
                } else {
                    " ".repeat(width.saturating_sub(text::width(&label)))
                };
                line.push_str(&" ".repeat(GROUP_GAP));
                line.push_str(&rule);
                line.push_str(&label);
            }
            last_group = Some(slot.group);
        }
        self.paint.with(Style::Soft, line.trim_end())
    }

    /// The room for the label above a group of this width. A group that is alone in its line, like
    /// the last columns of a wide one, has the whole line.
    fn label_room(&self, width: usize) -> usize {
        let groups = [self.slots.first(), self.slots.last()].map(|slot| slot.map(|it| it.group));
        match groups[0] == groups[1] {
            true => width.max(self.columns - self.name_width - GROUP_GAP),
            false => width,
        }
    }

    fn of_group(&self, group: usize) -> Vec<Slot<'_>> {
        let same = |slot: &&Slot<'_>| slot.group == group;
        self.slots.iter().filter(same).copied().collect()
    }

    fn row(&self, row: &Row, lines: &mut Vec<String>) {
        // A name that is too long continues in the line of the ranges and below.
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
        let mut last_group = None;
        for slot in &self.slots {
            let cell = &row.cells[slot.group][slot.index];
            let padded = slot.place(cell.median(), cell.signs(), gap(last_group, slot.group));
            line.push_str(&self.paint.with(style_of(cell), &padded));
            last_group = Some(slot.group);
        }
        line
    }

    fn line(&self, name: &str, style: Style, of: impl Fn(&Slot<'_>) -> String) -> String {
        let mut line = String::new();
        let mut last_group = None;
        for slot in &self.slots {
            line.push_str(&slot.place(&of(slot), "", gap(last_group, slot.group)));
            last_group = Some(slot.group);
        }
        let blanks = " ".repeat(self.name_width.saturating_sub(text::width(name)));
        let name = self.paint.with(Style::Strong, name);
        let line = format!("{blanks}{}", line.trim_end());
        format!("{name}{}", self.paint.with(style, line.trim_end()))
    }
}
