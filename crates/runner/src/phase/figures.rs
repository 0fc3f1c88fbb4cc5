//! The figures of a phase's record, from what the engine and the samplers hold.

use std::collections::BTreeMap;

use gatebench_analysis::findings::{CurveMetric, Reason};
use gatebench_analysis::{judge_load, throughput_per_second};
use gatebench_engine::{Class, ErrorKind, Metric, Outcome, Recordings};
use gatebench_model::Shape;
use gatebench_store::{Counts, EngineFacts, ExactSum, Histogram, MachineFacts, PhaseRecord, Usage};

use super::samples::{self, Moment, Pss};
use super::timeline;
use crate::progress::PhaseSummary;

/// Judges a load of the engine that belongs to no run, with the gates that judge those of a run.
pub fn judge_outcome(outcome: &Outcome, shape: &Shape, machine: &MachineFacts) -> Vec<Reason> {
    let record = record("load", shape, outcome, machine.clone());
    let metrics = [
        (CurveMetric::Response, Metric::Response),
        (CurveMetric::Service, Metric::Service),
        (CurveMetric::Lateness, Metric::Lateness),
    ];
    let histogram = |metric| answered(&outcome.recordings, metric);
    judge_load(
        &record,
        metrics.map(|(word, metric)| (word, histogram(metric))),
    )
}

/// The part of a phase's record that the engine and the machine know.
pub(crate) fn record(
    name: &str,
    shape: &Shape,
    outcome: &Outcome,
    machine: MachineFacts,
) -> PhaseRecord {
    PhaseRecord {
        name: name.to_owned(),
        shape: shape.clone(),
        warm_up_ns: outcome.window_ns.0.saturating_sub(outcome.start_ns),
        measure_ns: outcome.window_ns.1.saturating_sub(outcome.window_ns.0),
        drained_ns: outcome.drained_ns,
        counts: counts(&outcome.counts, &outcome.checks),
        resumed: Some(outcome.resumed).filter(|count| *count > 0),
        sums: sums(&outcome.recordings),
        engine: engine_facts(outcome),
        machine,
        ..PhaseRecord::default()
    }
}

/// The engine's own account.
fn engine_facts(outcome: &Outcome) -> EngineFacts {
    let workers = &outcome.workers;
    EngineFacts {
        backend: outcome.backend.as_str().into(),
        workers: u32::try_from(workers.len()).unwrap_or(u32::MAX),
        cpu_ns: workers.iter().map(|worker| worker.cpu_ns).sum(),
        run_queue_wait_ns: workers.iter().map(|worker| worker.run_queue_wait_ns).sum(),
    }
}

/// The counts of a load or of a group, of which `texts` are the checks.
pub(crate) fn counts(counts: &gatebench_engine::Counts, texts: &[String]) -> Counts {
    let classes = Class::ALL.into_iter().zip(counts.by_class);
    // A connection that cannot be made is an error of the gateway's, though no request was lost by it.
    let failed = counts.errors.iter().zip(&counts.connections_failed);
    let failed = failed.map(|(requests, connections)| requests + connections);
    let errors = ErrorKind::ALL.into_iter().zip(failed);
    let checks = texts.iter().zip(&counts.checks_failed);
    let mut checks_failed = BTreeMap::new();
    for (text, count) in checks.filter(|(_, count)| **count > 0) {
        // Several requests of a load may share a check.
        *checks_failed.entry(text.clone()).or_default() += count;
    }
    Counts {
        intended: counts.intended,
        sent: counts.sent,
        completed: counts.completed,
        completed_in_window: counts.completed_in_window,
        by_class: classes
            .filter(|(_, count)| *count > 0)
            .map(|(class, count)| (class.as_str().into(), count))
            .collect(),
        errors: errors
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| (kind.as_str().into(), count))
            .collect(),
        dropped: counts.dropped,
        queued_max: counts.queued_max,
        checks_failed,
        failing_checks: Some(counts.answers_failing_checks).filter(|count| *count > 0),
        connections_opened: counts.connections_opened,
        bytes_sent: counts.bytes_sent,
        bytes_received: counts.bytes_received,
    }
}

/// The exact sums of a load or of a group.
pub(crate) fn sums(recordings: &Recordings) -> BTreeMap<String, ExactSum> {
    let sum = |((metric, class), recording): (&(Metric, Class), &gatebench_engine::Recording)| {
        let exact = ExactSum {
            count: recording.histogram.len(),
            sum_ns: u64::try_from(recording.sum_ns).unwrap_or(u64::MAX),
            min_ns: recording.min_ns,
            max_ns: recording.max_ns,
            clamped: recording.clamped,
        };
        (format!("{}.{}", metric.as_str(), class.as_str()), exact)
    };
    recordings.iter().map(sum).collect()
}

/// What each component used. The engine's CPU time is its workers' own account over exactly the
/// measurement; what it holds is the whole process's.
pub(crate) fn usages(
    moments: &[Moment],
    pss: (Pss, Pss),
    engine: &EngineFacts,
    measure_ns: u64,
) -> BTreeMap<String, Usage> {
    let (before, after) = pss;
    let gateway: Vec<_> = moments.iter().filter_map(|moment| moment.gateway).collect();
    let upstream: Vec<_> = moments
        .iter()
        .filter_map(|moment| moment.upstream)
        .collect();
    let own: Vec<_> = moments.iter().map(|moment| moment.own).collect();
    let own = samples::usage(&own, before[2], after[2]).map(|usage| Usage {
        cpu_ns: engine.cpu_ns,
        window_ns: measure_ns,
        run_queue_wait_ns: engine.run_queue_wait_ns,
        ..usage
    });
    let named = [
        ("gateway", samples::usage(&gateway, before[0], after[0])),
        ("upstream", samples::usage(&upstream, before[1], after[1])),
        ("engine", own),
    ];
    named
        .into_iter()
        .filter_map(|(name, usage)| Some((name.to_owned(), usage?)))
        .collect()
}

/// The values of a metric over all answers.
pub(crate) fn answered(recordings: &Recordings, metric: Metric) -> Histogram<u64> {
    let mut sum: Histogram<u64> = timeline::empty();
    for ((recorded, class), recording) in recordings {
        if *recorded == metric && *class != Class::Failed {
            timeline::add(&mut sum, &recording.histogram);
        }
    }
    sum
}

pub(crate) fn summary(record: &PhaseRecord, outcome: &Outcome) -> PhaseSummary {
    let response = answered(&outcome.recordings, Metric::Response);
    let completed_per_second = throughput_per_second(record);
    let per_request = |usage: &Usage| {
        let cores = usage.cpu_ns as f64 / usage.window_ns.max(1) as f64;
        (completed_per_second > 0.0).then(|| cores * 1e9 / completed_per_second)
    };
    PhaseSummary {
        name: record.name.clone(),
        completed: record.counts.completed,
        completed_per_second,
        failed: record.counts.errors.values().sum::<u64>()
            + outcome.counts.answers_failing_checks
            + record.counts.dropped,
        response_p50_ns: timeline::percentile(&response, 0.5),
        gateway_cpu_ns_per_request: record.usage.get("gateway").and_then(per_request),
    }
}
