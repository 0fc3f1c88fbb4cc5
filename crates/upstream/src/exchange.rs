//! A request and its response, over HTTP/1.1 or HTTP/2.

use gatebench_net::Io;
use gatebench_net::http1::{write_chunk, write_last_chunk};
use gatebench_net::trace::{NONCE_HEADER, Nonce, Times};

use crate::apps::{self, Apps};
use crate::asked::Asked;
use crate::control;
use crate::env::Env;
use crate::http2::{PIECE_BYTES, Reply, Responding, Step};
use crate::pattern::{self, BLOCK_BYTES};
use crate::response::{Body, HeadOptions, Response};

/// A request header that causes a pause in the middle of the response's body, except over HTTP/2.
/// Its value is the length of the pause, in milliseconds; more than 1,000 counts as 1,000. The
/// pause shows whether a gateway forwards bytes as they arrive.
pub const PAUSE_HEADER: &str = "gatebench-pause";

const PAUSE_MS_MAX: u64 = 1_000;

fn pause_ns(value: &[u8]) -> u64 {
    let ms: u64 = std::str::from_utf8(value).map_or(0, |text| text.parse().unwrap_or(0));
    ms.min(PAUSE_MS_MAX) * 1_000_000
}

/// The maximum capacity, in bytes, that an HTTP/1.1 connection's buffer keeps after a large body.
const KEEP_BYTES: usize = 1 << 20;

/// The maximum capacity, in bytes, that an HTTP/2 stream's buffer keeps. It is smaller because
/// there are many streams.
const KEEP_BYTES_OF_STREAM: usize = 32 * 1024;

/// The state of a request and its response, from the request's head to the last byte of the
/// response. The memory is reused for later requests.
#[derive(Default)]
pub(crate) struct Exchange {
    response: Response,
    /// The nonce, which the response returns with its times.
    nonce: Option<Nonce>,
    received_ns: u64,
    is_head: bool,
    pub(crate) is_control: bool,
    /// The bytes that the route has prepared from the head, or the body with the time of day.
    scratch: Vec<u8>,
    request_body: Vec<u8>,
    /// The number of bytes in the request's body, including those that are not kept.
    request_bytes: u64,
    pause_ns: u64,
    /// The body, if it is the result of a calculation, or is composed of several parts or chunks.
    composed: Vec<u8>,
    rest: Rest,
    /// True if the head of the response is queued.
    begun: bool,
}

/// The part of a body that has not been queued yet.
#[derive(Clone, Copy, Default)]
struct Rest {
    source: Source,
    at: u64,
    end: u64,
    /// The position of the first byte that must not be sent until the pause is over.
    held_at: Option<u64>,
}

#[derive(Clone, Copy, Default)]
enum Source {
    Static(&'static [u8]),
    #[default]
    Scratch,
    Text,
    Noise,
    RequestBody,
    Composed,
}

impl Exchange {
    /// Returns the number of bytes of the piece that are kept.
    pub(crate) fn take_body(&mut self, piece: &[u8]) -> usize {
        self.request_bytes += piece.len() as u64;
        if !self.response.needs_request_body() {
            return 0;
        }
        self.request_body.extend_from_slice(piece);
        piece.len()
    }

    /// Counts a request that has just become complete, unless its path is a control path. Returns
    /// the delay of the response, in nanoseconds.
    pub(crate) fn note<I>(&mut self, env: &mut Env<'_, I, Apps>, wire_bytes: u64) -> u64 {
        self.received_ns = env.now_ns;
        if !self.is_control {
            if env.ledger.note(env.counters, self.nonce) {
                // A retry is counted but not timed, because its times are not those of the original
                // request.
                self.nonce = None;
            }
            env.counters.bytes_in.add(wire_bytes);
            env.counters.body_bytes.add(self.request_bytes);
            return self.response.delay_ns + env.ledger.health.delay_ns();
        }
        self.response.delay_ns
    }

