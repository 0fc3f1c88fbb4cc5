//! Turns the figures of an external load generator into the record of a phase.

use std::collections::BTreeMap;

use gatebench_external::{Figures, Limits};
use gatebench_model::{Phase, Shape};
use gatebench_store::{
    Counts, EngineFacts, ExternalCheck, ExternalFigures, LedgerDelta, PhaseRecord, Usage,
};

use super::Watched;
use crate::context::TrialContext;
use crate::external::PreparedGenerator;
use crate::numbers::count;
use crate::phase::figures::{self, summary};
use crate::phase::samples::{self, PssAround};
use crate::phase::trace::{self, Seen};
use crate::phase::{Measured, Timed};

/// The figures of a load generator, and the observations before, during and after its run.
pub(super) struct Observed {
    pub(super) figures: Figures,
    pub(super) command: Vec<String>,
    pub(super) limits: Limits,
    /// Start of the measurement, in nanoseconds since the start of the trial.
    pub(super) began_ns: u64,
    pub(super) pss: PssAround,
    pub(super) ledger: Option<LedgerDelta>,
}

/// Assembles the record. It has no histograms and no series, because the figures of an external
/// load generator contain neither.
pub(super) fn assemble(
    context: &TrialContext<'_>,
    phase: &Phase,
    engine: &PreparedGenerator,
    observed: Observed,
    watched: &Watched,
) -> Measured {
    let measure_ns = observed.figures.duration_ns;
    let usage = usages(watched, observed.pss, measure_ns);
    let facts = engine_facts(engine, &usage, context.plan.placement.engine.len());
    let ledger = observed.ledger;
    let counts = counts(&observed.figures, &phase.shape);
    let seen = Seen {
        responses: observed.figures.completed,
        ..Seen::default()
    };
    let trace = trace::without_nonces(seen, ledger.as_ref());
    let began_ns = observed.began_ns;
    let external = external_figures(engine, observed);
    let rate_per_second = external.rate_per_second;
    let response_p50_ns = external.percentiles_ns.get("50").copied();
    let record = PhaseRecord {
        name: phase.name.clone(),
        shape: phase.shape.clone(),
        began_ns,
        warm_up_ns: phase.warm_up.as_nanos(),
        measure_ns,
        counts,
        trace,
        engine: facts,
        usage,
        machine: samples::machine(&watched.moments, &context.cores()),
        ledger: ledger.unwrap_or_default(),
        external: Some(external),
        ..PhaseRecord::default()
    };
    let summary = summary(&record, rate_per_second, response_p50_ns);
    Measured {
        record,
        timed: Timed::default(),
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

/// Returns the usage of each component. Gateway and upstream are sampled before the start and after
/// the end of the load generator, so that the samples enclose all work for its requests. The window
/// is the period of its requests, because both components are idle before and after it.
fn usages(watched: &Watched, pss: PssAround, measure_ns: u64) -> BTreeMap<String, Usage> {
    let engine = samples::usage(&watched.engine, [None; 2]);
    let mut usages = figures::usages(&watched.moments, pss, engine);
    for name in ["gateway", "upstream"] {
        if let Some(usage) = usages.get_mut(name) {
            usage.window_ns = measure_ns;
        }
    }
    usages
}

fn engine_facts(
    engine: &PreparedGenerator,
    usage: &BTreeMap<String, Usage>,
    cores: usize,
) -> EngineFacts {
    let used = usage.get("engine");
    EngineFacts {
        backend: engine.generator.as_str().into(),
        workers: count(cores).max(1),
        cpu_ns: used.map_or(0, |used| used.cpu_ns),
        run_queue_wait_ns: used.map_or(0, |used| used.run_queue_wait_ns),
    }
}

fn external_figures(engine: &PreparedGenerator, observed: Observed) -> ExternalFigures {
    let figures = observed.figures;
    let rate_per_second = figures.rate_per_second();
    let checks = figures.checks.into_iter().map(|(name, check)| {
        let (passed, failed) = (check.passed, check.failed);
        (name, ExternalCheck { passed, failed })
    });
    ExternalFigures {
        engine: engine.generator.as_str().into(),
        command: observed.command,
        rate_per_second,
        percentiles_ns: figures.percentiles_ns,
        min_ns: figures.min_ns,
        mean_ns: figures.mean_ns,
        max_ns: figures.max_ns,
        checks: checks.collect(),
        thresholds: figures.thresholds,
        groups: figures.groups,
        metrics: figures.metrics,
        not_expressed: observed.limits.not_expressed,
        not_measured: observed.limits.not_measured,
    }
}
