//! One worker: its loop, its connections, its record. Everything here runs per request, so nothing
//! here takes a lock, allocates in steady state, or reads a clock more often than it must.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering;

use gatebench_model::Shape;
use gatebench_net::trace::Nonce;
use gatebench_net::{ConnId, ConnMap, Event, Io, IoTask};

use crate::connection::{Connection, Exchange, Progress, State};
use crate::cost::ThreadCost;
use crate::record::{Class, ErrorKind, Interval};
use crate::run::{Compiled, EngineError, Outlet, nanos};

const SECOND_NS: u64 = 1_000_000_000;
/// The longest a worker sleeps, so that it notices a stop.
const NAP_NS: u64 = 20_000_000;
/// All connections must be up this long after the beginning.
const CONNECT_LIMIT_NS: u64 = 5 * SECOND_NS;
/// Pause before a refused connection is tried again.
const RECONNECT_PAUSE_NS: u64 = 10_000_000;
/// How often connections are searched for requests that have timed out.
const EXPIRY_EVERY_NS: u64 = 50_000_000;

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

    // ---- before the start -------------------------------------------------------------------------

    fn connect_all(&mut self) -> Result<(), EngineError> {
        let wanted = self.connections();
        for _ in 0..wanted {
            self.open_connection()?;
        }
        let limit = self.io.now_ns() + CONNECT_LIMIT_NS;
        let mut events = Vec::new();
        while self.idle.len() < wanted as usize {
            let now = self.io.now_ns();
            if self.compiled.control.stopped() {
                break;
            }
            if now >= limit {
                return Err(self.unreachable("the connections were not accepted within 5 s".into()));
            }
            self.io.poll(Some(limit.min(now + NAP_NS)), &mut events)?;
            for event in events.drain(..) {
                match event {
                    Event::Connected { conn } => self.connected(conn),
                    Event::Failed { error, .. } => return Err(self.unreachable(error.to_string())),
                    // A server that closes before the first request gets its connections anew later.
                    Event::EndOfStream { conn } => self.lost(conn, now),
                    Event::Received { .. } | Event::Sent { .. } | Event::Accepted { .. } => {}
                }
            }
            if self.idle.is_empty() && !self.reconnects.is_empty() {
                return Err(
                    self.unreachable("connections are closed as soon as they are made".into())
                );
            }
        }
        Ok(())
    }

    fn unreachable(&self, reason: String) -> EngineError {
        EngineError::Unreachable {
            address: self.compiled.load.target.address,
            reason,
        }
    }

    fn open_connection(&mut self) -> io::Result<()> {
        let conn = self.io.connect(self.compiled.load.target.address, None)?;
        self.conns.insert(conn, Connection::new());
        Ok(())
    }

    fn connected(&mut self, conn: ConnId) {
        if let Some(connection) = self.conns.get_mut(conn) {
            connection.state = State::Idle;
            self.interval.counts.connections_opened += 1;
            self.idle.push_back(conn);
        }
    }

    fn wait_for_start(&mut self) -> Result<(), EngineError> {
        let gate = &self.compiled.gate;
        gate.ready.fetch_add(1, Ordering::Release);
        let mut events = Vec::new();
        let start_ns = loop {
            match gate.start_ns.load(Ordering::Acquire) {
                0 if self.compiled.control.stopped() => break self.io.now_ns(),
                0 => {}
                start_ns => break start_ns,
            }
            let nap = self.io.now_ns() + SECOND_NS / 1000;
            self.io.poll(Some(nap), &mut events)?;
            let now = self.io.now_ns();
            for event in events.drain(..) {
                self.handle(event, now);
            }
        };
        let load = self.compiled.load;
        self.start_ns = start_ns;
        self.measure_ns = start_ns + nanos(load.warm_up);
        self.end_ns = self.measure_ns + nanos(load.measure);
        self.seal_at_ns = self.measure_ns;
        self.next_due_ns = self.due();
        Ok(())
    }

    // ---- the load ---------------------------------------------------------------------------------

    fn offer_load(&mut self) -> Result<(), EngineError> {
        let mut events = Vec::with_capacity(1024);
        let mut now = self.io.now_ns();
        while now < self.start_ns {
            self.io.poll(Some(self.start_ns), &mut events)?;
            now = self.io.now_ns();
            for event in events.drain(..) {
                self.handle(event, now);
            }
        }
        if now >= self.seal_at_ns {
            self.seal(now);
        }
        loop {
            self.offer_due(now);
            let until = self.wake_at(now);
            self.io.poll(Some(until), &mut events)?;
            now = self.io.now_ns();
            if now >= self.seal_at_ns {
                self.seal(now);
            }
            self.take(&mut events, now);
            if now >= self.end_ns {
                // Arrivals that fell due while the worker was busy or asleep are late, not forgotten.
                self.offer_due(now);
                return Ok(());
            }
            self.upkeep(now);
            if self.compiled.control.stopped() {
                self.interrupted = true;
                self.cut_short(now);
                return Ok(());
            }
        }
    }

    fn take(&mut self, events: &mut Vec<Event>, now: u64) {
        for event in events.drain(..) {
            self.handle(event, now);
        }
        let live = &self.compiled.control.live()[self.number];
        live.completed
            .store(self.completed_total, Ordering::Relaxed);
        live.failed.store(self.failed_total, Ordering::Relaxed);
        live.queued
            .store(self.queue.len() as u64, Ordering::Relaxed);
    }

    /// Sends what is due: in a closed load on every idle connection, in an open one by the schedule.
    fn offer_due(&mut self, now: u64) {
        if self.closed {
            while now < self.end_ns
                && let Some(conn) = self.idle.pop_front()
            {
                self.count_arrival(now);
                self.issue(conn, now, now);
            }
            return;
        }
        while let Some(due_ns) = self.next_due_ns.filter(|due| *due <= now) {
            self.count_arrival(due_ns);
            self.arrive(due_ns);
            self.next_index += self.compiled.workers as u64;
            self.next_due_ns = self.due();
        }
    }

    fn due(&self) -> Option<u64> {
        let after_start = self.compiled.schedule.as_ref()?.due_ns(self.next_index)?;
        Some(self.start_ns + after_start)
    }

    fn arrive(&mut self, due_ns: u64) {
        if let Some(conn) = self.idle.pop_front() {
            let sent_ns = self.io.now_ns();
            self.issue(conn, due_ns, sent_ns);
        } else if self.queue.len() < self.queue_max {
            self.queue.push_back(due_ns);
            let queued = self.queue.len() as u64;
            if due_ns >= self.measure_ns {
                self.interval.counts.queued_max = self.interval.counts.queued_max.max(queued);
            }
        } else if self.measures(due_ns) {
            self.interval.counts.dropped += 1;
        }
    }

    fn measures(&self, intended_ns: u64) -> bool {
        (self.measure_ns..self.end_ns).contains(&intended_ns)
    }

    fn count_arrival(&mut self, intended_ns: u64) {
        if self.measures(intended_ns) {
            self.interval.counts.intended += 1;
        }
    }

    fn issue(&mut self, conn: ConnId, intended_ns: u64, sent_ns: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        let Some(mut buffer) = connection.buffer.take() else {
            return;
        };
        let request = self.next_request;
        self.next_request = if request + 1 == self.compiled.requests.len() {
            0
        } else {
            request + 1
        };
        let rendered = &self.compiled.requests[request];
        let nonce = match self.compiled.load.trace_tag {
            Some(tag) => Nonce::new(tag, self.number as u8, self.sequence),
            None => Nonce(0),
        };
        self.sequence += 1;
        rendered.fill(&mut buffer, connection.buffer_holds == Some(request), nonce);
        connection.buffer_holds = Some(request);
        let exchange = Exchange {
            request,
            intended_ns,
            sent_ns,
            nonce,
            status: 0,
            times: None,
        };
        connection.begin(exchange, rendered.is_head);
        self.busy += 1;
        if self.measures(intended_ns) {
            self.interval.counts.sent += 1;
            self.interval.counts.bytes_sent += rendered.len() as u64;
        }
        if self.closed {
            self.io.send(conn, buffer);
        } else {
            self.io.send_now(conn, buffer);
        }
    }

    fn wake_at(&self, now: u64) -> u64 {
        let mut until = (now + NAP_NS).min(self.seal_at_ns);
        if let Some(due) = self.next_due_ns {
            until = until.min(due);
        }
        if let Some(at) = self.reconnects.front() {
            until = until.min(*at);
        }
        until
    }

    // ---- answers ----------------------------------------------------------------------------------

    fn handle(&mut self, event: Event, now: u64) {
        match event {
            Event::Received { conn, bytes } => self.received(conn, &bytes, now),
            Event::Sent { conn, bytes } => self.sent(conn, bytes, now),
            Event::Connected { conn } => {
                self.connected(conn);
                self.serve_queue();
            }
            Event::EndOfStream { conn } => self.end_of_stream(conn, now),
            Event::Failed { conn, .. } => {
                let connecting = self
                    .conns
                    .get(conn)
                    .is_some_and(|it| it.state == State::Connecting);
                self.fail(
                    conn,
                    if connecting {
                        ErrorKind::Connect
                    } else {
                        ErrorKind::Reset
                    },
                    now,
                );
            }
            Event::Accepted { .. } => {}
        }
    }

    fn received(&mut self, conn: ConnId, bytes: &[u8], now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        if connection.state != State::Busy {
            // Bytes that nobody asked for: the connection cannot be trusted any more.
            return self.fail(conn, ErrorKind::Protocol, now);
        }
        if self.measure_ns <= now && now < self.end_ns {
            self.interval.counts.bytes_received += bytes.len() as u64;
        }
        let checks = &self.compiled.checks[connection.exchange.request];
        match connection.receive(bytes, checks, self.compiled.load.trace_tag.is_some()) {
            Ok(Progress::Incomplete) => {}
            Ok(Progress::Complete) => self.completed(conn, now),
            // After more than was asked for, the connection's framing can no longer be trusted.
            Ok(Progress::Excess) | Err(_) => self.fail(conn, ErrorKind::Protocol, now),
        }
    }

    fn end_of_stream(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        if connection.state != State::Busy {
            return self.lost(conn, now);
        }
        let checks = &self.compiled.checks[connection.exchange.request];
        match connection.end_of_stream(checks) {
            Ok(Progress::Complete) => {
                self.completed(conn, now);
                self.lost(conn, now);
            }
            Ok(_) | Err(_) => self.fail(conn, ErrorKind::ClosedEarly, now),
        }
    }

    fn completed(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        connection.state = State::Idle;
        self.busy -= 1;
        self.completed_total += 1;
        let exchange = connection.exchange;
        let keep_alive = connection.keep_alive();
        let in_window = self.measure_ns <= now && now < self.end_ns;
        self.interval.counts.completed_in_window += u64::from(in_window);
        if (self.measure_ns..self.end_ns).contains(&exchange.intended_ns) {
            let failed_checks = std::mem::take(&mut connection.failed_checks);
            self.record_answer(&exchange, &failed_checks, now);
            if let Some(connection) = self.conns.get_mut(conn) {
                connection.failed_checks = failed_checks;
            }
        }
        if keep_alive {
            self.release(conn, now)
        } else {
            self.lost(conn, now)
        }
    }

    fn record_answer(&mut self, exchange: &Exchange, failed_checks: &[usize], now: u64) {
        let class = Class::of(exchange.status);
        let interval = &mut *self.interval;
        interval.counts.completed += 1;
        interval.counts.by_class[class as usize] += 1;
        interval.counts.answers_failing_checks += u64::from(!failed_checks.is_empty());
        for number in failed_checks {
            interval.counts.checks_failed[*number] += 1;
        }
        let service_ns = now.saturating_sub(exchange.sent_ns);
        let lateness_ns = exchange.sent_ns.saturating_sub(exchange.intended_ns);
        interval.record(
            class,
            now.saturating_sub(exchange.intended_ns),
            service_ns,
            lateness_ns,
        );
        if self.compiled.load.trace_tag.is_none() {
            return;
        }
        match exchange.times {
            None => interval.counts.untimed += 1,
            Some(times) if times.nonce != exchange.nonce => interval.counts.foreign += 1,
            Some(times) => {
                interval.counts.traced += 1;
                let request_half = times.received_ns.saturating_sub(exchange.sent_ns);
                let answered_ns = times.received_ns.saturating_add(times.service_ns);
                let response_half = now.saturating_sub(answered_ns);
                let added = service_ns.saturating_sub(times.service_ns);
                interval.record_trace(class, added, request_half, response_half);
            }
        }
    }

    /// The connection can carry the next request, if its buffer is back too.
    fn release(&mut self, conn: ConnId, now: u64) {
        let ready = self
            .conns
            .get(conn)
            .is_some_and(|it| it.state == State::Idle && it.buffer.is_some());
        if !ready {
            return;
        }
        if self.closed
            && now < self.end_ns
            && now >= self.start_ns
            && self.start_ns != 0
            && !self.interrupted
        {
            self.count_arrival(now);
            self.issue(conn, now, now);
        } else {
            self.idle.push_back(conn);
            self.serve_queue();
        }
    }

    /// Gives waiting arrivals to idle connections.
    fn serve_queue(&mut self) {
        while !self.queue.is_empty()
            && let Some(conn) = self.idle.pop_front()
        {
            let sent_ns = self.io.now_ns();
            if let Some(intended_ns) = self.queue.pop_front() {
                self.issue(conn, intended_ns, sent_ns);
            }
        }
    }

    fn sent(&mut self, conn: ConnId, bytes: Vec<u8>, now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        connection.buffer = Some(bytes);
        // Usually the answer is still to come; it may also have overtaken this.
        if connection.state == State::Idle {
            self.release(conn, now);
        }
    }

    fn fail(&mut self, conn: ConnId, kind: ErrorKind, now: u64) {
        let Some(connection) = self.conns.get(conn) else {
            return;
        };
        let (state, exchange) = (connection.state, connection.exchange);
        match state {
            State::Busy => {
                self.busy -= 1;
                self.record_failure(exchange.intended_ns, exchange.sent_ns, kind, now);
            }
            // A connection that could not be made fails no request of its own, but it is counted.
            State::Connecting if self.measures(now) => {
                self.interval.counts.errors[kind as usize] += 1;
            }
            State::Connecting | State::Idle => {}
        }
        self.lost(conn, now);
    }

    fn record_failure(&mut self, intended_ns: u64, sent_ns: u64, kind: ErrorKind, now: u64) {
        self.failed_total += 1;
        if !self.measures(intended_ns) {
            return;
        }
        self.interval.counts.errors[kind as usize] += 1;
        let response_ns = now.saturating_sub(intended_ns);
        let lateness_ns = sent_ns.saturating_sub(intended_ns);
        self.interval.record(
            Class::Failed,
            response_ns,
            now.saturating_sub(sent_ns),
            lateness_ns,
        );
    }

    /// Closes a connection and plans another in its place.
    fn lost(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.conns.remove(conn) else {
            return;
        };
        self.io.close(conn);
        self.idle.retain(|idle| *idle != conn);
        let pause = if connection.state == State::Connecting {
            RECONNECT_PAUSE_NS
        } else {
            0
        };
        self.reconnects.push_back(now + pause);
    }

    // ---- upkeep -----------------------------------------------------------------------------------

    fn upkeep(&mut self, now: u64) {
        while self.reconnects.front().is_some_and(|at| *at <= now) {
            self.reconnects.pop_front();
            if self.open_connection().is_err() {
                self.interval.counts.errors[ErrorKind::Connect as usize] += 1;
                self.reconnects.push_back(now + RECONNECT_PAUSE_NS);
                break;
            }
        }
        if now >= self.expire_at_ns {
            self.expire_at_ns = now + EXPIRY_EVERY_NS;
            self.expire(now.saturating_sub(nanos(self.compiled.load.timeout)), now);
        }
    }

    /// Fails every request sent at or before `sent_before_ns`.
    fn expire(&mut self, sent_before_ns: u64, now: u64) {
        let late = |(conn, it): (ConnId, &mut Connection)| {
            (it.state == State::Busy && it.exchange.sent_ns <= sent_before_ns).then_some(conn)
        };
        let expired: Vec<ConnId> = self.conns.iter_mut().filter_map(late).collect();
        for conn in expired {
            self.fail(conn, ErrorKind::Timeout, now);
        }
    }

    /// Ends the interval under way and begins the next. The first call only marks the beginning of the
    /// measurement.
    fn seal(&mut self, now: u64) {
        let (cpu_ns, run_queue_wait_ns) = self.cost.since_last();
        if self.seal_at_ns == self.measure_ns {
            let opened = self.interval.counts.connections_opened;
            self.interval.clear();
            self.interval.counts.connections_opened = opened;
        } else {
            self.interval.cpu_ns = cpu_ns;
            self.interval.run_queue_wait_ns = run_queue_wait_ns;
            self.hand_out();
        }
        self.seal_at_ns = if now >= self.end_ns {
            u64::MAX
        } else {
            (self.seal_at_ns + SECOND_NS).min(self.end_ns)
        };
        // A worker that slept through a boundary has nothing for the seconds it missed.
        while self.seal_at_ns <= now {
            self.seal_at_ns = (self.seal_at_ns + SECOND_NS).min(self.end_ns.max(now + 1));
        }
    }

    fn hand_out(&mut self) {
        let checks = self.compiled.check_count;
        let next = self
            .outlet
            .empty
            .pop()
            .unwrap_or_else(|_| Box::new(Interval::new(checks)));
        let mut full = std::mem::replace(&mut self.interval, next);
        self.interval.second = full.second + 1;
        // The collector would have to sleep for a minute before this waits.
        while let Err(rtrb::PushError::Full(back)) = self.outlet.full.push(full) {
            full = back;
            std::thread::yield_now();
        }
    }

    // ---- the end ----------------------------------------------------------------------------------

    /// Ends the window now.
    fn cut_short(&mut self, now: u64) {
        self.end_ns = now;
        self.measure_ns = self.measure_ns.min(now);
        self.next_due_ns = None;
        self.seal_at_ns = if self.seal_at_ns == self.measure_ns {
            now
        } else {
            self.seal_at_ns
        };
        self.seal(now);
    }

    /// Waits for the answers under way and the arrivals still queued.
    fn drain(&mut self) -> Result<Ended, EngineError> {
        let limit = self.end_ns + nanos(self.compiled.load.drain);
        let mut events = Vec::new();
        let mut now = self.io.now_ns();
        while (self.busy > 0 || !self.queue.is_empty()) && now < limit {
            self.io.poll(Some(limit.min(now + NAP_NS)), &mut events)?;
            now = self.io.now_ns();
            self.take(&mut events, now);
            self.upkeep(now);
            if self.interrupted {
                break;
            }
        }
        if !self.interrupted {
            self.expire(u64::MAX, now);
            let unsent = self
                .queue
                .drain(..)
                .filter(|due| (self.measure_ns..self.end_ns).contains(due));
            self.interval.counts.dropped += unsent.count() as u64;
        }
        self.hand_out();
        Ok(Ended {
            start_ns: self.start_ns,
            window_ns: (self.measure_ns, self.end_ns),
            drained_ns: now.saturating_sub(self.end_ns),
            interrupted: self.interrupted,
        })
    }
}

/// This worker's part of a number that is divided among all, the remainder going to the first.
fn share(all: u32, number: usize, workers: usize) -> u32 {
    let workers = workers as u32;
    all / workers + u32::from((number as u32) < all % workers)
}
