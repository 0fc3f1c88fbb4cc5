//! The index: a SQLite file next to the run directories.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, Row, params};

use super::{CellEntry, RunEntry};
use crate::StoreError;
use crate::atomic::absent_is_fine;
use crate::run::{MANIFEST, TRIALS};

/// The name of the index file in a folder of runs.
pub const INDEX_FILE: &str = "history.sqlite";

/// Version of the tables. A file with another version is replaced.
const VERSION: i64 = 3;

/// The longest wait for another process that writes to the index.
const PATIENCE: Duration = Duration::from_secs(10);

const TABLES: &str = "
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY, dir TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, created TEXT NOT NULL,
        suite TEXT NOT NULL, gatebench TEXT NOT NULL, blocks INTEGER NOT NULL, left_out TEXT
    );
    CREATE TABLE cells (
        run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
        scenario TEXT NOT NULL, gateway TEXT NOT NULL, version TEXT NOT NULL, conditions TEXT NOT NULL,
        load TEXT NOT NULL, metric TEXT NOT NULL, unit TEXT NOT NULL, higher_is_better INTEGER NOT NULL,
        value REAL NOT NULL, min REAL NOT NULL, max REAL NOT NULL, blocks INTEGER NOT NULL,
        limited INTEGER NOT NULL, control REAL, spoiled INTEGER NOT NULL
    );
    CREATE INDEX cells_by_run ON cells(run);";

/// The index of a folder of runs.
pub struct HistoryIndex {
    folder: PathBuf,
    connection: Connection,
    on_disk: bool,
}

/// A run directory that is not in the index, or that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name in the folder.
    pub dir: String,
    /// A string that changes whenever the directory changes.
    pub stamp: String,
}

impl HistoryIndex {
    /// Opens or creates the index of a folder. A damaged index, or one with another version, is
    /// replaced. If the folder is not writable, the index is only in memory.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the folder cannot be read; [`StoreError::Index`].
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        fs::read_dir(folder).map_err(|error| StoreError::io("read", folder, error))?;
        let path = folder.join(INDEX_FILE);
        let opened = prepare(Connection::open(&path));
        let made = match opened {
            Err(error) if is_damaged(&error) => {
                remove(&path)?;
                prepare(Connection::open(&path))
            }
            other => other,
        };
        let (connection, on_disk) = match made {
            Ok(connection) => (Ok(connection), true),
            Err(error) if is_unwritable(&error) => (prepare(Connection::open_in_memory()), false),
            Err(error) => (Err(error), true),
        };
        Ok(Self {
            connection: connection.map_err(|error| StoreError::index(&path, &error))?,
            folder: folder.to_owned(),
            on_disk,
        })
    }

    /// Replaces the index of a folder with an empty one.
    ///
    /// # Errors
    /// See [`HistoryIndex::open`].
    pub fn rebuild(folder: &Path) -> Result<Self, StoreError> {
        remove(&folder.join(INDEX_FILE))?;
        Self::open(folder)
    }

    /// Reports whether it is in a file and not only in memory.
    pub fn is_on_disk(&self) -> bool {
        self.on_disk
    }

    /// Returns the run directories that are new or have changed, by name, and removes missing ones
    /// from the index.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the folder cannot be read; [`StoreError::Index`].
    pub fn stale(&self) -> Result<Vec<Found>, StoreError> {
        let found = run_directories(&self.folder)?;
        let known = self.query(|connection| {
            let mut query = connection.prepare("SELECT dir, stamp FROM runs")?;
            let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<Result<Vec<(String, String)>, _>>()
        })?;
        for (dir, _) in &known {
            if !found.iter().any(|it| it.dir == *dir) {
                self.query(|it| it.execute("DELETE FROM runs WHERE dir = ?1", [dir]))?;
            }
        }
        let is_known = |it: &Found| {
            known
                .iter()
                .any(|(dir, stamp)| it.dir == *dir && it.stamp == *stamp)
        };
        Ok(found.into_iter().filter(|it| !is_known(it)).collect())
    }

    /// Adds a run, or replaces it.
    ///
    /// # Errors
    /// [`StoreError::Index`].
    pub fn put(&mut self, entry: &RunEntry) -> Result<(), StoreError> {
        let path = self.folder.join(INDEX_FILE);
        insert(&mut self.connection, entry).map_err(|error| StoreError::index(&path, &error))
    }

    /// All runs, the oldest first.
    ///
    /// # Errors
    /// [`StoreError::Index`].
    pub fn entries(&self) -> Result<Vec<RunEntry>, StoreError> {
        self.query(|connection| {
            let mut query = connection.prepare(
                "SELECT id, dir, stamp, created, suite, gatebench, blocks, left_out FROM runs ORDER BY created, dir",
            )?;
            let runs = query.query_map([], |row| Ok((row.get::<_, i64>(0)?, run_of(row)?)))?;
            let mut entries = Vec::new();
            for run in runs {
                let (id, mut entry) = run?;
                let mut query = connection.prepare(
                    "SELECT scenario, gateway, version, conditions, load, metric, unit, higher_is_better, value, min, max, \
                     blocks, limited, control, spoiled FROM cells WHERE run = ?1 ORDER BY rowid",
                )?;
                entry.cells = query.query_map([id], cell_of)?.collect::<Result<_, _>>()?;
                entries.push(entry);
            }
            Ok(entries)
        })
    }

    fn query<T>(
        &self,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        run(&self.connection)
            .map_err(|error| StoreError::index(&self.folder.join(INDEX_FILE), &error))
    }
}

