//! `requests.csv`: the requests of each second by outcome, including the drain.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::str::FromStr;

use csv::StringRecord;

use crate::below::Below;
use crate::{StoreError, atomic};

const FILE: &str = "requests.csv";
const STATUS: &str = "status_";
const ERROR: &str = "error_";
const CHECK: &str = "check_failed_";

/// The requests of a second of a phase. Each request counts in the second in which it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestsRow {
    /// Name of the phase.
    pub phase: String,
    /// Second of the measurement, from 0. The row after the last whole second contains the drain.
    pub second: u32,
    /// Responses by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without a response by kind.
    pub errors: BTreeMap<String, u64>,
    /// Responses that failed a check, by the number of the check in the scenario.
    pub checks_failed: BTreeMap<usize, u64>,
    /// Responses that failed at least one check.
    pub failing_checks: u64,
    /// Arrivals that were never sent.
    pub dropped: u64,
    /// Bytes of requests.
    pub bytes_sent: u64,
    /// Bytes of responses.
    pub bytes_received: u64,
    /// Requests in flight at the end of the second.
    pub busy: u64,
}

/// Columns that every file has, after phase and second.
const COUNTS: [&str; 5] = [
    "failing_checks",
    "dropped",
    "bytes_sent",
    "bytes_received",
    "busy",
];

/// Writes the rows of a trial.
pub(crate) fn write(folder: &Path, rows: &[RequestsRow]) -> Result<(), StoreError> {
    let outcomes: BTreeSet<String> = rows
        .iter()
        .flat_map(|row| row.outcomes().into_keys())
        .collect();
    let mut header = vec!["phase".to_owned(), "second".to_owned()];
    header.extend(COUNTS.map(str::to_owned));
    header.extend(outcomes.iter().cloned());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = std::iter::once(header)
        .chain(rows.iter().map(|row| row.cells(&outcomes)))
        .try_for_each(|record| writer.write_record(record));
    let path = folder.join(FILE);
    let failed = |error: io::Error| StoreError::io("write", &path, error);
    written.map_err(|error| failed(error.into()))?;
    let bytes = writer
        .into_inner()
        .map_err(|error| failed(error.into_error()))?;
    atomic::write(&path, &bytes)
}

/// Reads the rows of a trial; none if an earlier version wrote it.
pub(crate) fn read(folder: &Below) -> Result<Vec<RequestsRow>, StoreError> {
    let file = folder.join(FILE);
    let Some(bytes) = file.read()? else {
        return Ok(Vec::new());
    };
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let corrupt = |reason: String| StoreError::Corrupt {
        path: file.path(),
        reason,
    };
    let header = reader
        .headers()
        .map_err(|error| corrupt(error.to_string()))?
        .clone();
    let row = |(line, cells): (u32, Result<StringRecord, csv::Error>)| {
        let cells = cells.map_err(|error| corrupt(error.to_string()))?;
        let row = RequestsRow::parse(&header, &cells);
        row.ok_or_else(|| corrupt(format!("line {line} has a cell that is not a number")))
    };
    (2..).zip(reader.records()).map(row).collect()
}

impl RequestsRow {
    /// The counts by the names of their columns.
    fn outcomes(&self) -> BTreeMap<String, u64> {
        let statuses = self.statuses.iter();
        let statuses = statuses.map(|(status, count)| (format!("{STATUS}{status}"), *count));
        let errors = self.errors.iter();
        let errors = errors.map(|(kind, count)| (format!("{ERROR}{kind}"), *count));
        let checks = self.checks_failed.iter();
        let checks = checks.map(|(number, count)| (format!("{CHECK}{number}"), *count));
        statuses.chain(errors).chain(checks).collect()
    }

    fn counts(&mut self) -> [&mut u64; COUNTS.len()] {
        [
            &mut self.failing_checks,
            &mut self.dropped,
            &mut self.bytes_sent,
            &mut self.bytes_received,
            &mut self.busy,
        ]
    }

    fn cells(&self, outcomes: &BTreeSet<String>) -> Vec<String> {
        let mut cells = vec![self.phase.clone(), self.second.to_string()];
        cells.extend(self.clone().counts().map(|count| count.to_string()));
        let own = self.outcomes();
        let count = |name| own.get(name).copied().unwrap_or(0).to_string();
        cells.extend(outcomes.iter().map(count));
        cells
    }

    /// Columns are found by name, so that files of other versions stay readable.
    fn parse(header: &StringRecord, cells: &StringRecord) -> Option<Self> {
        let mut row = Self::default();
        for (name, cell) in header.iter().zip(cells) {
            if name == "phase" {
                row.phase = cell.into();
                continue;
            }
            if name == "second" {
                row.second = cell.parse().ok()?;
                continue;
            }
            let count: u64 = cell.parse().ok()?;
            if let Some(place) = COUNTS.iter().position(|known| *known == name) {
                *row.counts()[place] = count;
            } else if count > 0 {
                keep(&mut row.statuses, name, STATUS, count);
                keep(&mut row.errors, name, ERROR, count);
                keep(&mut row.checks_failed, name, CHECK, count);
            }
        }
        Some(row)
    }
}

/// Stores a count whose column name is this prefix followed by its key.
fn keep<K: FromStr + Ord>(counts: &mut BTreeMap<K, u64>, name: &str, prefix: &str, count: u64) {
    let key = name.strip_prefix(prefix).and_then(|key| key.parse().ok());
    counts.extend(key.map(|key| (key, count)));
}
