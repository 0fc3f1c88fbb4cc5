//! Opens the connections before the first arrival, and starts all workers at the same time.

use std::io;
use std::sync::atomic::Ordering;

use gatebench_net::{ConnId, Event, Io};

use crate::connection::{Connection, State};
use crate::error::{ConnectError, EngineError};
use crate::layer::Layer;
use crate::load::nanos;

use super::{SECOND_NS, Worker};

/// The start fails if none of the missing initial connections becomes ready within this number of
/// seconds after the last planned attempt or the last success, whichever is later.
const CONNECT_LIMIT_S: u64 = 5;
const CONNECT_LIMIT_NS: u64 = CONNECT_LIMIT_S * SECOND_NS;

impl<I: Io> Worker<'_, I> {
    pub(super) fn connect_all(&mut self) -> Result<(), EngineError> {
        let mut now = self.io.now_ns();
        let mut limit = now + CONNECT_LIMIT_NS;
        for group in &mut self.groups {
            group.connects = group
                .connect_times(self.compiled.part.workers)
                .map(|at| now + at)
                .collect();
            let last = group.connects.back().copied().unwrap_or(now);
            limit = limit.max(last + CONNECT_LIMIT_NS);
        }
        for group in 0..self.groups.len() {
            // A connection-only load makes one connection before the start, to prove that
            // connecting is possible.
            if self.groups[group].handshakes && self.groups[group].missing > 0 {
                let opened = self.open_connection(group);
                opened.map_err(|error| self.not_opened(group, error))?;
            }
        }
        let mut events = Vec::new();
        while let Some(late) = self.groups.iter().position(|it| it.missing > 0) {
            if self.compiled.control.stopped() {
                break;
            }
            if now >= limit {
                return Err(self.unreachable(late, self.stuck(late)));
            }
            for group in 0..self.groups.len() {
                let opened = self.open_due(group, now);
                opened.map_err(|error| self.not_opened(group, error))?;
            }
            let until = self.wake_at(now).min(limit);
            self.io.poll(Some(until), &mut events)?;
            now = self.io.now_ns();
            let missing = self.missing();
            for event in events.drain(..) {
                self.connecting(event, now)?;
            }
            if self.missing() < missing {
                limit = limit.max(now + CONNECT_LIMIT_NS);
            }
        }
        Ok(())
    }

    fn missing(&self) -> u64 {
        self.groups.iter().map(|it| u64::from(it.missing)).sum()
    }

    fn stuck(&self, group: usize) -> ConnectError {
        let group = &self.groups[group];
        ConnectError::Late {
            made: group.wanted.saturating_sub(group.missing),
            wanted: group.wanted,
            limit_s: CONNECT_LIMIT_S,
        }
    }

    /// Opens the connections that are due. In a connection-only load, does not open them, but
    /// allows as many further connections.
    pub(super) fn open_due(&mut self, group: usize, now: u64) -> io::Result<()> {
        while let Some(at) = self.groups[group].connects.front()
            && *at <= now
        {
            let state = &mut self.groups[group];
            state.connects.pop_front();
            if state.handshakes {
                state.free += 1;
            } else {
                self.open_connection(group)?;
            }
        }
        Ok(())
    }

    fn connecting(&mut self, event: Event, now: u64) -> Result<(), EngineError> {
        let Some(connection) = self.conns.get(event.conn()) else {
            return Ok(());
        };
        let (group, state) = (connection.group, connection.state);
        let result = match event {
            Event::Connected { conn } => self.connected(conn, now),
            Event::Received { conn, bytes } if state == State::Connecting => {
                self.establish(conn, &bytes, now)
            }
            // A server may send TLS messages or HTTP/2 frames after the handshake.
            Event::Received { conn, bytes } => {
                self.received(conn, &bytes, now);
                Ok(())
            }
            Event::Sent { conn, bytes } => {
                self.sent(conn, bytes, now);
                Ok(())
            }
            Event::Failed { error, .. } => Err(ConnectError::Kernel(error.to_string())),
            Event::EndOfStream { conn } => self.closed_at_start(conn, now),
            Event::Accepted { .. } => Ok(()),
        };
        result.map_err(|reason| self.unreachable(group, reason))
    }

    /// Replaces a connection that the server closed before the first request. Returns an error if
    /// TLS or HTTP/2 was not established yet or if no other connection of the group is ready,
    /// because such a load cannot begin.
    fn closed_at_start(&mut self, conn: ConnId, now: u64) -> Result<(), ConnectError> {
        let Some(connection) = self.conns.get(conn) else {
            return Ok(());
        };
        let (group, state) = (connection.group, connection.state);
        if state == State::Connecting {
            return Err(ConnectError::ClosedInHandshake);
        }
        self.lost(conn, now);
        if self.groups[group].idle.is_empty() {
            return Err(ConnectError::ClosedAtOnce);
        }
        Ok(())
    }

    fn unreachable(&self, group: usize, reason: ConnectError) -> EngineError {
        EngineError::Unreachable {
            address: self.compiled.load.groups[group].target.address.clone(),
            reason,
        }
    }

    /// Returns the error of a connection that the kernel refused to begin. Wrong addresses are not
    /// a fault of this machine.
    fn not_opened(&self, group: usize, error: io::Error) -> EngineError {
        match (error.kind(), self.groups[group].last_source()) {
            (io::ErrorKind::AddrNotAvailable, Some(source)) => {
                self.unreachable(group, ConnectError::NoSource(source))
            }
            (io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput, _) => {
                self.unreachable(group, ConnectError::Kernel(error.to_string()))
            }
            _ => error.into(),
        }
    }

    pub(super) fn open_connection(&mut self, group: usize) -> io::Result<ConnId> {
        let begun_ns = self.io.now_ns();
        let state = &mut self.groups[group];
        let source = state.source();
        let conn = self.io.connect(&state.settings.target.address, source)?;
        state.have += 1;
        self.conns.insert(
            conn,
            Connection::new(group, source, begun_ns, self.allowance.clone()),
        );
        Ok(conn)
    }

    pub(super) fn connected(&mut self, conn: ConnId, now: u64) -> Result<(), ConnectError> {
        let Some(connection) = self.conns.get_mut(conn) else {
            return Ok(());
        };
        let group = &mut self.groups[connection.group];
        if group.has_layer() {
            let preamble = group.preamble(connection.source);
            let layer = Layer::begin(&preamble, group.tls.as_ref())?;
            let layer = connection.layer.insert(Box::new(layer));
            layer.outbox.flush(&mut self.io, conn, true);
        }
        self.establish(conn, &[], now)
    }

    /// Continues the steps that precede the first request, after `bytes` have arrived.
    pub(super) fn establish(
        &mut self,
        conn: ConnId,
        bytes: &[u8],
        now: u64,
    ) -> Result<(), ConnectError> {
        let Some(connection) = self.conns.get_mut(conn) else {
            return Ok(());
        };
        self.plain.clear();
        if let Some(layer) = &mut connection.layer {
            let received = layer.receive(bytes, &mut self.plain);
            layer.outbox.flush(&mut self.io, conn, true);
            received?;
            if !layer.is_ready() {
                return Ok(());
            }
            let resumed = layer.is_resumed();
            if !self.exchange_settings(conn, now)? {
                return Ok(());
            }
            self.recorder.kept.resumed += u64::from(resumed);
        }
        self.established(conn, now);
        Ok(())
    }

    fn established(&mut self, conn: ConnId, now: u64) {
        let Some(connection) = self.conns.get_mut(conn) else {
            return;
        };
        connection.state = State::Idle;
        let group = connection.group;
        let state = &mut self.groups[group];
        state.up();
        if state.handshakes && state.missing > 0 {
            state.missing = 0;
            return self.let_go(conn);
        }
        let took_ns = now.saturating_sub(connection.begun_ns);
        self.recorder.kept.connects.record(took_ns);
        self.recorder
            .note(group, |it| it.counts.connections_opened += 1);
        if self.groups[group].handshakes {
            return self.handshake_done(conn, now);
        }
        let streams = self.first_streams_of(conn);
        let state = &mut self.groups[group];
        state.missing = state.missing.saturating_sub(1);
        state.idle.extend(std::iter::repeat_n(conn, streams));
    }

    pub(super) fn wait_for_start(&mut self) -> Result<(), EngineError> {
        let control = self.compiled.control;
        self.compiled.ready.fetch_add(1, Ordering::Release);
        let mut events = Vec::new();
        let start_ns = loop {
            match control.start_ns() {
                Some(start_ns) => break start_ns,
                None if control.stopped() => break self.io.now_ns(),
                None => {}
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
        self.measure_for(start_ns + nanos(load.warm_up));
        for group in &mut self.groups {
            group.start(start_ns);
        }
        Ok(())
    }
}
