//! Writes chapters, which consist of blocks, for a terminal or as Markdown, HTML, JUnit or CSV.
//! Each form is a pure function of the chapters and computes only the layout, so a report can be
//! rebuilt byte for byte.
//!
//! A [`Report`] provides a document of [`chapter`]s. Every form ([`terminal`], [`markdown`],
//! [`html`], [`junit`], [`csv`]) can write any document, and none depends on a study.

pub mod axis;
pub mod chapter;
pub mod chart;
pub mod csv;
pub mod figures;
pub mod flame;
pub mod format;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
mod method;
pub mod palette;
pub mod section;
mod svg;
pub mod table;
mod table_view;
pub mod terminal;
pub mod text;
pub mod validity;
pub mod verdicts;

pub use crate::chapter::{Report, Tone};
pub use crate::format::Unit;
pub use crate::terminal::TerminalOptions;
pub use crate::validity::Validity;
