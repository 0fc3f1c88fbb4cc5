//! A report on a terminal: never wider than requested, and readable without colours.

mod blocks;
mod grid;
mod inline;
mod sheet;
mod style;

use self::sheet::Sheet;
use crate::chapter::{BRIEF, Report, TERMINAL};

/// The maximum line width, even on a wider terminal.
pub const COLUMNS_MAX: usize = 100;

/// The minimum width, below which a table is unreadable; narrower terminals wrap the lines.
const COLUMNS_MIN: usize = 60;

/// The properties of a terminal.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions {
    /// True if the terminal shows colours.
    pub colour: bool,
    /// Columns of the terminal; 60 to 100 are used.
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
