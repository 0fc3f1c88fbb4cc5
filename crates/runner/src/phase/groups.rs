//! Turns the groups of a load into their records.

use gatebench_engine::{GroupOutcome, Metric, Outcome, Recording, RouteRecord as EngineRoute};
use gatebench_model::Shape;
use gatebench_stats::is_trustworthy;
use gatebench_store::{GroupRecord, Histogram, RouteRecord, TimeFigures};

use super::figures::{counts, of_responses, sums};
use crate::workload::Workload;

/// Returns the record of each group, if there are several groups or a group with several requests.
/// `shapes` are the groups' loads.
pub(crate) fn records(outcome: &Outcome, shapes: &[Shape]) -> Vec<GroupRecord> {
    let several = outcome.groups.len() > 1;
    let apart = several || outcome.groups.iter().any(|group| group.routes.len() > 1);
    let groups = outcome.groups.iter().zip(shapes).filter(|_| apart);
    groups
        .map(|(group, shape)| record(group, shape, &outcome.checks))
        .collect()
}

fn record(group: &GroupOutcome, shape: &Shape, checks: &[String]) -> GroupRecord {
    let sums = sums(&group.recordings);
    let responses = of_responses(&group.recordings, Metric::Response);
    let response_sums = sums
        .iter()
        .filter(|(key, _)| key.starts_with("response.") && *key != "response.failed");
    let (total_ns, max_ns) = response_sums.fold((0_u128, 0), |(total, max), (_, sum)| {
        (total + u128::from(sum.sum_ns), max.max(sum.max_ns))
    });
    let value_at = |quantile| responses.value_at_quantile(quantile);
    let response = time_figures(responses.len(), total_ns, max_ns, value_at);
    let routes = group.routes.iter().map(|(name, it)| route(name, it));
    GroupRecord {
        name: group.name.clone(),
        shape: shape.clone(),
        counts: counts(&group.counts, checks),
        failing_checks: group.counts.responses_failing_checks,
        sums,
        response,
        routes: routes.collect(),
    }
}

fn route(name: &str, route: &EngineRoute) -> RouteRecord {
    let response = &route.response;
    let value_at = |quantile| response.histogram.value_at_quantile(quantile);
    let count = response.histogram.len();
    RouteRecord {
        name: name.to_owned(),
        sent: route.sent,
        completed: route.completed,
        failed: route.errors.iter().sum(),
        failing_checks: route.responses_failing_checks,
        response: time_figures(count, response.sum_ns, response.max_ns, value_at),
    }
}

pub(crate) fn figures(recording: &Recording) -> TimeFigures {
    let histogram: &Histogram<u64> = &recording.histogram;
    let value_at = |quantile| histogram.value_at_quantile(quantile);
    let (sum_ns, max_ns) = (recording.sum_ns, recording.max_ns);
    time_figures(histogram.len(), sum_ns, max_ns, value_at)
}

fn time_figures(
    count: u64,
    total_ns: u128,
    max_ns: u64,
    value_at: impl Fn(f64) -> u64,
) -> TimeFigures {
    let percentile = |quantile: f64| {
        // A histogram returns the upper end of a bucket, which may exceed the maximum.
        is_trustworthy(quantile * 100.0, count).then(|| value_at(quantile).min(max_ns))
    };
    let mean = total_ns.checked_div(u128::from(count));
    TimeFigures {
        count,
        mean_ns: mean.map(|mean| u64::try_from(mean).unwrap_or(u64::MAX)),
        p50_ns: percentile(0.5),
        p90_ns: percentile(0.9),
        p99_ns: percentile(0.99),
        p99_9_ns: percentile(0.999),
        max_ns: (count > 0).then_some(max_ns),
    }
}

/// The number of responses in the measurement to requests that the gateway itself must serve.
pub(crate) fn meant_for_gateway(outcome: &Outcome, workload: &Workload) -> u64 {
    let groups = outcome.groups.iter().zip(&workload.answered_by_gateway);
    groups
        .map(|(group, by_gateway)| of_group(group, by_gateway))
        .sum()
}

fn of_group(group: &GroupOutcome, by_gateway: &[bool]) -> u64 {
    if group.routes.is_empty() {
        let all = by_gateway.iter().all(|meant| *meant);
        return if all { group.counts.completed } else { 0 };
    }
    let routes = group.routes.iter().zip(by_gateway);
    let meant = routes.filter(|(_, meant)| **meant);
    meant.map(|((_, route), _)| route.completed).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_ten_values_beyond_it() {
        let figures = time_figures(100, 5_000, 99, |quantile| (quantile * 100.0) as u64);
        assert_eq!((figures.count, figures.mean_ns), (100, Some(50)));
        assert_eq!((figures.p50_ns, figures.p90_ns), (Some(50), Some(90)));
        assert_eq!((figures.p99_ns, figures.max_ns), (None, Some(99)));
        let nothing = time_figures(0, 0, 0, |_| 0);
        assert_eq!(nothing, TimeFigures::default());
    }
}
