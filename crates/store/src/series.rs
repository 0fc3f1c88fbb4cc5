//! Reads and writes `series.csv`, which has one row per phase and second.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::StoreError;
use crate::below::Below;
use crate::table::{self, Row};

const FILE: &str = "series.csv";

/// One second of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesRow {
    pub phase: String,
    /// The second of the measurement, counted from 0.
    pub second: u32,
    pub completed: u64,
    /// The number of requests that failed in this second, without a complete response or with a
    /// failed check.
    pub failed: u64,
    /// The median response time in this second; `None` with fewer than 20 responses.
    pub response_p50_ns: Option<u64>,
    /// The 99th percentile of the response time; `None` with fewer than 10 responses beyond it.
    pub response_p99_ns: Option<u64>,
    /// The resource usage of the gateway in this second; `None` for the direct variant, or if it
    /// was not sampled.
    pub gateway: Option<SeriesUsage>,
    /// The resource usage of the load generator in this second, if it was sampled. For the built-in
    /// load generator, the CPU time is that of its workers.
    pub engine: Option<SeriesUsage>,
    /// The resource usage of the upstream in this second, if it was sampled.
    pub upstream: Option<SeriesUsage>,
    /// The value of the gateway's own request counter, if it was fetched in this second.
    pub own_requests: Option<u64>,
    /// The sizes of the gateway's pools, from its own metrics. The names end with the unit, as in
    /// `heap_bytes` and `threads_count`.
    pub pools: BTreeMap<String, u64>,
    /// Other figures from the gateway's own metrics, over the time since the previous fetch. The
    /// names contain the values of labels and the unit, as in `latency.a_ns` and
    /// `requests.a.200_per_1000_s`.
    pub own_series: BTreeMap<String, u64>,
}

/// The resource usage of a component in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeriesUsage {
    pub cpu_ns: u64,
    /// The anonymous resident memory at the end of the second.
    pub rss_anon_bytes: u64,
    /// The number of open file descriptors at the end of the second.
    pub descriptors: u64,
    pub switches_voluntary: u64,
    pub switches_involuntary: u64,
}

const COLUMNS: [&str; 6] = [
    "phase",
    "second",
    "completed",
    "failed",
    "response_p50_ns",
    "response_p99_ns",
];

const OWN_REQUESTS: &str = "gateway_own_requests";

const POOL: &str = "gateway_pool_";

/// The prefix of columns with other figures from the gateway's own metrics.
const OWN_SERIES: &str = "gateway_own_";

const COMPONENTS: [&str; 3] = ["gateway", "engine", "upstream"];

/// The columns of each component, preceded by its name, as in `gateway_cpu_ns`.
const USAGE_COLUMNS: [&str; 5] = [
    "cpu_ns",
    "rss_anon_bytes",
    "descriptors",
    "switches_voluntary",
    "switches_involuntary",
];

pub(crate) fn write(folder: &Path, rows: &[SeriesRow]) -> Result<(), StoreError> {
    let mut header: Vec<String> = COLUMNS.map(String::from).to_vec();
    for component in COMPONENTS {
        header.extend(USAGE_COLUMNS.map(|column| format!("{component}_{column}")));
    }
    header.push(OWN_REQUESTS.into());
    let pools: BTreeSet<&String> = rows.iter().flat_map(|row| row.pools.keys()).collect();
    header.extend(pools.iter().map(|pool| format!("{POOL}{pool}")));
    let own: BTreeSet<&String> = rows.iter().flat_map(|row| row.own_series.keys()).collect();
    header.extend(own.iter().map(|name| format!("{OWN_SERIES}{name}")));
    let rows = rows.iter().map(|row| cells(row, &pools, &own));
    table::write(&folder.join(FILE), header, rows)
}

pub(crate) fn read(folder: &Below) -> Result<Vec<SeriesRow>, StoreError> {
    table::read(&folder.join(FILE), parse)
}

fn cells(row: &SeriesRow, pools: &BTreeSet<&String>, own: &BTreeSet<&String>) -> Vec<String> {
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
    let sizes = pools.iter().map(|pool| row.pools.get(*pool).copied());
    let own = own.iter().map(|name| row.own_series.get(*name).copied());
    cells.extend(sizes.chain(own).map(optional));
    cells
}

fn parse(row: &Row<'_>) -> Result<SeriesRow, String> {
    let (mut pools, mut own_series) = (BTreeMap::new(), BTreeMap::new());
    for column in row.columns().filter(|column| *column != OWN_REQUESTS) {
        let pool = column.strip_prefix(POOL).map(|name| (name, &mut pools));
        let own = column.strip_prefix(OWN_SERIES);
        let own = own.map(|name| (name, &mut own_series));
        if let Some((name, values)) = pool.or(own) {
            let value = row.number(column)?;
            values.extend(value.map(|value| (name.to_owned(), value)));
        }
    }
    Ok(SeriesRow {
        phase: row.text("phase")?,
        second: row.second()?,
        completed: row.required("completed")?,
        failed: row.required("failed")?,
        response_p50_ns: row.number("response_p50_ns")?,
        response_p99_ns: row.number("response_p99_ns")?,
        gateway: usage(row, "gateway")?,
        engine: usage(row, "engine")?,
        upstream: usage(row, "upstream")?,
        own_requests: row.number(OWN_REQUESTS)?,
        pools,
        own_series,
    })
}

fn usage(row: &Row<'_>, component: &str) -> Result<Option<SeriesUsage>, String> {
    let mut usage = None::<SeriesUsage>;
    for (index, column) in USAGE_COLUMNS.into_iter().enumerate() {
        if let Some(number) = row.number(&format!("{component}_{column}"))? {
            *usage.get_or_insert_default().fields()[index] = number;
        }
    }
    Ok(usage)
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
