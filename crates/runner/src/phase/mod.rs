//! One phase: a load, the observations and actions while it runs, and its record.
//!
//! [`measure`] runs the engine on its own thread and, on one thread each, the watch, the scrapes,
//! the calls to an admin interface and the profile. An external load generator takes the engine's
//! place in [`external`]. A phase must not know the order of a trial or how the plan was made: it
//! gets a context, a testbed that is up, and what to load.

pub(crate) mod admin;
mod bins;
pub(crate) mod ceiling;
pub(crate) mod external;
mod fault_injection;
mod figures;
mod groups;
mod keeper;
mod profile;
mod reconfiguration;
mod samples;
mod scrape;
mod timeline;
pub(crate) mod trace;
mod warming;
mod watch;
mod wire_facts;

use std::io;
use std::panic;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use gatebench_engine::{Load, Outcome};
use gatebench_model::{Phase, Shape};
use gatebench_store::{
    AdminLoadRecord, ChangeRecord, FailureRecord, LedgerDelta, PhaseRecord, SeriesRow,
    TaggedInterval, TraceCounts, WarmUpRecord,
};
use gatebench_testbed::probe::{Profile, ProfileError};
use gatebench_upstream::Snapshot;

use crate::abort::{Abort, Failure};
use crate::context::TrialContext;
use crate::progress::{PhaseSummary, Progress};
use crate::testbed::Testbed;
use crate::testbed::ledger;
use crate::testbed::sampler::Outside;
use crate::workload::Workload;
use admin::Calling;
use bins::Glance;
use fault_injection::FaultInjection;
pub use figures::judge_outcome;
use figures::{summary, usages};
use profile::Profiling;
use reconfiguration::Reconfiguration;
use samples::{Moment, Pss, Samplers};
use scrape::{Scrape, Scraping};
use timeline::Timeline;
use trace::Seen;
use warming::Warming;
use watch::{Shared, Watch, Watched};

/// A phase that was measured.
pub(crate) struct Measured {
    pub(crate) record: PhaseRecord,
    pub(crate) histograms: Vec<TaggedInterval>,
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) summary: PhaseSummary,
    /// What was sampled of the gateway's stacks, where the plan wants it.
    pub(crate) profile: Option<Profile>,
    /// What ended it before its time, where what there is of it is kept.
    pub(crate) abort: Option<Abort>,
}

/// What is loaded, and how.
pub(crate) struct Loading<'a> {
    pub(crate) phase: &'a Phase,
    /// Who sends what.
    pub(crate) workload: &'a Workload,
    /// Tag of the nonces.
    pub(crate) tag: u16,
    /// Begin of the trial on `CLOCK_MONOTONIC`, nanoseconds.
    pub(crate) trial_began_ns: u64,
    /// The trial's folder.
    pub(crate) folder: &'a Path,
}

/// Everything that a load left behind, before it is a record.
struct Raw {
    outcome: Outcome,
    /// The loads of its groups.
    shapes: Vec<Shape>,
    moments: Vec<Moment>,
    glances: Vec<Glance>,
    warm_up: Option<WarmUpRecord>,
    change: Option<ChangeRecord>,
    failure: Option<FailureRecord>,
    scrapes: Vec<Scrape>,
    pss: (Pss, Pss),
    /// Of the gateway, before and after the load.
    outside: Option<(Outside, Outside)>,
    /// Of the upstream, before and after the load.
    ledger: Option<(Snapshot, Snapshot)>,
    answers: u64,
}

