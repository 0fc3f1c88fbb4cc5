//! One client's connection: requests in, answers out, in order.
//!
//! It reads no further while an answer is delayed, while a long body is being sent, and while the
//! client is slow to take what was sent. What arrives meanwhile waits in the kernel, but for what was
//! under way, which waits in the backlog.

use gatebench_net::http1::{Decoder, Event, Head, Limits, ProtocolError};
use gatebench_net::timers::{Deadline, Timers};
use gatebench_net::trace::{NONCE_HEADER, Nonce, TIMES_BYTES, Times};
use gatebench_net::{ConnId, Io, Outbox};

use crate::answer::{Answer, Body, HeadOptions, write_head};
use crate::apps::{self, Asked};
use crate::counters::Counters;
use crate::ledger::Ledger;
use crate::pattern::{self, BLOCK_BYTES};
use crate::random::Random;
use crate::wall_clock::TimeBodies;
use crate::{BODY_BYTES_MAX, Kind, control};

/// Output beyond this waits, and no further request is read.
const PENDING_BYTES_MAX: usize = 128 * 1024;

/// How long a connection lives on after its last answer, for the client to read it: closing at once
/// could destroy it on the way (RFC 9112 9.6).
const LINGER_NS: u64 = 1_000_000_000;

/// Buffers that one large body has grown beyond this are given back.
const KEEP_BYTES: usize = 1 << 20;

/// What all connections of a worker use.
pub(crate) struct Env<'a, I> {
    pub(crate) io: I,
    pub(crate) kind: Kind,
    pub(crate) ledger: &'a Ledger,
    pub(crate) counters: &'a Counters,
    pub(crate) timers: Timers<ConnId>,
    pub(crate) time_bodies: TimeBodies,
    pub(crate) random: Random,
    /// The clock as it was after the last poll.
    pub(crate) now_ns: u64,
}

/// Whether a connection lives on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Keep,
    Close,
}

pub(crate) struct Connection {
    id: ConnId,
    decoder: Decoder,
    exchange: Exchange,
    /// Received and not read yet.
    backlog: Vec<u8>,
    paused: bool,
    /// The client has sent FIN.
    finished: bool,
    deadline: Deadline,
}

/// A connection but for its decoder, whose events are borrowed while this changes.
struct Exchange {
    outbox: Outbox,
    state: State,
    request: Request,
    /// What the route has prepared at the head.
    scratch: Vec<u8>,
    request_body: Vec<u8>,
    /// A body made of several parts.
    composed: Vec<u8>,
    stream: Option<Stream>,
    /// Answers queued whose times are still to be filled in.
    stamps: Vec<Stamp>,
    /// Who sent the first request.
    speaker: Option<Speaker>,
}

/// Whose connection it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaker {
    Client,
    Control,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    /// The request is whole and its answer is due later.
    Delayed,
    /// The last answer is queued.
    Closing,
    /// The last answer is sent, FIN too.
    Lingering,
}

/// What is kept of a request from its head to its answer.
#[derive(Clone, Copy)]
struct Request {
    answer: Answer,
    nonce: Option<Nonce>,
    received_ns: u64,
    wire_bytes: u64,
    is_head: bool,
    is_control: bool,
    is_http10: bool,
    keep_alive: bool,
}

#[derive(Clone, Copy)]
struct Stamp {
    at: usize,
    nonce: Nonce,
    received_ns: u64,
}

/// The part of a long body that has not been queued.
#[derive(Clone, Copy)]
struct Stream {
    source: Source,
    at: u64,
    end: u64,
}

#[derive(Clone, Copy)]
enum Source {
    Text,
    Noise,
    RequestBody,
    Composed,
}

impl Connection {
    pub(crate) fn new(id: ConnId) -> Self {
        let limits = Limits {
            body_bytes: BODY_BYTES_MAX,
            ..Limits::default()
        };
        Self {
            id,
            decoder: Decoder::requests(limits),
            exchange: Exchange::new(),
            backlog: Vec::new(),
            paused: false,
            finished: false,
            deadline: Deadline::default(),
        }
    }

    /// Whether the ledger counts this connection: not when only control spoke on it.
    pub(crate) fn is_counted(&self) -> bool {
        self.exchange.speaker != Some(Speaker::Control)
    }

