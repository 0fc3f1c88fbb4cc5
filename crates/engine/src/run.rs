//! Runs a load: one thread per worker, and this thread collecting what they hand out.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gatebench_model::{Request, Shape};
use gatebench_net::{Backend, Peer, choose, clock};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::book::Kept;
use crate::check::Checks;
use crate::connect_error::ConnectError;
use crate::counts::Counts;
use crate::data::DataError;
use crate::load::{Group, Load};
use crate::outcome::{Outcome, WorkerFacts};
use crate::record::Interval;
use crate::recording::Recording;
use crate::render::Rendered;
use crate::schedule::Schedule;
use crate::worker::{Ended, Work};

/// How often the collecting thread looks for finished intervals.
const COLLECT_EVERY: Duration = Duration::from_millis(20);
/// Finished intervals a worker may be ahead of the collector by.
const INTERVALS_AHEAD: usize = 64;
/// From the last worker's readiness to the first arrival, so that all begin together.
const START_AHEAD_NS: u64 = 2_000_000;

/// Why a load could not run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Nothing could be connected to.
    #[error("no connection to {address} could be made: {reason}")]
    Unreachable {
        /// The target.
        address: Peer,
        /// Why.
        reason: ConnectError,
    },
    /// The requests cannot be made of the values given.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The kernel refused something the engine needs.
    #[error("the load engine cannot work here: {0}")]
    Environment(#[from] io::Error),
}

/// Stops a load from another thread and shows how it is going.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    /// `CLOCK_MONOTONIC` nanoseconds; 0 until it is known.
    start_ns: AtomicU64,
    /// Start of the measurement, if the warm-up is ended from outside; 0 until then.
    measure_ns: AtomicU64,
    live: Vec<Live>,
}

/// Counters of one worker, updated once per round of its loop and read by displays.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Live {
    /// Answers so far, warm-up included.
    pub completed: AtomicU64,
    /// Requests without an answer so far.
    pub failed: AtomicU64,
    /// Arrivals waiting for a connection.
    pub queued: AtomicU64,
}

impl Control {
    /// A control for a load of this many workers.
    pub fn new(workers: usize) -> Self {
        Self {
            stop: AtomicBool::new(false),
            start_ns: AtomicU64::new(0),
            measure_ns: AtomicU64::new(0),
            live: (0..workers.max(1)).map(|_| Live::default()).collect(),
        }
    }

    /// Ends the load early; what was measured so far is its outcome.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was stopped.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// When the first request is due, on `CLOCK_MONOTONIC` in nanoseconds, once all connections are
    /// up: the measurement begins after the warm-up from then, and whoever samples what the load costs
    /// can do so at its edges.
    pub fn start_ns(&self) -> Option<u64> {
        Some(self.start_ns.load(Ordering::Acquire)).filter(|start_ns| *start_ns > 0)
    }

    /// Ends the warm-up at a future time on `CLOCK_MONOTONIC`, in nanoseconds: the measurement
    /// begins then and keeps its length. Otherwise the warm-up ends after [`Load::warm_up`]. A time
    /// beyond that, or a second call, has no effect.
    pub fn measure_from(&self, at_ns: u64) {
        let _ = self
            .measure_ns
            .compare_exchange(0, at_ns, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Start of the measurement, if the warm-up is ended from outside.
    pub fn measured_from(&self) -> Option<u64> {
        Some(self.measure_ns.load(Ordering::Acquire)).filter(|at_ns| *at_ns > 0)
    }

    /// The workers' counters.
    pub fn live(&self) -> &[Live] {
        &self.live
    }
}

/// Everything workers share, fixed before the start.
pub(crate) struct Compiled<'a> {
    pub(crate) load: &'a Load,
    /// The requests of all groups.
    pub(crate) routes: Vec<Route>,
    /// Each group's part of the routes.
    pub(crate) groups: Vec<Range<usize>>,
    pub(crate) schedules: Vec<Option<Schedule>>,
    pub(crate) check_count: usize,
    pub(crate) workers: usize,
    pub(crate) gate: Gate,
    pub(crate) control: &'a Control,
}

/// One request of one group, ready to be sent.
pub(crate) struct Route {
    pub(crate) rendered: Rendered,
    /// The same for the last request of a connection, where connections end after a number of them.
    pub(crate) closing: Option<Rendered>,
    pub(crate) checks: Checks,
}

/// Where workers wait for each other before the start.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) ready: AtomicUsize,
    /// `CLOCK_MONOTONIC` nanoseconds; 0 until it is known.
    pub(crate) start_ns: AtomicU64,
}