/// Runs a load to its end. Who dies in it, and an interrupt, end it.
pub(crate) fn measure(
    context: &TrialContext<'_>,
    testbed: &mut Testbed,
    loading: &Loading<'_>,
) -> Result<Measured, Abort> {
    let phase = loading.phase;
    let load = load(context, testbed, loading)?;
    let before = testbed.ledger(context.interrupt)?;
    let mut samplers = Samplers::new(testbed, context.cores().gateway);
    let pss_before = samplers.pss();
    let outside = samplers.outside();
    let warming = Warming::of(context, phase);
    let shared = Shared::new(load.cores.len(), warming.fixed_ns());
    let mut timeline =
        Timeline::new(load.cores.len()).in_stretches_of(stretch_seconds(context, phase));
    context.observer.observe(Progress::PhaseStarted {
        name: phase.name.clone(),
        warm_up: phase.warm_up.0,
        measure: phase.measure.0,
    });
    let beside = Beside {
        scraping: scraping(context, testbed, phase),
        calling: Calling::of(context, testbed, phase),
        profiling: Profiling::of(context, &samplers, loading),
        kept_awake: match phase.keep_awake && !context.plan.placement.gateway_is_elsewhere {
            true => context.gateway_cores(),
            false => &[],
        },
    };
    let watch = watch(context, testbed, &mut samplers, &shared, (phase, warming))?;
    meet(context, phase)?;
    let Run {
        outcome,
        watched,
        scrapes,
        admin,
        profile,
        kept_awake,
    } = run_watched(&load, &shared, &mut timeline, watch, beside);
    let abort = ended_by(context, &watched, profile.as_ref(), phase)?;
    let outcome = undisturbed(outcome, kept_awake, context);
    let outcome = outcome.map_err(|failure| failure.in_phase(&phase.name))?;
    let after = match &abort {
        None => testbed.ledger(context.interrupt)?,
        // What was interrupted has not been heard to the end.
        Some(_) => None,
    };
    let raw = Raw {
        outcome,
        shapes: load.groups.into_iter().map(|group| group.shape).collect(),
        moments: watched.moments,
        glances: watched.glances,
        warm_up: watched.warm_up,
        change: watched.change,
        failure: watched.failure,
        scrapes,
        pss: (pss_before, samplers.pss()),
        outside: outside.zip(samplers.outside()),
        ledger: before.zip(after),
        answers: shared.completed(),
    };
    let mut measured = assemble(context, loading, raw, timeline);
    measured.abort = abort;
    measured.record.admin = admin;
    let failed = |error: ProfileError| Failure::from(&error).in_phase(&phase.name);
    measured.profile = profile.transpose().map_err(failed)?;
    context
        .observer
        .observe(Progress::PhaseFinished(measured.summary.clone()));
    Ok(measured)
}

/// Who watches the load, and what is done meanwhile.
fn watch<'a>(
    context: &'a TrialContext<'_>,
    testbed: &'a mut Testbed,
    samplers: &'a mut Samplers,
    shared: &'a Shared,
    (phase, warming): (&'a Phase, Warming<'a>),
) -> Result<Watch<'a>, Abort> {
    let failure = phase.failure.as_ref().filter(|_| context.gateway.is_some());
    let fault_injection = failure.map(|it| FaultInjection::new(it, testbed, context.interrupt));
    Ok(Watch {
        fault_injection: fault_injection.transpose()?,
        shared,
        testbed,
        samplers,
        variant: context.variant,
        interrupt: context.interrupt,
        observer: context.observer,
        warming,
        measure_ns: phase.measure.as_nanos(),
        late_glances: 0,
        reconfiguration: context
            .gateway
            .and_then(|_| Reconfiguration::of(phase, context.scenario, context.interrupt)),
    })
}

/// Before a phase that gateways go through side by side all of them are ready.
fn meet(context: &TrialContext<'_>, phase: &Phase) -> Result<(), Abort> {
    if phase.side_by_side {
        context.meet()
    } else {
        Ok(())
    }
}

/// Stretches of a long phase whose histograms are kept apart.
const STRETCHES_MAX: u64 = 120;

