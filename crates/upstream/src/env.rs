//! What a worker lends to its connections, and what it expects of them.

use gatebench_net::ConnId;
use gatebench_net::timers::Timers;

use crate::counters::Counters;
use crate::ledger::Ledger;

/// How long a connection lives on after its last answer, for the client to read it: closing at once
/// could destroy it on the way (RFC 9112 9.6).
pub(crate) const LINGER_NS: u64 = 1_000_000_000;

/// Output of one connection beyond this waits.
pub(crate) const PENDING_BYTES_MAX: usize = 128 * 1024;

/// What a client that waits for it is told before it sends a body (RFC 9110 15.2.1).
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What all connections of a worker use.
pub(crate) struct Env<'a, I, O> {
    pub(crate) io: I,
    /// Who answers.
    pub(crate) origin: O,
    pub(crate) ledger: &'a Ledger,
    pub(crate) counters: &'a Counters,
    pub(crate) timers: Timers<ConnId>,
    /// The clock as it was after the last poll.
    pub(crate) now_ns: u64,
}

/// A connection whose protocol is known.
pub(crate) trait Conversation<I, O> {
    fn new(id: ConnId) -> Self;

    /// Bytes have come.
    fn received(&mut self, env: &mut Env<'_, I, O>, bytes: &[u8]) -> Fate;

    /// A send is done.
    fn sent(&mut self, env: &mut Env<'_, I, O>, bytes: Vec<u8>) -> Fate;

    /// A deadline of this connection came out of the queue.
    fn due(&mut self, env: &mut Env<'_, I, O>) -> Fate;

    /// The client will send no more.
    fn end_of_stream(&mut self, env: &mut Env<'_, I, O>) -> Fate;

    /// The connection is no more; who spoke on it.
    fn gone(&mut self, env: &mut Env<'_, I, O>) -> Option<Speaker>;
}

/// Whether a connection lives on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Keep,
    Close,
    /// Close with RST.
    Reset,
}

/// Whose connection it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    Client,
    Control,
}

impl Speaker {
    /// By its first request a connection turns out to be control's; it was counted when it came and
    /// is taken out again.
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
