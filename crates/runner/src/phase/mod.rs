//! Measures one phase: sends its load, watches the gateway and makes scheduled changes during the
//! load, and assembles the record.
//!
//! [`measure`] runs the load generator from the calling thread, which collects the seconds of the
//! load generator's workers. The watch, the scrapes, the calls to an admin interface and the
//! profile each have a separate thread. In [`external`], an external load generator replaces the
//! built-in one. A phase must not depend on the sequence of steps in a trial or on how the plan was
//! made: its inputs are a context, the running parts of a trial, and the load.

pub(crate) mod admin;
mod agents;
mod bins;
pub(crate) mod ceiling;
mod changes;
mod exposition;
pub(crate) mod external;
mod fault_injection;
mod figures;
mod groups;
mod keeper;
mod own_audit;
mod profile;
mod reconfiguration;
mod samples;
mod scrape;
mod tap;
mod timeline;
pub(crate) mod trace;
mod warming;
mod watch;
mod wire_facts;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use gatebench_agent::Agents;
use gatebench_engine::{Interval, Load, Metric, Outcome, Protocol, Target};
use gatebench_model::{Phase, Shape};
use gatebench_net::tls::SettingsError;
use gatebench_net::workers::joined;
use gatebench_store::{
    AdminLoadRecord, AgentsRecord, LedgerDelta, PhaseRecord, TraceCounts, WireFacts,
};
use gatebench_studies::throughput_per_second;
use gatebench_testbed::probe::{Outside, Profile, ProfileError, clock_identity};
use gatebench_testbed::{DriverError, Running, Wire};
use gatebench_upstream::Snapshot;

use crate::abort::{Abort, Failure};
use crate::context::TrialContext;
use crate::ledger;
use crate::progress::{PhaseSummary, Progress};
use crate::workload::Workload;
use admin::Calling;
pub use agents::agents_record;
use changes::{Changes, Processes};
pub use figures::judge_outcome;
use figures::{own_usage, summary, usages};
use own_audit::{Audit, Counted};
use profile::Profiling;
use samples::{PssAround, Samplers};
use scrape::{Scrape, Scraping, Source};
use tap::Tap;
pub(crate) use timeline::Timed;
use timeline::{Onlooker, Timeline};
use trace::Seen;
use warming::Warming;
use watch::{Shared, Watch, Watched};

pub(crate) struct Measured {
    pub(crate) record: PhaseRecord,
    pub(crate) timed: Timed,
    pub(crate) summary: PhaseSummary,
    /// Samples of the gateway's stacks, if the plan requires them.
    pub(crate) profile: Option<Profile>,
    /// The reason for an early end, if the partial phase is kept.
    pub(crate) abort: Option<Abort>,
}

pub(crate) struct Loading<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) workload: &'a Workload,
    /// The tag of the nonces.
    pub(crate) tag: u16,
    pub(crate) seed: u64,
    /// The start of the trial on `CLOCK_MONOTONIC`, in nanoseconds.
    pub(crate) trial_began_ns: u64,
    pub(crate) folder: &'a Path,
}

/// The results of a load before its record is computed.
struct Raw<'a> {
    outcome: Outcome,
    /// The agents, if they sent the load.
    agents: Option<AgentsRecord>,
    shapes: Vec<Shape>,
    watched: Watched,
    scrapes: Vec<Scrape>,
    /// The gateway's own metrics before the load.
    audit: Option<Audit<'a>>,
    pss: PssAround,
    /// Observations of the gateway before and after the load.
    outside: Option<(Outside, Outside)>,
    /// Ledgers of the upstream before and after the load.
    ledger: Option<(Snapshot, Snapshot)>,
    responses: u64,
}