    /// Bytes have come.
    pub(crate) fn received<I: Io>(&mut self, env: &mut Env<'_, I>, bytes: &[u8]) -> Fate {
        if matches!(self.exchange.state, State::Closing | State::Lingering) {
            return Fate::Keep;
        }
        if self.exchange.is_blocked() || !self.backlog.is_empty() {
            self.backlog.extend_from_slice(bytes);
            self.pause(env);
            return Fate::Keep;
        }
        self.read(env, bytes);
        self.settle(env)
    }

    /// A send is done.
    pub(crate) fn sent<I: Io>(&mut self, env: &mut Env<'_, I>, bytes: Vec<u8>) -> Fate {
        self.exchange.outbox.sent(bytes);
        self.exchange.fill();
        self.advance(env)
    }

    /// A deadline of this connection came out of the queue.
    pub(crate) fn due<I: Io>(&mut self, env: &mut Env<'_, I>) -> Fate {
        if !self.deadline.expired(env.now_ns, self.id, &mut env.timers) {
            return Fate::Keep;
        }
        match self.exchange.state {
            State::Delayed => {
                self.exchange.state = State::Reading;
                self.exchange.answer(env);
                self.advance(env)
            }
            State::Lingering => Fate::Close,
            State::Reading | State::Closing => Fate::Keep,
        }
    }

    /// The client will send no more.
    pub(crate) fn end_of_stream<I: Io>(&mut self, env: &mut Env<'_, I>) -> Fate {
        self.finished = true;
        if self.exchange.state == State::Lingering {
            return Fate::Close;
        }
        self.settle(env)
    }

    /// Goes on with the backlog, as far as it may.
    fn advance<I: Io>(&mut self, env: &mut Env<'_, I>) -> Fate {
        while !self.exchange.is_blocked() && !self.backlog.is_empty() {
            let backlog = std::mem::take(&mut self.backlog);
            self.read(env, &backlog);
        }
        self.settle(env)
    }

    /// Reads requests; what may not be read yet goes to the backlog.
    fn read<I: Io>(&mut self, env: &mut Env<'_, I>, bytes: &[u8]) {
        let mut input = bytes;
        while !self.exchange.is_blocked() {
            let before = input.len();
            let event = match self.decoder.next(&mut input) {
                Ok(Some(event)) => event,
                Ok(None) => {
                    self.exchange.request.wire_bytes += before as u64;
                    return;
                }
                Err(error) => return self.exchange.refuse(env, &error),
            };
            self.exchange.request.wire_bytes += (before - input.len()) as u64;
            match event {
                Event::Head(head) => self.exchange.begin(env, &head),
                Event::Body(piece) => self.exchange.take_body(piece),
                Event::End => self.finish(env),
                // Only responses are informational.
                Event::Informational(_) => {}
            }
        }
        if self.exchange.state != State::Closing {
            self.backlog.extend_from_slice(input);
        }
    }

    /// The request is whole.
    fn finish<I: Io>(&mut self, env: &mut Env<'_, I>) {
        let delay_ns = self.exchange.note(env);
        if delay_ns == 0 {
            return self.exchange.answer(env);
        }
        self.exchange.state = State::Delayed;
        let due_ns = env.now_ns.saturating_add(delay_ns);
        self.deadline.set(due_ns, self.id, &mut env.timers);
    }

    /// Sends what is queued and decides how it goes on.
    fn settle<I: Io>(&mut self, env: &mut Env<'_, I>) -> Fate {
        self.exchange.flush(&mut env.io, self.id);
        if self.paused && self.backlog.is_empty() && !self.exchange.is_blocked() {
            self.paused = false;
            env.io.resume(self.id);
        }
        if self.exchange.outbox.pending_bytes() > 0 || self.exchange.stream.is_some() {
            return Fate::Keep;
        }
        match self.exchange.state {
            State::Closing if self.finished => Fate::Close,
            State::Closing => {
                self.exchange.state = State::Lingering;
                env.io.shutdown(self.id);
                self.resume_to_discard(env);
                let due_ns = env.now_ns + LINGER_NS;
                self.deadline.set(due_ns, self.id, &mut env.timers);
                Fate::Keep
            }
            State::Reading if self.finished && self.backlog.is_empty() => Fate::Close,
            State::Reading | State::Delayed | State::Lingering => Fate::Keep,
        }
    }

