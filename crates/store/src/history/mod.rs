//! The history of a folder of runs: an index in SQLite, so that a hundred runs need not be read again, and the
//! baselines that a user has named.
//!
//! Run directories stay the truth. The index can be deleted at any time and is made anew; what it cannot be made
//! from, the baselines, is in a file of its own.

mod baselines;
mod entry;
mod index;

pub use baselines::{Baselines, FILE as BASELINES_FILE};
pub use entry::{CellEntry, RunEntry};
pub use index::{Found, HistoryIndex, INDEX_FILE};