/// Runs a load to completion, or until a process dies or an interrupt arrives.
pub(crate) fn measure(
    context: &TrialContext<'_>,
    running: &mut Running,
    loading: &Loading<'_>,
) -> Result<Measured, Abort> {
    let phase = loading.phase;
    let load = load(context, running, loading)?;
    let audit = audited(context, running, phase).and_then(Audit::begin);
    let before = ledger::read(&running.upstream(), context.interrupt)?;
    let mut samplers = Samplers::new(running, context.cores().gateway);
    let pss_before = samplers.pss();
    let outside = samplers.outside();
    let warming = Warming::of(context, phase);
    let senders = context.agents.map_or(load.cores.len(), Agents::count);
    let shared = Shared::new(senders, warming.fixed_ns());
    let feed = context.outputs.as_ref();
    let feed = feed.map(|it| it.load(&phase.name, &load.groups));
    let measure_ns = phase.measure.as_nanos();
    let tap = feed.as_ref().map(|it| Tap::new(it, &shared, measure_ns));
    let mut timeline = Timeline::new(senders, stretch_seconds(context, phase));
    timeline.tap = tap;
    timeline.onlooker = Some(Onlooker {
        observer: context.observer,
        phase: &phase.name,
        measure_ns,
    });
    let name = phase.name.clone();
    context.observer.observe(Progress::PhaseStarted { name });
    let companions = companions(context, running, &samplers, loading, tap);
    let changes = Changes::of(context, running, phase)?;
    let processes = Processes::new(running);
    let watch = Watch {
        changes,
        ..watch(
            context,
            &processes,
            &mut samplers,
            &shared,
            phase,
            warming,
            tap,
        )
    };
    if phase.side_by_side {
        context.meet()?;
    }
    let run = run_watched(context, &load, &shared, &mut timeline, watch, companions);
    let early = ended_by(context, &run.watched, run.profile.as_ref(), phase)?;
    let in_phase = |failure: Failure| failure.in_phase(&phase.name);
    let mut sent = run.outcome.map_err(in_phase)?;
    leave_out_halves(&mut sent, &mut timeline, load.shares_clock);
    let abort = loss(&mut sent, &run.watched, phase)?.or(early);
    let after = match &abort {
        None => ledger_after(context, running, &run.watched)?,
        // After an early end, responses may be missing, so the ledgers cannot be compared.
        Some(_) => None,
    };
    let raw = Raw {
        audit: audit.filter(|_| abort.is_none()),
        outcome: sent.outcome,
        agents: sent.agents,
        shapes: load.groups.into_iter().map(|group| group.shape).collect(),
        watched: run.watched,
        scrapes: run.scrapes,
        pss: [pss_before, samplers.pss()],
        outside: outside.zip(samplers.outside()),
        ledger: before.zip(after),
        responses: shared.completed(),
    };
    let mut measured = assemble(context, loading, raw, timeline, tap);
    measured.abort = abort;
    measured.record.admin = run.admin;
    let profile = run.profile.transpose();
    measured.profile = profile.map_err(|error| in_phase(Failure::from(&error)))?;
    Ok(measured)
}

/// Returns the loss of an agent, if the measurement up to that time is kept.
///
/// # Errors
/// The loss, if there is nothing to keep.
fn loss(sent: &mut Sent, watched: &Watched, phase: &Phase) -> Result<Option<Abort>, Abort> {
    let lost = sent.lost.take();
    let lost = lost.map(|failure| Abort::from(failure.in_phase(&phase.name)));
    match lost {
        Some(lost) if watched.moments.len() < 2 => Err(lost),
        lost => Ok(lost),
    }
}

/// Reads the ledgers of the upstream after a load. Adds the last ledger of a target that was
/// killed, because the target's next process counts from zero.
fn ledger_after(
    context: &TrialContext<'_>,
    running: &Running,
    watched: &Watched,
) -> Result<Option<Snapshot>, Abort> {
    let mut after = ledger::read(&running.upstream(), context.interrupt)?;
    if let Some((after, killed)) = after.as_mut().zip(watched.changed.killed.as_ref()) {
        after.add(killed);
    }
    Ok(after)
}

/// Leaves out the halves of added latency if the difference between the clocks of a load generator
/// and the upstream is not known precisely enough.
fn leave_out_halves(sent: &mut Sent, timeline: &mut Timeline<'_>, shares_clock: bool) {
    let leaves_out = match &sent.agents {
        Some(agents) => agents::leaves_out_halves(agents),
        None => !shares_clock && agents::halves(&sent.outcome, false).left_out,
    };
    if leaves_out {
        timeline.left_out = &HALVES;
        let recordings = &mut sent.outcome.recordings;
        recordings.retain(|(metric, _), _| !HALVES.contains(metric));
    }
}

