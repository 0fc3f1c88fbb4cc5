//! A request and its answer: what is kept from the head to the last byte queued.

use gatebench_net::http1::{Head, ProtocolError};
use gatebench_net::trace::{NONCE_HEADER, Nonce, TIMES_BYTES, Times};
use gatebench_net::{ConnId, Io, Outbox};

use crate::answer::{Answer, Body, HeadOptions, write_head};
use crate::apps::{self, Asked};
use crate::connection::Env;
use crate::control;
use crate::pattern::{self, BLOCK_BYTES};

/// Output beyond this waits, and no further request is read.
const PENDING_BYTES_MAX: usize = 128 * 1024;

/// Buffers that one large body has grown beyond this are given back.
const KEEP_BYTES: usize = 1 << 20;

/// A connection but for its decoder, whose events are borrowed while this changes.
pub(crate) struct Exchange {
    pub(crate) outbox: Outbox,
    pub(crate) state: State,
    pub(crate) request: Request,
    /// What the route has prepared at the head.
    scratch: Vec<u8>,
    request_body: Vec<u8>,
    /// A body made of several parts.
    composed: Vec<u8>,
    pub(crate) stream: Option<Stream>,
    /// Answers queued whose times are still to be filled in.
    stamps: Vec<Stamp>,
    /// Who sent the first request.
    pub(crate) speaker: Option<Speaker>,
}

/// Whose connection it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    Client,
    Control,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
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
pub(crate) struct Request {
    answer: Answer,
    nonce: Option<Nonce>,
    received_ns: u64,
    pub(crate) wire_bytes: u64,
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
pub(crate) struct Stream {
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

impl Exchange {
    pub(crate) fn new() -> Self {
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
    pub(crate) fn is_blocked(&self) -> bool {
        self.state != State::Reading
            || self.stream.is_some()
            || self.outbox.pending_bytes() > PENDING_BYTES_MAX
    }

    /// A head was read: decides the answer.
    pub(crate) fn begin<I>(&mut self, env: &mut Env<'_, I>, head: &Head<'_>) {
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

    pub(crate) fn take_body(&mut self, piece: &[u8]) {
        if self.request.answer.needs_request_body() {
            self.request_body.extend_from_slice(piece);
        }
    }

    /// Counts the request that has just become whole; answers its delay.
    pub(crate) fn note<I>(&mut self, env: &mut Env<'_, I>) -> u64 {
        let request = &mut self.request;
        request.received_ns = env.now_ns;
        if !request.is_control {
            if env.ledger.note(env.counters, request.nonce) {
                // The times of a retry are not those of the request: it is counted, not timed.
                request.nonce = None;
            }
            env.counters.bytes_in.add(request.wire_bytes);
        }
        request.wire_bytes = 0;
        request.answer.delay_ns
    }

    /// Queues the answer, or as much of it as may wait.
    pub(crate) fn answer<I>(&mut self, env: &mut Env<'_, I>) {
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
    pub(crate) fn fill(&mut self) {
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
    pub(crate) fn refuse<I>(&mut self, env: &mut Env<'_, I>, error: &ProtocolError) {
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
    pub(crate) fn flush<I: Io>(&mut self, io: &mut I, id: ConnId) {
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
