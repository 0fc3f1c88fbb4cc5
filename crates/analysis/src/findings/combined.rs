//! The combined results of a specification: each version's runs side by side.

use gatebench_stats::Estimate;
use gatebench_stats::doubling::Doubling;
use serde::Serialize;

use super::{MarginalUnit, Validity};

/// What a specification came to.
#[derive(Clone, Debug, Serialize)]
pub struct CombinedFindings {
    /// Its name.
    pub specification: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The load of each run, in words.
    pub load: String,
    /// Scenarios with the versions that were measured in them, in the plan's order.
    pub versions: Vec<VersionFindings>,
    /// How throughput goes with what is counted up; empty where nothing is.
    pub trends: Vec<VersionTrend>,
    /// Trials that failed and were tried again, in a sentence each.
    pub tried_again: Vec<String>,
}

/// One version in one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct VersionFindings {
    /// The scenario.
    pub scenario: String,
    /// Label of the variant.
    pub variant: String,
    /// What the program answered when asked for its version; none for the direct variant.
    pub version: Option<String>,
    /// How many there are of what is counted up.
    pub count: Option<u32>,
    /// The runs, in their order.
    pub runs: Vec<RunFigures>,
    /// The valid runs together; none where there is none.
    pub combined: Option<CombinedFigures>,
    /// The middle of the valid runs' 90th percentiles, with the least and the largest; none where none has one.
    pub p90_ns: Option<Estimate>,
    /// The same of the 99th.
    pub p99_ns: Option<Estimate>,
    /// Error logs, where they are to be named and something stands in them.
    pub error_logs: Vec<ErrorLogFindings>,
}

/// One run: a load in a process that may have had others before.
#[derive(Clone, Debug, Serialize)]
pub struct RunFigures {
    /// Number of the trial.
    pub trial: u32,
    /// Name of the run.
    pub run: String,
    /// Answers per second.
    pub rate_per_second: f64,
    /// Requests that were answered.
    pub answers: u64,
    /// Requests without an answer, and answers that failed a check.
    pub failed: u64,
    /// Mean response time; none where nothing was answered.
    pub mean_ns: Option<f64>,
    /// The longest response time.
    pub max_ns: Option<u64>,
    /// 90th percentile of the response time; none where too few answers lie beyond it.
    pub p90_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
    /// Whether its throughput and latency stand. A run for which either does not is shown, and left out of what is
    /// combined.
    pub validity: Validity,
    /// How quiet the machine was before it; none where it was not waited for.
    pub settled: Option<SettledFindings>,
}

/// How quiet the machine was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SettledFindings {
    /// Its load average per core.
    pub load_per_core: f64,
    /// How long it was waited for.
    pub waited_ns: u64,
    /// Whether it was as quiet as was asked for.
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
    /// Mean response time over all requests: each run's mean weighted by its answers.
    pub mean_ns: Option<f64>,
    /// The longest response time of any run.
    pub max_ns: Option<u64>,
}

/// An error log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorLogFindings {
    /// Its file, from the run directory.
    pub file: String,
    /// Its lines.
    pub lines: u64,
}

/// How the throughput of a version goes with what is counted up.
#[derive(Clone, Debug, Serialize)]
pub struct VersionTrend {
    /// What the names of the scenarios have in common.
    pub family: String,
    /// Label of the variant.
    pub variant: String,
    /// What is counted.
    pub what: MarginalUnit,
    /// The counts with the means, the smallest first.
    pub points: Vec<TrendPoint>,
    /// The line through them, with logarithms on both axes.
    pub line: Doubling,
}

/// A count and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrendPoint {
    /// How many there are.
    pub count: u32,
    /// Mean rate of the runs.
    pub rate_per_second: f64,
}
