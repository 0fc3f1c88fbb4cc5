//! The blocks of a chapter as lines.

use super::sheet::Sheet;
use super::style::Style;
use crate::chapter::{Block, Fold, Line, Part, Text};
use crate::text;

/// The fewest columns for words behind their name.
const WORDS_MIN: usize = 20;

impl Sheet {
    /// Writes blocks, and their explanations below them.
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
            Part::Heading(heading) => {
                self.blank();
                self.strong(&heading.text);
            }
            Part::Sentence(words) | Part::Foot(words) => self.words(words),
            Part::Facts { facts } => {
                for fact in facts {
                    self.item("  · ", Style::Soft, fact);
                }
            }
            Part::Table(table) => self.grid(&table.table),
            Part::Lines(lines) => self.lines(&lines.lines),
            Part::Files { files } => {
                for file in files {
                    self.soft(&format!("{}: {}", file.title, file.file));
                }
            }
            Part::Card { blocks, .. } | Part::Fold(Fold { blocks, .. }) => self.blocks(blocks),
            Part::Charts { .. } | Part::Lead(_) => {}
        }
    }

    fn words(&mut self, words: &Text) {
        self.soft(&words.spans.concat());
    }

    /// Writes lines in columns, or if one is too wide, each behind its name.
    fn lines(&mut self, lines: &[Line]) {
        let cells = |line: &Line| {
            let cells = std::iter::once(&line.name).chain(&line.brief);
            cells.map(|cell| text::clean(cell)).collect()
        };
        let rows: Vec<Vec<String>> = lines.iter().map(cells).collect();
        if lines.iter().all(|it| it.more.is_empty()) && self.columns(&rows) {
            return;
        }
        for (line, row) in lines.iter().zip(&rows) {
            let known = row[1..].iter().filter(|it| !it.is_empty());
            let words = known.map(String::as_str).collect::<Vec<_>>().join(", ");
            let lead = format!("  {}  ", row[0]);
            if text::width(&lead) + WORDS_MIN < self.columns {
                self.item(&lead, Style::Strong, &words);
            } else {
                self.item("  ", Style::Plain, &format!("{}: {words}", row[0]));
            }
            for words in &line.more {
                self.item("    ", Style::Plain, words);
            }
        }
    }
}