fn companions<'a>(
    context: &'a TrialContext<'_>,
    running: &Running,
    samplers: &Samplers,
    loading: &'a Loading<'_>,
    tap: Option<Tap<'a>>,
) -> Companions<'a> {
    let phase = loading.phase;
    Companions {
        scraping: scraping(context, running, phase, tap),
        calling: Calling::of(context, running, phase),
        profiling: Profiling::of(context, running, samplers, loading),
        kept_awake: kept_awake(context, phase),
    }
}

/// Creates the watch of a load without changes.
fn watch<'a>(
    context: &'a TrialContext<'_>,
    processes: &'a Mutex<Processes<'a>>,
    samplers: &'a mut Samplers,
    shared: &'a Shared,
    phase: &'a Phase,
    warming: Warming<'a>,
    tap: Option<Tap<'a>>,
) -> Watch<'a> {
    Watch {
        changes: Changes::default(),
        shared,
        processes,
        samplers,
        interrupt: context.interrupt,
        observer: context.observer,
        warming,
        measure_ns: phase.measure.as_nanos(),
        tap,
        late_glances: 0,
    }
}

/// The two parts of added latency, which are differences between times of two clocks.
const HALVES: [Metric; 2] = [Metric::RequestHalf, Metric::ResponseHalf];

/// The maximum number of stretches in a soak. Each stretch has separate histograms.
const STRETCHES_MAX: u64 = 120;

/// Returns the number of seconds in each histogram: one, or more in a soak to limit the number of
/// histograms.
fn stretch_seconds(context: &TrialContext<'_>, phase: &Phase) -> u32 {
    if !context.plan.study.is_in_segments() {
        return 1;
    }
    let seconds = phase.measure.0.as_secs().div_ceil(STRETCHES_MAX).max(1);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

/// Returns the reason for an early end if the partial load is kept: every second of a soak and
/// every sample of a profile is useful.
///
/// # Errors
/// The reason, if the partial load is discarded.
fn ended_by(
    context: &TrialContext<'_>,
    watched: &Watched,
    profile: Option<&Result<Profile, ProfileError>>,
    phase: &Phase,
) -> Result<Option<Abort>, Abort> {
    let death = watched.death.clone();
    let abort = match context.interrupt.is_raised() {
        true => Some(Abort::Interrupted),
        false => death.map(|death| death.in_phase(&phase.name).into()),
    };
    let has_samples = matches!(profile, Some(Ok(_)));
    let is_of_use = context.plan.study.is_in_segments() || has_samples;
    let is_worth_keeping = is_of_use && watched.moments.len() > 1;
    match abort {
        Some(abort) if !is_worth_keeping => Err(abort),
        abort => Ok(abort),
    }
}

fn load(
    context: &TrialContext<'_>,
    running: &Running,
    loading: &Loading<'_>,
) -> Result<Load, Abort> {
    let phase = loading.phase;
    let target = target(running.target(), context.scenario.transport.http2_streams)
        .map_err(|error| Failure::from(&DriverError::from(error)))?;
    let groups = loading.workload.in_phase(phase, &target);
    // Groups were checked before the start, so only a changed manifest fails here.
    let groups = groups.map_err(|error| Failure::of_manifest(&error).in_phase(&phase.name))?;
    Ok(Load {
        groups,
        data: loading.workload.data(),
        warm_up: Duration::from_nanos(Warming::of(context, phase).at_most_ns()),
        measure: phase.measure.0,
        drain: phase.drain.0,
        // An agent uses all its cores.
        cores: match context.agents {
            None => context.plan.placement.engine.clone(),
            Some(_) => Vec::new(),
        },
        backend: context.backend,
        trace_tag: context.plan.is_traced().then_some(loading.tag),
        // Each agent compares the clocks for itself.
        shares_clock: context.agents.is_some() || shares_clock(context),
        part: None,
        spin: context.agents.is_some()
            || context.plan.placement.engine_is_alone() && context.lockstep.is_none(),
        seed: loading.seed,
    })
}

/// Reports whether all upstreams use the clock of this machine.
fn shares_clock(context: &TrialContext<'_>) -> bool {
    let own = clock_identity();
    let clocks = context.testbed.upstream_clocks();
    clocks.iter().all(|clock| *clock == own)
}

/// Returns the target of a load, with HTTP/2 if a number of streams is given.
pub(crate) fn target(wire: &Wire, http2_streams: Option<u32>) -> Result<Target, SettingsError> {
    let mut target = Target::new(wire.address, wire.address.to_string());
    let alpn = match http2_streams {
        Some(streams) => {
            target.protocol = Protocol::Http2 { streams };
            "h2"
        }
        None => "http/1.1",
    };
    target.tls = wire.tls(alpn)?;
    Ok(target)
}

fn scraping<'a>(
    context: &TrialContext<'a>,
    running: &Running,
    phase: &Phase,
    tap: Option<Tap<'a>>,
) -> Option<Scraping<'a>> {
    let every = context.scenario.metrics.as_ref()?.scrape_every?;
    Some(Scraping {
        source: source(context, running)?,
        every_ns: every.as_nanos(),
        measure_ns: phase.measure.as_nanos(),
        tap,
    })
}

