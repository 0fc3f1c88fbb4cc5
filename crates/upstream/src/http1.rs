//! A client's HTTP/1.1 connection, which sends responses in the order of the requests.
//!
//! The connection reads nothing more while a response is delayed, while a long body is being sent,
//! and while the client reads slowly. During that time, bytes that arrive wait in the inbox until
//! receiving is paused, and then in the kernel.

use gatebench_net::http1::{Decoder, Event};
use gatebench_net::timers::Deadline;
use gatebench_net::trace::{TIMES_BYTES, Times};
use gatebench_net::{ConnId, Io, Outbox};

use crate::apps::Apps;
use crate::asked::Asked;
use crate::control;
use crate::env::{CONTINUE, Conversation, Fate, PENDING_BYTES_MAX, Speaker};
use crate::exchange::Exchange;
use crate::http2::Responding;
use crate::inbox::{Inbox, request_decoder};
use crate::pattern::BLOCK_BYTES;
use crate::response::write_head;

type Env<'a, I> = crate::env::Env<'a, I, Apps>;

pub(crate) struct Connection {
    id: ConnId,
    decoder: Decoder,
    outbox: Outbox,
    state: State,
    request: Request,
    exchange: Exchange,
    /// The queued responses whose times have not been filled in yet.
    stamps: Vec<Stamp>,
    /// The kind of client that sent the first request.
    speaker: Option<Speaker>,
    inbox: Inbox,
    /// True if the client has sent FIN.
    finished: bool,
    deadline: Deadline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    /// The request is complete and its response is due later.
    Delayed,
    /// The connection is about to be reset, because the origin is set to reset connections.
    Broken,
    /// The last response is queued.
    Closing,
    /// The last response and FIN have been sent.
    Lingering,
}

/// The part of a request's state that HTTP/2 does not need.
#[derive(Clone, Copy)]
struct Request {
    wire_bytes: u64,
    is_http10: bool,
    keep_alive: bool,
}

#[derive(Clone, Copy)]
struct Stamp {
    at: usize,
    /// The times, without the service time, which is set just before sending.
    times: Times,
}

impl<I: Io> Conversation<I, Apps> for Connection {
    fn new(id: ConnId) -> Self {
        Self {
            id,
            decoder: request_decoder(),
            outbox: Outbox::default(),
            state: State::Reading,
            request: Request {
                wire_bytes: 0,
                is_http10: false,
                keep_alive: true,
            },
            exchange: Exchange::default(),
            stamps: Vec::new(),
            speaker: None,
            inbox: Inbox::default(),
            finished: false,
            deadline: Deadline::default(),
        }
    }

    fn received(&mut self, env: &mut Env<'_, I>, bytes: &[u8]) -> Fate {
        if matches!(self.state, State::Closing | State::Lingering) {
            return Fate::Keep;
        }
        if self.is_blocked() || !self.inbox.is_empty() {
            self.inbox.hold(&mut env.io, self.id, bytes);
            return Fate::Keep;
        }
        self.read(env, bytes);
        self.settle(env)
    }

    fn sent(&mut self, env: &mut Env<'_, I>, bytes: Vec<u8>) -> Fate {
        self.outbox.sent(bytes);
        self.fill();
        self.advance(env)
    }

    fn due(&mut self, env: &mut Env<'_, I>) -> Fate {
        if !self.deadline.expired(env.now_ns, self.id, &mut env.timers) {
            return Fate::Keep;
        }
        match self.state {
            State::Delayed => {
                self.state = State::Reading;
                self.respond(env);
                self.advance(env)
            }
            State::Lingering => Fate::Close,
            State::Reading | State::Closing => {
                self.exchange.end_hold();
                self.fill();
                self.advance(env)
            }
            State::Broken => Fate::Keep,
        }
    }

    fn end_of_stream(&mut self, env: &mut Env<'_, I>) -> Fate {
        self.finished = true;
        if self.state == State::Lingering {
            return Fate::Close;
        }
        self.settle(env)
    }

    fn gone(&mut self, _: &mut Env<'_, I>) -> Option<Speaker> {
        self.speaker
    }
}

impl Connection {
    fn is_blocked(&self) -> bool {
        self.state != State::Reading
            || self.exchange.left_bytes() > 0
            || self.outbox.pending_bytes() > PENDING_BYTES_MAX
    }

    /// Reads as much of the inbox as the state allows.
    fn advance<I: Io>(&mut self, env: &mut Env<'_, I>) -> Fate {
        while !self.is_blocked() && !self.inbox.is_empty() {
            let bytes = self.inbox.take();
            self.read(env, &bytes);
        }
        self.settle(env)
    }

