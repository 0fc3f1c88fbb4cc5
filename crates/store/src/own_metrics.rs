//! The record of a gateway's own metrics over a phase.

use gatebench_model::own_metrics::{Covers, LatencyKind};
use serde::{Deserialize, Serialize};

/// A gateway's own metrics over a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnMetricsRecord {
    /// The number of fetches, including those that failed.
    pub scrapes: u64,
    /// The number of fetches that did not return the gateway's request count, for example because
    /// of a timeout or a status other than 200.
    pub failed: u64,
    /// The size of the largest response body, in bytes.
    pub bytes_max: u64,
    pub took_ns_max: u64,
    /// The growth of the gateway's own request count from the first to the last successful fetch.
    pub requests: u64,
    /// The number of responses that the load generator counted between these fetches.
    #[serde(alias = "answers")]
    pub responses: u64,
    /// The comparison with the load generator over the whole load. `None` in runs of earlier
    /// versions, and if the metrics could not be read before or after the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<OwnAuditRecord>,
}

/// The counts of a gateway and of the load generator over a whole load, including the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnAuditRecord {
    /// The growth of the gateway's own request count, excluding the fetches of the metrics.
    pub requests: u64,
    /// The number of requests that received a complete response.
    pub completed: u64,
    pub sent: u64,
    /// The number of requests that received no response but reached the upstream, so the gateway
    /// must have read them.
    pub abandoned: u64,
    /// The number of requests that the upstream received again.
    pub repeated: u64,
    /// The time from the end of the load until the metrics included every request that the gateway
    /// must have counted; `None` if they did not within `waited_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ns: Option<u64>,
    /// The time from the end of the load to the last fetch.
    pub waited_ns: u64,
    /// The wait before the fetch that precedes the load. It gives the metrics time to count every
    /// earlier request.
    pub settled_ns: u64,
    /// The metrics that measure the duration of requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<OwnLatencyRecord>,
}

/// A metric that measures the duration of requests, with the load generator's measurement of the
/// same times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnLatencyRecord {
    pub metric: String,
    pub kind: LatencyKind,
    pub covers: Covers,
    /// The number of requests that the metric measured; 0 for a gauge.
    pub count: u64,
    /// The mean time of these requests, or the value of a gauge; `None` if the metric has no sum or
    /// measured no requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// The resolution of the metric's times, if the gateway's folder states it, or if the times are
    /// evidently whole milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ns: Option<u64>,
    /// The upper bounds of the buckets, except the infinite bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds_ns: Vec<u64>,
    /// For each bound, the number of requests that took no longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub up_to: Vec<u64>,
    /// The load generator's measurement of the same times.
    pub measured: MeasuredTimes,
}

/// Times that the load generator measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredTimes {
    pub count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// For each bound of the gateway's buckets, the number of requests that took no longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub up_to: Vec<u64>,
    /// The percentiles (0 to 100) and their values in nanoseconds; empty if only the mean is known
    /// or if there are too few times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<(f64, u64)>,
}
