//! The index of a folder of runs, brought up to date.

use std::path::Path;

use gatebench_store::history::{Found, HistoryIndex, RunEntry};
use gatebench_store::{Run, StoreError, Timestamp};

use super::{entry, summarise};

/// Reads the new and changed runs of a folder into its index, and returns the entries of all runs,
/// the oldest first. `on_read` is called before each run is read, with its name, its number from 1
/// and the number of runs.
///
/// # Errors
/// [`StoreError::Io`] where the folder cannot be read, [`StoreError::Index`].
pub fn updated(
    index: &mut HistoryIndex,
    folder: &Path,
    mut on_read: impl FnMut(&str, usize, usize),
) -> Result<Vec<RunEntry>, StoreError> {
    let stale = index.stale()?;
    for (number, found) in (1..).zip(&stale) {
        on_read(&found.dir, number, stale.len());
        index.put(&read(folder, found))?;
    }
    index.entries()
}

/// The index entry of a run. A run that cannot be read is kept with the reason, and is not read
/// again before it changes.
fn read(folder: &Path, found: &Found) -> RunEntry {
    let dir = folder.join(&found.dir);
    let summary = Run::open(&dir).and_then(|run| summarise(found.dir.as_str(), &run));
    match summary {
        Ok(summary) => entry(&summary, found.stamp.clone()),
        Err(error) => RunEntry {
            dir: found.dir.clone(),
            stamp: found.stamp.clone(),
            created: Timestamp::UNIX_EPOCH,
            suite: String::new(),
            gatebench: String::new(),
            blocks: 0,
            left_out: Some(error.to_string()),
            cells: Vec::new(),
        },
    }
}