fn prepare(opened: rusqlite::Result<Connection>) -> rusqlite::Result<Connection> {
    let mut connection = opened?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch("PRAGMA foreign_keys = ON")?;
    // Another process may create it at the same time, so the version is read under the lock.
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != VERSION {
        transaction.execute_batch("DROP TABLE IF EXISTS cells; DROP TABLE IF EXISTS runs")?;
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    Ok(connection)
}

fn insert(connection: &mut Connection, entry: &RunEntry) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute("DELETE FROM runs WHERE dir = ?1", [&entry.dir])?;
    transaction.execute(
        "INSERT INTO runs (dir, stamp, created, suite, gatebench, blocks, left_out) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            entry.dir, entry.stamp, entry.created.to_string(), entry.suite, entry.gatebench, entry.blocks, entry.left_out
        ],
    )?;
    let run = transaction.last_insert_rowid();
    for cell in &entry.cells {
        transaction.execute(
            "INSERT INTO cells VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
             ?15, ?16)",
            params![
                run, cell.scenario, cell.gateway, cell.version, cell.conditions, cell.load, cell.metric, cell.unit,
                cell.higher_is_better, cell.value, cell.min, cell.max, cell.blocks, cell.limited,
                cell.control, cell.spoiled
            ],
        )?;
    }
    transaction.commit()
}

fn run_of(row: &Row<'_>) -> rusqlite::Result<RunEntry> {
    let created: String = row.get(3)?;
    let created = created.parse().map_err(|error: jiff::Error| {
        rusqlite::Error::FromSqlConversionFailure(3, rusqlite::types::Type::Text, Box::new(error))
    })?;
    Ok(RunEntry {
        dir: row.get(1)?,
        stamp: row.get(2)?,
        created,
        suite: row.get(4)?,
        gatebench: row.get(5)?,
        blocks: row.get(6)?,
        left_out: row.get(7)?,
        cells: Vec::new(),
    })
}

fn cell_of(row: &Row<'_>) -> rusqlite::Result<CellEntry> {
    Ok(CellEntry {
        scenario: row.get(0)?,
        gateway: row.get(1)?,
        version: row.get(2)?,
        conditions: row.get(3)?,
        load: row.get(4)?,
        metric: row.get(5)?,
        unit: row.get(6)?,
        higher_is_better: row.get(7)?,
        value: row.get(8)?,
        min: row.get(9)?,
        max: row.get(10)?,
        blocks: row.get(11)?,
        limited: row.get(12)?,
        control: row.get(13)?,
        spoiled: row.get(14)?,
    })
}

/// The directories of a folder that contain a run, with their stamps, ordered by name.
fn run_directories(folder: &Path) -> Result<Vec<Found>, StoreError> {
    let entries = fs::read_dir(folder).map_err(|error| StoreError::io("read", folder, error))?;
    let mut found: Vec<Found> = entries
        .flatten()
        .filter_map(|entry| {
            let dir = entry.file_name().into_string().ok()?;
            let stamp = stamp(&entry.path())?;
            Some(Found { dir, stamp })
        })
        .collect();
    found.sort_by(|a, b| a.dir.cmp(&b.dir));
    Ok(found)
}

/// A string that changes when a resumed run rewrites its manifest and adds trials; none without a
/// manifest.
fn stamp(dir: &Path) -> Option<String> {
    let manifest = fs::metadata(dir.join(MANIFEST)).ok()?;
    let modified = manifest
        .modified()
        .ok()?
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    let trials = fs::read_dir(dir.join(TRIALS)).map_or(0, Iterator::count);
    let version = env!("CARGO_PKG_VERSION");
    Some(format!(
        "{version} {} {} {trials}",
        modified.as_nanos(),
        manifest.len()
    ))
}

fn is_damaged(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseCorrupt | NotADatabase)
    )
}

fn is_unwritable(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(
        error.sqlite_error_code(),
        Some(CannotOpen | PermissionDenied | ReadOnly)
    )
}

fn remove(path: &Path) -> Result<(), StoreError> {
    absent_is_fine(fs::remove_file(path), path)
}
