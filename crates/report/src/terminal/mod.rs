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

/// The minimum line width. Tables are unreadable below it, so narrower terminals wrap the lines.
const COLUMNS_MIN: usize = 60;

/// The properties of the terminal that a report is written for.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions {
    pub color: bool,
    /// The width of the terminal in columns. The report uses the nearest width from 60 to 100.
    pub columns: usize,
    /// True to print the brief form of the report (see [`crate::chapter::BRIEF`]).
    pub brief: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        Self {
            color: false,
            columns: COLUMNS_MAX,
            brief: false,
        }
    }
}

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
