//! The history of a folder of runs: an index in SQLite, which makes it unnecessary to read every
//! run again, and the baselines that the user has named.
//!
//! The run directories are authoritative. The index can be deleted at any time and is then rebuilt.
//! The baselines cannot be rebuilt, so they are in a separate file.

mod baselines;
mod index;

pub use baselines::{Baselines, FILE as BASELINES_FILE};
pub use index::{CellEntry, Found, HistoryIndex, INDEX_FILE, RunEntry};
