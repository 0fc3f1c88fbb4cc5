//! A worker, with its loop, its connections and its record. This code runs for each request, so it
//! takes no locks and reuses its buffers.

mod end;
mod group;
mod handshakes;
mod offer;
mod responses;
mod start;
mod streams;
mod upkeep;
mod watch;

use std::sync::Arc;

use gatebench_net::trace::Nonce;
use gatebench_net::{ConnId, ConnMap, Io, IoTask};
use rtrb::{Consumer, Producer};

use crate::compiled::Compiled;
use crate::connection::Connection;
use crate::cost::ThreadCost;
use crate::error::EngineError;
use crate::http2::Message;
use crate::kept_body::Allowance;
use crate::record::{FirstRequest, Interval};
use crate::recorder::{Kept, Recorder};
use crate::sampler::Sampler;
use crate::upstream_clock::UpstreamClock;

use self::group::GroupState;
use self::watch::Watch;

const SECOND_NS: u64 = 1_000_000_000;
/// The maximum time that a worker sleeps during a load, which bounds the delay until it notices a
/// stop.
const NAP_NS: u64 = 20_000_000;
const RECONNECT_PAUSE_NS: u64 = 10_000_000;

pub(crate) struct Work<'a> {
    pub(crate) compiled: &'a Compiled<'a>,
    pub(crate) number: usize,
    pub(crate) outlet: Outlet,
}

/// The two queues between a worker and the collector: one takes full records out, the other brings
/// empty ones back.
pub(crate) struct Outlet {
    pub(crate) full: Producer<Box<Interval>>,
    pub(crate) empty: Consumer<Box<Interval>>,
}

pub(crate) struct Ended {
    pub(crate) start_ns: u64,
    pub(crate) window_ns: (u64, u64),
    pub(crate) drained_ns: u64,
    pub(crate) interrupted: bool,
    pub(crate) first: FirstRequest,
    pub(crate) kept: Kept,
}

impl IoTask for Work<'_> {
    type Output = Result<Ended, EngineError>;

    fn run<I: Io>(self, io: I) -> Self::Output {
        let mut worker = Worker::new(self, io);
        worker.connect_all()?;
        worker.wait_for_start()?;
        worker.offer_load()?;
        worker.drain()
    }
}

struct Worker<'a, I> {
    io: I,
    compiled: &'a Compiled<'a>,
    /// The worker's number within this load generator.
    number: usize,
    /// The worker's number among the workers of all load generators.
    global_number: usize,
    outlet: Outlet,
    cost: ThreadCost,
    conns: ConnMap<Connection>,
    groups: Vec<GroupState<'a>>,
    sampler: Sampler,
    sequence: u64,
    start_ns: u64,
    measure_ns: u64,
    end_ns: u64,
    seal_at_ns: u64,
    expire_at_ns: u64,
    /// The time of the last round of the loop, used to detect that the worker did not run.
    round_ns: u64,
    watch: Watch,
    recorder: Recorder,
    allowance: Allowance,
    /// A buffer for decrypted bytes, kept to reuse its memory.
    plain: Vec<u8>,
    /// The HTTP/2 messages by route; `None` until the first request of a route.
    messages: Vec<Option<Message>>,
    /// HTTP/2 connections whose frames are sent at the end of the round.
    unsent: Vec<ConnId>,
    interrupted: bool,
}

impl<'a, I: Io> Worker<'a, I> {
    fn new(work: Work<'a>, io: I) -> Self {
        let compiled = work.compiled;
        let groups = 0..compiled.load.groups.len();
        let global_number = compiled.part.first_worker + work.number;
        let kept = Kept::new(groups.len(), compiled.routes.len(), compiled.check_count);
        Self {
            io,
            compiled,
            number: work.number,
            global_number,
            outlet: work.outlet,
            cost: ThreadCost::new(),
            conns: ConnMap::default(),
            groups: groups
                .map(|index| GroupState::new(compiled, index, global_number))
                .collect(),
            sampler: Sampler::new(
                Arc::clone(&compiled.load.data),
                compiled.load.seed,
                global_number,
                compiled.part.workers,
            ),
            sequence: 0,
            start_ns: 0,
            measure_ns: 0,
            end_ns: 0,
            // No interval ends before the load begins.
            seal_at_ns: u64::MAX,
            expire_at_ns: 0,
            round_ns: 0,
            watch: Watch::new(compiled.load.spin),
            recorder: Recorder {
                interval: Box::new(Interval::new(compiled.check_count)),
                kept,
                window: 0..0,
                traced: compiled.load.trace_tag.is_some(),
                upstream_clock: (!compiled.load.shares_clock).then(UpstreamClock::new),
                busy: 0,
                completed: 0,
                failed: 0,
                first: FirstRequest::NONE,
            },
            allowance: Allowance::default(),
            plain: Vec::new(),
            messages: compiled.routes.iter().map(|_| None).collect(),
            unsent: Vec::new(),
            interrupted: false,
        }
    }

    fn next_nonce(&mut self) -> Nonce {
        self.sequence += 1;
        match self.compiled.load.trace_tag {
            Some(tag) => Nonce::of_worker(tag, self.number, self.sequence - 1),
            None => Nonce(0),
        }
    }

    fn measures(&self, intended_ns: u64) -> bool {
        self.recorder.window.contains(&intended_ns)
    }
}
