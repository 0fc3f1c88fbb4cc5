//! The numbers of one phase of one trial.

use gatebench_model::DecisiveMetric;
use gatebench_stats::is_trustworthy;
use gatebench_store::{ExactSum, ExternalFigures, PhaseRecord, TrialRecord};

use crate::changes::is_called;
use crate::context::{kind, throughput_per_second};
use crate::cpu::{core_ns_per_request, cores_busy, cpu_ns_per_request};
use crate::digest::{Digest, metric_word, percentile_of_sent};
use crate::findings::{Aspect, CurveMetric, Metric, PhaseKind, Unit};
use crate::gates::tells_speed;

/// Percentiles that are read off a histogram, with the metric each one is.
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

/// The metric that a word for what decides means.
pub(crate) fn decided_by(word: DecisiveMetric) -> Metric {
    match word {
        DecisiveMetric::Cpu => Metric::GatewayCpuPerRequest,
        DecisiveMetric::Throughput => Metric::Throughput,
        DecisiveMetric::AddedP50 => Metric::AddedP50,
        DecisiveMetric::AddedP99 => Metric::AddedP99,
        DecisiveMetric::Memory => Metric::GatewayRssAnonMax,
    }
}

/// Everything that one phase of a completed trial says by itself. What was not measured is absent.
pub(crate) fn of_phase(
    record: &TrialRecord,
    phase: &PhaseRecord,
    digest: &Digest,
) -> Vec<(Metric, f64)> {
    let mut found = usage(phase);
    let counts = &phase.counts;
    match kind(phase) {
        PhaseKind::Closed if !tells_speed(phase) => {}
        PhaseKind::Closed => {
            found.push((Metric::Throughput, throughput_per_second(phase)));
            let per_core = cpu_ns_per_request(phase, "gateway").filter(|cpu_ns| *cpu_ns > 0.0);
            found.extend(per_core.map(|cpu_ns| (Metric::ThroughputPerCore, 1e9 / cpu_ns)));
        }
        PhaseKind::Paced if !tells_speed(phase) => {}
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
        // Its times are those of gateways that wait for each other.
        None if phase.side_by_side => {}
        None => found.extend(percentiles(phase, digest, CurveMetric::Response, &RESPONSE)),
        Some(external) => found.extend(told(external, counts.completed)),
    }
    found.push((Metric::Errors, counts.errors.values().sum::<u64>() as f64));
    found.push((Metric::ChecksFailed, counts.answers_failing_checks() as f64));
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
fn told(external: &ExternalFigures, answers: u64) -> impl Iterator<Item = (Metric, f64)> {
    RESPONSE.iter().filter_map(move |(percentile, metric)| {
        Some((*metric, told_percentile(external, *percentile, answers)?))
    })
}

/// A percentile of the response time, if enough responses lie beyond it; or that of an external
/// load generator.
pub(crate) fn response_percentile(
    phase: &PhaseRecord,
    digest: &Digest,
    percentile: f64,
) -> Option<f64> {
    match &phase.external {
        Some(told) => told_percentile(told, percentile, phase.counts.completed),
        None => {
            let histogram = digest.get(&phase.name, CurveMetric::Response)?;
            percentile_of_sent(histogram, percentile, unanswered(phase))
        }
    }
}

/// Requests without a response, unless their loss is the subject of the phase.
fn unanswered(phase: &PhaseRecord) -> u64 {
    let is_meant = phase.change.is_some() || phase.failure.is_some() || is_called(phase);
    match is_meant {
        true => 0,
        false => phase.counts.errors.values().sum(),
    }
}

/// A percentile that an external load generator printed, if enough responses lie beyond it.
fn told_percentile(external: &ExternalFigures, percentile: f64, answers: u64) -> Option<f64> {
    let value_ns = external.percentiles_ns.get(&percentile.to_string())?;
    is_trustworthy(percentile, answers).then_some(*value_ns as f64)
}

/// The exact mean response time of all responses, or that of an external load generator.
pub(crate) fn response_mean_ns(phase: &PhaseRecord) -> Option<f64> {
    if let Some(told) = &phase.external {
        return told.mean_ns.map(|mean_ns| mean_ns as f64);
    }
    let sums = answered(phase).map(|it| (u128::from(it.sum_ns), it.count));
    let (sum_ns, count) = sums.fold((0, 0), |(a, b), (sum, count)| (a + sum, b + count));
    (count > 0).then(|| sum_ns as f64 / count as f64)
}

/// The longest response time of any answer.
pub(crate) fn response_max_ns(phase: &PhaseRecord) -> Option<u64> {
    match &phase.external {
        Some(told) => told.max_ns,
        None => answered(phase).map(|it| it.max_ns).max(),
    }
}

/// The exact sums of response times, of each class that was answered.
fn answered(phase: &PhaseRecord) -> impl Iterator<Item = &ExactSum> {
    let word = metric_word(CurveMetric::Response);
    let sums = phase.sums.iter().filter(move |(key, sum)| {
        let class = key.strip_prefix(word).and_then(|it| it.strip_prefix('.'));
        class.is_some_and(|class| class != "failed") && sum.count > 0
    });
    sums.map(|(_, sum)| sum)
}

/// CPU time and memory.
fn usage(phase: &PhaseRecord) -> Vec<(Metric, f64)> {
    let components = [
        ("gateway", Metric::GatewayCpuPerRequest),
        ("engine", Metric::EngineCpuPerRequest),
        ("upstream", Metric::UpstreamCpuPerRequest),
    ];
    let told = components.into_iter().filter(|_| tells_speed(phase));
    let mut found: Vec<_> = told
        .filter_map(|(component, metric)| Some((metric, cpu_ns_per_request(phase, component)?)))
        .collect();
    if let Some(cores) = cores_busy(phase, "gateway").filter(|_| tells_speed(phase)) {
        found.push((Metric::GatewayCores, cores));
    }
    if let Some(core) = phase.machine.gateway_cores.filter(|_| tells_speed(phase)) {
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

/// The unit of a metric.
pub(crate) fn unit(metric: Metric) -> Unit {
    use Metric as M;
    match metric {
        M::Throughput | M::ThroughputPerCore => Unit::RequestsPerSecond,
        M::ThroughputOfDirect | M::AchievedRate | M::FailureShare => Unit::Ratio,
        M::GatewayCpuPerRequest
        | M::GatewayCoreBusyPerRequest
        | M::GatewayCoreSoftirqPerRequest
        | M::EngineCpuPerRequest
        | M::UpstreamCpuPerRequest => Unit::CpuNanosecondsPerRequest,
        M::GatewayCores => Unit::Cores,
        M::GatewayRssAnonMax => Unit::Bytes,
        M::ChangeErrors
        | M::ChangeAffected
        | M::FailureSentAgain
        | M::Errors
        | M::ChecksFailed
        | M::Dropped => Unit::Count,
        M::AddedP50
        | M::AddedP90
        | M::AddedP99
        | M::AddedP999
        | M::ResponseP50
        | M::ResponseP90
        | M::ResponseP99
        | M::ResponseP999
        | M::ResponseP50OverDirect
        | M::ResponseP99OverDirect
        | M::AddedP50OverNull
        | M::AddedP99OverNull
        | M::LatenessP99
        | M::ChangeWorst
        | M::ChangeRecovery
        | M::ChangeEffective
        | M::FailureAdded
        | M::GatewayStart => Unit::Nanoseconds,
    }
}

/// What must stand for a metric to stand; none for mere counts, which always do.
pub(crate) fn aspect(metric: Metric) -> Option<Aspect> {
    use Metric as M;
    match metric {
        M::Throughput | M::ThroughputOfDirect | M::AchievedRate => Some(Aspect::Throughput),
        M::ThroughputPerCore
        | M::GatewayCpuPerRequest
        | M::GatewayCoreBusyPerRequest
        | M::GatewayCoreSoftirqPerRequest
        | M::EngineCpuPerRequest
        | M::UpstreamCpuPerRequest
        | M::GatewayCores => Some(Aspect::CpuPerRequest),
        M::GatewayRssAnonMax => Some(Aspect::Memory),
        M::GatewayStart
        | M::ChangeErrors
        | M::ChangeAffected
        | M::ChangeWorst
        | M::ChangeRecovery
        | M::ChangeEffective
        | M::FailureShare
        | M::FailureSentAgain
        | M::FailureAdded
        | M::Errors
        | M::ChecksFailed
        | M::Dropped => None,
        M::AddedP50
        | M::AddedP90
        | M::AddedP99
        | M::ResponseP50
        | M::ResponseP90
        | M::ResponseP99
        | M::ResponseP50OverDirect
        | M::ResponseP99OverDirect
        | M::AddedP50OverNull
        | M::AddedP99OverNull
        | M::LatenessP99 => Some(Aspect::Latency),
        M::AddedP999 | M::ResponseP999 => Some(Aspect::LatencyTail),
    }
}