    /// If `chunked` is true, a streamed body is split into chunks.
    pub(crate) fn compose<I>(&mut self, env: &mut Env<'_, I, Apps>, chunked: bool) {
        self.composed.clear();
        let (source, bytes) = match self.response.body {
            Body::Static(bytes) => (Source::Static(bytes), bytes.len() as u64),
            Body::Scratch => (Source::Scratch, self.scratch.len() as u64),
            Body::Time { valid } => {
                self.scratch.clear();
                let body = env.origin.time_bodies.at(env.now_ns, valid);
                self.scratch.extend_from_slice(body);
                (Source::Scratch, body.len() as u64)
            }
            Body::Text(bytes) => (Source::Text, bytes),
            Body::Noise(bytes) => (Source::Noise, bytes),
            Body::Echo => (Source::RequestBody, self.request_body.len() as u64),
            Body::Anything(parts) => {
                apps::write_anything(&mut self.composed, parts, &self.scratch, &self.request_body);
                (Source::Composed, self.composed.len() as u64)
            }
            Body::Calculation(calculation) => {
                let out = &mut self.composed;
                self.response.status = apps::calculate(calculation, &self.request_body, out);
                (Source::Composed, self.composed.len() as u64)
            }
            Body::Lines if chunked => {
                for line in self.scratch.split_inclusive(|&byte| byte == b'\n') {
                    write_chunk(&mut self.composed, line);
                }
                write_last_chunk(&mut self.composed);
                (Source::Composed, self.composed.len() as u64)
            }
            Body::Lines => (Source::Scratch, self.scratch.len() as u64),
        };
        self.rest = Rest {
            source,
            at: 0,
            end: bytes,
            held_at: None,
        };
    }

    /// The body must already have been composed.
    pub(crate) fn head(&self) -> HeadOptions<'_> {
        let response = &self.response;
        let is_echo = response.body == Body::Echo;
        HeadOptions {
            content_type: if is_echo {
                &self.scratch
            } else {
                response.content_type.as_bytes()
            },
            length: Some(self.rest.end),
            times: self.nonce.is_some(),
            ..HeadOptions::of(response)
        }
    }

    /// Reports whether the response is streamed: sent without its total length, except over
    /// HTTP/1.0.
    pub(crate) fn is_streamed(&self) -> bool {
        self.response.body == Body::Lines
    }

    /// Records that the head is queued. Returns the number of body bytes that follow, which is 0
    /// for HEAD and for statuses without a body.
    pub(crate) fn begin_body(&mut self) -> u64 {
        self.begun = true;
        if !self.has_body() {
            self.rest.end = 0;
        }
        self.rest.end
    }

    /// Holds back the second half of the body if the request sets a pause. Returns the length of
    /// the pause, in nanoseconds.
    pub(crate) fn hold_half(&mut self) -> Option<u64> {
        let half = self.rest.end / 2;
        self.rest.held_at = (self.pause_ns > 0 && half > 0).then_some(half);
        self.rest.held_at.map(|_| self.pause_ns)
    }

    pub(crate) fn end_hold(&mut self) {
        self.rest.held_at = None;
    }

    fn has_body(&self) -> bool {
        !self.is_head && !matches!(self.response.status, 204 | 304)
    }

    /// Returns the times of a response that is sent at `now_ns`; `None` if the request has no
    /// nonce, or is a retry.
    pub(crate) fn times(&self, now_ns: u64) -> Option<Times> {
        self.nonce.map(|nonce| Times {
            nonce,
            received_ns: self.received_ns,
            service_ns: now_ns.saturating_sub(self.received_ns),
        })
    }

    /// Reports whether a reset replaces the response, because the origin is set to reset
    /// connections.
    pub(crate) fn is_reset<I>(&self, env: &Env<'_, I, Apps>) -> bool {
        !self.is_control && env.ledger.health.is_resetting()
    }

