//! Answers, and what comes instead of them.

use gatebench_net::{ConnId, Event, Io};

use crate::connection::{Exchange, Progress, State};
use crate::record::{Class, ErrorKind};

use super::{RECONNECT_PAUSE_NS, Worker};

impl<I: Io> Worker<'_, I> {
    pub(super) fn handle(&mut self, event: Event, now: u64) {
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

    pub(super) fn received(&mut self, conn: ConnId, bytes: &[u8], now: u64) {
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

    pub(super) fn end_of_stream(&mut self, conn: ConnId, now: u64) {
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

    pub(super) fn completed(&mut self, conn: ConnId, now: u64) {
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

    pub(super) fn record_answer(&mut self, exchange: &Exchange, failed_checks: &[usize], now: u64) {
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
    pub(super) fn release(&mut self, conn: ConnId, now: u64) {
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
    pub(super) fn serve_queue(&mut self) {
        while !self.queue.is_empty()
            && let Some(conn) = self.idle.pop_front()
        {
            let sent_ns = self.io.now_ns();
            if let Some(intended_ns) = self.queue.pop_front() {
                self.issue(conn, intended_ns, sent_ns);
            }
        }
    }

    pub(super) fn sent(&mut self, conn: ConnId, bytes: Vec<u8>, now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        connection.buffer = Some(bytes);
        // Usually the answer is still to come; it may also have overtaken this.
        if connection.state == State::Idle {
            self.release(conn, now);
        }
    }

    pub(super) fn fail(&mut self, conn: ConnId, kind: ErrorKind, now: u64) {
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

    pub(super) fn record_failure(
        &mut self,
        intended_ns: u64,
        sent_ns: u64,
        kind: ErrorKind,
        now: u64,
    ) {
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
    pub(super) fn lost(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.conns.remove(conn) else {
            return;
        };
        self.io.close(conn);
        self.idle.retain(|idle| *idle != conn);
        // Due times stay in order: what is due at once goes before what has to wait.
        if connection.state == State::Connecting {
            self.reconnects.push_back(now + RECONNECT_PAUSE_NS);
        } else {
            self.reconnects.push_front(now);
        }
    }
}
