//! The values of one phase of one trial.

use gatebench_model::DecisiveMetric;
use gatebench_stats::is_trustworthy;
use gatebench_store::{ExternalFigures, PhaseRecord, TrialRecord};

use super::changes::is_called;
use super::context::{kind, throughput_per_second};
use super::cpu::{core_ns_per_request, cores_busy, cpu_ns_per_request};
use super::digest::{Digest, answered_sums, percentile_of_sent};
use super::facts::{CurveMetric, Metric, PhaseKind};
use super::gates::has_enough_requests;

/// Percentiles that are read from a histogram, with their metrics.
const ADDED: [(f64, Metric); 4] = [
    (50.0, Metric::AddedP50),
    (90.0, Metric::AddedP90),
    (99.0, Metric::AddedP99),
    (99.9, Metric::AddedP999),
];
const RESPONSE: [(f64, Metric); 4] = [
    (50.0, Metric::ResponseP50),
    (90.0, Metric::ResponseP90),
    (99.0, Metric::ResponseP99),
    (99.9, Metric::ResponseP999),
];
const LATENESS: [(f64, Metric); 1] = [(99.0, Metric::LatenessP99)];

/// The metric with this name.
pub(crate) fn decided_by(word: DecisiveMetric) -> Metric {
    match word {
        DecisiveMetric::Cpu => Metric::GatewayCpuPerRequest,
        DecisiveMetric::Throughput => Metric::Throughput,
        DecisiveMetric::AddedP50 => Metric::AddedP50,
        DecisiveMetric::AddedP99 => Metric::AddedP99,
        DecisiveMetric::Memory => Metric::GatewayRssAnonMax,
    }
}

/// All values of one phase of a completed trial. Values that were not measured are absent.
pub(crate) fn of_phase(
    record: &TrialRecord,
    phase: &PhaseRecord,
    digest: &Digest,
) -> Vec<(Metric, f64)> {
    let mut found = usage(phase);
    let counts = &phase.counts;
    match kind(phase) {
        PhaseKind::Closed if !has_enough_requests(phase) => {}
        PhaseKind::Closed => {
            found.push((Metric::Throughput, throughput_per_second(phase)));
            let per_core = cpu_ns_per_request(phase, "gateway").filter(|cpu_ns| *cpu_ns > 0.0);
            found.extend(per_core.map(|cpu_ns| (Metric::ThroughputPerCore, 1e9 / cpu_ns)));
        }
        PhaseKind::Paced if !has_enough_requests(phase) => {}
        PhaseKind::Paced => found.push((Metric::Throughput, throughput_per_second(phase))),
        PhaseKind::Open => {
            if counts.intended > 0 {
                let achieved = counts.completed_in_window as f64 / counts.intended as f64;
                found.push((Metric::AchievedRate, achieved));
            }
            found.push((Metric::Dropped, counts.dropped as f64));
            found.extend(percentiles(phase, digest, CurveMetric::Added, &ADDED));
            found.extend(percentiles(phase, digest, CurveMetric::Lateness, &LATENESS));
        }
        PhaseKind::SideBySide => {}
    }
    match &phase.external {
        // Gateways side by side wait for each other, so their times are not used.
        None if phase.side_by_side => {}
        None => found.extend(percentiles(phase, digest, CurveMetric::Response, &RESPONSE)),
        Some(external) => found.extend(external_percentiles(external, counts.completed)),
    }
    found.push((Metric::Errors, counts.errors.values().sum::<u64>() as f64));
    found.push((
        Metric::ChecksFailed,
        counts.responses_failing_checks() as f64,
    ));
    let first = record
        .phases
        .first()
        .is_some_and(|first| first.name == phase.name);
    if let Some(gateway) = record.gateway.as_ref().filter(|_| first) {
        found.push((Metric::GatewayStart, gateway.started_in_ms as f64 * 1e6));
    }
    found
}

/// The percentiles that an external load generator printed, if enough responses lie beyond them.
fn external_percentiles(
    external: &ExternalFigures,
    responses: u64,
) -> impl Iterator<Item = (Metric, f64)> {
    RESPONSE.iter().filter_map(move |(percentile, metric)| {
        Some((
            *metric,
            external_percentile(external, *percentile, responses)?,
        ))
    })
}

