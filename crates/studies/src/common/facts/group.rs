//! Parts of a scenario with figures of their own: its groups, their routes, and the figures of an
//! external load generator.

use gatebench_report::Validity;
use gatebench_stats::Estimate;
use serde::Serialize;

use super::ScenarioFindings;

/// A group of a variant in a phase.
#[derive(Clone, Debug, Serialize)]
pub struct GroupFindings {
    /// Name of the group.
    pub group: String,
    /// Name of the phase.
    pub phase: String,
    /// Label of the variant.
    pub variant: String,
    /// Its part of the phase's load as text: `16 connections`.
    pub load: String,
    /// Completed trials in which it was.
    pub trials: u32,
    /// The figures of its requests.
    pub figures: PartFigures,
    /// Arrivals that were never sent, over all trials.
    pub dropped: u64,
    /// Responses per second.
    pub rate_per_second: PartEstimate,
}

/// The figures of a part of a load. Counts are sums over all completed trials, the
/// invalid ones too.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PartFigures {
    /// Requests with a whole response.
    pub requests: u64,
    /// Requests without a response.
    pub errors: u64,
    /// Responses of which at least one check failed.
    pub checks_failed: u64,
    /// Mean response time, in nanoseconds.
    pub response_mean_ns: PartEstimate,
    /// Median response time, in nanoseconds.
    pub response_p50_ns: PartEstimate,
    /// 99th percentile of the response time, in nanoseconds.
    pub response_p99_ns: PartEstimate,
}

/// A number of a part of a load over the blocks that may be used for it.
#[derive(Clone, Debug, Serialize)]
pub struct PartEstimate {
    /// Median and range; none if no block has the number, or none of them may be used.
    pub estimate: Option<Estimate>,
    /// Worst validity among the blocks in the estimate; `Invalid` where none may be used.
    pub validity: Validity,
}

impl Default for PartEstimate {
    fn default() -> Self {
        Self {
            estimate: None,
            validity: Validity::Valid,
        }
    }
}

/// The slowest routes of a variant in a phase.
#[derive(Clone, Debug, Serialize)]
pub struct SlowestRoutes {
    /// Name of the phase.
    pub phase: String,
    /// Label of the variant.
    pub variant: String,
    /// The measure by which they are the slowest.
    pub by: Slowness,
    /// Routes of which these are the slowest.
    pub total: usize,
    /// The slowest first.
    pub routes: Vec<RouteFindings>,
}

/// The figure that ranks routes: the highest of these that all routes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Slowness {
    /// 99th percentile of the response time.
    P99,
    /// Median of the response time.
    P50,
    /// Mean of the response time.
    Mean,
}

/// A route of a group: one of the requests that it sends.
#[derive(Clone, Debug, Serialize)]
pub struct RouteFindings {
    /// Name of the group.
    pub group: String,
    /// Name of the request.
    pub route: String,
    /// The figures of its requests. Requests without a response count in the times with the time
    /// waited.
    pub figures: PartFigures,
}

/// The figures of an external load generator for a variant in a phase, over all completed trials.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalResults {
    /// Name of the phase.
    pub phase: String,
    /// Label of the variant.
    pub variant: String,
    /// Name of the engine.
    pub engine: String,
    /// Trials in which it reported something.
    pub trials: u32,
    /// Its checks, by name.
    pub checks: Vec<ExternalCheckResult>,
    /// Its thresholds, by name.
    pub thresholds: Vec<ExternalThresholdResult>,
    /// The groups of the user's script.
    pub groups: Vec<String>,
    /// Its further metrics, by name and statistic.
    pub metrics: Vec<ExternalMetricResult>,
}

/// A check of an external load generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExternalCheckResult {
    /// Its name, with the groups it lies in.
    pub name: String,
    /// The number of times that it held; none if the generator counts failures only.
    pub passed: Option<u64>,
    /// The number of times that it failed.
    pub failed: u64,
}

/// A threshold of a user's script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExternalThresholdResult {
    /// As it is written in the script.
    pub name: String,
    /// Trials in which it held.
    pub held: u32,
    /// Trials in which it did not.
    pub crossed: u32,
}

/// A metric of an external load generator, in its own unit.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalMetricResult {
    pub name: String,
    /// Which statistic of it, as in `p(95)`.
    pub statistic: String,
    /// Median and range over the trials.
    pub estimate: Estimate,
}

impl ScenarioFindings {
    /// The names of the groups to show with room for `most`, in the scenario's
    /// order: all, or else those with failures first, then those with the highest 99th percentile
    /// (or mean, if one has no percentile) of any variant and phase.
    pub fn foremost_groups(&self, most: usize) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for found in &self.groups {
            if !names.contains(&found.group.as_str()) {
                names.push(&found.group);
            }
        }
        if names.len() <= most {
            return names;
        }
        let by_p99 = self
            .groups
            .iter()
            .all(|found| found.figures.response_p99_ns.estimate.is_some());
        let score = |name: &str| {
            let own = self.groups.iter().filter(|found| found.group == name);
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
