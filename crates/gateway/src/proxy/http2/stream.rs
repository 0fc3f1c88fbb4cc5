//! One stream, with an incoming request and its outgoing response.

use gatebench_net::Io;
use gatebench_net::http1::{
    Decoder, Event as Part, Framing, Limits, write_chunk, write_last_chunk,
};
use gatebench_net::http2::{Block, Head, Server, StreamId};

use super::memory::Held;
use super::translate::{Body, is_passed_on, write_request};
use crate::client_ref::ClientRef;
use crate::proxy::client::{Client, Fate, Phase};
use crate::proxy::exchange::Core;

/// A slot, which serves one stream after another.
#[derive(Debug)]
pub(super) struct Stream {
    client_ref: ClientRef,
    /// `None` while there is no request.
    pub(super) id: Option<StreamId>,
    pub(super) client: Client,
    /// Parses the HTTP/1.1 response that `client` writes.
    decoder: Decoder,
    /// The head while it is unknown whether a body follows, or the received part of a deferred
    /// request; otherwise a spare buffer.
    head: Vec<u8>,
    body: Option<Body>,
    pub(super) fate: Fate,
    /// True once the response's last byte has been passed to the connection.
    pub(super) has_response_ended: bool,
    /// True while the stream's window is not widened, which makes the client pause.
    pub(super) is_held: bool,
    /// True while the request waits in `head`, and no part of it has been passed to `client`.
    pub(super) is_put_off: bool,
    /// The bytes held here when the connection last counted them.
    pub(super) held: Held,
}

/// An output buffer with a larger capacity, in bytes, is freed after its bytes have been converted
/// to frames.
const KEEP_BYTES: usize = 64 * 1024;

impl Stream {
    pub(super) fn new<I: Io>(client_ref: ClientRef, core: &mut Core<I>) -> Self {
        Self {
            client_ref,
            id: None,
            client: Client::new(client_ref, core),
            decoder: Decoder::responses(Limits::default()),
            head: Vec::new(),
            body: None,
            fate: Fate::Keep,
            has_response_ended: false,
            is_held: false,
            is_put_off: false,
            held: Held::default(),
        }
    }

    /// Updates this slot's part of `of_all`, the bytes held for all streams.
    pub(super) fn count(&mut self, of_all: &mut Held) {
        let held = match self.id {
            Some(_) => Held::of(&self.client.exchange),
            None => Held::default(),
        };
        of_all.change(self.held, held);
        self.held = held;
    }

    /// Pauses or resumes the work that would make this slot hold more bytes.
    pub(super) fn crowd<I: Io>(&mut self, waits: bool, core: &mut Core<I>) {
        let exchange = &mut self.client.exchange;
        let waited = exchange.crowd(waits, core.now_ns);
        if waits {
            // The upstream connection is paused now. Otherwise, bytes that arrive later could
            // complete the response before its stream is checked.
            exchange.hold_off(core);
        }
        if waited && !waits && self.fate == Fate::Keep {
            exchange.response_late(core);
            exchange.relieve(core);
            self.fate = self.client.advance(core);
        }
    }

    /// Called for each part of a request that arrives while the client leaves too much unread:
    /// defers a request whose head has not been passed to `client`, and pauses a request that the
    /// gateway itself will respond to.
    pub(super) fn brake<I: Io>(&mut self, core: &mut Core<I>) {
        let exchange = &mut self.client.exchange;
        if self.body.is_none() {
            self.is_put_off = true;
            exchange.rest();
        } else if matches!(exchange.phase, Phase::Local(_)) && !exchange.is_crowded {
            self.crowd(true, core);
        }
    }

    /// Handles a head. A deferred request is passed to `client` by [`Self::take_up`].
    pub(super) fn begin<I: Io>(
        &mut self,
        id: StreamId,
        head: &Head<'_>,
        is_put_off: bool,
        core: &mut Core<I>,
    ) {
        self.id = Some(id);
        self.fate = Fate::Keep;
        self.has_response_ended = false;
        self.is_held = false;
        self.is_put_off = is_put_off;
        self.decoder.reset();
        self.decoder.expect(head.method() == b"HEAD");
        self.head.clear();
        self.body = write_request(&mut self.head, head);
        if self.body.is_some() {
            self.give_head(core);
        } else {
            self.client.await_body(core);
        }
        if is_put_off {
            self.client.exchange.rest();
        }
    }

