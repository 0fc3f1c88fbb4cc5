//! The index of runs, which is a SQLite file next to the run directories.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::ErrorCode::{CannotOpen, DatabaseCorrupt, NotADatabase, PermissionDenied, ReadOnly};
use rusqlite::{Connection, ErrorCode, Row, params};

use crate::StoreError;
use crate::atomic::absent_is_fine;
use crate::run::{self, MANIFEST, TRIALS};

pub const INDEX_FILE: &str = "history.sqlite";

/// The version of the tables. If the index has another version, its tables are dropped and created
/// again.
const VERSION: i64 = 3;

/// The maximum wait for another process that writes to the index.
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
}

/// A run directory that is not in the index or has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The directory's name in the folder.
    pub dir: String,
    /// The current stamp, as in [`RunEntry::stamp`].
    pub stamp: String,
}

/// A run in the index.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEntry {
    /// The name of the run's directory in the folder of runs.
    pub dir: String,
    /// A string that changes with the manifest, the number of trials and the version of gatebench.
    pub stamp: String,
    /// The time at which the run began; the Unix epoch if the run cannot be read.
    pub created: Timestamp,
    /// The name of the suite; empty if the run cannot be read.
    pub suite: String,
    /// The version of gatebench that began the run; empty if the run cannot be read.
    pub gatebench: String,
    /// The number of blocks in which every trial has ended without being interrupted.
    pub blocks: u32,
    /// The reason why the run has no cells; `None` if it may have some.
    pub left_out: Option<String>,
    pub cells: Vec<CellEntry>,
}

/// The value of one metric for one gateway, one scenario and one load of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct CellEntry {
    pub scenario: String,
    /// The label of the variant.
    pub gateway: String,
    pub version: String,
    /// A digest of the conditions that comparable runs have in common.
    pub conditions: String,
    pub load: String,
    /// The metric, as named in JSON reports.
    pub metric: String,
    /// The unit of the metric, as named in JSON reports.
    pub unit: String,
    pub higher_is_better: bool,
    /// The median of the blocks' values; 0 if there are none.
    pub value: f64,
    /// The smallest of the blocks' values; 0 if there are none.
    pub min: f64,
    /// The largest of the blocks' values; 0 if there are none.
    pub max: f64,
    /// The number of blocks with a value; 0 if the gateway invalidated all blocks.
    pub blocks: u32,
    /// True if something other than the gateway limited the value.
    pub limited: bool,
    /// The value of the direct variant in the same run, which shows changes in the machine; `None`
    /// if the direct variant has no such value, or if `blocks` is 0.
    pub control: Option<f64>,
    /// The number of blocks without a value because the gateway itself invalidated them.
    pub spoiled: u32,
}

impl HistoryIndex {
    /// Opens or creates the index of a folder. Replaces a damaged index file, and the tables of an
    /// index with another version. If the folder is not writable, the index is kept only in memory.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the folder cannot be read or a damaged index cannot be removed;
    /// [`StoreError::Index`].
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        fs::read_dir(folder).map_err(|error| StoreError::io("read", folder, error))?;
        let path = folder.join(INDEX_FILE);
        let mut opened = prepare(Connection::open(&path));
        if let Some(DatabaseCorrupt | NotADatabase) = code_of(&opened) {
            remove(&path)?;
            opened = prepare(Connection::open(&path));
        }
        if let Some(CannotOpen | PermissionDenied | ReadOnly) = code_of(&opened) {
            opened = prepare(Connection::open_in_memory());
        }
        Ok(Self {
            connection: opened.map_err(|error| unusable(folder, &error))?,
            folder: folder.to_owned(),
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

    /// Returns the run directories that are new or have changed, ordered by name. Removes from the
    /// index the runs whose directories no longer exist.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the folder cannot be read; [`StoreError::Index`].
    pub fn stale(&self) -> Result<Vec<Found>, StoreError> {
        let mut found = run_directories(&self.folder)?;
        let known: BTreeMap<String, String> = self.query(|connection| {
            let mut query = connection.prepare("SELECT dir, stamp FROM runs")?;
            let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        })?;
        for dir in known.keys() {
            if !found.iter().any(|it| it.dir == *dir) {
                self.query(|it| it.execute("DELETE FROM runs WHERE dir = ?1", [dir]))?;
            }
        }
        found.retain(|it| known.get(&it.dir) != Some(&it.stamp));
        Ok(found)
    }

    /// Adds a run, or replaces the entry of its directory.
    ///
    /// # Errors
    /// [`StoreError::Index`].
    pub fn put(&mut self, entry: &RunEntry) -> Result<(), StoreError> {
        insert(&mut self.connection, entry).map_err(|error| unusable(&self.folder, &error))
    }

    /// All runs, oldest first.
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
        run(&self.connection).map_err(|error| unusable(&self.folder, &error))
    }
}

fn unusable(folder: &Path, error: &rusqlite::Error) -> StoreError {
    StoreError::Index {
        path: folder.join(INDEX_FILE),
        reason: error.to_string(),
    }
}

fn code_of(opened: &rusqlite::Result<Connection>) -> Option<ErrorCode> {
    opened.as_ref().err()?.sqlite_error_code()
}

fn prepare(opened: rusqlite::Result<Connection>) -> rusqlite::Result<Connection> {
    let mut connection = opened?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch("PRAGMA foreign_keys = ON")?;
    // Another process may create the tables at the same time, so the version is read while this
    // process holds the write lock.
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

/// Returns the directories in a folder that contain a run, with their stamps, ordered by name.
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

/// Returns a string that changes with the version of gatebench, with the size or modification time
/// of the manifest, and with the number of trials; `None` without a manifest.
fn stamp(dir: &Path) -> Option<String> {
    let manifest = run::stamp(&dir.join(MANIFEST))?;
    let trials = fs::read_dir(dir.join(TRIALS)).map_or(0, Iterator::count);
    let version = env!("CARGO_PKG_VERSION");
    Some(format!("{version} {manifest} {trials}"))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    absent_is_fine(fs::remove_file(path), path)
}
