//! Findings on parts of a scenario: its groups and their routes, and the additional results of an
//! external load generator.

use gatebench_report::Validity;
use gatebench_report::format::distinct;
use gatebench_stats::Estimate;
use serde::Serialize;

use super::ScenarioFindings;

/// The figures of a group for one variant and phase.
#[derive(Clone, Debug, Serialize)]
pub struct GroupFindings {
    pub group: String,
    pub phase: String,
    pub variant: String,
    /// The group's share of the phase's load, as text: `16 connections`.
    pub load: String,
    /// The number of completed trials that include the group.
    pub trials: u32,
    pub figures: PartFigures,
    /// Arrivals that were never sent, over all trials.
    pub dropped: u64,
    /// Responses per second.
    pub rate_per_second: PartEstimate,
}

/// The figures of a part of a load. Counts are sums over all completed trials, including invalid
/// ones.
#[derive(Clone, Debug, Serialize)]
pub struct PartFigures {
    /// Requests with a complete response.
    pub requests: u64,
    /// Requests without a complete response.
    pub errors: u64,
    /// Responses that failed at least one check.
    pub checks_failed: u64,
    pub response_mean_ns: PartEstimate,
    pub response_p50_ns: PartEstimate,
    pub response_p99_ns: PartEstimate,
}

/// A value of a part of a load, over the blocks that are usable for it.
#[derive(Clone, Debug, Serialize)]
pub struct PartEstimate {
    /// Median and range; `None` if no block has the value, or no block is usable.
    pub estimate: Option<Estimate>,
    /// Worst validity among the blocks in the estimate; `Invalid` if no block with the value is
    /// usable, and `Valid` if no block has the value.
    pub validity: Validity,
}

/// The slowest routes of a variant in a phase.
#[derive(Clone, Debug, Serialize)]
pub struct SlowestRoutes {
    pub phase: String,
    pub variant: String,
    pub by: Slowness,
    /// The number of all routes, including those that are not listed.
    pub total: usize,
    /// The routes, the slowest first.
    pub routes: Vec<RouteFindings>,
}

/// The statistic of the response time by which routes are ranked: the first of these that all
/// routes have, or else the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Slowness {
    P99,
    P50,
    Mean,
}

/// A route of a group: one of the requests that the group sends.
#[derive(Clone, Debug, Serialize)]
pub struct RouteFindings {
    pub group: String,
    /// Name of the request.
    pub route: String,
    /// The times include the waiting times of requests without a response.
    pub figures: PartFigures,
}

/// The figures of an external load generator for a variant in a phase, over all completed trials.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalResults {
    pub phase: String,
    pub variant: String,
    /// Name of the load generator: `k6`.
    pub engine: String,
    /// Trials for which the load generator printed figures of the phase.
    pub trials: u32,
    pub checks: Vec<ExternalCheckResult>,
    pub thresholds: Vec<ExternalThresholdResult>,
    /// The groups of the user's script.
    pub groups: Vec<String>,
    /// The load generator's additional metrics, by name and statistic.
    pub metrics: Vec<ExternalMetricResult>,
}

/// A check of an external load generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExternalCheckResult {
    /// The name, preceded by the groups that contain the check: `login › ok`.
    pub name: String,
    /// The number of passes; `None` if the load generator counts only failures.
    pub passed: Option<u64>,
    pub failed: u64,
}

/// A threshold of a user's script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExternalThresholdResult {
    /// The threshold as written in the script.
    pub name: String,
    /// Trials in which the threshold was met.
    pub held: u32,
    /// Trials in which the threshold was not met.
    pub crossed: u32,
}

/// A statistic of an external load generator's metric, in the load generator's unit.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalMetricResult {
    pub name: String,
    /// The statistic, such as `p(95)`.
    pub statistic: String,
    /// Median and range over the trials.
    pub estimate: Estimate,
}

impl ScenarioFindings {
    /// The names of at most `most` groups to show, in the scenario's order. If not all fit, the
    /// groups with the most failures are kept. Groups with equally many failures are ranked by
    /// their highest 99th percentile in any variant and phase, or by their highest mean if any
    /// group lacks that percentile.
    pub fn foremost_groups(&self, most: usize) -> Vec<&str> {
        let groups = || self.groups.iter();
        let mut names = distinct(groups().map(|found| &*found.group));
        if names.len() <= most {
            return names;
        }
        let by_p99 = groups().all(|found| found.figures.response_p99_ns.estimate.is_some());
        let score = |name: &str| {
            let own = groups().filter(|found| found.group == name);
            own.fold((0, 0.0), |(failures, slowest), found| {
                let figures = &found.figures;
                let time = if by_p99 {
                    &figures.response_p99_ns
                } else {
                    &figures.response_mean_ns
                };
                let median = time.estimate.as_ref().map_or(0.0, |time| time.median);
                let failed = figures.errors + figures.checks_failed;
                (failures + failed, f64::max(slowest, median))
            })
        };
        let mut ranked: Vec<_> = names.iter().map(|name| (score(name), *name)).collect();
        ranked
            .sort_by(|((a, slow_a), _), ((b, slow_b), _)| b.cmp(a).then(slow_b.total_cmp(slow_a)));
        ranked.truncate(most);
        names.retain(|name| ranked.iter().any(|(_, kept)| kept == name));
        names
    }
}
