//! A client's HTTP/2 connection.
//!
//! Each stream is a [`Client`] without a socket: it receives its request as HTTP/1.1, and its
//! response is read as HTTP/1.1 and converted to frames. The same code thus handles requests of
//! both protocols. The cost is that, over HTTP/2, each head is written and parsed one extra time.
//!
//! A stalled stream (its upstream accepts no more bytes, or the connection already holds too many)
//! is paused by its own window; the others continue. [`memory`] bounds the bytes that a connection
//! holds for its client.

mod memory;
mod stream;
mod translate;

use gatebench_net::http2::{Block, ErrorCode, Event, Limits, Server, Settings, StreamId};
use gatebench_net::timers::Deadline;
use gatebench_net::{ConnId, Io, Outbox};

use crate::client_ref::ClientRef;
use crate::proxy::client::{Client, Fate};
use crate::proxy::exchange::{Core, PENDING_BYTES_MAX};
use memory::Held;
use stream::Stream;

/// The maximum number of concurrent requests on one connection.
const STREAMS_MAX: u32 = 128;

/// The budget for requests that a client cancels, or causes the gateway to cancel. Each request
/// that ends normally refills it by one. The budget equals the maximum number of requests in
/// flight. Each canceled request may have opened a connection to an upstream, whose accept queue
/// other clients also need.
const RESETS_MAX: u32 = STREAMS_MAX;

/// The maximum number of bytes that a client may send on a stream before they are processed.
const STREAM_WINDOW_BYTES: u32 = 128 * 1024;

/// While at least this many bytes of a response wait for the client's windows, no more of the
/// response is converted to frames.
const UNSENT_BYTES_MAX: usize = 64 * 1024;

/// The maximum time that a connection stays open after its last frame, so that the client can read
/// the frame.
const LINGER_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(crate) struct Multiplexed {
    id: ConnId,
    server: Server,
    outbox: Outbox,
    /// The streams by slot; slots are reused for later requests.
    streams: Vec<Stream>,
    /// Slots that may have output.
    stirred: Vec<u32>,
    /// Slots that are waiting for queued bytes to be sent.
    crowded: Vec<u32>,
    held: Held,
    /// True if too much was held at the last check, or if a stream was waiting then.
    was_full: bool,
    /// A lower bound on the body bytes that the kernel had taken when the client's deadline
    /// started; `None` unless the client leaves too much unread.
    behind_at: Option<u64>,
    /// The buffer for the heads of responses.
    block: Block,
    deadline: Deadline,
    state: State,
    is_finished: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The last bytes are queued.
    Closing,
    /// The last bytes and FIN are sent.
    Lingering,
}

impl Multiplexed {
    pub(crate) fn new<I: Io>(id: ConnId, core: &mut Core<I>) -> Self {
        let settings = Settings {
            stream_window_bytes: STREAM_WINDOW_BYTES,
            ..Settings::default()
        };
        let limits = Limits {
            streams: STREAMS_MAX,
            resets: RESETS_MAX,
            ..Limits::default()
        };
        let server = Server::new(settings, limits);
        let mut outbox = Outbox::default();
        server.preface(outbox.queue());
        let mut connection = Self {
            id,
            server,
            outbox,
            streams: Vec::new(),
            stirred: Vec::new(),
            crowded: Vec::new(),
            held: Held::default(),
            was_full: false,
            behind_at: None,
            block: Block::response(200),
            deadline: Deadline::default(),
            state: State::Open,
            is_finished: false,
        };
        connection.stir(core);
        connection
    }

    /// Returns the client of a slot with a request in flight.
    pub(crate) fn client_mut(&mut self, slot: u32) -> Option<&mut Client> {
        let stream = self.streams.get_mut(slot as usize)?;
        stream.id.is_some().then_some(&mut stream.client)
    }

    /// Reports whether a response, or part of one, is waiting to be converted to frames.
    fn has_queued(&mut self, slot: u32) -> bool {
        self.client_mut(slot)
            .is_some_and(|client| !client.exchange.outbox.queued().is_empty())
    }

    pub(crate) fn count_abandoned<I: Io>(&self, core: &mut Core<I>) {
        let pending = self.streams.iter().filter(|stream| stream.id.is_some());
        pending.for_each(|stream| stream.client.exchange.count_abandoned(core));
    }

    pub(crate) fn origins(&self) -> impl Iterator<Item = ConnId> {
        let streams = self.streams.iter().filter(|stream| stream.id.is_some());
        streams.filter_map(|stream| stream.client.exchange.origin)
    }

