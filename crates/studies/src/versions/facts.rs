//! The combined results of a specification: the runs of each version.

use gatebench_report::Validity;
use gatebench_stats::Estimate;
use gatebench_stats::doubling::Doubling;
use gatebench_store::ErrorLog;
use serde::Serialize;

use crate::marginal_cost::facts::MarginalUnit;

/// The result of a specification.
#[derive(Clone, Debug, Serialize)]
pub struct CombinedFindings {
    pub specification: String,
    pub tags: Vec<String>,
    /// The load and length of a run, and the number of runs in each process, as text.
    pub load: String,
    /// The measured scenarios and versions, in the plan's order.
    pub versions: Vec<VersionFindings>,
    /// The trends of throughput; empty if the specification varies no number.
    pub trends: Vec<VersionTrend>,
    /// A sentence for each trial that failed and was repeated.
    pub tried_again: Vec<String>,
}

/// One version in one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct VersionFindings {
    pub scenario: String,
    /// Label of the variant.
    pub variant: String,
    /// The version that the program reported; `None` for the direct variant.
    pub version: Option<String>,
    /// The value of the varied number in this scenario; `None` unless the scenarios differ in
    /// exactly one number.
    pub count: Option<u32>,
    pub runs: Vec<RunFigures>,
    /// The combined valid runs; `None` if no run is valid.
    pub combined: Option<CombinedFigures>,
    /// The median of the valid runs' 90th percentiles, with the smallest and the largest; `None` if
    /// no run has one.
    pub p90_ns: Option<Estimate>,
    /// Like [`Self::p90_ns`], for the 99th percentiles.
    pub p99_ns: Option<Estimate>,
    /// The error logs that are not empty, if the specification requests them; paths are relative to
    /// the run directory.
    pub error_logs: Vec<ErrorLog>,
}

/// One run: a load in a process that may have served earlier runs.
#[derive(Clone, Debug, Serialize)]
pub struct RunFigures {
    pub trial: u32,
    /// Name of the run's phase, such as `run-1`.
    pub run: String,
    /// Responses per second.
    pub rate_per_second: f64,
    /// Requests with a complete response.
    pub responses: u64,
    /// Requests without a complete response, and responses that failed a check.
    pub failed: u64,
    /// Mean response time; `None` if there was no response.
    pub mean_ns: Option<f64>,
    pub max_ns: Option<u64>,
    /// 90th percentile of the response time; `None` if too few responses lie beyond it.
    pub p90_ns: Option<f64>,
    /// Like [`Self::p90_ns`], for the 99th percentile.
    pub p99_ns: Option<f64>,
    /// The worse of the validities of throughput and latency. An invalid run is shown, but excluded
    /// from combined figures.
    pub validity: Validity,
    /// The state of the machine before the run; `None` if the run did not wait for a quiet machine.
    pub settled: Option<SettledFindings>,
}

/// The state of the machine before a run that waited for a quiet machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SettledFindings {
    pub load_per_core: f64,
    /// The time that the run waited for a quiet machine.
    pub waited_ns: u64,
    /// True if the machine became as quiet as required.
    pub settled: bool,
}

/// The runs of a version, combined as Kong's framework combines them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CombinedFigures {
    pub rate_mean_per_second: f64,
    pub rate_min_per_second: f64,
    pub rate_max_per_second: f64,
    /// Mean response time over all responses: the runs' means, weighted by their numbers of
    /// responses.
    pub mean_ns: Option<f64>,
    pub max_ns: Option<u64>,
}

/// The throughput of a version as a function of the number that the specification varies.
#[derive(Clone, Debug, Serialize)]
pub struct VersionTrend {
    /// The common part of the scenarios' names.
    pub family: String,
    /// Label of the variant.
    pub variant: String,
    /// The unit of the varied number.
    pub what: MarginalUnit,
    /// The numbers with the mean rates, in ascending order.
    pub points: Vec<TrendPoint>,
    /// The line fitted to the logarithms of the points.
    pub line: Doubling,
}

/// The throughput at one value of the varied number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrendPoint {
    pub count: u32,
    /// Mean rate of the runs.
    pub rate_per_second: f64,
}
