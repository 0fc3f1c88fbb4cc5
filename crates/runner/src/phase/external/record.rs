//! Turns the figures of an external load generator into the record of a phase.

use std::collections::BTreeMap;

use gatebench_external::{Figures, Limits};
use gatebench_model::{Phase, Shape};
use gatebench_store::{
    Counts, EngineFacts, ExternalCheck, ExternalFigures, LedgerDelta, PhaseRecord, TraceCounts,
    Usage,
};

use super::Watched;
use crate::context::TrialContext;
use crate::external::PreparedGenerator;
use crate::phase::Measured;
use crate::phase::samples::{self, Pss};
use crate::progress::PhaseSummary;

/// What an engine and its surroundings told.
pub(super) struct Told {
    pub(super) figures: Figures,
    pub(super) command: Vec<String>,
    pub(super) limits: Limits,
    /// Begin of the measurement in the trial, nanoseconds.
    pub(super) began_ns: u64,
    pub(super) pss: (Pss, Pss),
    pub(super) ledger: Option<LedgerDelta>,
}

/// The record, without histograms and series: nobody told any.
pub(super) fn assemble(
    context: &TrialContext<'_>,
    phase: &Phase,
    engine: &PreparedGenerator,
    told: Told,
    watched: &Watched,
) -> Measured {
    let measure_ns = told.figures.duration_ns;
    let usage = usages(watched, told.pss, measure_ns);
    let facts = engine_facts(engine, &usage, context.plan.placement.engine.len());
    let ledger = told.ledger;
    let record = PhaseRecord {
        name: phase.name.clone(),
        shape: phase.shape.clone(),
        began_ns: told.began_ns,
        warm_up_ns: phase.warm_up.as_nanos(),
        measure_ns,
        drained_ns: 0,
        counts: counts(&told.figures, &phase.shape),
        groups: Vec::new(),
        connects: None,
        resumed: None,
        sums: BTreeMap::new(),
        trace: trace(&told.figures, ledger.as_ref()),
        engine: facts,
        usage,
        machine: samples::machine(&watched.moments, &context.cores()),
        ledger: ledger.unwrap_or_default(),
        wire: None,
        change: None,
        failure: None,
        side_by_side: false,
        own_metrics: None,
        admin: None,
        settled: None,
        ceiling: None,
        external: Some(figures(engine, told)),
        profile: None,
        adaptive_warm_up: None,
        bins: None,
        step: None,
        saturation_percent: None,
    };
    let summary = summary(&record);
    Measured {
        record,
        histograms: Vec::new(),
        series: Vec::new(),
        summary,
        profile: None,
        abort: None,
    }
}

fn counts(figures: &Figures, shape: &Shape) -> Counts {
    let unsent = match shape {
        Shape::Open(_) => figures.dropped,
        Shape::Closed(_) => 0,
    };
    let failed = figures.checks.iter().filter(|(_, check)| check.failed > 0);
    Counts {
        intended: figures.sent + unsent,
        sent: figures.sent,
        completed: figures.completed,
        completed_in_window: figures.completed,
        by_class: figures.by_class.clone(),
        errors: figures.errors.clone(),
        dropped: figures.dropped,
        checks_failed: failed
            .map(|(name, check)| (name.clone(), check.failed))
            .collect(),
        bytes_sent: figures.bytes_sent.unwrap_or(0),
        bytes_received: figures.bytes_received.unwrap_or(0),
        ..Counts::default()
    }
}

/// Its requests carry no nonce, so the ledger's number of requests is all there is: more answers
/// than requests at the upstream came from somewhere else.
fn trace(figures: &Figures, ledger: Option<&LedgerDelta>) -> TraceCounts {
    let reached = ledger.map_or(figures.completed, |ledger| ledger.requests);
    TraceCounts {
        never_reached_upstream: figures.completed.saturating_sub(reached),
        ..TraceCounts::default()
    }
}

/// What each component used. Gateway and upstream are sampled before the engine's start and after
/// its end, so that all their work for its requests is in between; it is divided by the time in which
/// the engine sent them, since before and after it they idle.
fn usages(watched: &Watched, pss: (Pss, Pss), measure_ns: u64) -> BTreeMap<String, Usage> {
    let (before, after) = pss;
    let of = |pick: fn(&samples::Moment) -> Option<gatebench_testbed::probe::Sample>| {
        watched.moments.iter().filter_map(pick).collect::<Vec<_>>()
    };
    let whole = |usage: Usage| Usage {
        window_ns: measure_ns,
        ..usage
    };
    let (gateway, upstream) = (of(|it| it.gateway), of(|it| it.upstream));
    let named = [
        (
            "gateway",
            samples::usage(&gateway, before[0], after[0]).map(whole),
        ),
        (
            "upstream",
            samples::usage(&upstream, before[1], after[1]).map(whole),
        ),
        ("engine", samples::usage(&watched.engine, None, None)),
    ];
    named
        .into_iter()
        .filter_map(|(name, usage)| Some((name.to_owned(), usage?)))
        .collect()
}

fn engine_facts(
    engine: &PreparedGenerator,
    usage: &BTreeMap<String, Usage>,
    cores: usize,
) -> EngineFacts {
    let used = usage.get("engine");
    EngineFacts {
        backend: engine.generator.as_str().into(),
        workers: u32::try_from(cores).unwrap_or(u32::MAX).max(1),
        cpu_ns: used.map_or(0, |used| used.cpu_ns),
        run_queue_wait_ns: used.map_or(0, |used| used.run_queue_wait_ns),
    }
}

fn figures(engine: &PreparedGenerator, told: Told) -> ExternalFigures {
    let rate_per_second = told.figures.rate_per_second();
    let Figures {
        percentiles_ns,
        min_ns,
        mean_ns,
        max_ns,
        checks,
        thresholds,
        groups,
        metrics,
        ..
    } = told.figures;
    let checks = checks.into_iter().map(|(name, check)| {
        let (passed, failed) = (check.passed, check.failed);
        (name, ExternalCheck { passed, failed })
    });
    ExternalFigures {
        engine: engine.generator.as_str().into(),
        command: told.command,
        rate_per_second,
        percentiles_ns,
        min_ns,
        mean_ns,
        max_ns,
        checks: checks.collect(),
        thresholds,
        groups,
        metrics,
        not_expressed: told.limits.not_expressed,
        not_measured: told.limits.not_measured,
    }
}

fn summary(record: &PhaseRecord) -> PhaseSummary {
    let external = record.external.as_ref();
    let completed_per_second = external.map_or(0.0, |external| external.rate_per_second);
    let per_request = |usage: &Usage| {
        let cores = usage.cpu_ns as f64 / usage.window_ns.max(1) as f64;
        (completed_per_second > 0.0).then(|| cores * 1e9 / completed_per_second)
    };
    let counts = &record.counts;
    PhaseSummary {
        name: record.name.clone(),
        completed: record.counts.completed,
        completed_per_second,
        failed: counts.errors.values().sum::<u64>()
            + counts.answers_failing_checks()
            + counts.dropped,
        response_p50_ns: external.and_then(|external| external.percentiles_ns.get("50").copied()),
        gateway_cpu_ns_per_request: record.usage.get("gateway").and_then(per_request),
    }
}
