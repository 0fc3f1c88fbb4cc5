//! `series.csv`: one row per phase and second.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use csv::StringRecord;

use crate::below::Below;
use crate::{StoreError, atomic};

const FILE: &str = "series.csv";

/// One second of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesRow {
    /// Name of the phase.
    pub phase: String,
    /// Second of the measurement, from 0.
    pub second: u32,
    /// Responses completed in this second.
    pub completed: u64,
    /// Requests that failed in this second, without a response or with a failed check.
    pub failed: u64,
    /// Median response time of this second; none without responses.
    pub response_p50_ns: Option<u64>,
    /// 99th percentile of the response time; none with fewer than 10 responses beyond it.
    pub response_p99_ns: Option<u64>,
    /// The usage of the gateway in this second; none for the direct variant or if it was not
    /// sampled.
    pub gateway: Option<SeriesUsage>,
    /// The usage of the load generator in this second.
    pub engine: Option<SeriesUsage>,
    /// The usage of the upstream in this second.
    pub upstream: Option<SeriesUsage>,
    /// The count of requests in the gateway's own metrics, if they were fetched in this second.
    pub own_requests: Option<u64>,
    /// The sizes of its pools from the same metrics, by names that end with the unit: `heap_bytes`,
    /// `threads_count`.
    pub pools: BTreeMap<String, u64>,
}

/// The usage of a component in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeriesUsage {
    /// CPU time used in this second.
    pub cpu_ns: u64,
    /// Anonymous resident memory at its end.
    pub rss_anon_bytes: u64,
    /// Open descriptors at its end.
    pub descriptors: u64,
    /// Voluntary context switches in it.
    pub switches_voluntary: u64,
    /// Involuntary context switches in it.
    pub switches_involuntary: u64,
}

/// Columns before those of the components.
const COLUMNS: [&str; 6] = [
    "phase",
    "second",
    "completed",
    "failed",
    "response_p50_ns",
    "response_p99_ns",
];

/// The column after those of the components.
const OWN_REQUESTS: &str = "gateway_own_requests";

/// The prefix of the columns of pools.
const POOL: &str = "gateway_pool_";

/// The components; each has the columns [`USAGE_COLUMNS`].
const COMPONENTS: [&str; 3] = ["gateway", "engine", "upstream"];

/// Columns of a component, prefixed with its name: `gateway_cpu_ns`.
const USAGE_COLUMNS: [&str; 5] = [
    "cpu_ns",
    "rss_anon_bytes",
    "descriptors",
    "switches_voluntary",
    "switches_involuntary",
];

/// Writes the series of a trial.
pub(crate) fn write(folder: &Path, rows: &[SeriesRow]) -> Result<(), StoreError> {
    let mut header: Vec<String> = COLUMNS.map(String::from).to_vec();
    for component in COMPONENTS {
        header.extend(USAGE_COLUMNS.map(|column| format!("{component}_{column}")));
    }
    header.push(OWN_REQUESTS.into());
    let pools: BTreeSet<&String> = rows.iter().flat_map(|row| row.pools.keys()).collect();
    header.extend(pools.iter().map(|pool| format!("{POOL}{pool}")));
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = std::iter::once(header)
        .chain(rows.iter().map(|row| cells(row, &pools)))
        .try_for_each(|record| writer.write_record(record));
    let path = folder.join(FILE);
    let failed = |error: io::Error| StoreError::io("write", &path, error);
    written.map_err(|error| failed(error.into()))?;
    let bytes = writer
        .into_inner()
        .map_err(|error| failed(error.into_error()))?;
    atomic::write(&path, &bytes)
}

/// Reads the series of a trial. Columns are found by name; unknown columns are skipped and missing
/// ones are empty, so that files of other versions stay readable.
pub(crate) fn read(folder: &Below) -> Result<Vec<SeriesRow>, StoreError> {
    let file = folder.join(FILE);
    let Some(bytes) = file.read()? else {
        return Ok(Vec::new());
    };
    let text = str::from_utf8(&bytes).map_err(|error| error.to_string());
    text.and_then(parse).map_err(|reason| StoreError::Corrupt {
        path: file.path(),
        reason,
    })
}

