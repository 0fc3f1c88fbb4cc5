//! The client's end of a connection.

use super::connection::{Connection, Role};
use super::event::{Event, StreamId};
use super::frame::WINDOW_BYTES_MAX;
use super::streams::Incoming;
use super::{Block, ErrorCode, Limits, ProtocolError, Settings};

/// The client's end of one connection: requests go in, events come out, and bytes both ways.
///
/// Everything is written to the `out` of the call; whoever calls sends it, once for any number of
/// calls.
#[derive(Debug)]
pub struct Client {
    connection: Connection,
}

impl Client {
    /// A connection of which nothing has been sent or received.
    pub fn new(settings: Settings, limits: Limits) -> Self {
        Self {
            connection: Connection::new(Role::Client, settings, limits),
        }
    }

    /// Writes what has to be sent first. Requests may follow at once.
    pub fn preface(&self, out: &mut Vec<u8>) {
        self.connection.write_preface(out);
    }

    /// Whether the server's settings have come. A request sent before may be refused, as the server's
    /// limit of streams is not known yet.
    pub fn is_ready(&self) -> bool {
        self.connection.receiving.settings_received
    }

    /// How many requests can be sent now: what the server's settings and [`Limits::streams`] leave.
    /// None after GOAWAY, after an error, and when the numbers of streams are used up.
    pub fn can_open(&self) -> usize {
        let connection = &self.connection;
        if self.is_closing() {
            return 0;
        }
        let allowed = connection
            .sending
            .peer
            .streams
            .min(connection.limits.streams) as usize;
        let numbers = (WINDOW_BYTES_MAX - connection.last_stream).div_ceil(2) as usize;
        allowed
            .saturating_sub(connection.streams.open_count())
            .min(numbers)
    }

    /// Whether no request can be sent on this connection ever again: GOAWAY came, it failed, or the
    /// numbers of streams are used up. Streams that are open may go on.
    pub fn is_closing(&self) -> bool {
        let connection = &self.connection;
        connection.going_away
            || connection.has_failed()
            || connection.last_stream == WINDOW_BYTES_MAX
    }

    /// Requests whose answers are not complete.
    pub fn open_count(&self) -> usize {
        self.connection.streams.open_count()
    }

    /// Sends a request. What the server's windows do not allow of `body` is kept and follows by
    /// itself. `None`, and nothing is written, where [`Client::can_open`] answers 0.
    #[inline]
    pub fn request(&mut self, block: &Block, body: &[u8], out: &mut Vec<u8>) -> Option<StreamId> {
        if self.can_open() == 0 {
            return None;
        }
        let connection = &mut self.connection;
        connection.last_stream = (connection.last_stream + 1) | 1;
        let id = connection
            .streams
            .open(connection.last_stream, Incoming::Head);
        if let Some(stream) = connection.streams.get(id) {
            stream.is_head = block.is_head();
        }
        connection.send_block(id, block, body.is_empty(), out);
        if !body.is_empty() {
            connection.send_body(id, body, true, out);
        }
        Some(id)
    }

    /// Gives a request up; nothing more is said of it. Does nothing where it is complete already.
    pub fn reset(&mut self, stream: StreamId, code: ErrorCode, out: &mut Vec<u8>) {
        self.connection.reset(stream, code, out);
    }

    /// The next event, taking what it needs off the front of `input`; `None` when more bytes are
    /// needed, and then all of `input` was taken. Some events need no bytes, so call it until it
    /// answers `None`. Answers to the server (PING, SETTINGS, WINDOW_UPDATE, bodies that go on) are
    /// appended to `out`.
    ///
    /// # Errors
    /// The server broke the protocol or a limit. GOAWAY is at the end of `out`; every later call
    /// answers the same error.
    #[inline]
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, ProtocolError> {
        self.connection.next(input, out)
    }

    /// Refills the budgets of [`Limits`] that bound what does no work. Finished requests refill them too; call it
    /// every second or so where a connection may be idle for long.
    pub fn refill_budgets(&mut self) {
        self.connection.budgets.refill();
    }
}