impl Gate {
    fn is_open(&self) -> bool {
        self.start_ns.load(Ordering::Relaxed) != 0
    }
}

/// The two queues between a worker and the collector: full records out, empty ones back.
pub(crate) struct Outlet {
    pub(crate) full: Producer<Box<Interval>>,
    pub(crate) empty: Consumer<Box<Interval>>,
}

struct Inlet {
    full: Consumer<Box<Interval>>,
    empty: Producer<Box<Interval>>,
}

/// Runs a load to its end. `sink` gets every worker's finished seconds, on the calling thread.
///
/// # Errors
/// [`EngineError::Unreachable`] when one of the first connections is refused, or cannot be made in time;
/// [`EngineError::Data`] when a request's template cannot be filled; [`EngineError::Environment`] when the kernel refuses the event loop.
pub fn run(
    load: &Load,
    control: &Control,
    mut sink: impl FnMut(usize, &Interval),
) -> Result<Outcome, EngineError> {
    let backend = choose(load.backend);
    let compiled = compile(load, control)?;
    thread::scope(|scope| {
        let mut inlets = Vec::new();
        let mut threads = Vec::new();
        for number in 0..compiled.workers {
            let (full, full_out) = RingBuffer::new(INTERVALS_AHEAD);
            let (empty, empty_out) = RingBuffer::new(INTERVALS_AHEAD);
            inlets.push(Inlet {
                full: full_out,
                empty,
            });
            let outlet = Outlet {
                full,
                empty: empty_out,
            };
            let work = Work {
                compiled: &compiled,
                number,
                outlet,
            };
            let builder = thread::Builder::new().name(format!("engine-{number}"));
            let spawned = builder.spawn_scoped(scope, move || work_on_core(work, backend));
            threads.push(spawned.inspect_err(|_| control.stop())?);
        }
        let mut outcome = Outcome::empty(&compiled, backend);
        while !threads.iter().all(|thread| thread.is_finished()) {
            open_gate(&compiled);
            if !compiled.gate.is_open() && threads.iter().any(|thread| thread.is_finished()) {
                // One worker has failed before the start, which the others would wait for in vain.
                control.stop();
            }
            collect(&mut inlets, &mut outcome, &mut sink);
            thread::sleep(COLLECT_EVERY);
        }
        let ended: Result<Vec<Ended>, EngineError> = threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect();
        collect(&mut inlets, &mut outcome, &mut sink);
        outcome.conclude(&compiled, &ended?);
        Ok(outcome)
    })
}

pub(crate) fn compile<'a>(
    load: &'a Load,
    control: &'a Control,
) -> Result<Compiled<'a>, EngineError> {
    let (mut routes, mut groups, mut check_count) = (Vec::new(), Vec::new(), 0);
    for group in &load.groups {
        let first = routes.len();
        for request in &group.requests {
            routes.push(Route::compile(load, group, request, check_count)?);
            check_count += request.checks.len();
        }
        groups.push(first..routes.len());
    }
    Ok(Compiled {
        load,
        routes,
        groups,
        schedules: (0..load.groups.len())
            .map(|number| schedule(load, number, nanos(load.warm_up)))
            .collect(),
        check_count,
        workers: load.cores.len().max(1),
        gate: Gate::default(),
        control,
    })
}

impl Route {
    fn compile(
        load: &Load,
        group: &Group,
        request: &Request,
        first_check: usize,
    ) -> Result<Self, DataError> {
        let traced = load.trace_tag.is_some();
        let host = &group.target.host;
        let render = |request: &Request| Rendered::new(request, host, traced, &load.data);
        let connections_end = match &group.shape {
            Shape::Closed(closed) => closed.requests_per_connection.is_some(),
            Shape::Open(open) => open.requests_per_connection.is_some(),
        };
        let closing = connections_end.then(|| render(&with_close(request)));
        Ok(Self {
            rendered: render(request)?,
            closing: closing.transpose()?,
            checks: Checks::compile(&request.checks, first_check),
        })
    }
}

