//! Turns the figures of an external load generator into the record of a phase.

use std::collections::BTreeMap;

use gatebench_external::{Figures, Limits};
use gatebench_model::{Check, Request, Shape};
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
use crate::phase::{Loading, Measured, Timed};
use crate::workload::Workload;

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
    loading: &Loading<'_>,
    engine: &PreparedGenerator,
    observed: Observed,
    watched: &Watched,
) -> Measured {
    let phase = loading.phase;
    let measure_ns = observed.figures.duration_ns;
    let usage = usages(watched, observed.pss, measure_ns);
    let facts = engine_facts(engine, &usage, context.plan.placement.engine.len());
    let ledger = observed.ledger;
    let counts = counts(&observed.figures, &phase.shape);
    let seen = Seen {
        responses: observed.figures.completed,
        meant_for_gateway: match engine.script() {
            None => meant_for_gateway(&observed.figures, loading.workload),
            // The requests of a user's script are not known.
            Some(_) => 0,
        },
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

/// Returns the number of responses to requests that the gateway itself must serve. An external load
/// generator does not report which request a response belongs to. If the gateway must serve only
/// some of the requests, every response counts whose status class the checks of these requests
/// permit; if the classes are unknown, every response counts. If the classes are known and the
/// scenario has one group, the result is at most the expected number of these requests plus a
/// tolerance, so that a gateway that refuses all requests does not appear to be correct.
fn meant_for_gateway(figures: &Figures, workload: &Workload) -> u64 {
    let by_gateway = workload.answered_by_gateway.iter().flatten();
    let all = workload.requests().zip(by_gateway);
    let (meant, others): (Vec<_>, Vec<_>) = all.partition(|(_, by_gateway)| **by_gateway);
    if meant.is_empty() {
        return 0;
    }
    if others.is_empty() || figures.by_class.is_empty() {
        return figures.completed;
    }
    let is_meant = |class: &str| meant.iter().any(|(request, _)| permits(request, class));
    let classes = figures.by_class.iter();
    let classes = classes.filter(|(class, _)| is_meant(class));
    let counted = classes.map(|(_, count)| *count).sum();
    if workload.answered_by_gateway.len() > 1 {
        return counted;
    }
    let weight = |requests: &[(&Request, &bool)]| -> f64 {
        requests.iter().map(|(request, _)| request.weight).sum()
    };
    let share = weight(&meant) / (weight(&meant) + weight(&others));
    let expected = figures.completed as f64 * share;
    // Requests may be drawn at random.
    let most = expected + 6.0 * (expected * (1.0 - share)).sqrt() + 1.0;
    counted.min(most as u64)
}

/// Reports whether the checks of a request permit a status of this class, such as `4xx`.
fn permits(request: &Request, class: &str) -> bool {
    let is_of_class = |status: &u16| class == format!("{}xx", status / 100);
    request.checks.iter().all(|check| match check {
        Check::Status(status) => is_of_class(status),
        Check::StatusIn(statuses) => statuses.iter().any(is_of_class),
        _ => true,
    })
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

#[cfg(test)]
mod tests {
    use gatebench_config::parse;
    use gatebench_model::{Scenario, Variant};

    use super::*;

    /// The workload of a scenario with a request that must be refused, and other requests.
    fn workload(others: &str) -> Workload {
        let text = format!(
            "{{scenario: s, title: t, upstream: go-bench, \
             routes: [{{name: r, path: /r, policies: [api_key: {{header: X-Key}}]}}], \
             consumers: [{{name: a, keys: [k]}}], \
             requests: [{{path: /r/json, checks: [{{status: 401}}]}}{others}]}}"
        );
        let scenario: Scenario = parse("s.yaml", &text).unwrap();
        Workload::of(&scenario, &Variant::gateway("g", "g")).unwrap()
    }

    const GOOD: &str = ", {path: /r/json, headers: {X-Key: k}, checks: [{status: 200}]}";

    #[test]
    fn required_refusals_are_meant_for_the_gateway() {
        let figures = |by_class: &[(&str, u64)]| Figures {
            completed: 100,
            by_class: by_class
                .iter()
                .map(|(class, count)| ((*class).to_owned(), *count))
                .collect(),
            ..Figures::default()
        };
        let classes = figures(&[("2xx", 75), ("4xx", 25)]);
        let (refused, mixed) = (workload(""), workload(GOOD));
        assert_eq!(meant_for_gateway(&classes, &refused), 100);
        assert_eq!(meant_for_gateway(&classes, &mixed), 25);
        assert_eq!(meant_for_gateway(&figures(&[]), &mixed), 100);
        // A gateway that refuses everything: half of the requests must be refused.
        let refusals = figures(&[("4xx", 100)]);
        assert_eq!(meant_for_gateway(&refusals, &mixed), 81);
        let mut forwarded = workload(GOOD);
        forwarded.answered_by_gateway = vec![vec![false, false]];
        assert_eq!(meant_for_gateway(&classes, &forwarded), 0);
        // The gateway must serve the second request too, so responses of both classes count, but at
        // most two thirds of all responses plus a tolerance.
        let mut both = workload(&format!("{GOOD}{GOOD}"));
        both.answered_by_gateway = vec![vec![true, true, false]];
        assert_eq!(meant_for_gateway(&classes, &both), 95);
    }
}