/// Returns the source of the gateway's metrics, if the scenario requires that they are fetched.
fn source<'a>(context: &TrialContext<'a>, running: &Running) -> Option<Source<'a>> {
    context.scenario.metrics.as_ref()?.scrape_every?;
    Some(Source {
        address: running.started()?.metrics?,
        metrics: context.gateway?.folder.spec.metrics.as_ref()?,
        interrupt: context.interrupt,
    })
}

/// Returns the source of the gateway's metrics if their counts are comparable with those of the
/// load generator. They are not comparable if the gateway is changed during the load, because
/// gatebench then sends further requests, and a gateway that reloads may reset its counts.
fn audited<'a>(context: &TrialContext<'a>, running: &Running, phase: &Phase) -> Option<Source<'a>> {
    let is_changed = phase.change.is_some() || context.scenario.admin.is_some();
    source(context, running).filter(|_| !is_changed)
}

fn kept_awake<'a>(context: &TrialContext<'a>, phase: &Phase) -> &'a [usize] {
    match phase.keep_awake && !context.plan.placement.gateway_is_elsewhere {
        true => context.gateway_cores(),
        false => &[],
    }
}

/// The activities during a load other than the watch, each on a separate thread.
struct Companions<'a> {
    scraping: Option<Scraping<'a>>,
    calling: Option<Calling<'a>>,
    profiling: Option<Profiling<'a>>,
    /// The cores that are kept from idling, each by a separate thread.
    kept_awake: &'a [usize],
}

struct Run {
    outcome: Result<Sent, Failure>,
    watched: Watched,
    scrapes: Vec<Scrape>,
    admin: Option<AdminLoadRecord>,
    profile: Option<Result<Profile, ProfileError>>,
}

struct Sent {
    outcome: Outcome,
    agents: Option<AgentsRecord>,
    /// The loss of an agent, which ended the load.
    lost: Option<Failure>,
}

fn send(
    context: &TrialContext<'_>,
    load: &Load,
    shared: &Shared,
    sink: impl FnMut(usize, &Interval),
) -> Result<Sent, Failure> {
    let Some(agents) = context.agents else {
        let outcome = gatebench_engine::run(load, &shared.control, sink);
        let outcome =
            outcome.map_err(|error| Failure::of_engine(&error, context.target_culprit()))?;
        return Ok(Sent {
            outcome,
            agents: None,
            lost: None,
        });
    };
    let clocks = context.testbed.upstream_clocks();
    let conducted = agents.run(load, &shared.control, &clocks, sink);
    let conducted = conducted.map_err(|error| Failure::from(&error))?;
    Ok(Sent {
        agents: Some(agents_record(&conducted.agents, conducted.start)),
        outcome: conducted.outcome,
        lost: conducted.failure.as_ref().map(Failure::of_agent),
    })
}