/// The schedule of an open group. Each group sends a part of a gap after the one before, so that
/// several groups at one rate do not send at the same instants.
pub(crate) fn schedule(load: &Load, number: usize, warm_up_ns: u64) -> Option<Schedule> {
    let Shape::Open(open) = &load.groups[number].shape else {
        return None;
    };
    let schedule = Schedule::new(open, warm_up_ns, nanos(load.measure));
    Some(schedule.with_phase(number as f64 / load.groups.len() as f64))
}

/// The request, saying that it is the last (RFC 9112 9.6). The server then closes first, and keeps the
/// TIME-WAIT that would cost us a port.
fn with_close(request: &Request) -> Request {
    let mut request = request.clone();
    request.headers.insert("Connection".into(), "close".into());
    request
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn work_on_core(work: Work<'_>, backend: Backend) -> Result<Ended, EngineError> {
    if let Some(core) = work.compiled.load.cores.get(work.number) {
        let mut set = rustix::thread::CpuSet::new();
        set.set(*core);
        rustix::thread::sched_setaffinity(None, &set).map_err(io::Error::from)?;
    }
    gatebench_net::run(Some(backend), work)?
}

/// Sets the start once every worker is ready.
fn open_gate(compiled: &Compiled<'_>) {
    let gate = &compiled.gate;
    if !gate.is_open() && gate.ready.load(Ordering::Acquire) == compiled.workers {
        let start_ns = clock::now_ns() + START_AHEAD_NS;
        gate.start_ns.store(start_ns, Ordering::Release);
        compiled.control.start_ns.store(start_ns, Ordering::Release);
    }
}

fn collect(inlets: &mut [Inlet], outcome: &mut Outcome, sink: &mut impl FnMut(usize, &Interval)) {
    for (worker, inlet) in inlets.iter_mut().enumerate() {
        while let Ok(mut interval) = inlet.full.pop() {
            outcome.add(worker, &interval);
            sink(worker, &interval);
            interval.clear();
            // A full queue of empty records only means that there are enough of them.
            let _ = inlet.empty.push(interval);
        }
    }
}

impl Outcome {
    fn empty(compiled: &Compiled<'_>, backend: Backend) -> Self {
        let groups = compiled.load.groups.iter();
        let requests = groups.flat_map(|group| &group.requests);
        let texts = requests
            .flat_map(|request| &request.checks)
            .map(ToString::to_string);
        Self {
            counts: Counts {
                checks_failed: vec![0; compiled.check_count],
                ..Counts::default()
            },
            recordings: BTreeMap::new(),
            groups: Vec::new(),
            statuses: BTreeMap::new(),
            connects: Recording::new(),
            resumed: 0,
            checks: texts.collect(),
            start_ns: 0,
            window_ns: (0, 0),
            drained_ns: 0,
            interrupted: compiled.control.stopped(),
            backend,
            workers: vec![WorkerFacts::default(); compiled.workers],
        }
    }

    fn conclude(&mut self, compiled: &Compiled<'_>, ended: &[Ended]) {
        let min = |pick: fn(&Ended) -> u64| ended.iter().map(pick).min().unwrap_or(0);
        let max = |pick: fn(&Ended) -> u64| ended.iter().map(pick).max().unwrap_or(0);
        self.start_ns = min(|it| it.start_ns);
        self.window_ns = (min(|it| it.window_ns.0), max(|it| it.window_ns.1));
        self.drained_ns = max(|it| it.drained_ns);
        self.interrupted = ended.iter().any(|it| it.interrupted);
        let load = compiled.load;
        let mut kept = Kept::new(
            load.groups.len(),
            compiled.routes.len(),
            compiled.check_count,
        );
        ended.iter().for_each(|it| kept.add(&it.kept));
        let name = |request: &Request| match &request.name {
            Some(name) => name.clone(),
            None => format!("{} {}", request.method, request.path),
        };
        let names = |group: &Group| {
            (
                group.name.clone(),
                group.requests.iter().map(name).collect(),
            )
        };
        self.divide(load.groups.iter().map(names).collect(), kept);
    }
}
