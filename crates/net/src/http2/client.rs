//! The client's end of a connection.

use super::connection::{Connection, Role};
use super::event::{Event, StreamId};
use super::frame::WINDOW_BYTES_MAX;
use super::streams::Incoming;
use super::{Block, ErrorCode, Limits, ProtocolError, Settings};

/// The client's end of one connection. It takes requests and the server's bytes, and returns events
/// and bytes for the server.
///
/// Outgoing bytes are appended to the argument `out`. The caller sends them, and may first collect
/// the output of several calls.
#[derive(Debug)]
pub struct Client {
    connection: Connection,
}

impl Client {
    pub fn new(settings: Settings, limits: Limits) -> Self {
        Self {
            connection: Connection::new(Role::Client, settings, limits),
        }
    }

    /// Writes the bytes that must be sent first: the preface, SETTINGS, and a WINDOW_UPDATE if the
    /// connection's window is not the initial one. Requests may follow at once.
    pub fn preface(&self, out: &mut Vec<u8>) {
        self.connection.write_preface(out);
    }

    /// Reports whether the server's settings have arrived. A request sent earlier may be refused,
    /// because the server's limit on streams is not known yet.
    pub fn is_ready(&self) -> bool {
        self.connection.receiving.settings_received
    }

    /// The number of requests that can be sent now within the server's settings and
    /// [`Limits::streams`]. It is 0 after GOAWAY, after an error, and when the stream numbers are
    /// used up.
    pub fn can_open(&self) -> usize {
        let connection = &self.connection;
        if self.is_closing() {
            return 0;
        }
        let peer = &connection.sending.peer;
        let allowed = peer.streams.min(connection.limits.streams) as usize;
        let free = allowed.saturating_sub(connection.streams.open_count());
        let numbers = (WINDOW_BYTES_MAX - connection.last_stream).div_ceil(2) as usize;
        free.min(numbers)
    }

    /// Reports whether requests can no longer be sent on this connection: GOAWAY arrived, the
    /// connection failed, or the stream numbers are used up. Open streams may continue.
    pub fn is_closing(&self) -> bool {
        let connection = &self.connection;
        connection.going_away
            || connection.has_failed()
            || connection.last_stream == WINDOW_BYTES_MAX
    }

    /// The number of requests whose responses are not complete.
    pub fn open_count(&self) -> usize {
        self.connection.streams.open_count()
    }

    /// Sends a request. The part of `body` that the server's windows do not allow is kept and sent
    /// later. Returns `None` and writes nothing if [`Client::can_open`] returns 0.
    #[inline]
    pub fn request(&mut self, block: &Block, body: &[u8], out: &mut Vec<u8>) -> Option<StreamId> {
        if self.can_open() == 0 {
            return None;
        }
        let connection = &mut self.connection;
        let number = (connection.last_stream + 1) | 1;
        connection.last_stream = number;
        let id = connection.streams.open(number, Incoming::Head);
        if let Some(stream) = connection.streams.get(id) {
            stream.is_head = block.is_head();
        }
        connection.send_block(id, block, body.is_empty(), out);
        if !body.is_empty() {
            connection.send_body(id, body, true, out);
        }
        Some(id)
    }

    /// Cancels a request; no event for it follows. Does nothing if its stream is already closed.
    pub fn reset(&mut self, stream: StreamId, code: ErrorCode, out: &mut Vec<u8>) {
        self.connection.reset(stream, code, out);
    }

    /// Returns the next event, and removes its bytes from the front of `input`. Returns `None` if
    /// more bytes are needed; all of `input` is then consumed. Some events need no bytes, so repeat
    /// the call until it returns `None`. Frames for the server (acknowledgments, WINDOW_UPDATE,
    /// RST_STREAM, and DATA that waited for a window) are appended to `out`.
    ///
    /// # Errors
    /// The server violated the protocol or exceeded a limit. GOAWAY is at the end of `out`; every
    /// later call returns the same error.
    #[inline]
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, ProtocolError> {
        self.connection.next(input, out)
    }

    /// Refills the budgets of [`Limits`] for input that serves no request. Finished requests refill
    /// them partly. Call this function about every second if a connection may be idle for long.
    pub fn refill_budgets(&mut self) {
        self.connection.budgets.refill();
    }
}