/// Over how many seconds a histogram goes: one, but in a soak as many as make a bounded number of them.
fn stretch_seconds(context: &TrialContext<'_>, phase: &Phase) -> u32 {
    if !context.plan.study.is_in_segments() {
        return 1;
    }
    let seconds = phase.measure.0.as_secs().div_ceil(STRETCHES_MAX).max(1);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

/// What ended the load before its time, where what there is of it is kept all the same: of a soak every second
/// counts, however it ended, and of a profile every sample.
fn ended_by(
    context: &TrialContext<'_>,
    watched: &Watched,
    profile: Option<&Result<Profile, ProfileError>>,
    phase: &Phase,
) -> Result<Option<Abort>, Abort> {
    let death = watched.death.clone();
    let abort = if context.interrupt.is_raised() {
        Some(Abort::Interrupted)
    } else {
        death.map(|death| death.in_phase(&phase.name).into())
    };
    let has_samples = matches!(profile, Some(Ok(_)));
    let says_something = context.plan.study.is_in_segments() || has_samples;
    let is_worth_keeping = says_something && watched.moments.len() > 1;
    match abort {
        Some(abort) if !is_worth_keeping => Err(abort),
        abort => Ok(abort),
    }
}

fn load(
    context: &TrialContext<'_>,
    testbed: &Testbed,
    loading: &Loading<'_>,
) -> Result<Load, Abort> {
    let wire = testbed.target().ok_or(Abort::Interrupted)?;
    let phase = loading.phase;
    let streams = context.scenario.transport.http2_streams;
    let target = wire
        .target(streams)
        .map_err(|error| Failure::of_certificate(&error))?;
    let groups = loading.workload.in_phase(phase, &target);
    // Seen before the start, so only a manifest that was changed gets here.
    let groups = groups.map_err(|error| Failure::of_manifest(&error).in_phase(&phase.name))?;
    Ok(Load {
        groups,
        data: loading.workload.data(),
        warm_up: Duration::from_nanos(Warming::of(context, phase).at_most_ns()),
        measure: phase.measure.0,
        drain: phase.drain.0,
        cores: context.plan.placement.engine.clone(),
        backend: context.backend,
        trace_tag: context.plan.is_traced().then_some(loading.tag),
        spin: context.plan.placement.engine_is_alone() && context.lockstep.is_none(),
        seed: u64::from(loading.tag),
    })
}

/// What is fetched of the gateway's own metrics in a phase.
fn scraping<'a>(
    context: &TrialContext<'a>,
    testbed: &Testbed,
    phase: &Phase,
) -> Option<Scraping<'a>> {
    let every = context.scenario.metrics.as_ref()?.scrape_every?;
    Some(Scraping {
        address: testbed.metrics_address()?,
        metrics: context.gateway?.folder.spec.metrics.as_ref()?,
        every_ns: every.as_nanos(),
        measure_ns: phase.measure.as_nanos(),
        interrupt: context.interrupt,
    })
}

/// The threads next to a load, apart from the watch.
struct Beside<'a> {
    /// Fetches metrics.
    scraping: Option<Scraping<'a>>,
    /// Calls the admin interface.
    calling: Option<Calling<'a>>,
    /// Takes a profile.
    profiling: Option<Profiling<'a>>,
    /// Cores that a thread keeps from idling.
    kept_awake: &'a [usize],
}

/// The engine's outcome, and what was seen, fetched, called and sampled meanwhile.
struct Run {
    outcome: Result<Outcome, gatebench_engine::EngineError>,
    watched: Watched,
    scrapes: Vec<Scrape>,
    admin: Option<AdminLoadRecord>,
    profile: Option<Result<Profile, ProfileError>>,
    kept_awake: io::Result<()>,
}

