//! One stream: a request on its way in, and its answer on its way out.

use gatebench_net::http1::{
    Decoder, Event as Part, Framing, Limits, write_chunk, write_last_chunk,
};
use gatebench_net::http2::{Block, Head, Server, StreamId};
use gatebench_net::{ConnMap, Io};

use super::translate::{Body, is_passed_on, write_request};
use crate::client::{Client, Fate, Phase};
use crate::exchange::Core;
use crate::origin::Origin;
use crate::party::Party;

/// The slot of a stream.
#[derive(Debug)]
pub(super) struct Stream {
    party: Party,
    /// None while no request is here.
    pub(super) id: Option<StreamId>,
    pub(super) client: Client,
    /// Reads what the client is answered.
    decoder: Decoder,
    /// The head, where it is not known yet whether a body follows; else memory.
    head: Vec<u8>,
    body: Option<Body>,
    /// What the client last said of its connection.
    pub(super) fate: Fate,
    /// The answer's last byte was given to the connection.
    pub(super) is_answered: bool,
    /// The client is held back.
    pub(super) is_held: bool,
    /// Bytes of bodies kept here, as the connection counted them last.
    kept_bytes: usize,
}

impl Stream {
    pub(super) fn new<I: Io>(party: Party, core: &mut Core<I>) -> Self {
        Self {
            party,
            id: None,
            client: Client::new(party, core),
            decoder: Decoder::responses(Limits::default()),
            head: Vec::new(),
            body: None,
            fate: Fate::Keep,
            is_answered: false,
            is_held: false,
            kept_bytes: 0,
        }
    }

    /// Counts the bytes of bodies that are kept here now among those of all streams.
    pub(super) fn count(&mut self, of_all: &mut usize) {
        let kept_bytes = match self.id {
            Some(_) => self.client.exchange.kept_bytes(),
            None => 0,
        };
        *of_all = *of_all + kept_bytes - self.kept_bytes;
        self.kept_bytes = kept_bytes;
    }

    /// The number of its request, where a body of that is kept.
    pub(super) fn keeper(&self) -> Option<u32> {
        (self.kept_bytes > 0).then_some(self.id?.number())
    }

    /// Lets the body that is being kept wait, or go on.
    pub(super) fn crowd<I: Io>(
        &mut self,
        waits: bool,
        origins: &mut ConnMap<Origin>,
        core: &mut Core<I>,
    ) {
        let exchange = &mut self.client.exchange;
        let waited = exchange.crowd(waits, core.now_ns);
        if waited && !waits && self.fate == Fate::Keep {
            exchange.relieve(origins, core);
            self.fate = self.client.advance(origins, core);
        }
    }

    /// A head was read.
    pub(super) fn begin<I: Io>(
        &mut self,
        id: StreamId,
        head: &Head<'_>,
        origins: &mut ConnMap<Origin>,
        core: &mut Core<I>,
    ) {
        self.id = Some(id);
        self.fate = Fate::Keep;
        self.is_answered = false;
        self.is_held = false;
        self.decoder.reset();
        self.decoder.expect(head.method() == b"HEAD");
        self.head.clear();
        self.body = write_request(&mut self.head, head);
        if self.body.is_some() {
            self.give_head(origins, core);
        } else {
            self.client.await_body(core);
        }
    }

    /// Gives the client the head, with what says where the body ends.
    fn give_head<I: Io>(&mut self, origins: &mut ConnMap<Origin>, core: &mut Core<I>) {
        if self.body == Some(Body::Chunked) {
            self.head
                .extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        self.head.extend_from_slice(b"\r\n");
        self.fate = self.client.received(origins, core, &self.head);
    }

    pub(super) fn take_body<I: Io>(
        &mut self,
        piece: &[u8],
        origins: &mut ConnMap<Origin>,
        core: &mut Core<I>,
    ) {
        if self.body.is_none() {
            self.body = Some(Body::Chunked);
            self.give_head(origins, core);
        }
        if self.body == Some(Body::Counted) {
            self.fate = self.client.received(origins, core, piece);
            return;
        }
        self.head.clear();
        write_chunk(&mut self.head, piece);
        self.fate = self.client.received(origins, core, &self.head);
    }

    pub(super) fn end_request<I: Io>(&mut self, origins: &mut ConnMap<Origin>, core: &mut Core<I>) {
        match self.body {
            None => {
                self.body = Some(Body::Counted);
                self.give_head(origins, core);
            }
            Some(Body::Counted) => {}
            Some(Body::Chunked) => {
                self.head.clear();
                write_last_chunk(&mut self.head);
                self.fate = self.client.received(origins, core, &self.head);
            }
        }
    }

    /// Puts what the client is answered into frames; answers whether there was anything.
    pub(super) fn speak(
        &mut self,
        id: StreamId,
        server: &mut Server,
        block: &mut Block,
        out: &mut Vec<u8>,
    ) -> bool {
        let exchange = &mut self.client.exchange;
        if self.is_answered || exchange.hold.is_held() || exchange.outbox.queued().is_empty() {
            return false;
        }
        let mut said = std::mem::take(self.client.exchange.outbox.queue());
        let mut input = said.as_slice();
        // What the gateway writes it can read: the loop ends where the bytes do.
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
                    self.is_answered = matches!(head.framing(), Framing::None | Framing::Length(0));
                    server.respond(id, block, b"", self.is_answered, out);
                }
                Part::Body(piece) => server.send(id, piece, false, out),
                Part::End if self.is_answered => break,
                Part::End => {
                    server.send(id, b"", true, out);
                    self.is_answered = true;
                    break;
                }
            }
        }
        said.clear();
        *self.client.exchange.outbox.queue() = said;
        true
    }

    /// The answer is complete. A client that has read its request whole can have another one.
    pub(super) fn end<I: Io>(&mut self, origins: &mut ConnMap<Origin>, core: &mut Core<I>) {
        let exchange = &mut self.client.exchange;
        let may_go_on = exchange.phase == Phase::Idle && self.fate == Fate::Keep;
        if may_go_on && !self.client.is_waiting() {
            self.client.exchange.rest();
            self.id = None;
        } else {
            self.give_up(origins, core);
        }
    }

    /// Nobody waits for the answer any more.
    pub(super) fn give_up<I: Io>(&mut self, origins: &mut ConnMap<Origin>, core: &mut Core<I>) {
        core.cancel(origins, self.client.exchange.origin.take());
        self.id = None;
        self.client = Client::new(self.party, core);
        self.client.exchange.rest();
    }
}
