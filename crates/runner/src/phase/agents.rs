//! Turns the reports of a load's agents into records.

use gatebench_agent::{AgentReport, StartReport};
use gatebench_engine::{Metric, Outcome};
use gatebench_stats::is_trustworthy;
use gatebench_store::{AgentRecord, AgentsRecord, HalvesRecord};

use super::figures::of_responses;
use crate::numbers::count;

pub fn agents_record(agents: &[AgentReport], start: Option<StartReport>) -> AgentsRecord {
    AgentsRecord {
        start_spread_ns: start.map(|it| it.spread_ns),
        start_uncertainty_ns: start.map(|it| it.uncertainty_ns),
        each: agents.iter().map(record).collect(),
    }
}

fn record(agent: &AgentReport) -> AgentRecord {
    let outcome = &agent.outcome;
    let counts = &outcome.counts;
    let percentile = |metric, percentile: f64| {
        let values = of_responses(&outcome.recordings, metric);
        is_trustworthy(percentile, values.len())
            .then(|| values.value_at_quantile(percentile / 100.0))
    };
    AgentRecord {
        place: agent.place.clone(),
        node: agent.node.clone(),
        workers: count(agent.cores.len()),
        backend: outcome.backend.as_str().to_owned(),
        intended: counts.intended,
        sent: counts.sent,
        completed: counts.completed,
        dropped: counts.dropped,
        response_p50_ns: percentile(Metric::Response, 50.0),
        response_p99_ns: percentile(Metric::Response, 99.0),
        lateness_p99_ns: percentile(Metric::Lateness, 99.0),
        window_ns: agent.health.window_ns,
        steal_ns: agent.health.steal_ns,
        throttled_ns: agent.health.throttled_ns,
        halves: (counts.traced > 0).then(|| halves(outcome, agent.shares_clock)),
        clock_uncertainty_ns: agent.clock.uncertainty_ns,
        records: agent.records,
        record_bytes: agent.bytes,
    }
}

/// The halves of added latency are left out if their uncertainty exceeds this share of the smaller
/// of their two medians.
const UNCERTAINTY_SHARE_MAX: f64 = 0.1;

/// Describes the halves of added latency that a load generator recorded.
pub(crate) fn halves(outcome: &Outcome, clock_is_shared: bool) -> HalvesRecord {
    let known = outcome.halves;
    let medians = [Metric::RequestHalf, Metric::ResponseHalf]
        .map(|metric| of_responses(&outcome.recordings, metric))
        .map(|values| (!values.is_empty()).then(|| values.value_at_quantile(0.5)));
    let shorter_ns = medians.into_iter().flatten().min();
    let is_known = shorter_ns
        .is_some_and(|ns| known.uncertainty_ns as f64 <= UNCERTAINTY_SHARE_MAX * ns as f64);
    HalvesRecord {
        clock_is_shared,
        uncertainty_ns: known.uncertainty_ns,
        unknown: known.unknown,
        clock_stepped: known.clock_stepped,
        left_out: !is_known,
    }
}

pub(crate) fn leaves_out_halves(agents: &AgentsRecord) -> bool {
    let mut halves = agents.each.iter().filter_map(|agent| agent.halves);
    halves.any(|it| it.left_out)
}
