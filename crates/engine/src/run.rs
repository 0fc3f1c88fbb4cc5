//! Runs a load with one thread per worker; the calling thread collects their records.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use gatebench_model::Request;
use gatebench_net::workers::{joined, pin_to_core};
use gatebench_net::{Backend, choose, clock};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::compiled::{Compiled, compile};
use crate::control::Control;
use crate::error::EngineError;
use crate::load::{Group, Load};
use crate::outcome::{Outcome, WorkerFacts};
use crate::record::{FirstRequest, Interval};
use crate::recorder::Kept;
use crate::worker::{Ended, Outlet, Work};

const COLLECT_EVERY: Duration = Duration::from_millis(20);
/// The number of finished intervals by which a worker may be ahead of the collector.
const INTERVALS_AHEAD: usize = 64;
/// The time between setting the start of the load and the start itself. It is long enough for all
/// workers to notice the start and begin together.
const START_AHEAD_NS: u64 = 2_000_000;

/// The collector's end of each queue of an [`Outlet`].
struct Inlet {
    full: Consumer<Box<Interval>>,
    empty: Producer<Box<Interval>>,
}

/// Runs a load to completion. `sink` receives every worker's finished seconds on the calling
/// thread.
///
/// # Errors
/// Returns [`EngineError::Unreachable`] if one of the first connections cannot be made,
/// [`EngineError::Data`] if a request's template cannot be filled, and
/// [`EngineError::Environment`] if the kernel refuses a thread, a core, a socket or the event loop.
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
            start_when_ready(&compiled);
            if control.start_ns().is_none() && threads.iter().any(|it| it.is_finished()) {
                // A worker failed before the start, and the others would wait for it forever.
                control.stop();
            }
            collect(&mut inlets, &mut outcome, &mut sink);
            thread::sleep(COLLECT_EVERY);
        }
        let ended: Result<Vec<Ended>, EngineError> = threads.into_iter().map(joined).collect();
        collect(&mut inlets, &mut outcome, &mut sink);
        outcome.conclude(&compiled, &ended?);
        Ok(outcome)
    })
}

fn work_on_core(work: Work<'_>, backend: Backend) -> Result<Ended, EngineError> {
    if let Some(core) = work.compiled.load.cores.get(work.number) {
        pin_to_core(*core)?;
    }
    gatebench_net::run(Some(backend), work)?
}

/// Sets the start once every worker is ready, unless the caller sets it.
fn start_when_ready(compiled: &Compiled<'_>) {
    if compiled.ready.load(Ordering::Acquire) < compiled.workers {
        return;
    }
    compiled.control.be_ready();
    if compiled.load.part.is_none() && compiled.control.start_ns().is_none() {
        compiled.control.starts_at(clock::now_ns() + START_AHEAD_NS);
    }
}

fn collect(inlets: &mut [Inlet], outcome: &mut Outcome, sink: &mut impl FnMut(usize, &Interval)) {
    for (worker, inlet) in inlets.iter_mut().enumerate() {
        while let Ok(mut interval) = inlet.full.pop() {
            interval.complete();
            outcome.add(worker, &interval);
            sink(worker, &interval);
            interval.clear();
            // If the queue is full, the worker has enough empty records, so this one is dropped.
            let _ = inlet.empty.push(interval);
        }
    }
}

impl Outcome {
    fn empty(compiled: &Compiled<'_>, backend: Backend) -> Self {
        Self {
            interrupted: compiled.control.stopped(),
            workers: vec![WorkerFacts::default(); compiled.workers],
            ..Self::of(compiled.load, backend)
        }
    }

    fn conclude(&mut self, compiled: &Compiled<'_>, ended: &[Ended]) {
        let min = |pick: fn(&Ended) -> u64| ended.iter().map(pick).min().unwrap_or(0);
        let max = |pick: fn(&Ended) -> u64| ended.iter().map(pick).max().unwrap_or(0);
        self.start_ns = min(|it| it.start_ns);
        let first = ended.iter().map(|it| it.first);
        let first = first.min_by_key(|it| it.sent_ns);
        self.first = first.filter(|it| *it != FirstRequest::NONE);
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
