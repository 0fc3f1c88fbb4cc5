//! The environment that a worker provides for its connections, and the interface of connections.

use gatebench_net::http1::ProtocolError;
use gatebench_net::timers::{Deadline, Timers};
use gatebench_net::{ConnId, Io, Outbox};

use crate::counters::Counters;
use crate::inbox::write_refusal;
use crate::ledger::Ledger;

/// The time that a connection stays open after its last response. Closing it immediately could
/// destroy the response in transit (RFC 9112 9.6).
const LINGER_NS: u64 = 1_000_000_000;

/// The limit of the pending output of a connection, in bytes. Further output has to wait until the
/// pending output is below the limit.
pub(crate) const PENDING_BYTES_MAX: usize = 128 * 1024;

/// The response that a client may wait for before it sends a body (RFC 9110 15.2.1).
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The state that all connections of a worker share.
pub(crate) struct Env<'a, I, O> {
    pub(crate) io: I,
    pub(crate) origin: O,
    pub(crate) ledger: &'a Ledger,
    pub(crate) counters: &'a Counters,
    pub(crate) timers: Timers<ConnId>,
    /// The time just after the last poll, by the monotonic clock.
    pub(crate) now_ns: u64,
}

impl<I, O> Env<'_, I, O> {
    /// Counts a client that broke the protocol or exceeded a limit, and queues the error response.
    pub(crate) fn refuse(&mut self, error: &ProtocolError, outbox: &mut Outbox) {
        self.counters.protocol_errors.add(1);
        write_refusal(outbox.queue(), error);
    }
}

impl<I: Io, O> Env<'_, I, O> {
    /// Sends FIN after the last response, and keeps the connection open for a while so that the
    /// client can read the response.
    pub(crate) fn linger(&mut self, id: ConnId, deadline: &mut Deadline) {
        self.io.shutdown(id);
        deadline.set(self.now_ns + LINGER_NS, id, &mut self.timers);
    }
}

/// The interface that a worker uses to pass events to a connection.
pub(crate) trait Conversation<I, O> {
    fn new(id: ConnId) -> Self;

    fn received(&mut self, env: &mut Env<'_, I, O>, bytes: &[u8]) -> Fate;

    /// Handles a completed send; `bytes` is its buffer.
    fn sent(&mut self, env: &mut Env<'_, I, O>, bytes: Vec<u8>) -> Fate;

    fn due(&mut self, env: &mut Env<'_, I, O>) -> Fate;

    fn end_of_stream(&mut self, env: &mut Env<'_, I, O>) -> Fate;

    /// Handles the end of the connection. Returns the kind of client, if it is known.
    fn gone(&mut self, env: &mut Env<'_, I, O>) -> Option<Speaker>;
}

/// The consequence of an event for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Keep,
    Close,
    /// Closes the connection with RST.
    Reset,
}

/// The kind of client that owns a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    Client,
    Control,
}

impl Speaker {
    /// Identifies the kind of client by its first request. A control connection was counted when it
    /// was accepted, so it is subtracted from the count of accepted connections.
    pub(crate) fn identify(speaker: &mut Option<Self>, is_control: bool, counters: &Counters) {
        if speaker.is_some() {
            return;
        }
        *speaker = Some(Self::Client);
        if is_control {
            *speaker = Some(Self::Control);
            counters.accepted.take_back(1);
        }
    }
}
