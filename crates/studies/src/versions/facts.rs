//! The combined results of a specification: each version's runs side by side.

use gatebench_report::Validity;
use gatebench_stats::Estimate;
use gatebench_stats::doubling::Doubling;
use serde::Serialize;

use crate::marginal_cost::facts::MarginalUnit;

/// The result of a specification.
#[derive(Clone, Debug, Serialize)]
pub struct CombinedFindings {
    /// Its name.
    pub specification: String,
    pub tags: Vec<String>,
    /// The load of each run, as text.
    pub load: String,
    /// Scenarios with the versions that were measured in them, in the plan's order.
    pub versions: Vec<VersionFindings>,
    /// The trends of throughput; empty if the specification counts nothing up.
    pub trends: Vec<VersionTrend>,
    /// Trials that failed and were tried again, in a sentence each.
    pub tried_again: Vec<String>,
}

/// One version in one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct VersionFindings {
    pub scenario: String,
    /// Label of the variant.
    pub variant: String,
    /// The version that the program reported; none for the direct variant.
    pub version: Option<String>,
    /// The number of things that the specification counts up.
    pub count: Option<u32>,
    /// The runs, in their order.
    pub runs: Vec<RunFigures>,
    /// The valid runs together; none if there is none.
    pub combined: Option<CombinedFigures>,
    /// The middle of the valid runs' 90th percentiles, with the least and the largest; none if none
    /// has one.
    pub p90_ns: Option<Estimate>,
    /// The same of the 99th.
    pub p99_ns: Option<Estimate>,
    /// Error logs that are not empty, if the specification names them.
    pub error_logs: Vec<ErrorLogFindings>,
}

/// One run: a load in a process that may have had others before.
#[derive(Clone, Debug, Serialize)]
pub struct RunFigures {
    pub trial: u32,
    /// Name of the run.
    pub run: String,
    /// Responses per second.
    pub rate_per_second: f64,
    /// Requests with a response.
    #[serde(rename = "answers")]
    pub responses: u64,
    /// Requests without a response, and responses that failed a check.
    pub failed: u64,
    /// Mean response time; none without a response.
    pub mean_ns: Option<f64>,
    /// The longest response time.
    pub max_ns: Option<u64>,
    /// 90th percentile of the response time; none if too few responses lie beyond it.
    pub p90_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
    /// The worse validity of its throughput and latency. An invalid run is shown, and left out of
    /// what is combined.
    pub validity: Validity,
    /// The load of the machine before it; none if the run did not wait for a quiet machine.
    pub settled: Option<SettledFindings>,
}

/// The load of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SettledFindings {
    /// Its load average per core.
    pub load_per_core: f64,
    /// The time that the run waited for it.
    pub waited_ns: u64,
    /// True if it was as quiet as required.
    pub settled: bool,
}

/// Runs together, as Kong's framework combines them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CombinedFigures {
    /// Mean of the runs' rates.
    pub rate_mean_per_second: f64,
    /// The slowest run.
    pub rate_min_per_second: f64,
    /// The fastest run.
    pub rate_max_per_second: f64,
    /// Mean response time over all requests: each run's mean weighted by its responses.
    pub mean_ns: Option<f64>,
    /// The longest response time of any run.
    pub max_ns: Option<u64>,
}

/// An error log that a trial left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorLogFindings {
    /// Its file, from the run directory.
    pub file: String,
    pub lines: u64,
}

/// The throughput of a version against the number that the specification counts up.
#[derive(Clone, Debug, Serialize)]
pub struct VersionTrend {
    /// The common part of the scenarios' names.
    pub family: String,
    /// Label of the variant.
    pub variant: String,
    /// The unit that is counted.
    pub what: MarginalUnit,
    /// The counts with the means, the smallest first.
    pub points: Vec<TrendPoint>,
    /// The line through them, with logarithms on both axes.
    pub line: Doubling,
}

/// A count and its result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrendPoint {
    /// Their number.
    pub count: u32,
    /// Mean rate of the runs.
    pub rate_per_second: f64,
}