/// A percentile of the response time from the histogram or from an external load generator, if
/// enough responses lie beyond it.
pub(crate) fn response_percentile(
    phase: &PhaseRecord,
    digest: &Digest,
    percentile: f64,
) -> Option<f64> {
    match &phase.external {
        Some(external) => external_percentile(external, percentile, phase.counts.completed),
        None => {
            let histogram = digest.get(&phase.name, CurveMetric::Response)?;
            percentile_of_sent(histogram, percentile, unanswered(phase))
        }
    }
}

/// The number of requests without a response; zero if the phase measures their loss.
fn unanswered(phase: &PhaseRecord) -> u64 {
    let is_meant = phase.change.is_some() || phase.failure.is_some() || is_called(phase);
    match is_meant {
        true => 0,
        false => phase.counts.errors.values().sum(),
    }
}

/// A percentile that an external load generator printed, if enough responses lie beyond it.
fn external_percentile(external: &ExternalFigures, percentile: f64, responses: u64) -> Option<f64> {
    let value_ns = external.percentiles_ns.get(&percentile.to_string())?;
    is_trustworthy(percentile, responses).then_some(*value_ns as f64)
}

/// The exact mean response time over all responses, or that of an external load generator.
pub(crate) fn response_mean_ns(phase: &PhaseRecord) -> Option<f64> {
    if let Some(external) = &phase.external {
        return external.mean_ns.map(|mean_ns| mean_ns as f64);
    }
    let sums =
        answered_sums(phase, CurveMetric::Response).map(|it| (u128::from(it.sum_ns), it.count));
    let (sum_ns, count) = sums.fold((0, 0), |(a, b), (sum, count)| (a + sum, b + count));
    (count > 0).then(|| sum_ns as f64 / count as f64)
}

/// The longest response time.
pub(crate) fn response_max_ns(phase: &PhaseRecord) -> Option<u64> {
    match &phase.external {
        Some(external) => external.max_ns,
        None => answered_sums(phase, CurveMetric::Response)
            .map(|it| it.max_ns)
            .max(),
    }
}

/// CPU time and memory.
fn usage(phase: &PhaseRecord) -> Vec<(Metric, f64)> {
    let components = [
        ("gateway", Metric::GatewayCpuPerRequest),
        ("engine", Metric::EngineCpuPerRequest),
        ("upstream", Metric::UpstreamCpuPerRequest),
    ];
    let known = components
        .into_iter()
        .filter(|_| has_enough_requests(phase));
    let mut found: Vec<_> = known
        .filter_map(|(component, metric)| Some((metric, cpu_ns_per_request(phase, component)?)))
        .collect();
    if let Some(cores) = cores_busy(phase, "gateway").filter(|_| has_enough_requests(phase)) {
        found.push((Metric::GatewayCores, cores));
    }
    if let Some(core) = phase
        .machine
        .gateway_cores
        .filter(|_| has_enough_requests(phase))
    {
        let per_request = |ns: u64| core_ns_per_request(phase, ns);
        let busy = per_request(core.busy_ns).map(|ns| (Metric::GatewayCoreBusyPerRequest, ns));
        let softirq =
            per_request(core.softirq_ns).map(|ns| (Metric::GatewayCoreSoftirqPerRequest, ns));
        found.extend(busy.into_iter().chain(softirq));
    }
    if let Some(gateway) = phase
        .usage
        .get("gateway")
        .filter(|usage| usage.rss_anon_bytes_max > 0)
    {
        found.push((Metric::GatewayRssAnonMax, gateway.rss_anon_bytes_max as f64));
    }
    found
}

fn percentiles(
    phase: &PhaseRecord,
    digest: &Digest,
    metric: CurveMetric,
    wanted: &[(f64, Metric)],
) -> Vec<(Metric, f64)> {
    let Some(histogram) = digest.get(&phase.name, metric) else {
        return Vec::new();
    };
    wanted
        .iter()
        .filter_map(|(percentile, metric)| {
            let value = percentile_of_sent(histogram, *percentile, unanswered(phase))?;
            Some((*metric, value))
        })
        .collect()
}
