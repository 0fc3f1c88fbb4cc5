//! Reads and writes `requests.csv`, which contains the numbers of requests by outcome, in each
//! second of a measurement and in the drain that follows it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use crate::StoreError;
use crate::below::Below;
use crate::table::{self, Row};

const FILE: &str = "requests.csv";
const STATUS: &str = "status_";
const ERROR: &str = "error_";
const CHECK: &str = "check_failed_";

/// The numbers of requests in a second of a phase. A request is counted in the second in which its
/// response ended or in which it failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestsRow {
    pub phase: String,
    /// The second of the measurement, counted from 0. The row after the last second of the
    /// measurement contains the drain.
    pub second: u32,
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without a complete response, by the kind of error.
    pub errors: BTreeMap<String, u64>,
    /// Responses that failed a check, by the index of the check in the scenario.
    pub checks_failed: BTreeMap<usize, u64>,
    pub failing_checks: u64,
    /// Arrivals that were never sent.
    pub dropped: u64,
    /// The size of the requests that were sent in the second, in bytes.
    pub bytes_sent: u64,
    /// The number of bytes that arrived in the second, including the overhead of TLS.
    pub bytes_received: u64,
    /// Requests in flight at the end of the second.
    pub busy: u64,
}

/// The columns that every file has after phase and second.
const COUNTS: [&str; 5] = [
    "failing_checks",
    "dropped",
    "bytes_sent",
    "bytes_received",
    "busy",
];

pub(crate) fn write(folder: &Path, rows: &[RequestsRow]) -> Result<(), StoreError> {
    let outcomes = rows.iter().flat_map(|row| row.outcomes().into_keys());
    let outcomes: BTreeSet<String> = outcomes.collect();
    let mut header = vec!["phase".to_owned(), "second".to_owned()];
    header.extend(COUNTS.map(str::to_owned));
    header.extend(outcomes.iter().cloned());
    let rows = rows.iter().map(|row| row.cells(&outcomes));
    table::write(&folder.join(FILE), header, rows)
}

pub(crate) fn read(folder: &Below) -> Result<Vec<RequestsRow>, StoreError> {
    table::read(&folder.join(FILE), RequestsRow::parse)
}

impl RequestsRow {
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

    fn parse(cells: &Row<'_>) -> Result<Self, String> {
        let mut row = Self {
            phase: cells.text("phase")?,
            second: cells.second()?,
            ..Self::default()
        };
        for name in cells
            .columns()
            .filter(|it| !["phase", "second"].contains(it))
        {
            let count = cells.required(name)?;
            if let Some(place) = COUNTS.iter().position(|known| *known == name) {
                *row.counts()[place] = count;
            } else if count > 0 {
                keep(&mut row.statuses, name, STATUS, count);
                keep(&mut row.errors, name, ERROR, count);
                keep(&mut row.checks_failed, name, CHECK, count);
            }
        }
        Ok(row)
    }
}

/// Stores the count if the column's name is `prefix` followed by a key.
fn keep<K: FromStr + Ord>(counts: &mut BTreeMap<K, u64>, name: &str, prefix: &str, count: u64) {
    let key = name.strip_prefix(prefix).and_then(|key| key.parse().ok());
    counts.extend(key.map(|key| (key, count)));
}
