//! Computes the figures of a phase's record from the load generator and the samplers.

use std::collections::BTreeMap;

use gatebench_engine::{Class, ErrorKind, Metric, Outcome, Recordings};
use gatebench_model::Shape;
use gatebench_store::{
    AgentsRecord, Counts, EngineFacts, ExactSum, Histogram, MachineFacts, PhaseRecord, Usage,
};
use gatebench_studies::common::facts::Reason;
use gatebench_studies::judge_load;
use gatebench_testbed::probe::Sample;

use super::samples::{Moment, PssAround};
use super::{samples, timeline};
use crate::numbers::count;
use crate::outputs::JUDGED;
use crate::progress::PhaseSummary;

/// Judges a load outside a run by the same rules as the loads of a run.
pub fn judge_outcome(
    outcome: &Outcome,
    shape: &Shape,
    machine: &MachineFacts,
    agents: Option<AgentsRecord>,
) -> Vec<Reason> {
    let record = PhaseRecord {
        agents,
        ..record("load", shape, outcome, machine.clone())
    };
    reasons(&record, &outcome.recordings)
}

pub(crate) fn reasons(record: &PhaseRecord, recordings: &Recordings) -> Vec<Reason> {
    let metrics = JUDGED.map(|(word, metric)| (word, of_responses(recordings, metric)));
    judge_load(record, metrics)
}

/// Returns a phase's record with the figures of the load generator and the machine.
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

fn engine_facts(outcome: &Outcome) -> EngineFacts {
    let workers = &outcome.workers;
    EngineFacts {
        backend: outcome.backend.as_str().into(),
        workers: count(workers.len()),
        cpu_ns: workers.iter().map(|worker| worker.cpu_ns).sum(),
        run_queue_wait_ns: workers.iter().map(|worker| worker.run_queue_wait_ns).sum(),
    }
}

/// Returns the counts of a load or a group; `texts` describe its checks.
pub(crate) fn counts(counts: &gatebench_engine::Counts, texts: &[String]) -> Counts {
    let classes = Class::ALL.into_iter().zip(counts.by_class);
    // A failed connection is an error of the gateway, even though no request was lost.
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
        by_class: positive(classes.map(|(class, count)| (class.as_str(), count))),
        errors: positive(errors.map(|(kind, count)| (kind.as_str(), count))),
        dropped: counts.dropped,
        queued_max: counts.queued_max,
        checks_failed,
        failing_checks: Some(counts.responses_failing_checks).filter(|count| *count > 0),
        connections_opened: counts.connections_opened,
        bytes_sent: counts.bytes_sent,
        bytes_received: counts.bytes_received,
    }
}

fn positive(counts: impl Iterator<Item = (&'static str, u64)>) -> BTreeMap<String, u64> {
    let positive = counts.filter(|(_, count)| *count > 0);
    positive.map(|(name, count)| (name.into(), count)).collect()
}

/// Returns the exact sums of a load or a group, by `METRIC.CLASS`.
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

/// The usage of this process. The CPU time and the run-queue wait are those of the load generator's
/// workers; memory, descriptors and context switches are those of the whole process.
pub(crate) fn own_usage(
    moments: &[Moment],
    pss: PssAround,
    engine: &EngineFacts,
    measure_ns: u64,
) -> Option<Usage> {
    let own: Vec<Sample> = moments.iter().map(|moment| moment.own).collect();
    let usage = samples::usage(&own, pss.map(|pss| pss[2]))?;
    Some(Usage {
        cpu_ns: engine.cpu_ns,
        window_ns: measure_ns,
        run_queue_wait_ns: engine.run_queue_wait_ns,
        ..usage
    })
}

pub(crate) fn usages(
    moments: &[Moment],
    pss: PssAround,
    engine: Option<Usage>,
) -> BTreeMap<String, Usage> {
    let of = |pick: fn(&Moment) -> Option<Sample>, index: usize| {
        let samples: Vec<Sample> = moments.iter().filter_map(pick).collect();
        samples::usage(&samples, pss.map(|pss| pss[index]))
    };
    let named = [
        ("gateway", of(|moment| moment.gateway, 0)),
        ("upstream", of(|moment| moment.upstream, 1)),
        ("engine", engine),
    ];
    let known = named.into_iter();
    known
        .filter_map(|(name, usage)| Some((name.to_owned(), usage?)))
        .collect()
}

/// Returns the values of a metric over all responses.
pub(crate) fn of_responses(recordings: &Recordings, metric: Metric) -> Histogram<u64> {
    let mut sum: Histogram<u64> = timeline::empty();
    for ((recorded, class), recording) in recordings {
        if *recorded == metric && *class != Class::Failed {
            timeline::add(&mut sum, &recording.histogram);
        }
    }
    sum
}

pub(crate) fn summary(
    record: &PhaseRecord,
    completed_per_second: f64,
    response_p50_ns: Option<u64>,
) -> PhaseSummary {
    let counts = &record.counts;
    let per_request = |usage: &Usage| {
        let cores = usage.cpu_ns as f64 / usage.window_ns.max(1) as f64;
        (completed_per_second > 0.0).then(|| cores * 1e9 / completed_per_second)
    };
    PhaseSummary {
        name: record.name.clone(),
        completed: counts.completed,
        completed_per_second,
        failed: counts.errors.values().sum::<u64>()
            + counts.responses_failing_checks()
            + counts.dropped,
        response_p50_ns,
        gateway_cpu_ns_per_request: record.usage.get("gateway").and_then(per_request),
    }
}
