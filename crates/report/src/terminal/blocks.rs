//! Writes the blocks of a chapter as lines.

use super::sheet::{Cell, Sheet};
use super::style::Style;
use crate::chapter::{Block, Entry, Fact, Fold, Line, Lines, Note, Part, Place, Span, Text};
use crate::{Tone, text};

/// The minimum number of columns for the text after a name.
const WORDS_MIN: usize = 20;

/// The maximum number of places listed for a limit; the page lists all.
const PLACES_MAX: usize = 4;

/// The number of columns for the severity of a note.
const WORD_COLUMNS: usize = 11;

/// The spaces between two columns of colored text.
const GAP: usize = 2;

impl Sheet {
    /// Writes the blocks, and then their explanations.
    pub fn blocks(&mut self, blocks: &[Block]) {
        blocks.iter().for_each(|block| self.part(&block.part));
        for block in blocks {
            if let Part::Lead(words) = &block.part {
                self.words(words);
            }
        }
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Title(words) => self.title(words),
            Part::Heading(heading) => self.title(&heading.text),
            Part::Headline(fact) => {
                let style = match fact.tone {
                    Some(Tone::Alarm) => Style::Bad,
                    Some(Tone::Caution) => Style::Fair,
                    Some(Tone::Success | Tone::Plain) | None => Style::Good,
                };
                self.item("  ● ", style, &fact.text.plain());
            }
            Part::Sentence(words) | Part::Foot(words) => self.words(words),
            Part::Facts { facts, .. } => facts.iter().for_each(|it| self.fact(it)),
            Part::Table(table) => self.results(table),
            Part::Lines(table) => self.lines(table),
            Part::Files { files, .. } => {
                for file in files {
                    self.soft(&format!("{}: {}", file.title, file.file));
                }
            }
            Part::Notes { notes } => notes.iter().for_each(|it| self.note(it)),
            Part::Card { blocks, .. }
            | Part::Row { blocks, .. }
            | Part::Fold(Fold { blocks, .. }) => self.blocks(blocks),
            Part::Charts { .. }
            | Part::Terms { .. }
            | Part::Code(_)
            | Part::Cases(_)
            | Part::Records { .. }
            | Part::Lead(_) => {}
        }
    }

    fn title(&mut self, words: &Text) {
        if !self.lines.is_empty() {
            self.blank();
        }
        self.strong(&words.plain());
    }

    fn words(&mut self, words: &Text) {
        self.soft(&words.plain());
    }

    fn fact(&mut self, fact: &Fact) {
        let (lead, style) = match fact.tone {
            None => ("  · ", Style::Soft),
            Some(Tone::Success) => ("  ✓ ", Style::Good),
            Some(Tone::Plain) => ("  • ", Style::Soft),
            Some(Tone::Caution) => ("  ! ", Style::Fair),
            Some(Tone::Alarm) => ("  ✗ ", Style::Bad),
        };
        self.item(lead, style, &fact.text.plain());
    }

    fn note(&mut self, note: &Note) {
        let places = note.places.iter().map(Place::sentence);
        if let Some(reason) = &note.reason {
            places.for_each(|words| self.item("  ✗ ", Style::Bad, &words));
            // The reason may contain several lines of a gateway's output.
            for line in reason.lines() {
                self.item("    ", Style::Plain, line);
            }
            self.item("    → ", Style::Good, &note.remedy);
            return;
        }
        let style = style_of(note.word);
        let first = text::pad_end(&format!("  {}", note.word), WORD_COLUMNS);
        let indent = " ".repeat(WORD_COLUMNS);
        for (index, words) in places.take(PLACES_MAX).enumerate() {
            self.item(if index == 0 { &first } else { &indent }, style, &words);
        }
        let more = note.places.len().saturating_sub(PLACES_MAX);
        if more > 0 {
            self.item(&indent, style, &format!("and {more} more like this"));
        }
        self.item(&format!("{indent}→ "), Style::Good, &note.remedy);
    }

    fn lines(&mut self, table: &Lines) {
        match &table.lines[..] {
            [] => {}
            lines if lines.iter().any(|it| !it.brief.is_empty()) => self.brief(lines),
            _ if table.heads[1..].iter().all(|it| !it.is_text) => self.marks(table),
            lines => {
                let heads: Vec<&str> = table.heads.iter().map(|it| &*it.words).collect();
                let rows: Vec<Vec<String>> = lines.iter().map(cells).collect();
                self.table(&heads, &rows);
            }
        }
    }

    /// Writes lines in columns. If they do not fit or have further cells, writes the cells of each
    /// line after its name, wrapped.
    fn brief(&mut self, lines: &[Line]) {
        let cell = |words: &Text| (text::clean(&words.plain()), style_of_first(&words.spans));
        let rows = lines.iter().map(|line| {
            let texts = std::iter::once(&line.name).chain(&line.brief);
            texts.map(cell).collect()
        });
        let rows: Vec<Vec<Cell>> = rows.collect();
        if lines.iter().all(|it| it.more.is_empty()) && self.columns(&rows) {
            return;
        }
        for (line, row) in lines.iter().zip(&rows) {
            let (name, rest) = (&row[0].0, row[1..].iter().map(|(words, _)| &**words));
            let words = Vec::from_iter(rest.filter(|it| !it.is_empty())).join(", ");
            let lead = format!("  {name}  ");
            if text::width(&lead) + WORDS_MIN < self.columns {
                self.item(&lead, Style::Strong, &words);
            } else {
                self.item("  ", Style::Plain, &format!("{name}: {words}"));
            }
            for words in &line.more {
                self.item("    ", Style::Plain, words);
            }
        }
    }

    /// Writes colored text in columns of the same width. A table that is too wide and has fewer
    /// lines than columns is transposed if that makes it fit.
    fn marks(&mut self, table: &Lines) {
        let heads = table.heads[1..].iter().map(|it| it.words.clone());
        let heads = std::iter::once(String::new()).chain(heads);
        let heads: Vec<Cell> = heads.map(|words| (words, Style::Soft)).collect();
        let rows = table.lines.iter().map(marked);
        let mut rows: Vec<Vec<Cell>> = std::iter::once(heads).chain(rows).collect();
        let columns = table.heads.len() - 1;
        if table.lines.len() < columns && !self.fits(&rows) {
            let column = |at: usize| rows.iter().filter_map(|row| row.get(at).cloned()).collect();
            let swapped: Vec<Vec<Cell>> = (0..=columns).map(column).collect();
            if self.fits(&swapped) {
                rows = swapped;
            }
        }
        self.blank();
        self.in_columns(&rows);
    }

    fn fits(&self, rows: &[Vec<Cell>]) -> bool {
        let cells = rows.first().map_or(0, |row| row.len() - 1);
        name_width(rows) + column_width(rows) * cells <= self.columns
    }

    /// Writes rows in which all cells after the first have the same width. Names that are too long
    /// lose their middle.
    fn in_columns(&mut self, rows: &[Vec<Cell>]) {
        let width = column_width(rows);
        let cells = rows.first().map_or(0, |row| row.len() - 1);
        let room = self.columns.saturating_sub(width * cells);
        let name_width = name_width(rows).min(room);
        for row in rows {
            let name = text::without_middle(&row[0].0, name_width);
            let mut written = text::pad_end(&name, name_width);
            for (words, style) in &row[1..] {
                written += &self.paint.with(*style, &text::pad_start(words, width));
            }
            self.lines.push(written.trim_end().to_owned());
        }
    }
}