    /// Returns the number of body bytes that are not queued yet.
    pub(crate) fn left_bytes(&self) -> u64 {
        self.rest.end - self.rest.at
    }

    /// Returns the next bytes of the body, at most `bytes_max`; none if the pause holds them back.
    pub(crate) fn piece(&self, bytes_max: usize) -> &[u8] {
        let until = self.rest.held_at.unwrap_or(self.rest.end);
        let wanted = (until - self.rest.at).min(bytes_max as u64) as usize;
        let at = self.rest.at as usize;
        let piece = match self.rest.source {
            Source::Static(bytes) => &bytes[at..],
            Source::Scratch => &self.scratch[at..],
            Source::Text => &pattern::TEXT[at % BLOCK_BYTES..],
            Source::Noise => &pattern::NOISE[at % BLOCK_BYTES..],
            Source::RequestBody => &self.request_body[at..],
            Source::Composed => &self.composed[at..],
        };
        &piece[..wanted.min(piece.len())]
    }

    pub(crate) fn queued(&mut self, bytes: usize) {
        self.rest.at += bytes as u64;
        if self.left_bytes() == 0
            && matches!(self.rest.source, Source::RequestBody | Source::Composed)
        {
            self.release(KEEP_BYTES);
        }
    }

    /// Clears the buffers, and frees the memory of each beyond `keep_bytes` bytes.
    fn release(&mut self, keep_bytes: usize) {
        for bytes in [
            &mut self.scratch,
            &mut self.request_body,
            &mut self.composed,
        ] {
            bytes.clear();
            bytes.shrink_to(keep_bytes);
        }
    }
}

impl<I: Io> Responding<I, Apps> for Exchange {
    fn begin(&mut self, env: &mut Env<'_, I, Apps>, asked: &Asked<'_>, is_control: bool) {
        self.scratch.clear();
        self.request_body.clear();
        self.request_bytes = 0;
        self.begun = false;
        self.is_control = is_control;
        self.pause_ns = asked.field(PAUSE_HEADER).map_or(0, pause_ns);
        self.response = if is_control {
            control::response(asked.method, asked.path, env.ledger, &mut self.scratch)
        } else {
            env.counters.begin(asked);
            apps::response(&mut env.origin, asked, &mut self.scratch)
        };
        self.nonce = asked.field(NONCE_HEADER).and_then(Nonce::from_hex);
        self.is_head = asked.method == "HEAD";
    }

    fn take_body(&mut self, piece: &[u8]) -> usize {
        self.take_body(piece)
    }

    fn refuse(&mut self, response: Response) {
        self.response = response;
        self.request_body = Vec::new();
        self.nonce = None;
    }

    fn whole(&mut self, env: &mut Env<'_, I, Apps>, wire_bytes: u64) -> u64 {
        env.now_ns.saturating_add(self.note(env, wire_bytes))
    }

    fn go_on(&mut self, env: &mut Env<'_, I, Apps>, reply: &mut Reply<'_>) -> Step {
        if !self.begun {
            if self.is_reset(env) {
                return Step::Reset;
            }
            self.compose(env, false);
            let mut head = self.head();
            if self.is_streamed() {
                head.length = None;
            }
            let is_all = self.left_bytes() == 0 || !self.has_body();
            reply.head(&head, self.times(reply.now_ns), is_all);
            self.begin_body();
        }
        if self.left_bytes() > 0 && !reply.is_blocked() {
            let piece = self.piece(PIECE_BYTES);
            let sent = piece.len();
            reply.body(piece, sent as u64 == self.left_bytes());
            self.queued(sent);
        }
        match self.left_bytes() {
            0 => {
                self.release(KEEP_BYTES_OF_STREAM);
                Step::Done
            }
            _ => Step::More,
        }
    }

    fn given_up(&mut self, _: &mut Env<'_, I, Apps>) {
        self.release(KEEP_BYTES_OF_STREAM);
    }
}
