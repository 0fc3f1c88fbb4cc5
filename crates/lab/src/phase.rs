//! One load: from a phase of the profile to its record.

use std::collections::BTreeMap;
use std::panic;
use std::sync::atomic::Ordering;
use std::thread;

use gatebench_engine::{Class, ErrorKind, Load, Metric, Outcome, Recordings};
use gatebench_model::{Phase, Shape};
use gatebench_store::{
    ChangeRecord, Counts, EngineFacts, ExactSum, Histogram, PhaseRecord, SeriesRow, TaggedInterval,
    Usage,
};
use gatebench_upstream::Snapshot;

use crate::demand::Demand;
use crate::groups;
use crate::halt::{Failure, Halt};
use crate::ledger;
use crate::progress::{PhaseSummary, Progress};
use crate::samples::{self, Moment, Pss, Samplers};
use crate::series::{self, Seconds};
use crate::stage::Stage;
use crate::trace::{self, Seen};
use crate::traffic::{self, Outside};
use crate::trial::Scene;
use crate::watch::{Shared, Watch, Watched};

/// A phase that was measured.
pub(crate) struct Measured {
    pub(crate) record: PhaseRecord,
    pub(crate) histograms: Vec<TaggedInterval>,
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) summary: PhaseSummary,
    /// What ended it before its time, where what there is of it is kept.
    pub(crate) halt: Option<Halt>,
}

/// What is loaded, and how.
pub(crate) struct Loading<'a> {
    pub(crate) phase: &'a Phase,
    /// Who sends what.
    pub(crate) demand: &'a Demand,
    /// Tag of the nonces.
    pub(crate) tag: u16,
    /// Begin of the trial on `CLOCK_MONOTONIC`, nanoseconds.
    pub(crate) trial_began_ns: u64,
}

/// Everything that a load left behind, before it is a record.
struct Raw {
    outcome: Outcome,
    /// The loads of its groups.
    shapes: Vec<Shape>,
    moments: Vec<Moment>,
    change: Option<ChangeRecord>,
    pss: (Pss, Pss),
    /// Of the gateway, before and after the load.
    outside: Option<(Outside, Outside)>,
    /// Of the upstream, before and after the load.
    ledger: Option<(Snapshot, Snapshot)>,
    answers: u64,
}

/// Runs a load to its end. Who dies in it, and an interrupt, end it.
pub(crate) fn measure(
    scene: &Scene<'_>,
    stage: &mut Stage,
    loading: &Loading<'_>,
) -> Result<Measured, Halt> {
    let phase = loading.phase;
    let load = load(scene, stage, loading)?;
    let before = scene.ledger(stage)?;
    let mut samplers = Samplers::new(stage);
    let pss_before = samplers.pss();
    let outside = samplers.outside();
    let shared = Shared::new(load.cores.len());
    let mut seconds = Seconds::new(load.cores.len()).in_stretches_of(stretch_seconds(scene, phase));
    scene.observer.observe(Progress::PhaseStarted {
        name: phase.name.clone(),
        warm_up: phase.warm_up.0,
        measure: phase.measure.0,
    });
    let watch = Watch {
        shared: &shared,
        stage,
        samplers: &mut samplers,
        variant: scene.variant,
        interrupt: scene.interrupt,
        observer: scene.observer,
        warm_up_ns: phase.warm_up.as_nanos(),
        measure_ns: phase.measure.as_nanos(),
        change: phase.change.as_ref().filter(|_| scene.gateway.is_some()),
    };
    let (outcome, watched) = run_watched(&load, &shared, &mut seconds, watch);
    let halt = halt_of(scene, watched.death.clone(), &phase.name);
    if let Some(halt) = &halt
        && !is_worth_keeping(scene, &watched)
    {
        return Err(halt.clone());
    }
    let outcome = outcome.map_err(|error| {
        Failure::of_engine(&error, scene.target_culprit()).in_phase(&phase.name)
    })?;
    let after = match &halt {
        None => scene.ledger(stage)?,
        // What was interrupted has not been heard to the end.
        Some(_) => None,
    };
    let raw = Raw {
        outcome,
        shapes: load.groups.into_iter().map(|group| group.shape).collect(),
        moments: watched.moments,
        change: watched.change,
        pss: (pss_before, samplers.pss()),
        outside: outside.zip(samplers.outside()),
        ledger: before.zip(after),
        answers: shared.completed(),
    };
    let mut measured = assemble(scene, loading, raw, seconds);
    measured.halt = halt;
    scene
        .observer
        .observe(Progress::PhaseFinished(measured.summary.clone()));
    Ok(measured)
}

/// Stretches of a long phase whose histograms are kept apart.
const STRETCHES_MAX: u64 = 120;

