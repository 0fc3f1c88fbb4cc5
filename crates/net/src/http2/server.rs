//! The server's end of a connection.

use super::connection::{Connection, Role};
use super::event::{Event, StreamId};
use super::frame;
use super::{Block, ErrorCode, Limits, ProtocolError, Settings};

/// The server's end of one connection. It takes responses and the client's bytes, and returns
/// events and bytes for the client.
///
/// Outgoing bytes are appended to the argument `out`. The caller sends them, and may first collect
/// the output of several calls. Calls for a stream that is already closed are ignored, because the
/// client may have reset it.
#[derive(Debug)]
pub struct Server {
    connection: Connection,
}

impl Server {
    /// Reports whether the first bytes from a client are the HTTP/2 preface (RFC 9113 3.4). Returns
    /// `None` while they may still become the preface.
    pub fn recognizes(received: &[u8]) -> Option<bool> {
        let preface = &frame::PREFACE[..];
        match received.len() < preface.len() {
            true => (!preface.starts_with(received)).then_some(false),
            false => Some(received.starts_with(preface)),
        }
    }

    pub fn new(settings: Settings, limits: Limits) -> Self {
        Self {
            connection: Connection::new(Role::Server, settings, limits),
        }
    }

    /// Writes the bytes that must be sent first: SETTINGS, and a WINDOW_UPDATE if the connection's
    /// window is not the initial one.
    pub fn preface(&self, out: &mut Vec<u8>) {
        self.connection.write_preface(out);
    }

    /// The number of requests whose responses are not complete.
    pub fn open_count(&self) -> usize {
        self.connection.streams.open_count()
    }

    /// Sends an informational (1xx) response before the final one.
    pub fn inform(&mut self, stream: StreamId, block: &Block, out: &mut Vec<u8>) {
        if self.connection.streams.get(stream).is_some() {
            self.connection.send_block(stream, block, false, out);
        }
    }

    /// Sends the head of a response and the beginning of its body, or all of it if `ends`. The part
    /// that the client's windows do not allow is kept and sent later.
    ///
    /// If a response ends before its request, its stream is reset with NO_ERROR (RFC 9113 8.1), and
    /// no further event for the stream follows.
    pub fn respond(
        &mut self,
        stream: StreamId,
        block: &Block,
        body: &[u8],
        ends: bool,
        out: &mut Vec<u8>,
    ) {
        if self.connection.streams.get(stream).is_none() {
            return;
        }
        let ends_at_once = ends && body.is_empty();
        self.connection.send_block(stream, block, ends_at_once, out);
        if !body.is_empty() {
            self.connection.send_body(stream, body, ends, out);
        }
    }

    /// Sends the next part of a response's body, which is the last one if `ends`.
    pub fn send(&mut self, stream: StreamId, body: &[u8], ends: bool, out: &mut Vec<u8>) {
        self.connection.send_body(stream, body, ends, out);
    }

    /// The number of bytes of a response that wait for the client's windows. The producer of a long
    /// body can wait until this number is small.
    pub fn unsent_bytes(&mut self, stream: StreamId) -> usize {
        self.connection
            .streams
            .get(stream)
            .map_or(0, |stream| stream.unsent.len())
    }

    /// The number of bytes of all responses that wait for the client's windows.
    pub fn unsent_bytes_of_all(&self) -> usize {
        self.connection.streams.unsent_bytes
    }

    /// The number of the oldest stream whose response waits for the client's windows.
    pub fn oldest_unsent(&self) -> Option<u32> {
        self.connection.streams.oldest_unsent()
    }

    /// The number of body bytes written since the connection began.
    pub fn sent_bytes(&self) -> u64 {
        self.connection.sending.sent_bytes
    }

    /// Pauses the client on one stream if `is_held`, and otherwise lets it continue. Once the
    /// window of a paused stream is used up, no more of its request arrives. Other streams
    /// continue.
    pub fn hold(&mut self, stream: StreamId, is_held: bool, out: &mut Vec<u8>) {
        self.connection.hold(stream, is_held, out);
    }

    /// Ends a stream at once; no event for it follows.
    pub fn reset(&mut self, stream: StreamId, code: ErrorCode, out: &mut Vec<u8>) {
        self.connection.reset(stream, code, out);
    }

    /// Ends the connection with all open streams: GOAWAY states the code, and bytes that wait for
    /// windows are dropped. After `out` has been sent, nothing more may be read or sent.
    pub fn give_up(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        self.connection.give_up(code, out);
    }

    /// Announces the end of the connection: the client must send no new requests on it. Requests
    /// that are already in transit are served, because this GOAWAY states the highest possible
    /// stream number (RFC 9113 6.8). Call [`Self::go_away`] when they have arrived.
    pub fn announce_end(&mut self, out: &mut Vec<u8>) {
        frame::write_go_away(out, frame::WINDOW_BYTES_MAX, ErrorCode::NO_ERROR);
    }

    /// Accepts no more requests; those that have begun continue (RFC 9113 6.8).
    pub fn go_away(&mut self, out: &mut Vec<u8>) {
        self.connection.going_away = true;
        frame::write_go_away(out, self.connection.last_stream, ErrorCode::NO_ERROR);
    }

    /// The next event; see [`super::Client::next`].
    ///
    /// # Errors
    /// The client violated the protocol or exceeded a limit. GOAWAY is at the end of `out`; every
    /// later call returns the same error.
    #[inline]
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, ProtocolError> {
        self.connection.next(input, out)
    }

    /// Refills the budgets of [`Limits`]; see [`super::Client::refill_budgets`].
    pub fn refill_budgets(&mut self) {
        self.connection.budgets.refill();
    }
}
