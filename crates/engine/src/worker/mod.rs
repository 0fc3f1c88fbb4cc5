//! One worker: its loop, its connections, its record. Everything here runs per request, so nothing
//! here takes a lock, allocates in steady state, or reads a clock more often than it must.

mod answers;
mod end;
mod offer;
mod start;
mod upkeep;

use std::collections::VecDeque;

use gatebench_model::Shape;
use gatebench_net::{ConnId, ConnMap, Io, IoTask};

use crate::connection::Connection;
use crate::cost::ThreadCost;
use crate::record::Interval;
use crate::run::{Compiled, EngineError, Outlet};

const SECOND_NS: u64 = 1_000_000_000;
/// The longest a worker sleeps, so that it notices a stop.
const NAP_NS: u64 = 20_000_000;
/// Pause before a refused connection is tried again.
const RECONNECT_PAUSE_NS: u64 = 10_000_000;

/// What a worker's thread is given.
pub(crate) struct Work<'a> {
    pub(crate) compiled: &'a Compiled<'a>,
    pub(crate) number: usize,
    pub(crate) outlet: Outlet,
}

/// How a worker ended.
pub(crate) struct Ended {
    pub(crate) start_ns: u64,
    pub(crate) window_ns: (u64, u64),
    pub(crate) drained_ns: u64,
    pub(crate) interrupted: bool,
}

impl IoTask for Work<'_> {
    type Output = Result<Ended, EngineError>;

    fn run<I: Io>(self, io: I) -> Self::Output {
        let mut worker = Worker::new(self, io)?;
        worker.connect_all()?;
        worker.wait_for_start()?;
        worker.offer_load()?;
        worker.drain()
    }
}

struct Worker<'a, I> {
    io: I,
    compiled: &'a Compiled<'a>,
    number: usize,
    outlet: Outlet,
    cost: ThreadCost,
    conns: ConnMap<Connection>,
    /// Connections without a request, longest idle first: arrivals rotate over all of them.
    idle: VecDeque<ConnId>,
    /// Intended times of arrivals that wait for a connection.
    queue: VecDeque<u64>,
    queue_max: usize,
    closed: bool,
    /// When to try again to connect, once for each connection that is missing.
    reconnects: VecDeque<u64>,
    busy: usize,
    /// Index of the next arrival of the whole load that is this worker's, and when it is due.
    next_index: u64,
    next_due_ns: Option<u64>,
    sequence: u64,
    next_request: usize,
    start_ns: u64,
    measure_ns: u64,
    end_ns: u64,
    seal_at_ns: u64,
    expire_at_ns: u64,
    /// When the last round of the loop was, to see when this worker did not run.
    round_ns: u64,
    interval: Box<Interval>,
    completed_total: u64,
    failed_total: u64,
    interrupted: bool,
}

impl<'a, I: Io> Worker<'a, I> {
    fn new(work: Work<'a>, io: I) -> Result<Self, EngineError> {
        let compiled = work.compiled;
        let queue_max = match &compiled.load.shape {
            Shape::Closed(_) => 0,
            Shape::Open(open) => share(open.queue_max, work.number, compiled.workers) as usize,
        };
        Ok(Self {
            io,
            compiled,
            number: work.number,
            outlet: work.outlet,
            cost: ThreadCost::new()?,
            conns: ConnMap::default(),
            idle: VecDeque::new(),
            queue: VecDeque::new(),
            queue_max,
            closed: matches!(compiled.load.shape, Shape::Closed(_)),
            reconnects: VecDeque::new(),
            busy: 0,
            next_index: work.number as u64,
            next_due_ns: None,
            sequence: 0,
            next_request: work.number % compiled.requests.len(),
            start_ns: 0,
            measure_ns: 0,
            end_ns: 0,
            seal_at_ns: 0,
            expire_at_ns: 0,
            round_ns: 0,
            interval: Box::new(Interval::new(compiled.check_count)),
            completed_total: 0,
            failed_total: 0,
            interrupted: false,
        })
    }

    /// Connections of this worker.
    fn connections(&self) -> u32 {
        let all = match &self.compiled.load.shape {
            Shape::Closed(closed) => closed.connections,
            Shape::Open(open) => open.connections_max,
        };
        share(all, self.number, self.compiled.workers)
    }
}

/// This worker's part of a number that is divided among all, the remainder going to the first.
fn share(all: u32, number: usize, workers: usize) -> u32 {
    let workers = workers as u32;
    all / workers + u32::from((number as u32) < all % workers)
}