/// Over how many seconds a histogram goes: one, but in a soak as many as make a bounded number of them.
fn stretch_seconds(scene: &Scene<'_>, phase: &Phase) -> u32 {
    if scene.plan.soak.is_none() {
        return 1;
    }
    let seconds = phase.measure.0.as_secs().div_ceil(STRETCHES_MAX).max(1);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

/// What ended the load before its time.
fn halt_of(scene: &Scene<'_>, death: Option<Failure>, phase: &str) -> Option<Halt> {
    if scene.interrupt.is_raised() {
        return Some(Halt::Interrupted);
    }
    death.map(|death| death.in_phase(phase).into())
}

/// Of a soak every second counts, however it ended.
fn is_worth_keeping(scene: &Scene<'_>, watched: &Watched) -> bool {
    scene.plan.soak.is_some() && watched.moments.len() > 1
}

fn load(scene: &Scene<'_>, stage: &Stage, loading: &Loading<'_>) -> Result<Load, Halt> {
    let wire = stage.target().ok_or(Halt::Interrupted)?;
    let phase = loading.phase;
    let streams = scene.scenario.transport.http2_streams;
    let target = wire
        .target(streams)
        .map_err(|error| Failure::of_certificate(&error))?;
    let groups = loading.demand.in_phase(phase, &target);
    // Seen before the start, so only a manifest that was changed gets here.
    let groups = groups.map_err(|error| Failure::of_manifest(&error).in_phase(&phase.name))?;
    Ok(Load {
        groups,
        data: loading.demand.data(),
        warm_up: phase.warm_up.0,
        measure: phase.measure.0,
        drain: phase.drain.0,
        cores: scene.plan.placement.engine.clone(),
        backend: scene.backend,
        trace_tag: Some(loading.tag),
        spin: scene.plan.placement.engine_is_alone(),
        seed: u64::from(loading.tag),
    })
}

/// Runs the engine on this thread and the watch on another.
fn run_watched(
    load: &Load,
    shared: &Shared,
    seconds: &mut Seconds,
    watch: Watch<'_>,
) -> (Result<Outcome, gatebench_engine::EngineError>, Watched) {
    thread::scope(|scope| {
        let watching = scope.spawn(|| watch.run());
        let over = Over(shared);
        let outcome = gatebench_engine::run(load, &shared.control, |worker, interval| {
            if let Some(median_ns) = seconds.take(worker, interval) {
                shared.response_p50_ns.store(median_ns, Ordering::Relaxed);
            }
        });
        drop(over);
        let watched = watching
            .join()
            .unwrap_or_else(|panic| panic::resume_unwind(panic));
        (outcome, watched)
    })
}

/// Tells the watch that the load is over, also when the engine panics.
struct Over<'a>(&'a Shared);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Release);
    }
}

fn assemble(scene: &Scene<'_>, loading: &Loading<'_>, raw: Raw, seconds: Seconds) -> Measured {
    let Raw {
        outcome,
        shapes,
        moments,
        change,
        pss,
        outside,
        ledger,
        answers,
    } = raw;
    let ledger = ledger.as_ref().map(|(before, after)| (before, after));
    let gained = ledger.map(|(before, after)| ledger::delta(before, after));
    let outside = outside.as_ref().map(|(before, after)| (before, after));
    let client = (answers, outcome.counts.connections_opened);
    let phase = loading.phase;
    let measure_ns = outcome.window_ns.1.saturating_sub(outcome.window_ns.0);
    let (histograms, series) =
        seconds.finish(&phase.name, measure_ns, outcome.drained_ns, &moments);
    let seen = Seen {
        traced: outcome.counts.traced,
        untimed: outcome.counts.untimed,
        foreign: outcome.counts.foreign,
        meant_for_gateway: groups::meant_for_gateway(&outcome, loading.demand),
        answers,
    };
    let engine = EngineFacts {
        backend: outcome.backend.as_str().into(),
        workers: u32::try_from(outcome.workers.len()).unwrap_or(u32::MAX),
        cpu_ns: outcome.workers.iter().map(|worker| worker.cpu_ns).sum(),
        run_queue_wait_ns: outcome
            .workers
            .iter()
            .map(|worker| worker.run_queue_wait_ns)
            .sum(),
    };
    let record = PhaseRecord {
        name: phase.name.clone(),
        shape: phase.shape.clone(),
        began_ns: outcome.window_ns.0.saturating_sub(loading.trial_began_ns),
        warm_up_ns: outcome.window_ns.0.saturating_sub(outcome.start_ns),
        measure_ns,
        drained_ns: outcome.drained_ns,
        counts: counts(&outcome.counts, &outcome.checks),
        groups: groups::records(&outcome, &shapes),
        connects: Some(groups::figures(&outcome.connects)).filter(|it| it.count > 0),
        resumed: Some(outcome.resumed).filter(|count| *count > 0),
        sums: sums(&outcome.recordings),
        trace: trace::account(seen, gained.as_ref()),
        usage: usages(&moments, pss, &engine, measure_ns),
        engine,
        machine: samples::machine(&moments, &scene.cores()),
        ledger: gained.unwrap_or_default(),
        change,
        wire: Some(traffic::facts(client, ledger, outside)),
        foreign: None,
        step: None,
    };
    let summary = summary(&record, &outcome);
    Measured {
        record,
        histograms,
        series,
        summary,
        halt: None,
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
fn usages(
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

/// The response times of all answers.
pub(crate) fn answered(recordings: &Recordings) -> Histogram<u64> {
    let mut response: Histogram<u64> = series::empty();
    for ((metric, class), recording) in recordings {
        if *metric == Metric::Response && *class != Class::Failed {
            series::add(&mut response, &recording.histogram);
        }
    }
    response
}

fn summary(record: &PhaseRecord, outcome: &Outcome) -> PhaseSummary {
    let response = answered(&outcome.recordings);
    let seconds = record.measure_ns as f64 / 1e9;
    let completed_per_second = if seconds > 0.0 {
        record.counts.completed_in_window as f64 / seconds
    } else {
        0.0
    };
    let per_request = |usage: &Usage| {
        let cores = usage.cpu_ns as f64 / usage.window_ns.max(1) as f64;
        (completed_per_second > 0.0).then(|| cores * 1e9 / completed_per_second)
    };
    PhaseSummary {
        name: record.name.clone(),
        completed_per_second,
        failed: record.counts.errors.values().sum::<u64>()
            + outcome.counts.answers_failing_checks
            + record.counts.dropped,
        response_p50_ns: series::percentile(&response, 0.5),
        gateway_cpu_ns_per_request: record.usage.get("gateway").and_then(per_request),
    }
}
