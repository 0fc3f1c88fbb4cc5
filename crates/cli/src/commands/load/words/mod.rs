//! What stands on the command line, read and refused.

pub mod check;
pub mod data;
pub mod header;
pub mod resolve;
pub mod stage;
pub mod threshold;
pub mod url;