/// The cells of a row, in the order of the header.
fn cells(row: &SeriesRow, pools: &BTreeSet<&String>) -> Vec<String> {
    let optional = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let mut cells = vec![
        row.phase.clone(),
        row.second.to_string(),
        row.completed.to_string(),
        row.failed.to_string(),
        optional(row.response_p50_ns),
        optional(row.response_p99_ns),
    ];
    for usage in [row.gateway, row.engine, row.upstream] {
        let values = usage.map(|mut usage| usage.fields().map(|field| *field));
        cells.extend((0..USAGE_COLUMNS.len()).map(|index| optional(values.map(|all| all[index]))));
    }
    cells.push(optional(row.own_requests));
    cells.extend(
        pools
            .iter()
            .map(|pool| optional(row.pools.get(*pool).copied())),
    );
    cells
}

fn parse(text: &str) -> Result<Vec<SeriesRow>, String> {
    // The reader skips empty lines, which a series does not contain.
    if let Some(index) = text.lines().position(str::is_empty) {
        return Err(format!("line {} is empty", index + 1));
    }
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    if header.is_empty() {
        return Err("the header is missing".into());
    }
    (2..)
        .zip(reader.records())
        .map(|(line, cells)| {
            let cells = cells.map_err(|error| format!("line {line}: {error}"))?;
            Cells {
                header: &header,
                cells: &cells,
            }
            .row()
            .map_err(|reason| format!("line {line}: {reason}"))
        })
        .collect()
}

/// A record with the names of its columns.
struct Cells<'a> {
    header: &'a StringRecord,
    cells: &'a StringRecord,
}

impl Cells<'_> {
    fn row(&self) -> Result<SeriesRow, String> {
        if self.cells.len() != self.header.len() {
            return Err(format!(
                "{} cells, not {}",
                self.cells.len(),
                self.header.len()
            ));
        }
        let second = self.required("second")?;
        let phase = self.text("phase");
        Ok(SeriesRow {
            phase: phase.ok_or("the column 'phase' is missing")?.to_owned(),
            second: u32::try_from(second).map_err(|_| format!("second {second} is too large"))?,
            completed: self.required("completed")?,
            failed: self.required("failed")?,
            response_p50_ns: self.number("response_p50_ns")?,
            response_p99_ns: self.number("response_p99_ns")?,
            gateway: self.usage("gateway")?,
            engine: self.usage("engine")?,
            upstream: self.usage("upstream")?,
            own_requests: self.number(OWN_REQUESTS)?,
            pools: self.pools()?,
        })
    }

    fn pools(&self) -> Result<BTreeMap<String, u64>, String> {
        let mut found = BTreeMap::new();
        for column in self.header {
            if let Some(pool) = column.strip_prefix(POOL)
                && let Some(held) = self.number(column)?
            {
                found.insert(pool.to_owned(), held);
            }
        }
        Ok(found)
    }

    fn usage(&self, component: &str) -> Result<Option<SeriesUsage>, String> {
        let mut usage = SeriesUsage::default();
        let mut any = false;
        for (field, column) in usage.fields().into_iter().zip(USAGE_COLUMNS) {
            if let Some(number) = self.number(&format!("{component}_{column}"))? {
                *field = number;
                any = true;
            }
        }
        Ok(any.then_some(usage))
    }

    fn required(&self, column: &str) -> Result<u64, String> {
        self.number(column)?
            .ok_or_else(|| format!("'{column}' is empty"))
    }

    fn number(&self, column: &str) -> Result<Option<u64>, String> {
        match self.text(column) {
            None | Some("") => Ok(None),
            Some(text) => text
                .parse()
                .map(Some)
                .map_err(|_| format!("'{text}' in '{column}' is not a number")),
        }
    }

    fn text(&self, column: &str) -> Option<&str> {
        let index = self.header.iter().position(|name| name == column)?;
        self.cells.get(index)
    }
}

impl SeriesUsage {
    /// The fields in the order of [`USAGE_COLUMNS`].
    fn fields(&mut self) -> [&mut u64; USAGE_COLUMNS.len()] {
        [
            &mut self.cpu_ns,
            &mut self.rss_anon_bytes,
            &mut self.descriptors,
            &mut self.switches_voluntary,
            &mut self.switches_involuntary,
        ]
    }
}
