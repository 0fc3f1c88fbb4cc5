//! Findings as a terminal, Markdown, CSV, JSON or HTML report. Each is a pure function of the
//! findings, so that a report can be rebuilt byte for byte; nothing is computed here but where
//! things stand on the page.

mod axis;
mod chapter;
pub mod compare;
pub mod costs_csv;
pub mod csv;
pub mod document;
pub mod duel;
mod facts;
pub mod flame;
pub mod history;
pub mod html;
pub mod json;
pub mod load;
pub mod markdown;
mod method;
mod number;
mod palette;
mod parts;
mod plots;
mod problems;
pub mod redact;
mod study;
mod svg;
mod table;
mod table_view;
pub mod terminal;
pub mod text;
mod verdicts;

pub use terminal::TerminalOptions;
