//! Before the first arrival: connections, and the common start of all workers.

use std::io;
use std::sync::atomic::Ordering;

use gatebench_net::{ConnId, Event, Io};

use crate::connection::{Connection, State};
use crate::run::{EngineError, nanos};

use super::{NAP_NS, SECOND_NS, Worker};

/// All connections must be up this long after the beginning.
const CONNECT_LIMIT_NS: u64 = 5 * SECOND_NS;

impl<I: Io> Worker<'_, I> {
    pub(super) fn connect_all(&mut self) -> Result<(), EngineError> {
        let wanted = self.connections();
        for _ in 0..wanted {
            self.open_connection()?;
        }
        let limit = self.io.now_ns() + CONNECT_LIMIT_NS;
        let mut events = Vec::new();
        while self.idle.len() + self.reconnects.len() < wanted as usize {
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

    pub(super) fn unreachable(&self, reason: String) -> EngineError {
        EngineError::Unreachable {
            address: self.compiled.load.target.address,
            reason,
        }
    }

    pub(super) fn open_connection(&mut self) -> io::Result<()> {
        let conn = self.io.connect(self.compiled.load.target.address, None)?;
        self.conns.insert(conn, Connection::new());
        Ok(())
    }

    pub(super) fn connected(&mut self, conn: ConnId) {
        if let Some(connection) = self.conns.get_mut(conn) {
            connection.state = State::Idle;
            self.interval.counts.connections_opened += 1;
            self.idle.push_back(conn);
        }
    }

    pub(super) fn wait_for_start(&mut self) -> Result<(), EngineError> {
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
}
