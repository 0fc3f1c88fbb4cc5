//! Sends the arrivals that are due.

use std::io;
use std::sync::atomic::Ordering;

use gatebench_model::Shape;
use gatebench_net::{ConnId, Event, Io, clock};

use crate::compiled::schedule;
use crate::error::EngineError;
use crate::kind::ErrorKind;
use crate::load::nanos;
use crate::population::Population;
use crate::response::Exchange;

use super::group::GroupState;
use super::{NAP_NS, Worker};

/// The maximum time to poll for an event, about as long as waking a thread may take.
const SPIN_NS: u64 = 100_000;

/// The maximum number of pending responses at which a worker polls after an event.
const SPUN_RESPONSES_MAX: usize = 4;

impl<I: Io> Worker<'_, I> {
    pub(super) fn offer_load(&mut self) -> Result<(), EngineError> {
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
        self.round_ns = now;
        // A load that is stopped before its start sends nothing.
        self.interrupted = self.compiled.control.stopped();
        if self.interrupted {
            self.cut_short(now);
            return Ok(());
        }
        loop {
            self.offer_due(now);
            self.wait(now, &mut events)?;
            now = self.io.now_ns();
            self.end_warm_up(now);
            if now >= self.seal_at_ns {
                self.seal(now);
            }
            self.take(&mut events, now);
            if now >= self.end_ns {
                // Arrivals that became due while the worker was busy or asleep are sent late, not
                // skipped.
                self.offer_due(now);
                return Ok(());
            }
            self.stall_ns(now);
            self.upkeep(now);
            self.interrupted = self.compiled.control.stopped();
            if self.interrupted || self.is_done(now) {
                self.cut_short(now);
                return Ok(());
            }
        }
    }

    /// Adopts a start of the measurement that was set from outside. No request that is due after
    /// this start has been sent, because the start was in the future when it was set. Each round
    /// reads the clock, then this start, and only then sends the requests that are due.
    fn end_warm_up(&mut self, now: u64) {
        if self.seal_at_ns != self.measure_ns {
            return;
        }
        let begin_ns = self.compiled.control.measured_from();
        let Some(begin_ns) = begin_ns.filter(|begin_ns| *begin_ns < self.measure_ns) else {
            return;
        };
        let load = self.compiled.load;
        self.measure_for(begin_ns);
        let warm_up_ns = begin_ns.saturating_sub(self.start_ns);
        let after_start_ns = now.saturating_sub(self.start_ns);
        for (number, group) in self.groups.iter_mut().enumerate() {
            let population = match &load.groups[number].shape {
                Shape::Closed(it) => Some(Population::new(
                    it,
                    warm_up_ns,
                    self.global_number,
                    self.compiled.part.workers,
                )),
                Shape::Open(_) => None,
            };
            let schedule = schedule(load, number, warm_up_ns);
            group.warm_up_for(schedule, population, (self.start_ns, after_start_ns));
        }
    }

    pub(super) fn measure_for(&mut self, begin_ns: u64) {
        self.measure_ns = begin_ns;
        self.end_ns = begin_ns + nanos(self.compiled.load.measure);
        self.recorder.window = self.measure_ns..self.end_ns;
        self.seal_at_ns = self.measure_ns;
    }

    /// Waits for an event or for the next due time, by polling or sleeping.
    ///
    /// A sleeping thread is late by the time it takes to wake up, which is tens of microseconds on
    /// a virtual machine. If polling is allowed, the worker therefore polls shortly before
    /// something is due, and after the last event while few responses are pending. If many
    /// responses are pending, the next one arrives soon anyway.
    fn wait(&mut self, now: u64, events: &mut Vec<Event>) -> io::Result<()> {
        let until = self.wake_at(now);
        if !self.watch.is_on() {
            return self.io.poll(Some(until), events);
        }
        let is_quick = (1..=SPUN_RESPONSES_MAX).contains(&self.recorder.busy);
        let mut watch_until = if is_quick { now + SPIN_NS } else { now };
        if until <= now + SPIN_NS {
            watch_until = until;
        }
        let mut watched = now;
        // The thread's CPU time after the last poll, which found nothing. If the next poll also
        // finds nothing, the CPU time between the two was idle; a poll that finds something is
        // work.
        let mut idle_since = None;
        while events.is_empty() && watched < watch_until {
            self.io.poll(Some(0), events)?;
            watched = self.io.now_ns();
            if events.is_empty() {
                let cpu_ns = clock::thread_cpu_ns();
                let before = idle_since.replace(cpu_ns).unwrap_or(cpu_ns);
                self.watch.idle_ns += cpu_ns - before;
            }
        }
        if events.is_empty() && watched < until {
            // Sleep for now; the next round polls for the rest of the time.
            let asleep_until = until.saturating_sub(SPIN_NS);
            self.io.poll(Some(asleep_until), events)?;
        }
        Ok(())
    }

    pub(super) fn take(&mut self, events: &mut Vec<Event>, now: u64) {
        for event in events.drain(..) {
            self.handle(event, now);
        }
        self.flush_streams();
        let live = &self.compiled.control.live()[self.number];
        let queued: usize = self.groups.iter().map(|group| group.queue.len()).sum();
        live.completed
            .store(self.recorder.completed, Ordering::Relaxed);
        live.failed.store(self.recorder.failed, Ordering::Relaxed);
        live.queued.store(queued as u64, Ordering::Relaxed);
    }

    /// Sends the requests that are due: on every idle connection in a closed group, by the schedule
    /// in an open one.
    pub(super) fn offer_due(&mut self, now: u64) {
        for group in 0..self.groups.len() {
            if self.groups[group].closed {
                self.offer_idle(group, now);
            } else {
                self.offer_scheduled(group, now);
            }
        }
        self.flush_streams();
    }

    fn offer_idle(&mut self, group: usize, now: u64) {
        // Requests that already wait, such as those of users without a connection, come first.
        if !self.groups[group].queue.is_empty() {
            self.serve_queue(group);
        }
        while now < self.end_ns
            && self.groups[group].has_spare_place()
            && self.groups[group].take_request()
        {
            self.count_arrival(group, now);
            self.place(group, now, now);
        }
    }

    fn offer_scheduled(&mut self, group: usize, now: u64) {
        while let Some(due_ns) = self.groups[group].next_due_ns.filter(|due| *due <= now) {
            if !self.groups[group].take_request() {
                self.groups[group].next_due_ns = None;
                break;
            }
            self.count_arrival(group, due_ns);
            self.arrive(group, due_ns);
            self.groups[group].advance(self.start_ns);
        }
    }

    /// Reports whether no response is pending, and every group has sent all requests that it may
    /// send or has lost its target.
    fn is_done(&self, now: u64) -> bool {
        self.recorder.busy == 0 && self.groups.iter().all(|it| it.is_exhausted(now))
    }

    fn arrive(&mut self, group: usize, due_ns: u64) {
        let counts = self.measures(due_ns);
        if self.groups[group].has_place() {
            let sent_ns = self.io.now_ns();
            self.place(group, due_ns, sent_ns);
            // An HTTP/2 connection may have refused the request, but another one may be free.
            return self.serve_queue(group);
        }
        let state = &mut self.groups[group];
        if state.queue.len() < state.queue_max {
            state.queue.push_back(due_ns);
            let queued = state.queue.len() as u64;
            if counts {
                self.recorder.note(group, |it| {
                    it.counts.queued_max = it.counts.queued_max.max(queued);
                });
            }
        } else if counts {
            self.recorder.note(group, |it| it.counts.dropped += 1);
        }
    }

    /// Gives a request to the connection that has been idle longest. In a connection-only load,
    /// opens a connection instead.
    pub(super) fn place(&mut self, group: usize, intended_ns: u64, sent_ns: u64) {
        let state = &mut self.groups[group];
        if state.free > 0 {
            state.free -= 1;
            self.begin_handshake(group, intended_ns, sent_ns);
        } else if let Some(conn) = state.idle.pop_front() {
            self.issue(conn, intended_ns, sent_ns);
        }
    }

    pub(super) fn count_arrival(&mut self, group: usize, intended_ns: u64) {
        if self.measures(intended_ns) {
            self.recorder.note(group, |it| it.counts.intended += 1);
        }
    }

    pub(super) fn issue(&mut self, conn: ConnId, intended_ns: u64, sent_ns: u64) {
        if self.conns.get(conn).is_some_and(|it| it.http2.is_some()) {
            return self.issue_stream(conn, intended_ns, sent_ns);
        }
        let nonce = self.next_nonce();
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        let Some(mut buffer) = connection.buffer.take() else {
            return;
        };
        let group = connection.group;
        let number = self.groups[group].take_turn();
        let route = &self.compiled.routes[number];
        let last = self.groups[group].is_used_up(connection.requests + 1);
        let rendered = match &route.closing {
            Some(closing) if last => closing,
            _ => &route.rendered,
        };
        let holds_it = connection.buffer_holds == Some((number, last));
        rendered.fill(&mut buffer, holds_it, nonce, &mut self.sampler);
        connection.buffer_holds = Some((number, last));
        let exchange = Exchange::new(number, intended_ns, sent_ns, nonce);
        self.recorder.begin(group, &exchange, buffer.len() as u64);
        connection.begin(exchange, rendered.is_head);
        self.send(conn, buffer);
    }

    /// Sends a request: immediately in an open load, and batched with others in a closed one.
    fn send(&mut self, conn: ConnId, buffer: Vec<u8>) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        let now = !self.groups[connection.group].closed;
        if let Some(layer) = &mut connection.layer {
            let written = layer.write(&buffer);
            layer.outbox.flush(&mut self.io, conn, now);
            connection.buffer = Some(buffer);
            if written.is_err() {
                let at = self.io.now_ns();
                self.fail(conn, ErrorKind::Tls, at);
            }
            return;
        }
        let back = if now {
            self.io.send_now(conn, buffer)
        } else {
            self.io.send(conn, buffer)
        };
        if back.is_some() {
            connection.buffer = back;
        }
    }

    pub(super) fn wake_at(&self, now: u64) -> u64 {
        let due = self.groups.iter().filter_map(GroupState::wake_at);
        let until = (now + NAP_NS).min(self.seal_at_ns);
        due.fold(until, u64::min)
    }
}