/// Runs the engine on this thread, and the watch and the other activities on a thread each.
fn run_watched(
    load: &Load,
    shared: &Shared,
    timeline: &mut Timeline,
    watch: Watch<'_>,
    beside: Beside<'_>,
) -> Run {
    let Beside {
        scraping,
        calling,
        profiling,
        kept_awake,
    } = beside;
    thread::scope(|scope| {
        let kept_awake = keeper::keep_awake(scope, kept_awake, &shared.over);
        let watching = scope.spawn(|| watch.run());
        let scraping = scope.spawn(|| scraping.map(|it| it.run(shared)).unwrap_or_default());
        let calling = scope.spawn(|| calling.map(|it| it.run(shared)));
        let profiling = scope.spawn(|| profiling.and_then(|it| it.run(shared)));
        let over = Over(shared);
        let outcome = gatebench_engine::run(load, &shared.control, |worker, interval| {
            if let Some(median_ns) = timeline.take(worker, interval) {
                shared.response_p50_ns.store(median_ns, Ordering::Relaxed);
            }
        });
        drop(over);
        Run {
            outcome,
            watched: joined(watching),
            scrapes: joined(scraping),
            admin: joined(calling),
            profile: joined(profiling),
            kept_awake,
        }
    })
}

/// The engine's outcome, where the gateway's cores were kept awake as asked.
fn undisturbed(
    outcome: Result<Outcome, gatebench_engine::EngineError>,
    kept_awake: io::Result<()>,
    context: &TrialContext<'_>,
) -> Result<Outcome, Failure> {
    kept_awake.map_err(|error| Failure::of_keeper(&error))?;
    outcome.map_err(|error| Failure::of_engine(&error, context.target_culprit()))
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| panic::resume_unwind(panic))
}

/// Tells the watch that the load is over, also when the engine panics.
struct Over<'a>(&'a Shared);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Release);
    }
}

/// The results of the nonces in responses.
fn seen(outcome: &Outcome, workload: &Workload, answers: u64) -> Seen {
    Seen {
        traced: outcome.counts.traced,
        untimed: outcome.counts.untimed,
        foreign: outcome.counts.foreign,
        meant_for_gateway: groups::meant_for_gateway(outcome, workload),
        answers,
    }
}

fn traced(context: &TrialContext<'_>, seen: Seen, ledger: Option<&LedgerDelta>) -> TraceCounts {
    match context.plan.is_traced() {
        true => trace::account(seen, ledger),
        false => trace::without_nonces(seen, ledger),
    }
}

fn assemble(
    context: &TrialContext<'_>,
    loading: &Loading<'_>,
    raw: Raw,
    timeline: Timeline,
) -> Measured {
    let Raw {
        outcome,
        shapes,
        moments,
        glances,
        warm_up,
        change,
        failure,
        scrapes,
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
    let machine = samples::machine(&moments, &context.cores());
    let of_engine = figures::record(&phase.name, &phase.shape, &outcome, machine);
    let measure_ns = of_engine.measure_ns;
    let (histograms, mut series) =
        timeline.finish(&phase.name, measure_ns, outcome.drained_ns, &moments);
    scrape::into_series(&scrapes, &mut series);
    let seen = seen(&outcome, loading.workload, answers);
    let record = PhaseRecord {
        began_ns: outcome.window_ns.0.saturating_sub(loading.trial_began_ns),
        groups: groups::records(&outcome, &shapes),
        connects: Some(groups::figures(&outcome.connects)).filter(|it| it.count > 0),
        trace: traced(context, seen, gained.as_ref()),
        usage: usages(&moments, pss, &of_engine.engine, measure_ns),
        ledger: gained.unwrap_or_default(),
        change,
        failure,
        side_by_side: phase.side_by_side && context.lockstep.is_some(),
        own_metrics: scrape::record(&scrapes),
        wire: Some(wire_facts::facts(client, ledger, outside)),
        adaptive_warm_up: warm_up,
        bins: bins::record(&glances),
        ..of_engine
    };
    let summary = summary(&record, &outcome);
    Measured {
        record,
        histograms,
        series,
        summary,
        profile: None,
        abort: None,
    }
}