/// Runs the load generator on this thread, and the watch and each companion on a separate thread.
fn run_watched(
    context: &TrialContext<'_>,
    load: &Load,
    shared: &Shared,
    timeline: &mut Timeline<'_>,
    watch: Watch<'_>,
    companions: Companions<'_>,
) -> Run {
    thread::scope(|scope| {
        let kept_awake = keeper::keep_awake(scope, companions.kept_awake, &shared.over);
        let watching = scope.spawn(|| watch.run());
        let scraping = companions.scraping;
        let scraping = scope.spawn(|| scraping.map(|it| it.run(shared)).unwrap_or_default());
        let calling = companions.calling;
        let calling = scope.spawn(|| calling.map(|it| it.run(shared)));
        let profiling = companions.profiling;
        let profiling = scope.spawn(|| profiling.and_then(|it| it.run(shared)));
        let over = Over(shared);
        let outcome = send(context, load, shared, |worker, interval| {
            timeline.take(worker, interval);
        });
        drop(over);
        let outcome = kept_awake
            .map_err(|error| Failure::of_keeper(&error))
            .and(outcome);
        Run {
            outcome,
            watched: joined(watching),
            scrapes: joined(scraping),
            admin: joined(calling),
            profile: joined(profiling),
        }
    })
}

/// On drop, signals the end of the load to the watch and the companions, even if the load generator
/// panics.
struct Over<'a>(&'a Shared);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Release);
    }
}

fn trace_counts(
    context: &TrialContext<'_>,
    loading: &Loading<'_>,
    outcome: &Outcome,
    responses: u64,
    ledger: Option<&LedgerDelta>,
) -> TraceCounts {
    let seen = Seen {
        traced: outcome.counts.traced,
        untimed: outcome.counts.untimed,
        foreign: outcome.counts.foreign,
        meant_for_gateway: groups::meant_for_gateway(outcome, loading.workload),
        responses,
    };
    match context.plan.is_traced() {
        true => trace::account(seen, ledger),
        false => trace::without_nonces(seen, ledger),
    }
}

fn assemble(
    context: &TrialContext<'_>,
    loading: &Loading<'_>,
    raw: Raw<'_>,
    timeline: Timeline<'_>,
    tap: Option<Tap<'_>>,
) -> Measured {
    let (outcome, watched) = (raw.outcome, raw.watched);
    let ledger = raw.ledger.as_ref();
    let gained = ledger.map(|(before, after)| ledger::delta(before, after));
    let audit = raw.audit.and_then(|it| {
        it.end(&Counted {
            recordings: [&outcome.recordings, &outcome.unmeasured],
            ledger: gained.as_ref(),
            fetches: raw.scrapes.len() as u64,
        })
    });
    let phase = loading.phase;
    let moments = &watched.moments;
    let machine = samples::machine(moments, &context.cores());
    let of_engine = figures::record(&phase.name, &phase.shape, &outcome, machine);
    let measure_ns = of_engine.measure_ns;
    let mut timed = timeline.finish(&phase.name, measure_ns, outcome.drained_ns, moments);
    scrape::into_series(&raw.scrapes, &mut timed.series);
    let engine = own_usage(moments, raw.pss, &of_engine.engine, measure_ns);
    let record = PhaseRecord {
        began_ns: outcome.window_ns.0.saturating_sub(loading.trial_began_ns),
        groups: groups::records(&outcome, &raw.shapes),
        agents: raw.agents,
        connects: Some(groups::figures(&outcome.connects)).filter(|it| it.count > 0),
        trace: trace_counts(context, loading, &outcome, raw.responses, gained.as_ref()),
        usage: usages(moments, raw.pss, engine),
        ledger: gained.unwrap_or_default(),
        change: watched.changed.change,
        failure: watched.changed.failure,
        side_by_side: phase.side_by_side && context.lockstep.is_some(),
        own_metrics: scrape::record(&raw.scrapes, audit),
        wire: Some(WireFacts {
            responses: raw.responses,
            client_connections: outcome.counts.connections_opened,
            upstream: ledger.map(|(before, after)| wire_facts::upstream(before, after)),
            gateway: raw
                .outside
                .map(|(before, after)| wire_facts::gateway(&before, &after)),
        }),
        adaptive_warm_up: watched.warm_up,
        bins: bins::record(&watched.glances),
        ..of_engine
    };
    if let Some(tap) = tap {
        tap.ended(&figures::reasons(&record, &outcome.recordings));
    }
    let response = figures::of_responses(&outcome.recordings, Metric::Response);
    let response_p50_ns = timeline::percentile(&response, 0.5);
    let summary = summary(&record, throughput_per_second(&record), response_p50_ns);
    Measured {
        record,
        timed,
        summary,
        profile: None,
        abort: None,
    }
}