    /// Ends the deferral of a request. Passes its received part to `client`, unless it is still
    /// unknown whether a body follows.
    pub(super) fn take_up<I: Io>(&mut self, core: &mut Core<I>) {
        self.is_put_off = false;
        if self.body.is_none() {
            return self.client.await_body(core);
        }
        let come = std::mem::take(&mut self.head);
        self.fate = self.client.received(core, &come);
    }

    /// Passes the part of the request in `head` to `client`, unless the request is deferred.
    fn give<I: Io>(&mut self, core: &mut Core<I>) {
        if !self.is_put_off {
            self.fate = self.client.received(core, &self.head);
            self.head.clear();
        }
    }

    /// Passes the head to `client`, with the field that frames the body.
    fn give_head<I: Io>(&mut self, core: &mut Core<I>) {
        if self.body == Some(Body::Chunked) {
            self.head
                .extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        self.head.extend_from_slice(b"\r\n");
        self.give(core);
    }

    pub(super) fn take_body<I: Io>(&mut self, piece: &[u8], core: &mut Core<I>) {
        if self.body.is_none() {
            self.body = Some(Body::Chunked);
            self.give_head(core);
        }
        match self.body {
            Some(Body::Counted) if !self.is_put_off => {
                self.fate = self.client.received(core, piece);
                return;
            }
            Some(Body::Counted) => self.head.extend_from_slice(piece),
            _ => write_chunk(&mut self.head, piece),
        }
        self.give(core);
    }

    pub(super) fn end_request<I: Io>(&mut self, core: &mut Core<I>) {
        match self.body {
            None => {
                self.body = Some(Body::Counted);
                self.give_head(core);
            }
            Some(Body::Counted) => {}
            Some(Body::Chunked) => {
                write_last_chunk(&mut self.head);
                self.give(core);
            }
        }
    }

    /// Converts the queued part of the response to frames; returns true if there was any.
    pub(super) fn speak(
        &mut self,
        id: StreamId,
        server: &mut Server,
        block: &mut Block,
        out: &mut Vec<u8>,
    ) -> bool {
        let exchange = &mut self.client.exchange;
        if self.has_response_ended || exchange.hold.is_held() || exchange.outbox.queued().is_empty()
        {
            return false;
        }
        let mut said = std::mem::take(self.client.exchange.outbox.queue());
        let mut input = said.as_slice();
        // The gateway's own output is valid, so the loop does not end early because of an error.
        while let Ok(Some(part)) = self.decoder.next(&mut input) {
            match part {
                Part::Informational(status) => {
                    server.inform(id, &Block::response(status), out);
                }
                Part::Head(head) => {
                    block.restart_response(head.status());
                    for field in head.fields().filter(|field| is_passed_on(field.name)) {
                        block.field(field.name, field.value);
                    }
                    self.has_response_ended =
                        matches!(head.framing(), Framing::None | Framing::Length(0));
                    server.respond(id, block, b"", self.has_response_ended, out);
                }
                Part::Body(piece) => server.send(id, piece, false, out),
                Part::End if self.has_response_ended => break,
                Part::End => {
                    server.send(id, b"", true, out);
                    self.has_response_ended = true;
                    break;
                }
            }
        }
        said.clear();
        if said.capacity() > KEEP_BYTES {
            said = Vec::new();
        }
        *self.client.exchange.outbox.queue() = said;
        true
    }

    /// Frees the slot after the end of the response. `client` is reused if it has read the whole
    /// request; otherwise, it is replaced.
    pub(super) fn end<I: Io>(&mut self, core: &mut Core<I>) {
        let exchange = &mut self.client.exchange;
        let may_go_on = exchange.phase == Phase::Idle && self.fate == Fate::Keep;
        if may_go_on && !self.client.is_waiting() {
            self.client.exchange.rest();
            self.id = None;
        } else {
            self.give_up(core);
        }
    }

    /// Ends a request whose response the client will not get, or whose `client` cannot be reused,
    /// and frees the slot.
    pub(super) fn give_up<I: Io>(&mut self, core: &mut Core<I>) {
        self.client.exchange.count_abandoned(core);
        core.cancel(self.client.exchange.origin.take());
        self.id = None;
        self.is_put_off = false;
        self.client = Client::new(self.client_ref, core);
        self.client.exchange.rest();
    }
}
