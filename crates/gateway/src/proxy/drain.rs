//! Stops a worker gracefully.
//!
//! The worker accepts no more connections. Requests in flight are completed, and responses whose
//! heads are not yet sent announce that the connection will close. An idle connection is kept open
//! briefly, because its next request may be in transit; that request is served too. Over HTTP/2, a
//! first GOAWAY announces that the connection will close; once no request is pending, a second one
//! states which requests were accepted (RFC 9113 6.8). Connections that are still open after
//! `drain_ms` are reset.

use std::io;

use gatebench_net::{ConnId, Event, Io, ListenerId};

use super::client::Fate;
use super::exchange::Core;
use super::worker::{ClientConnection, Worker};

/// The maximum time that an idle connection waits for a request that the client sent before it
/// noticed the stop.
const ON_ITS_WAY_NS: u64 = 1_000_000_000;

impl<I: Io> Core<I> {
    pub(crate) fn is_draining(&self) -> bool {
        self.drain_until_ns.is_some()
    }

    /// Returns how long the gateway waits for a client's next request, in nanoseconds.
    pub(crate) fn idle_ns(&self) -> u64 {
        match self.drain_until_ns {
            Some(_) => self.limits.client_idle_ns.min(ON_ITS_WAY_NS),
            None => self.limits.client_idle_ns,
        }
    }
}

impl<I: Io> Worker<I> {
    /// Called once per round while the gateway is stopping. The first call begins the drain; later
    /// ones return true once no client connection is left or `drain_ms` has passed.
    pub(crate) fn is_drained(
        &mut self,
        listeners: &[ListenerId],
        events: &mut Vec<Event>,
    ) -> io::Result<bool> {
        match self.core.drain_until_ns {
            None => self.begin_drain(listeners, events).map(|()| false),
            Some(until_ns) if until_ns <= self.core.now_ns => self.break_off(events).map(|()| true),
            Some(_) => Ok(self.clients.is_empty()),
        }
    }

    fn begin_drain(&mut self, listeners: &[ListenerId], events: &mut Vec<Event>) -> io::Result<()> {
        // The worker first takes over the connections that the kernel has already accepted, because
        // closing the listener would reset them.
        self.round(events, 0)?;
        for &listener in listeners {
            self.core.io.stop_listening(listener);
        }
        self.core.drain_until_ns = Some(self.core.now_ns + self.core.limits.drain_ns);
        for (_, connection) in self.clients.iter_mut() {
            match connection {
                ClientConnection::Http1(client) => client.drain(&mut self.core),
                ClientConnection::Http2(connection) => connection.drain(&mut self.core),
            }
        }
        Ok(())
    }

    /// Resets the remaining connections, so that no client mistakes a partial response for a
    /// complete one.
    fn break_off(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        let left: Vec<ConnId> = self.clients.iter_mut().map(|(id, _)| id).collect();
        for id in left {
            self.core.totals.cut_off += 1;
            self.obey(id.into(), Fate::Abort);
        }
        self.round(events, 0)
    }
}
