//! Handles the events of connections, above all responses and failures.

use std::cmp::Reverse;

use gatebench_net::{ConnId, Event, Io};

use crate::connection::{Connection, Progress, State};
use crate::error::ConnectError;
use crate::kind::ErrorKind;

use super::{RECONNECT_PAUSE_NS, Worker};

impl<I: Io> Worker<'_, I> {
    pub(super) fn handle(&mut self, event: Event, now: u64) {
        match event {
            Event::Received { conn, bytes } => self.received(conn, &bytes, now),
            Event::Sent { conn, bytes } => self.sent(conn, bytes, now),
            Event::Connected { conn } => {
                let connected = self.connected(conn, now);
                self.set_up(conn, connected, now);
            }
            Event::EndOfStream { conn } => self.end_of_stream(conn, now),
            Event::Failed { conn, .. } => {
                let kind = match self.conns.get(conn).map(|it| it.state) {
                    Some(State::Connecting) => ErrorKind::Connect,
                    _ => ErrorKind::Reset,
                };
                self.fail(conn, kind, now);
            }
            Event::Accepted { .. } => {}
        }
    }

    fn set_up(&mut self, conn: ConnId, progress: Result<(), ConnectError>, now: u64) {
        if progress.is_err() {
            // HTTP/2 begins only after TLS has succeeded.
            let connection = self.conns.get(conn);
            let kind = match connection.is_some_and(|it| it.http2.is_some()) {
                true => ErrorKind::Protocol,
                false => ErrorKind::Tls,
            };
            return self.fail(conn, kind, now);
        }
        if let Some(group) = self.conns.get(conn).map(|it| it.group) {
            self.serve_queue(group);
        }
    }

    pub(super) fn received(&mut self, conn: ConnId, bytes: &[u8], now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        if connection.state == State::Connecting {
            let established = self.establish(conn, bytes, now);
            return self.set_up(conn, established, now);
        }
        if self.recorder.window.contains(&now) {
            let received = bytes.len() as u64;
            self.recorder
                .note(connection.group, |it| it.counts.bytes_received += received);
        }
        let Some(layer) = &mut connection.layer else {
            return self.take_plain(conn, bytes, now);
        };
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let received = layer.receive(bytes, &mut plain);
        layer.outbox.flush(&mut self.io, conn, true);
        if received.is_err() {
            self.fail(conn, ErrorKind::Tls, now);
        } else if !plain.is_empty() {
            self.take_plain(conn, &plain, now);
        }
        self.plain = plain;
    }

    fn take_plain(&mut self, conn: ConnId, bytes: &[u8], now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        if connection.http2.is_some() {
            return self.take_stream_bytes(conn, bytes, now);
        }
        if connection.state != State::Busy {
            // Bytes arrived without a request, so the connection can no longer be trusted.
            return self.fail(conn, ErrorKind::Protocol, now);
        }
        let exchange = &mut connection.response.exchange;
        exchange.first_byte_ns = exchange.first_byte_ns.min(now);
        let checks = &self.compiled.routes[exchange.route].checks;
        let traced = self.compiled.load.trace_tag.is_some();
        match connection.receive(bytes, checks, traced) {
            Ok(Progress::Incomplete) => {}
            Ok(Progress::Complete) => self.completed(conn, now),
            // Bytes beyond the response mean that the connection's framing can no longer be
            // trusted.
            Ok(Progress::Excess) | Err(_) => self.fail(conn, ErrorKind::Protocol, now),
        }
    }

    pub(super) fn end_of_stream(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        if connection.http2.is_some() {
            return self.fail(conn, ErrorKind::ClosedEarly, now);
        }
        match connection.state {
            State::Connecting => return self.fail(conn, ErrorKind::Tls, now),
            State::Idle => return self.lost(conn, now),
            State::Busy => {}
        }
        let whole = connection
            .layer
            .as_ref()
            .is_none_or(|it| it.end_of_stream().is_ok());
        let checks = &self.compiled.routes[connection.response.exchange.route].checks;
        match connection.end_of_stream(checks) {
            Ok(Progress::Complete) if whole => {
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
        let group = connection.group;
        let response = &connection.response;
        self.recorder
            .settle(group, &response.exchange, &response.failed_checks, now);
        let is_used_up = self.groups[group].is_used_up(connection.requests);
        if connection.keep_alive() && !is_used_up {
            connection.state = State::Idle;
            self.release(conn, now)
        } else {
            self.think(conn, now);
            self.lost(conn, now)
        }
    }

    /// Begins the think time of a user whose connection begins no more requests. The user then
    /// continues on another connection.
    pub(super) fn think(&mut self, conn: ConnId, now: u64) {
        let Some(group) = self.conns.get(conn).map(|it| it.group) else {
            return;
        };
        let continues = self.has_begun(now) && now < self.end_ns && !self.interrupted;
        let state = &mut self.groups[group];
        if continues && let Some(thinks) = &mut state.thinks {
            let until = now + thinks.draw_ns();
            state.thinking.push(Reverse((until, conn)));
        }
    }

    fn has_begun(&self, now: u64) -> bool {
        self.start_ns != 0 && now >= self.start_ns
    }

    /// Gives the connection its next request if the last one has been sent completely.
    fn release(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        connection.waits_to_send = !connection.has_sent();
        if connection.state == State::Idle && !connection.waits_to_send {
            self.reuse(conn, now);
        }
    }

    /// Gives a connection, or one of its streams, its next request. If no request is due, the
    /// connection becomes idle or its user thinks; a surplus connection is retired.
    pub(super) fn reuse(&mut self, conn: ConnId, now: u64) {
        let Some(group) = self.conns.get(conn).map(|it| it.group) else {
            return;
        };
        let begun = self.has_begun(now);
        let state = &mut self.groups[group];
        if state.has_too_many() {
            self.retire(conn, now);
        } else if !state.closed || !begun || now >= self.end_ns || self.interrupted {
            state.idle.push_back(conn);
            self.serve_queue(group);
        } else if let Some(intended_ns) = state.queue.pop_front() {
            self.issue(conn, intended_ns, now);
        } else if let Some(thinks) = &mut state.thinks {
            let until = now + thinks.draw_ns();
            state.thinking.push(Reverse((until, conn)));
        } else if state.take_request() {
            self.count_arrival(group, now);
            self.issue(conn, now, now);
        } else {
            state.idle.push_back(conn);
        }
    }

    pub(super) fn serve_queue(&mut self, group: usize) {
        while self.groups[group].has_place()
            && let Some(intended_ns) = self.groups[group].queue.pop_front()
        {
            let sent_ns = self.io.now_ns();
            self.place(group, intended_ns, sent_ns);
        }
    }

    pub(super) fn sent(&mut self, conn: ConnId, bytes: Vec<u8>, now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        if let Some(layer) = &mut connection.layer {
            layer.outbox.sent(bytes);
            layer.outbox.flush(&mut self.io, conn, true);
        } else {
            connection.buffer = Some(bytes);
        }
        // The response usually arrives later, but it may have been handled before this event.
        if connection.waits_to_send {
            self.release(conn, now);
        }
    }

    pub(super) fn fail(&mut self, conn: ConnId, kind: ErrorKind, now: u64) {
        let Some(connection) = self.conns.get(conn) else {
            return;
        };
        let (group, exchange) = (connection.group, connection.response.exchange);
        self.fail_streams(conn, kind, now);
        let Some(connection) = self.conns.get(conn) else {
            return;
        };
        match connection.state {
            State::Busy => self.recorder.fail(group, &exchange, kind, now),
            State::Connecting if self.groups[group].handshakes => {
                self.handshake_failed(group, &exchange, kind, now);
            }
            State::Connecting => self.not_connected(group, kind, now),
            State::Idle => {}
        }
        self.lost(conn, now);
    }

    /// Marks the group as refused and, within the window, counts a connection that could not be
    /// made. No request fails.
    pub(super) fn not_connected(&mut self, group: usize, kind: ErrorKind, now: u64) {
        self.groups[group].refused = true;
        if self.measures(now) {
            self.recorder
                .note(group, |it| it.counts.connections_failed[kind as usize] += 1);
        }
    }

    /// Closes a connection and plans another in its place, unless the connection was surplus or the
    /// group has enough.
    pub(super) fn lost(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.close(conn, now) else {
            return;
        };
        let group = &mut self.groups[connection.group];
        if connection.state == State::Idle {
            group.idle.retain(|idle| *idle != conn);
        }
        if connection.leaving {
            return;
        }
        if group.have + group.connects.len() as u32 >= group.wanted {
            // The users of a surplus connection leave with it.
            group.thinking.retain(|it| it.0.1 != conn);
            return;
        }
        // A connection that carried no request has no users to keep, because its replacement starts
        // new users.
        if connection.requests > 0 {
            group.orphan(conn);
        }
        // Keep the due times in order: a connection that is due now comes before one that must
        // wait. After a connection that carried no request, such as a failed attempt, the next
        // attempt waits, to avoid a tight loop.
        if connection.requests == 0 {
            group.connects.push_back(now + RECONNECT_PAUSE_NS);
        } else {
            group.connects.push_front(now);
        }
    }

    fn close(&mut self, conn: ConnId, now: u64) -> Option<Connection> {
        let connection = self.conns.remove(conn)?;
        self.io.close(conn);
        let group = &mut self.groups[connection.group];
        group.have -= u32::from(!connection.leaving);
        if connection.state != State::Connecting {
            group.down(now);
        }
        Some(connection)
    }

    /// Closes a surplus connection as soon as no response is pending on it.
    pub(super) fn retire(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        // Several streams of a connection may end while it is surplus.
        if connection.leaving {
            return;
        }
        let group = &mut self.groups[connection.group];
        group.idle.retain(|idle| *idle != conn);
        if connection.http2.as_ref().is_none_or(|it| it.is_quiet()) {
            self.close(conn, now);
        } else {
            connection.leaving = true;
            group.have -= 1;
        }
    }
}
