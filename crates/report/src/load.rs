//! The results of `gatebench load`, for a terminal.

use crate::chapter::{Block, Line, Lines, Text};
use crate::terminal::TerminalOptions;
use crate::terminal::sheet::Sheet;
use crate::terminal::style::Style;

/// The results of a load, as text.
#[derive(Clone, Debug, Default)]
pub struct LoadPage {
    pub target: String,
    pub load: String,
    /// The outcome in a sentence, and whether nothing failed.
    pub outcome: (String, bool),
    /// The tables, in order; those without rows are left out.
    pub tables: Vec<WordTable>,
    /// Each bound with its measured value, and whether it was met.
    pub bounds: Vec<(String, bool)>,
    /// The limits of the figures, each with its remedy.
    pub cautions: Vec<(String, String)>,
}

/// A table without figures: every cell is text.
#[derive(Clone, Debug, Default)]
pub struct WordTable {
    /// The heading.
    pub title: &'static str,
    /// The rows, which begin with their names. Cells are padded to the width of their columns.
    pub rows: Vec<Vec<String>>,
    /// The positions of cells that state failures: row and column.
    pub failed: Vec<[usize; 2]>,
    /// The sentence below, or empty.
    pub foot: String,
}

/// Writes the results, with a final newline.
pub fn render(page: &LoadPage, options: TerminalOptions) -> String {
    let mut sheet = Sheet::new(options);
    sheet.strong(&page.target);
    sheet.soft(&page.load);
    sheet.blank();
    let (outcome, is_good) = &page.outcome;
    judged(&mut sheet, outcome, *is_good);
    let filled = page.tables.iter().filter(|it| !it.rows.is_empty());
    let blocks: Vec<Block> = filled.flat_map(WordTable::blocks).collect();
    sheet.blocks(&blocks);
    if !page.bounds.is_empty() {
        sheet.blank();
        sheet.heading("Thresholds");
    }
    for (bound, is_kept) in &page.bounds {
        judged(&mut sheet, bound, *is_kept);
    }
    if !page.cautions.is_empty() {
        sheet.blank();
        sheet.heading("Validity");
    }
    for (message, remedy) in &page.cautions {
        sheet.item("  ! ", Style::Fair, message);
        sheet.item("    → ", Style::Good, remedy);
    }
    sheet.finish()
}

fn judged(sheet: &mut Sheet, words: &str, is_good: bool) {
    let (lead, style) = match is_good {
        true => ("  ✓ ", Style::Good),
        false => ("  ✗ ", Style::Bad),
    };
    sheet.item(lead, style, words);
}

impl WordTable {
    fn blocks(&self) -> Vec<Block> {
        let cell = |at: [usize; 2], words: &str| match self.failed.contains(&at) {
            true => Text::styled("failed", words),
            false => words.into(),
        };
        let line = |(index, row): (usize, &Vec<String>)| {
            let cells = row.iter().enumerate();
            let mut cells = cells.map(|(at, words)| cell([index, at], words));
            Line {
                name: cells.next().unwrap_or_default(),
                brief: cells.collect(),
                ..Line::default()
            }
        };
        let lines = Lines::new(
            self.title,
            Vec::new(),
            self.rows.iter().enumerate().map(line),
        );
        let mut blocks = vec![Block::heading(self.title), lines.into()];
        if !self.foot.is_empty() {
            blocks.push(Block::sentence(self.foot.as_str()));
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_and_failures_are_marked() {
        let row = |cells: [&str; 3]| cells.map(ToOwned::to_owned).to_vec();
        let page = LoadPage {
            target: "GET http://a.test/".into(),
            load: "closed: 2 connections".into(),
            outcome: ("9 requests in 1 s, 1 failed".into(), false),
            tables: vec![
                WordTable {
                    title: "Latency",
                    rows: vec![
                        row(["", "     p50", "     max"]),
                        row(["response", " 1.25 ms", " 18.0 ms"]),
                    ],
                    failed: vec![[1, 2]],
                    foot: "p75 left out".into(),
                },
                WordTable::default(),
            ],
            bounds: vec![("max<20ms: kept: 18.0 ms".into(), true)],
            cautions: vec![("A limit.".into(), "A remedy.".into())],
        };
        let expected = "\
GET http://a.test/
closed: 2 connections

  ✗ 9 requests in 1 s, 1 failed

Latency
                 p50       max
  response   1.25 ms   18.0 ms
p75 left out

Thresholds
  ✓ max<20ms: kept: 18.0 ms

Validity
  ! A limit.
    → A remedy.
";
        assert_eq!(render(&page, TerminalOptions::default()), expected);
        let options = TerminalOptions {
            colour: true,
            ..TerminalOptions::default()
        };
        assert!(render(&page, options).contains("1.25 ms  \u{1b}[31m 18.0 ms\u{1b}[0m\n"));
    }
}
