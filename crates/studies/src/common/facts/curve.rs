//! Percentile curves.

use gatebench_report::Validity;
use serde::Serialize;

use super::PhaseKind;

/// A percentile curve, up to its trusted percentile.
#[derive(Clone, Debug, Serialize)]
pub struct PercentileCurve {
    pub variant: String,
    pub phase: String,
    pub kind: PhaseKind,
    pub metric: CurveMetric,
    /// The title in a legend: `nginx, added`.
    pub label: String,
    /// The number of values in the merged histogram.
    pub samples: u64,
    /// The highest percentile with at least ten values beyond it, from 0 to 100.
    pub trusted_percentile: f64,
    /// Blocks that were merged: those that are not invalid for latency.
    pub blocks: Vec<u32>,
    /// Worst validity among these blocks.
    pub validity: Validity,
    /// Points by ascending percentile.
    pub points: Vec<CurvePoint>,
}

/// The quantity that a curve shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveMetric {
    Added,
    /// Response time from the intended send time.
    Response,
    /// Service time from the actual send time.
    Service,
    /// Actual minus intended send time.
    Lateness,
}

impl CurveMetric {
    pub(crate) const ALL: [Self; 4] = [Self::Added, Self::Response, Self::Service, Self::Lateness];

    /// The name in the tags of histograms and in the keys of sums.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Response => "response",
            Self::Service => "service",
            Self::Lateness => "lateness",
        }
    }
}

/// A point of a percentile curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The percentile, from 0 to 100.
    pub percentile: f64,
    /// The value of the metric at this percentile. For [`CurveMetric::Lateness`], this is the
    /// lateness, not a latency.
    pub latency_ns: u64,
}