    pub(crate) fn received<I: Io>(&mut self, core: &mut Core<I>, bytes: &[u8]) -> Fate {
        if self.state == State::Open {
            self.read(core, bytes);
            // The received bytes may have enlarged a window, so queued output may fit now.
            for slot in 0..self.streams.len() as u32 {
                if self.has_queued(slot) {
                    self.stirred.push(slot);
                }
            }
        }
        self.settle(core)
    }

    fn read<I: Io>(&mut self, core: &mut Core<I>, bytes: &[u8]) {
        let mut input = bytes;
        loop {
            // The bytes that were received together may begin more requests than there is room for.
            let is_behind = self.is_behind(&core.limits);
            self.was_full |= is_behind;
            let event = match self.server.next(&mut input, self.outbox.queue()) {
                Ok(Some(event)) => event,
                Ok(None) => return,
                // The GOAWAY that states the reason is queued.
                Err(_) => return self.end(core),
            };
            let id = match event {
                Event::Head { stream, .. }
                | Event::Body { stream, .. }
                | Event::End { stream }
                | Event::Reset { stream, .. } => stream,
                // Trailers are not forwarded. A client that has sent GOAWAY still waits for its
                // responses.
                Event::Informational { .. }
                | Event::Trailers { .. }
                | Event::Settings
                | Event::GoAway { .. } => continue,
            };
            let stream = slot_of(&mut self.streams, self.id, id, core);
            if is_behind && stream.id == Some(id) {
                stream.brake(core);
            }
            match event {
                Event::Head { head, .. } => {
                    stream.begin(id, &head, is_behind, core);
                    if self.behind_at.is_none() {
                        self.deadline.clear();
                    }
                }
                Event::Body { bytes, .. } if stream.id == Some(id) => {
                    stream.take_body(bytes, core);
                }
                Event::End { .. } if stream.id == Some(id) => stream.end_request(core),
                Event::Reset { .. } if stream.id == Some(id) => stream.give_up(core),
                _ => continue,
            }
            stream.count(&mut self.held);
            self.stirred.push(id.slot() as u32);
        }
    }

    pub(crate) fn with_stream<I: Io>(
        &mut self,
        slot: u32,
        core: &mut Core<I>,
        act: impl FnOnce(&mut Client, &mut Core<I>) -> Fate,
    ) -> Fate {
        if let Some(stream) = self.streams.get_mut(slot as usize)
            && stream.id.is_some()
        {
            stream.fate = act(&mut stream.client, core);
            self.stirred.push(slot);
        }
        self.settle(core)
    }

    pub(crate) fn sent<I: Io>(&mut self, core: &mut Core<I>, bytes: Vec<u8>) -> Fate {
        self.outbox.sent(bytes);
        self.stirred.append(&mut self.crowded);
        self.settle(core)
    }

    /// Handles FIN from the client, which still receives the responses to its requests, as far as
    /// its windows allow.
    pub(crate) fn end_of_stream<I: Io>(&mut self, core: &mut Core<I>) -> Fate {
        self.is_finished = true;
        if self.state == State::Lingering {
            return Fate::Close;
        }
        self.settle(core)
    }

    pub(crate) fn due<I: Io>(&mut self, core: &mut Core<I>) -> Fate {
        let client_ref = ClientRef::from(self.id);
        if !self
            .deadline
            .expired(core.polled_ns, client_ref, &mut core.timers)
            || self.is_busy() && self.behind_at.is_none()
        {
            return Fate::Keep;
        }
        let owes_bytes = self.outbox.pending_bytes() > 0 || self.server.open_count() > 0;
        if owes_bytes && self.state == State::Open && core.is_draining() {
            // The client has time until the end of the drain.
            self.stir(core);
            return Fate::Keep;
        }
        if self.behind_at.is_some() && self.state == State::Open {
            return self.turn_out(core);
        }
        if owes_bytes || self.state != State::Open {
            return Fate::Abort;
        }
        self.server.go_away(self.outbox.queue());
        self.state = State::Closing;
        self.settle(core)
    }

    /// Asks the client to begin no further requests on this connection, because the gateway is
    /// stopping.
    pub(crate) fn drain<I: Io>(&mut self, core: &mut Core<I>) {
        if self.state == State::Open {
            self.server.announce_end(self.outbox.queue());
            if !self.is_busy() {
                self.stir(core);
            }
            self.outbox.flush(&mut core.io, self.id, false);
        }
    }

    pub(crate) fn stream_due<I: Io>(&mut self, slot: u32, core: &mut Core<I>) -> Fate {
        let stream = self.streams.get_mut(slot as usize);
        if let Some(idle) = stream.filter(|stream| stream.id.is_none()) {
            idle.client.exchange.forget_deadline(core);
            return Fate::Keep;
        }
        if self.behind_at.is_some() && self.has_queued(slot) {
            // A client that is behind has one deadline for everything that it leaves unread.
            return self.with_stream(slot, core, |client, core| {
                client.exchange.forget_deadline(core);
                client.advance(core)
            });
        }
        self.with_stream(slot, core, Client::due)
    }