    fn pause<I: Io>(&mut self, env: &mut Env<'_, I>) {
        if !self.paused {
            self.paused = true;
            env.io.pause(self.id);
        }
    }

    fn resume_to_discard<I: Io>(&mut self, env: &mut Env<'_, I>) {
        self.backlog = Vec::new();
        if self.paused {
            self.paused = false;
            env.io.resume(self.id);
        }
    }
}

impl Exchange {
    fn new() -> Self {
        Self {
            outbox: Outbox::default(),
            state: State::Reading,
            request: Request {
                answer: Answer::not_found(),
                nonce: None,
                received_ns: 0,
                wire_bytes: 0,
                is_head: false,
                is_control: false,
                is_http10: false,
                keep_alive: true,
            },
            scratch: Vec::new(),
            request_body: Vec::new(),
            composed: Vec::new(),
            stream: None,
            stamps: Vec::new(),
            speaker: None,
        }
    }

    /// Whether no further byte may be read now.
    fn is_blocked(&self) -> bool {
        self.state != State::Reading
            || self.stream.is_some()
            || self.outbox.pending_bytes() > PENDING_BYTES_MAX
    }

    /// A head was read: decides the answer.
    fn begin<I>(&mut self, env: &mut Env<'_, I>, head: &Head<'_>) {
        self.scratch.clear();
        self.request_body.clear();
        let asked = Asked::new(head);
        self.request.is_control = control::is_reserved(asked.path);
        self.identify(env);
        let request = &mut self.request;
        request.answer = if request.is_control {
            control::answer(asked.method, asked.path, env.ledger, &mut self.scratch)
        } else {
            apps::answer(env.kind, &asked, &mut self.scratch, &mut env.random)
        };
        request.nonce = head.field(NONCE_HEADER).and_then(Nonce::from_hex);
        request.is_head = asked.method == "HEAD";
        request.is_http10 = head.version_minor() == 0;
        request.keep_alive = head.keep_alive();
        if head.expects_continue() {
            self.outbox
                .queue()
                .extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
    }

    /// By its first request a connection turns out to be control's; it was counted when it came and
    /// is taken out again.
    fn identify<I>(&mut self, env: &mut Env<'_, I>) {
        if self.speaker.is_some() {
            return;
        }
        self.speaker = Some(Speaker::Client);
        if self.request.is_control {
            self.speaker = Some(Speaker::Control);
            env.counters.accepted.take_back(1);
        }
    }

    fn take_body(&mut self, piece: &[u8]) {
        if self.request.answer.needs_request_body() {
            self.request_body.extend_from_slice(piece);
        }
    }

    /// Counts the request that has just become whole; answers its delay.
    fn note<I>(&mut self, env: &mut Env<'_, I>) -> u64 {
        let request = &mut self.request;
        request.received_ns = env.now_ns;
        if !request.is_control {
            env.ledger.note(env.counters, request.nonce);
            env.counters.bytes_in.add(request.wire_bytes);
        }
        request.wire_bytes = 0;
        request.answer.delay_ns
    }

    /// Queues the answer, or as much of it as may wait.
    fn answer<I>(&mut self, env: &mut Env<'_, I>) {
        let Request {
            answer,
            is_head,
            keep_alive,
            is_http10,
            ..
        } = self.request;
        let source = self.compose(env);
        let length = self.length_of(&source);
        let connection = match (keep_alive, is_http10) {
            (false, _) => Some("close"),
            (true, true) => Some("keep-alive"),
            (true, false) => None,
        };
        let echoes = answer.body == Body::Echo;
        let head = HeadOptions {
            status: answer.status,
            content_type: if echoes {
                &self.scratch
            } else {
                answer.content_type.as_bytes()
            },
            length,
            allow: answer.allow,
            times: self.request.nonce.is_some(),
            connection,
        };
        let out = self.outbox.queue();
        let before = out.len();
        let times_at = write_head(out, &head);
        let has_body = !is_head && !matches!(answer.status, 204 | 304);
        if !self.request.is_control {
            let body_bytes = if has_body { length } else { 0 };
            env.counters
                .bytes_out
                .add((out.len() - before) as u64 + body_bytes);
        }
        if let (Some(at), Some(nonce)) = (times_at, self.request.nonce) {
            self.stamps.push(Stamp {
                at,
                nonce,
                received_ns: self.request.received_ns,
            });
        }
        if has_body {
            match source {
                Whole::Static(bytes) => out.extend_from_slice(bytes),
                Whole::Scratch => out.extend_from_slice(&self.scratch),
                Whole::Long(source, _) => {
                    self.stream = Some(Stream {
                        source,
                        at: 0,
                        end: length,
                    });
                    self.fill();
                }
            }
        }
        if !keep_alive {
            self.state = State::Closing;
        }
    }

    /// Makes the body, where it is made of parts, and says where it lies.
    fn compose<I>(&mut self, env: &mut Env<'_, I>) -> Whole {
        match self.request.answer.body {
            Body::Static(bytes) => Whole::Static(bytes),
            Body::Scratch => Whole::Scratch,
            Body::Time { valid } => {
                self.scratch.clear();
                self.scratch
                    .extend_from_slice(env.time_bodies.at(env.now_ns, valid));
                Whole::Scratch
            }
            Body::Text(bytes) => Whole::Long(Source::Text, bytes),
            Body::Noise(bytes) => Whole::Long(Source::Noise, bytes),
            Body::Echo => Whole::Long(Source::RequestBody, self.request_body.len() as u64),
            Body::Anything(parts) => {
                self.composed.clear();
                apps::write_anything(&mut self.composed, parts, &self.scratch, &self.request_body);
                Whole::Long(Source::Composed, self.composed.len() as u64)
            }
        }
    }

    fn length_of(&self, whole: &Whole) -> u64 {
        match whole {
            Whole::Static(bytes) => bytes.len() as u64,
            Whole::Scratch => self.scratch.len() as u64,
            Whole::Long(_, bytes) => *bytes,
        }
    }

    /// Queues more of a long body, up to what may wait.
    fn fill(&mut self) {
        while let Some(stream) = &mut self.stream {
            if stream.at == stream.end {
                self.stream = None;
                self.request_body.shrink_to(KEEP_BYTES);
                self.composed.shrink_to(KEEP_BYTES);
                return;
            }
            if self.outbox.pending_bytes() >= PENDING_BYTES_MAX {
                return;
            }
            let wanted = (stream.end - stream.at).min(BLOCK_BYTES as u64) as usize;
            let (at, block_at) = (stream.at as usize, stream.at as usize % BLOCK_BYTES);
            let piece = match stream.source {
                Source::Text => &pattern::TEXT[block_at..],
                Source::Noise => &pattern::NOISE[block_at..],
                Source::RequestBody => &self.request_body[at..],
                Source::Composed => &self.composed[at..],
            };
            let piece = &piece[..wanted.min(piece.len())];
            self.outbox.queue().extend_from_slice(piece);
            stream.at += piece.len() as u64;
        }
    }

    /// The client broke the protocol or a limit: says so and ends the connection.
    fn refuse<I>(&mut self, env: &mut Env<'_, I>, error: &ProtocolError) {
        env.counters.protocol_errors.add(1);
        let head = HeadOptions {
            status: error.response_status(),
            content_type: crate::answer::TEXT.as_bytes(),
            length: 0,
            allow: None,
            times: false,
            connection: Some("close"),
        };
        write_head(self.outbox.queue(), &head);
        self.state = State::Closing;
    }

    /// Hands what is queued to the kernel, unless it is still busy with what came before. Answers
    /// with times leave at once, so that the clock read here is right; others leave in a batch.
    fn flush<I: Io>(&mut self, io: &mut I, id: ConnId) {
        let queued = self.outbox.queue().len();
        if queued == 0 || self.outbox.pending_bytes() > queued {
            return;
        }
        let is_timed = !self.stamps.is_empty();
        if is_timed {
            let now_ns = io.now_ns();
            for stamp in self.stamps.drain(..) {
                let times = Times {
                    nonce: stamp.nonce,
                    received_ns: stamp.received_ns,
                    service_ns: now_ns.saturating_sub(stamp.received_ns),
                };
                let place = &mut self.outbox.queue()[stamp.at..stamp.at + TIMES_BYTES];
                times.write(place.try_into().expect("the place is as long as the times"));
            }
        }
        self.outbox.flush(io, id, is_timed);
    }
}

/// Where a whole body lies.
enum Whole {
    Static(&'static [u8]),
    Scratch,
    Long(Source, u64),
}
