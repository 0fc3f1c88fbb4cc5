//! A report on a terminal, wrapped to the terminal's width and readable without colors.

mod blocks;
mod grid;
mod inline;
mod sheet;
mod style;

use self::sheet::Sheet;
use crate::chapter::{BRIEF, Report, TERMINAL};

/// The maximum line width, even on a wider terminal.
pub const COLUMNS_MAX: usize = 100;

/// The minimum line width, below which a table is unreadable. Narrower terminals wrap the lines.
const COLUMNS_MIN: usize = 60;

/// The properties of a terminal.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions {
    /// True if the terminal shows colors.
    pub colour: bool,
    /// The width of the terminal in columns. Lines are at least 60 and at most 100 columns wide.
    pub columns: usize,
    /// True to print only the first screen, if the report has one.
    pub brief: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        Self {
            colour: false,
            columns: COLUMNS_MAX,
            brief: false,
        }
    }
}

/// Writes a report, with a final newline.
pub fn render<R: Report + ?Sized>(report: &R, options: TerminalOptions) -> String {
    let mut sheet = Sheet::new(options);
    let form = match options.brief {
        true => TERMINAL | BRIEF,
        false => TERMINAL,
    };
    for chapter in &report.document(form).chapters {
        sheet.blocks(&chapter.blocks);
    }
    sheet.finish()
}