    /// Reads requests. Bytes that may not be read yet are put in the inbox.
    fn read<I: Io>(&mut self, env: &mut Env<'_, I>, bytes: &[u8]) {
        let mut input = bytes;
        while !self.is_blocked() {
            let before = input.len();
            let event = match self.decoder.next(&mut input) {
                Ok(Some(event)) => event,
                Ok(None) => {
                    self.request.wire_bytes += before as u64;
                    return;
                }
                Err(error) => {
                    self.state = State::Closing;
                    return env.refuse(&error, &mut self.outbox);
                }
            };
            self.request.wire_bytes += (before - input.len()) as u64;
            match event {
                Event::Head(head) => {
                    let asked = Asked::over_http1(head);
                    let is_control = control::is_reserved(asked.path);
                    Speaker::identify(&mut self.speaker, is_control, env.counters);
                    self.exchange.begin(env, &asked, is_control);
                    self.request.is_http10 = head.version_minor() == 0;
                    self.request.keep_alive = head.keep_alive();
                    if head.expects_continue() {
                        self.outbox.queue().extend_from_slice(CONTINUE);
                    }
                }
                Event::Body(piece) => {
                    self.exchange.take_body(piece);
                }
                Event::End => self.finish(env),
                // Requests are never informational.
                Event::Informational(_) => {}
            }
        }
        if self.state != State::Closing {
            self.inbox.put_back(input);
        }
    }

    fn finish<I: Io>(&mut self, env: &mut Env<'_, I>) {
        let wire_bytes = std::mem::take(&mut self.request.wire_bytes);
        let delay_ns = self.exchange.note(env, wire_bytes);
        if self.exchange.is_reset(env) {
            self.state = State::Broken;
            return;
        }
        if delay_ns == 0 {
            return self.respond(env);
        }
        self.state = State::Delayed;
        let due_ns = env.now_ns.saturating_add(delay_ns);
        self.deadline.set(due_ns, self.id, &mut env.timers);
    }

    /// Queues the response, or as much of it as the limit on pending bytes allows.
    fn respond<I>(&mut self, env: &mut Env<'_, I>) {
        let Request {
            keep_alive,
            is_http10,
            ..
        } = self.request;
        self.exchange.compose(env, !is_http10);
        let mut head = self.exchange.head();
        head.connection = match (keep_alive, is_http10) {
            (false, _) => Some("close"),
            (true, true) => Some("keep-alive"),
            (true, false) => None,
        };
        if self.exchange.is_streamed() && !is_http10 {
            head.length = None;
        }
        let out = self.outbox.queue();
        let before = out.len();
        let times_at = write_head(out, &head);
        let head_bytes = (out.len() - before) as u64;
        if let (Some(at), Some(times)) = (times_at, self.exchange.times(0)) {
            self.stamps.push(Stamp { at, times });
        }
        let body_bytes = self.exchange.begin_body();
        if let Some(pause_ns) = self.exchange.hold_half() {
            let due_ns = env.now_ns + pause_ns;
            self.deadline.set(due_ns, self.id, &mut env.timers);
        }
        if !self.exchange.is_control {
            env.counters.bytes_out.add(head_bytes + body_bytes);
        }
        self.fill();
        if !keep_alive {
            self.state = State::Closing;
        }
    }

    /// Queues more of the body, up to the limit of pending bytes or up to the pause.
    fn fill(&mut self) {
        while self.exchange.left_bytes() > 0 && self.outbox.pending_bytes() < PENDING_BYTES_MAX {
            let piece = self.exchange.piece(BLOCK_BYTES);
            if piece.is_empty() {
                return;
            }
            self.outbox.queue().extend_from_slice(piece);
            let queued = piece.len();
            self.exchange.queued(queued);
        }
    }

    /// Passes the queued bytes to the kernel, unless an earlier send is outstanding. Responses with
    /// times are sent immediately, so that the clock reading is correct; others are batched.
    fn flush<I: Io>(&mut self, io: &mut I) {
        let queued = self.outbox.queue().len();
        if queued == 0 || self.outbox.pending_bytes() > queued {
            return;
        }
        let is_timed = !self.stamps.is_empty();
        if is_timed {
            let now_ns = io.now_ns();
            for Stamp { at, mut times } in self.stamps.drain(..) {
                times.service_ns = now_ns.saturating_sub(times.received_ns);
                let place = &mut self.outbox.queue()[at..at + TIMES_BYTES];
                times.write(place.try_into().expect("the slice is as long as the times"));
            }
        }
        self.outbox.flush(io, self.id, is_timed);
    }

    /// Sends the queued bytes and decides whether the connection stays open.
    fn settle<I: Io>(&mut self, env: &mut Env<'_, I>) -> Fate {
        if self.state == State::Broken {
            return Fate::Reset;
        }
        self.flush(&mut env.io);
        if !self.is_blocked() {
            self.inbox.resume(&mut env.io, self.id);
        }
        if self.outbox.pending_bytes() > 0 || self.exchange.left_bytes() > 0 {
            return Fate::Keep;
        }
        match self.state {
            State::Closing if self.finished => Fate::Close,
            State::Closing => {
                self.state = State::Lingering;
                env.linger(self.id, &mut self.deadline);
                self.inbox.discard(&mut env.io, self.id);
                Fate::Keep
            }
            State::Reading if self.finished && self.inbox.is_empty() => Fate::Close,
            State::Reading | State::Delayed | State::Broken | State::Lingering => Fate::Keep,
        }
    }
}
