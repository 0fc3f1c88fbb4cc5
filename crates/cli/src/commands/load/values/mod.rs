//! Parsers of the values on the command line.

pub mod check;
pub mod data;
pub mod header;
pub mod number;
pub mod resolve;
pub mod stage;
pub mod template;
pub mod url;
