//! The blocks of a chapter as lines.

use super::sheet::{Cell, Sheet};
use super::style::Style;
use crate::chapter::{Block, Entry, Fact, Fold, Line, Lines, Note, Part, Text};
use crate::{Tone, text};

/// The minimum number of columns for text after its name.
const WORDS_MIN: usize = 20;

/// The largest number of places that are listed for a note; the page lists all.
const PLACES_MAX: usize = 4;

/// The columns for the severity of a note.
const WORD_COLUMNS: usize = 11;

/// The spaces between two columns of coloured text.
const GAP: usize = 2;

impl Sheet {
    /// Writes blocks, followed by their explanations.
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
                    Some(Tone::Plain) | None => Style::Good,
                };
                self.item("  ● ", style, &fact.text.plain());
            }
            Part::Sentence(words) | Part::Foot(words) => self.words(words),
            Part::Facts { facts, .. } => facts.iter().for_each(|it| self.fact(it)),
            Part::Table(table) => self.results(table),
            Part::Lines(table) => self.lines(table),
            Part::Files { files } => {
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
            Some(Tone::Plain) => ("  • ", Style::Soft),
            Some(Tone::Caution) => ("  ! ", Style::Fair),
            Some(Tone::Alarm) => ("  ✗ ", Style::Bad),
        };
        self.item(lead, style, &fact.text.plain());
    }

    fn note(&mut self, note: &Note) {
        let places = note
            .places
            .iter()
            .map(|it| format!("{}, {}: {}", it.subject, it.place, it.message));
        if let Some(reason) = &note.reason {
            places.for_each(|words| self.item("  ✗ ", Style::Bad, &words));
            // It may be a gateway's own output, line by line.
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

    /// Writes lines in columns, or, if one is too wide, each cell after its name.
    fn brief(&mut self, lines: &[Line]) {
        let cell = |words: &Text| {
            let class = words.spans.first().map_or("", |it| &*it.class);
            let style = match class {
                "" => Style::Plain,
                class => style_of(class),
            };
            (text::clean(&words.plain()), style)
        };
        let cells = |line: &Line| {
            std::iter::once(&line.name)
                .chain(&line.brief)
                .map(cell)
                .collect()
        };
        let rows: Vec<Vec<Cell>> = lines.iter().map(cells).collect();
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

    /// Writes a coloured text for each column; all columns have the same width.
    fn marks(&mut self, table: &Lines) {
        let heads = &table.heads[1..];
        let words = table.lines.iter().flat_map(|it| &it.cells);
        let words = words.map(|it| text::width(&it.plain()));
        let widest = words.chain(heads.iter().map(|it| text::width(&it.words)));
        let width = widest.max().unwrap_or(0) + GAP;
        let names = table.lines.iter().map(|it| text::width(&it.name.plain()));
        let room = self.columns.saturating_sub(width * heads.len());
        let name_width = names.max().unwrap_or(0).min(room);
        let heads = heads.iter().map(|it| text::pad_start(&it.words, width));
        let head = format!("{}{}", " ".repeat(name_width), heads.collect::<String>());
        self.blank();
        self.lines.push(self.paint.with(Style::Soft, &head));
        for line in &table.lines {
            let name = text::truncate(&line.name.plain(), name_width);
            let mut written = text::pad_end(&name, name_width);
            for cell in &line.cells {
                let mut spans = cell.words.iter().flat_map(|it| &it.spans);
                let style = spans.next().map_or(Style::Soft, |it| style_of(&it.class));
                written += &self
                    .paint
                    .with(style, &text::pad_start(&cell.plain(), width));
            }
            self.lines.push(written.trim_end().to_owned());
        }
    }
}

/// The name and the cells of a line.
fn cells(line: &Line) -> Vec<String> {
    let cells = line.cells.iter().map(Entry::plain);
    std::iter::once(line.name.plain()).chain(cells).collect()
}

/// The terminal style that corresponds to a CSS class of the page.
fn style_of(class: &str) -> Style {
    match class.trim_start_matches("chip ") {
        "valid" | "passed" | "better" => Style::Good,
        "limited" | "open" => Style::Fair,
        "invalid" | "failed" | "worse" => Style::Bad,
        _ => Style::Soft,
    }
}
