//! Findings as a terminal, Markdown, HTML, JUnit, CSV or JSON report. Each is a pure function of
//! the findings, so that a report can be rebuilt byte for byte; nothing is computed here but where
//! things stand on the page.
//!
//! A study makes a document of chapters and blocks (`study`, [`Report`]); a form writes any
//! document and knows no study ([`terminal`], [`markdown`], [`html`], [`junit`],
//! [`csv`]).

mod axis;
mod chapter;
mod chart;
pub mod csv;
pub mod document;
mod facts;
pub mod flame;
pub mod html;
pub mod json;
pub mod junit;
pub mod load;
pub mod markdown;
mod method;
mod number;
mod palette;
mod parts;
mod problems;
pub mod redact;
mod study;
mod svg;
mod table;
mod table_view;
pub mod terminal;
pub mod text;
mod verdicts;

pub use chapter::Report;
pub use study::ab::Comment;
pub use study::cost_records::CostRecords;
pub use terminal::TerminalOptions;