/// Returns the name of a line and its cells, each cell in the style of its first span.
fn marked(line: &Line) -> Vec<Cell> {
    let cell = |entry: &Entry| {
        let first = entry.words.first();
        let style = first.map_or(Style::Plain, |it| style_of_first(&it.spans));
        (entry.plain(), style)
    };
    let name = (line.name.plain(), Style::Plain);
    let cells = line.cells.iter().map(cell);
    std::iter::once(name).chain(cells).collect()
}

/// Returns the terminal style of the first span, or the plain style if it has no CSS class.
fn style_of_first(spans: &[Span]) -> Style {
    match spans.first().map_or("", |it| &*it.class) {
        "" => Style::Plain,
        class => style_of(class),
    }
}

fn name_width(rows: &[Vec<Cell>]) -> usize {
    let names = rows.iter().map(|row| text::width(&row[0].0));
    names.max().unwrap_or(0)
}

/// Returns the width of the widest cell after the names, including the gap before it.
fn column_width(rows: &[Vec<Cell>]) -> usize {
    let cells = rows.iter().flat_map(|row| &row[1..]);
    let widths = cells.map(|(words, _)| text::width(words));
    widths.max().unwrap_or(0) + GAP
}

fn cells(line: &Line) -> Vec<String> {
    let cells = line.cells.iter().map(Entry::plain);
    std::iter::once(line.name.plain()).chain(cells).collect()
}

/// Returns the terminal style that corresponds to a CSS class of the page.
fn style_of(class: &str) -> Style {
    match class.trim_start_matches("chip ") {
        "valid" | "passed" | "better" => Style::Good,
        "limited" | "open" => Style::Fair,
        "invalid" | "failed" | "worse" => Style::Bad,
        _ => Style::Soft,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TerminalOptions;
    use crate::chapter::{Head, Note};

    fn written(columns: usize, blocks: &[Block]) -> String {
        let mut sheet = Sheet::new(TerminalOptions {
            columns,
            ..TerminalOptions::default()
        });
        sheet.blocks(blocks);
        sheet.finish()
    }

    #[test]
    fn columns_that_do_not_fit_become_lines() {
        let heads: Vec<String> = (1..=8).map(|it| format!("p{it}")).collect();
        let table = || {
            let cell = |it: usize| Entry::from(format!("{it}00 µs"));
            let line = Line::new("response", (1..=8).map(cell).collect());
            let heads = Head::numbers("", heads.iter().map(|it| &**it));
            Block::from(Lines::new("", heads, [line]))
        };
        let across = written(100, &[table()]);
        assert!(across.contains("\nresponse  100 µs  200 µs"), "{across}");
        let down = written(60, &[table()]);
        assert!(down.contains("\n    response\np1    100 µs\n"), "{down}");
        assert_eq!(down.lines().count(), 10, "{down}");
    }

    #[test]
    fn a_requirement_that_was_met_has_a_check_mark() {
        let fact = |words, tone| Fact::of(words, tone);
        let facts = [
            fact("p99<1s met", Tone::Success),
            fact("rate>9 missed", Tone::Alarm),
        ];
        let text = written(60, &[Block::facts("", facts)]);
        assert_eq!(text, "  ✓ p99<1s met\n  ✗ rate>9 missed\n");
    }

    #[test]
    fn a_limit_that_applies_everywhere_has_no_place() {
        let note = Note {
            word: "limited",
            places: vec![Place::everywhere("It was late.".to_owned())],
            reason: None,
            remedy: "Lower the rate.".to_owned(),
        };
        let text = written(60, &[Block::notes([note])]);
        assert_eq!(
            text,
            "  limited  It was late.\n           → Lower the rate.\n"
        );
    }
}
