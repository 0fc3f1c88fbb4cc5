//! The metrics that a gateway exports about itself.

use std::collections::BTreeMap;

use gatebench_config::{HumanDuration, schema_fragments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The metrics that a gateway exports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnMetrics {
    /// The path of the metrics, at the address that the templates get as `metrics`.
    #[schemars(schema_with = "schema_fragments::path")]
    pub path: String,
    /// The format of the page [default: prometheus].
    #[serde(default, skip_serializing_if = "is_prometheus")]
    pub format: MetricsFormat,
    /// The metric that counts the gateway's requests. Its samples are summed.
    pub requests: String,
    /// Labels that a sample must have to be counted, if other samples count the same requests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// True if each fetch of the metrics counts as a request [default: false].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts_fetches: bool,
    /// The time until a request appears in the metrics [default: 1s].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_by: Option<HumanDuration>,
    /// The metrics that time requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<OwnLatency>,
    /// The metrics of the gateway's internal pools, which a soak test monitors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
    /// Figures that a soak shows over time, without a verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<OwnSeries>,
}

/// A figure over time, from counters of the gateway's metrics, with one line for each combination
/// of labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnSeries {
    /// The figure's name in reports.
    #[schemars(schema_with = "schema_fragments::name")]
    pub name: String,
    /// The counter.
    pub metric: String,
    /// The counter by whose growth the growth of `metric` is divided, such as `…_count` for
    /// `…_sum`. The quotient must be in milliseconds [default: no division; the figure is the
    /// growth per second].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The labels whose combinations are separate lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
}

impl OwnSeries {
    /// The name of the figure's series, with the values of its labels and the unit: `latency.a_ns`,
    /// `requests.a.200_per_1000_s`.
    pub fn series(&self, values: &[String]) -> String {
        let unit = match self.over {
            Some(_) => "ns",
            None => "per_1000_s",
        };
        format!("{}_{unit}", dotted(&self.name, values))
    }
}

fn dotted(name: &str, values: &[String]) -> String {
    let values = values.iter().map(String::as_str);
    Vec::from_iter(std::iter::once(name).chain(values)).join(".")
}

/// The format of a metrics page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricsFormat {
    /// Prometheus's text format.
    #[default]
    Prometheus,
    /// The page of nginx's `stub_status`, read as the metrics `active`, `accepts`, `handled`,
    /// `requests`, `reading`, `writing` and `waiting`.
    StubStatus,
}

fn is_prometheus(format: &MetricsFormat) -> bool {
    *format == MetricsFormat::Prometheus
}

/// A metric that times requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnLatency {
    /// The metric's name, without `_bucket`, `_sum` and `_count`.
    pub metric: String,
    /// Labels that a sample must have. The samples are summed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    pub unit: LatencyUnit,
    /// The form of the metric [default: histogram].
    #[serde(default)]
    pub kind: LatencyKind,
    pub covers: Covers,
    /// The resolution of each time, if it is coarser than the bounds of the buckets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<HumanDuration>,
}

/// The unit of a metric that times requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LatencyUnit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
}

impl LatencyUnit {
    /// The length of the unit in nanoseconds.
    pub fn nanos(self) -> f64 {
        match self {
            Self::S => 1e9,
            Self::Ms => 1e6,
        }
    }
}

/// The form of a metric that times requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LatencyKind {
    /// Buckets with their bounds, and usually a sum: `_bucket`, `_sum`, `_count`.
    #[default]
    Histogram,
    /// Only `_sum` and `_count`, which give a mean.
    Sum,
    /// A gauge with the mean time of recent requests.
    Mean,
}

/// The part of a request that a metric times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Covers {
    /// The whole request.
    Request,
    /// The gateway's own part, without the time of the upstream.
    Gateway,
    /// The gateway's own part until the request is sent to the upstream.
    RequestSide,
    /// The time of the upstream.
    Upstream,
}

/// A resource that a gateway allocates and frees internally, without the kernel's knowledge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// The pool's name in reports.
    #[schemars(schema_with = "schema_fragments::name")]
    pub name: String,
    /// The metric that contains the used part of the pool.
    pub metric: String,
    /// Labels that a sample must have to be counted. The samples are summed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// A label, such as a worker's process ID. Each of its values is a separate pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub unit: PoolUnit,
}

impl Pool {
    /// The name of the pool's series, with the value of its label: `heap_bytes`, `heap.4711_bytes`.
    pub fn series(&self, values: &[String]) -> String {
        let unit = match self.unit {
            PoolUnit::Bytes => "bytes",
            PoolUnit::Count => "count",
        };
        format!("{}_{unit}", dotted(&self.name, values))
    }
}

/// The unit of a pool's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoolUnit {
    /// A size in bytes.
    Bytes,
    /// A count of items, such as threads, connections or entries.
    Count,
}
