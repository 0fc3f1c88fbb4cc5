//! The values of one phase of one trial.

use gatebench_model::DecisiveMetric;
use gatebench_stats::is_trustworthy;
use gatebench_store::{ExternalFigures, PhaseRecord, TrialRecord};

use super::changes::is_disturbed;
use super::context::{kind, throughput_per_second};
use super::cpu::{core_ns_per_request, cores_busy, cpu_ns_per_request, memory_bytes};
use super::digest::{Digest, answered_sums, percentile_of_sent};
use super::facts::{CurveMetric, Metric, PhaseKind};
use super::gates::has_enough_requests;

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

pub(crate) fn decided_by(word: DecisiveMetric) -> Metric {
    match word {
        DecisiveMetric::Cpu => Metric::GatewayCpuPerRequest,
        DecisiveMetric::Throughput => Metric::Throughput,
        DecisiveMetric::AddedP50 => Metric::AddedP50,
        DecisiveMetric::AddedP99 => Metric::AddedP99,
        DecisiveMetric::Memory => Metric::GatewayRssAnonMax,
    }
}

/// The values of one phase of a completed trial, except the values from `changes`. Values that were
/// not measured are absent.
pub(crate) fn of_phase(
    record: &TrialRecord,
    phase: &PhaseRecord,
    digest: &Digest,
) -> Vec<(Metric, f64)> {
    let mut found = usage(phase);
    let counts = &phase.counts;
    match kind(phase) {
        PhaseKind::Closed | PhaseKind::Paced if !has_enough_requests(phase) => {}
        PhaseKind::Closed => {
            found.push((Metric::Throughput, throughput_per_second(phase)));
            let per_core = cpu_ns_per_request(phase, "gateway").filter(|cpu_ns| *cpu_ns > 0.0);
            found.extend(per_core.map(|cpu_ns| (Metric::ThroughputPerCore, 1e9 / cpu_ns)));
        }
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
    // Side by side, gateways wait for the cores that they share, so the response times of one
    // gateway depend on the others. The response times that an external load generator measured are
    // reported nevertheless.
    if !phase.side_by_side || phase.external.is_some() {
        found.extend(RESPONSE.iter().filter_map(|(percentile, metric)| {
            let value = response_percentile(phase, digest, *percentile)?;
            Some((*metric, value))
        }));
    }
    let failing = counts.responses_failing_checks();
    found.push((Metric::Errors, counts.errors.values().sum::<u64>() as f64));
    found.push((Metric::ChecksFailed, failing as f64));
    let first = record.phases.first().map(|first| &first.name);
    if let Some(gateway) = &record.gateway
        && first == Some(&phase.name)
    {
        found.push((Metric::GatewayStart, gateway.started_in_ms as f64 * 1e6));
    }
    found
}

/// A percentile of the response time from the histogram or from an external load generator, if
/// enough requests lie beyond it.
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

/// The number of requests without a complete response. Zero for a phase with a change, a failure or
/// changes through the admin interface, because these requests are reported separately.
fn unanswered(phase: &PhaseRecord) -> u64 {
    match is_disturbed(phase) {
        true => 0,
        false => phase.counts.errors.values().sum(),
    }
}

fn external_percentile(external: &ExternalFigures, percentile: f64, responses: u64) -> Option<f64> {
    let value_ns = external.percentiles_ns.get(&percentile.to_string())?;
    is_trustworthy(percentile, responses).then_some(*value_ns as f64)
}

/// The exact mean response time over all responses, or that of an external load generator.
pub(crate) fn response_mean_ns(phase: &PhaseRecord) -> Option<f64> {
    if let Some(external) = &phase.external {
        return external.mean_ns.map(|mean_ns| mean_ns as f64);
    }
    let sums = answered_sums(phase, CurveMetric::Response);
    let (sum_ns, count) = sums.fold((0, 0), |(sum_ns, count), it| {
        (sum_ns + u128::from(it.sum_ns), count + it.count)
    });
    (count > 0).then(|| sum_ns as f64 / count as f64)
}

pub(crate) fn response_max_ns(phase: &PhaseRecord) -> Option<u64> {
    match &phase.external {
        Some(external) => external.max_ns,
        None => answered_sums(phase, CurveMetric::Response)
            .map(|it| it.max_ns)
            .max(),
    }
}

fn usage(phase: &PhaseRecord) -> Vec<(Metric, f64)> {
    let components = [
        ("gateway", Metric::GatewayCpuPerRequest),
        ("engine", Metric::EngineCpuPerRequest),
        ("upstream", Metric::UpstreamCpuPerRequest),
    ];
    let of_component = |(component, metric)| Some((metric, cpu_ns_per_request(phase, component)?));
    let mut found = Vec::new();
    if has_enough_requests(phase) {
        found.extend(components.into_iter().filter_map(of_component));
        let cores = cores_busy(phase, "gateway");
        found.extend(cores.map(|cores| (Metric::GatewayCores, cores)));
        if let Some(core) = phase.machine.gateway_cores {
            let times = [
                (Metric::GatewayCoreBusyPerRequest, core.busy_ns),
                (Metric::GatewayCoreSoftirqPerRequest, core.softirq_ns),
            ];
            let of_core = |(metric, ns)| Some((metric, core_ns_per_request(phase, ns)?));
            found.extend(times.into_iter().filter_map(of_core));
        }
    }
    found.extend(memory_bytes(phase).map(|bytes| (Metric::GatewayRssAnonMax, bytes)));
    found
}

fn percentiles(
    phase: &PhaseRecord,
    digest: &Digest,
    metric: CurveMetric,
    wanted: &[(f64, Metric)],
) -> Vec<(Metric, f64)> {
    let histogram = digest.get(&phase.name, metric);
    let value = |(percentile, metric): &(f64, Metric)| {
        let value = percentile_of_sent(histogram?, *percentile, unanswered(phase))?;
        Some((*metric, value))
    };
    wanted.iter().filter_map(value).collect()
}