    fn is_busy(&self) -> bool {
        self.streams.iter().any(|stream| stream.id.is_some())
    }

    /// Restarts the time that the client has for the next request, or for receiving the rest of its
    /// responses.
    fn stir<I: Io>(&mut self, core: &mut Core<I>) {
        self.wait(core.idle_ns(), core);
    }

    fn wait<I>(&mut self, wait_ns: u64, core: &mut Core<I>) {
        let due_ns = core.now_ns + wait_ns;
        self.deadline.set(due_ns, self.id.into(), &mut core.timers);
    }

    /// Collects output from streams that have some, sends the queued bytes and decides whether the
    /// connection stays open.
    fn settle<I: Io>(&mut self, core: &mut Core<I>) -> Fate {
        let was_busy = !self.stirred.is_empty();
        loop {
            while let Some(slot) = self.stirred.pop() {
                self.speak(slot, core);
            }
            self.share_memory(core);
            if !self.stirred.is_empty() {
                continue;
            }
            self.outbox.flush(&mut core.io, self.id, false);
            // A send that finishes immediately produces no event, so the waiting slots continue
            // here.
            if self.outbox.pending_bytes() > 0 || self.crowded.is_empty() {
                break;
            }
            self.stirred.append(&mut self.crowded);
        }
        if was_busy && !self.is_busy() && self.state == State::Open {
            self.stir(core);
        }
        if self.state == State::Open {
            self.watch(core);
        }
        if self.outbox.pending_bytes() > 0 {
            return Fate::Keep;
        }
        match self.state {
            State::Closing if self.is_finished => Fate::Close,
            State::Closing => {
                self.state = State::Lingering;
                core.io.shutdown(self.id);
                self.deadline = Deadline::default();
                self.wait(LINGER_NS, core);
                Fate::Keep
            }
            // Bytes that wait for windows would wait forever, because no window update can arrive.
            State::Open if self.is_finished && !self.is_busy() => Fate::Close,
            State::Open | State::Lingering => Fate::Keep,
        }
    }

    fn speak<I: Io>(&mut self, slot: u32, core: &mut Core<I>) {
        self.frame(slot, core);
        if let Some(stream) = self.streams.get_mut(slot as usize) {
            stream.count(&mut self.held);
        }
    }

    fn frame<I: Io>(&mut self, slot: u32, core: &mut Core<I>) {
        let Some(stream) = self.streams.get_mut(slot as usize) else {
            return;
        };
        let Some(id) = stream.id else { return };
        let out = self.outbox.queue();
        if out.len() > PENDING_BYTES_MAX {
            self.crowded.push(slot);
            return;
        }
        if self.server.unsent_bytes(id) < UNSENT_BYTES_MAX {
            let has_spoken = stream.speak(id, &mut self.server, &mut self.block, out);
            if has_spoken && !stream.has_response_ended {
                stream.client.exchange.relieve(core);
                if stream.fate == Fate::Keep {
                    stream.fate = stream.client.advance(core);
                }
                self.stirred.push(slot);
            }
        }
        if stream.has_response_ended {
            return stream.end(core);
        }
        if stream.fate != Fate::Keep {
            let code = ErrorCode::INTERNAL_ERROR;
            self.server.reset(id, code, self.outbox.queue());
            return stream.give_up(core);
        }
        let waits = stream.client.is_waiting() || stream.is_put_off;
        if std::mem::replace(&mut stream.is_held, waits) != waits {
            self.server.hold(id, waits, self.outbox.queue());
        }
    }

    /// Gives up the pending requests. The client has a limited time to read the bytes queued so
    /// far.
    fn end<I: Io>(&mut self, core: &mut Core<I>) {
        self.state = State::Closing;
        let busy = self.streams.iter_mut().filter(|it| it.id.is_some());
        busy.for_each(|stream| stream.give_up(core));
        self.stir(core);
    }
}

/// Returns the slot of a stream, which is created on first use.
fn slot_of<'s, I: Io>(
    streams: &'s mut Vec<Stream>,
    conn: ConnId,
    id: StreamId,
    core: &mut Core<I>,
) -> &'s mut Stream {
    while streams.len() <= id.slot() {
        let slot = Some(streams.len() as u32);
        streams.push(Stream::new(ClientRef { conn, slot }, core));
    }
    &mut streams[id.slot()]
}
