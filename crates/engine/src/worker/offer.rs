//! Arrivals: when they are due, and how they leave.

use std::sync::atomic::Ordering;

use gatebench_net::trace::Nonce;
use gatebench_net::{ConnId, Event, Io};

use crate::connection::Exchange;
use crate::run::EngineError;

use super::{NAP_NS, Worker};

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
            self.stall_ns(now);
            self.upkeep(now);
            if self.compiled.control.stopped() {
                self.interrupted = true;
                self.cut_short(now);
                return Ok(());
            }
        }
    }

    pub(super) fn take(&mut self, events: &mut Vec<Event>, now: u64) {
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
    pub(super) fn offer_due(&mut self, now: u64) {
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

    pub(super) fn due(&self) -> Option<u64> {
        let after_start = self.compiled.schedule.as_ref()?.due_ns(self.next_index)?;
        Some(self.start_ns + after_start)
    }

    pub(super) fn arrive(&mut self, due_ns: u64) {
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

    pub(super) fn measures(&self, intended_ns: u64) -> bool {
        (self.measure_ns..self.end_ns).contains(&intended_ns)
    }

    pub(super) fn count_arrival(&mut self, intended_ns: u64) {
        if self.measures(intended_ns) {
            self.interval.counts.intended += 1;
        }
    }

    pub(super) fn issue(&mut self, conn: ConnId, intended_ns: u64, sent_ns: u64) {
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
        let back = if self.closed {
            self.io.send(conn, buffer)
        } else {
            self.io.send_now(conn, buffer)
        };
        if back.is_some()
            && let Some(connection) = self.conns.get_mut(conn)
        {
            connection.buffer = back;
        }
    }

    pub(super) fn wake_at(&self, now: u64) -> u64 {
        let mut until = (now + NAP_NS).min(self.seal_at_ns);
        if let Some(due) = self.next_due_ns {
            until = until.min(due);
        }
        if let Some(at) = self.reconnects.front() {
            until = until.min(*at);
        }
        until
    }
}
