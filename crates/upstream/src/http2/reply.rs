//! Sends the response on a stream.

use gatebench_net::http2::{Server, StreamId};
use gatebench_net::trace::Times;

use super::heads::Heads;
use crate::response::HeadOptions;

/// The number of body bytes that a stream sends per turn; they fill one frame.
pub(crate) const PIECE_BYTES: usize = 16 * 1024;

/// The state of a response after a piece was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// There is more to send, now or when the client allows it.
    More,
    /// There is more to send, but not before this time, in nanoseconds by the monotonic clock.
    Later(u64),
    Done,
    Reset,
}

pub(crate) struct Reply<'a> {
    server: &'a mut Server,
    heads: &'a mut Heads,
    stream: StreamId,
    out: &'a mut Vec<u8>,
    /// The time just before the response is sent.
    pub(crate) now_ns: u64,
    pub(super) is_timed: bool,
}

impl<'a> Reply<'a> {
    pub(super) fn new(
        server: &'a mut Server,
        heads: &'a mut Heads,
        stream: StreamId,
        out: &'a mut Vec<u8>,
        now_ns: u64,
    ) -> Self {
        Self {
            server,
            heads,
            stream,
            out,
            now_ns,
            is_timed: false,
        }
    }

    pub(crate) fn head(&mut self, head: &HeadOptions<'_>, times: Option<Times>, ends: bool) {
        self.is_timed |= times.is_some();
        let block = self.heads.block(head, times);
        self.server.respond(self.stream, block, b"", ends, self.out);
    }

    pub(crate) fn body(&mut self, piece: &[u8], ends: bool) {
        self.server.send(self.stream, piece, ends, self.out);
    }

    /// Reports whether bytes of the response still wait for the client's windows.
    pub(crate) fn is_blocked(&mut self) -> bool {
        self.server.unsent_bytes(self.stream) > 0
    }
}
