//! One client's connection: one request at a time, answered when the case says.
//!
//! While a request is served nothing further is read: what arrives waits in the backlog, and receiving is
//! paused.

use gatebench_net::http1::{Decoder, Event, Limits, ProtocolError};
use gatebench_net::timers::Deadline;
use gatebench_net::{ConnId, Io, Outbox};

use super::Service;
use super::account::End;
use super::request::{Job, Request, What, write_first};
use super::service::Env;
use crate::answer::{Body, HeadOptions, TEXT, write_head};
use crate::{BODY_BYTES_MAX, pattern};

/// How long a connection lives on after its last answer, for the client to read it: closing at once
/// could destroy it on the way (RFC 9112 9.6).
const LINGER_NS: u64 = 1_000_000_000;

/// Whether a connection lives on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Keep,
    Close,
    /// Close with RST.
    Reset,
}

pub(super) struct Connection {
    id: ConnId,
    decoder: Decoder,
    outbox: Outbox,
    /// Received and not read yet.
    backlog: Vec<u8>,
    paused: bool,
    /// The client has sent FIN.
    finished: bool,
    state: State,
    request: Request,
    /// Whether control spoke first; known from the first request.
    is_controls: Option<bool>,
    deadline: Deadline,
}

enum State {
    Reading,
    Serving(Job),
    /// The last answer is queued.
    Closing,
    /// The last answer and FIN are sent.
    Lingering,
}

impl Connection {
    pub(super) fn new(id: ConnId) -> Self {
        let limits = Limits {
            body_bytes: BODY_BYTES_MAX,
            ..Limits::default()
        };
        Self {
            id,
            decoder: Decoder::requests(limits),
            outbox: Outbox::default(),
            backlog: Vec::new(),
            paused: false,
            finished: false,
            state: State::Reading,
            request: Request::none(),
            is_controls: None,
            deadline: Deadline::default(),
        }
    }

    /// The connection is no more.
    pub(super) fn gone<I: Io>(&self, env: &Env<'_, I>) {
        if self.is_controls != Some(true) {
            env.counters.closed.add(1);
        }
        if let State::Serving(job) = &self.state {
            let due_ns = job.ends_due_ns();
            env.shared
                .accounts
                .end(&job.receipt, End::Abandoned, due_ns, env.now_ns);
        }
    }

    /// Bytes have come.
    pub(super) fn received<I: Io>(&mut self, env: &mut Env<'_, I>, bytes: &[u8]) -> Fate {
        if matches!(self.state, State::Closing | State::Lingering) {
            return Fate::Keep;
        }
        if self.is_blocked() || !self.backlog.is_empty() {
            self.backlog.extend_from_slice(bytes);
            self.pause(env);
            return Fate::Keep;
        }
        self.read(env, bytes);
        self.settle(env)
    }

    /// A send is done.
    pub(super) fn sent<I: Io>(&mut self, env: &mut Env<'_, I>, bytes: Vec<u8>) -> Fate {
        self.outbox.sent(bytes);
        self.advance(env)
    }

    /// The client will send no more. One that is being answered may still read.
    pub(super) fn end_of_stream<I: Io>(&mut self, env: &mut Env<'_, I>) -> Fate {
        self.finished = true;
        match self.state {
            State::Lingering => Fate::Close,
            _ => self.settle(env),
        }
    }

    /// A deadline of this connection came out of the queue.
    pub(super) fn due<I: Io>(&mut self, env: &mut Env<'_, I>) -> Fate {
        if !self.deadline.expired(env.now_ns, self.id, &mut env.timers) {
            return Fate::Keep;
        }
        match self.state {
            State::Serving(_) => self.serve(env),
            State::Lingering => Fate::Close,
            State::Reading | State::Closing => Fate::Keep,
        }
    }

    fn is_blocked(&self) -> bool {
        !matches!(self.state, State::Reading) || self.outbox.pending_bytes() > 0
    }

    /// Goes on with the backlog, as far as it may.
    fn advance<I: Io>(&mut self, env: &mut Env<'_, I>) -> Fate {
        while !self.is_blocked() && !self.backlog.is_empty() {
            let backlog = std::mem::take(&mut self.backlog);
            self.read(env, &backlog);
            self.outbox.flush(&mut env.io, self.id, true);
        }
        self.settle(env)
    }

    /// Reads requests; what may not be read yet goes to the backlog.
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
                Err(error) => return self.refuse(env, &error),
            };
            let wire_bytes = (before - input.len()) as u64;
            match event {
                Event::Head(head) => {
                    self.request = Request::of(&head, env, &mut self.is_controls);
                    if head.expects_continue() {
                        self.outbox
                            .queue()
                            .extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                        self.outbox.flush(&mut env.io, self.id, true);
                    }
                }
                // The body of a request says nothing here; only responses are informational.
                Event::Body(_) | Event::Informational(_) => {}
                Event::End => {
                    self.request.wire_bytes += wire_bytes;
                    self.whole(env);
                    continue;
                }
            }
            self.request.wire_bytes += wire_bytes;
        }
        if !matches!(self.state, State::Closing) {
            self.backlog.extend_from_slice(input);
        }
    }

    /// The request is whole.
    fn whole<I: Io>(&mut self, env: &mut Env<'_, I>) {
        let request = &mut self.request;
        if !request.is_control {
            if env.shared.ledger.note(env.counters, request.nonce) {
                // The times of a retry are not those of the request: it is counted, not timed.
                request.nonce = None;
            }
            env.counters.bytes_in.add(request.wire_bytes);
        }
        let case = match &request.what {
            What::Case(case) => *case,
            What::AtOnce(..) => return self.answer_at_once(env),
        };
        let receipt = env.shared.accounts.receive(env.now_ns);
        let service = case.service(receipt.index, receipt.arrival_ns);
        let job = Job {
            receipt,
            service,
            pieces_sent: 0,
        };
        let due_ns = job.next_due_ns();
        self.state = State::Serving(job);
        self.deadline.set(due_ns, self.id, &mut env.timers);
    }

    /// Sends the pieces that are due.
    fn serve<I: Io>(&mut self, env: &mut Env<'_, I>) -> Fate {
        let State::Serving(job) = &mut self.state else {
            return Fate::Keep;
        };
        let Service {
            piece_bytes,
            body_bytes,
            is_reset,
            ..
        } = job.service;
        let from = job.pieces_sent * piece_bytes;
        let until = if is_reset {
            body_bytes / 2
        } else {
            (from + piece_bytes).min(body_bytes)
        };
        let before = self.outbox.pending_bytes();
        if job.pieces_sent == 0 {
            write_first(self.outbox.queue(), &self.request, job, env.io.now_ns());
        }
        if !self.request.is_head {
            pattern::copy(self.outbox.queue(), from..until);
        }
        job.pieces_sent += 1;
        let pieces_left = job.service.pieces() - job.pieces_sent;
        let due_ns = job.next_due_ns();
        env.counters
            .bytes_out
            .add((self.outbox.pending_bytes() - before) as u64);
        self.outbox.flush(&mut env.io, self.id, true);
        if pieces_left > 0 && !self.request.is_head {
            self.deadline.set(due_ns, self.id, &mut env.timers);
            return Fate::Keep;
        }
        self.told(env)
    }

    /// The last byte is on its way, or the reset is due.
    fn told<I: Io>(&mut self, env: &mut Env<'_, I>) -> Fate {
        let next = if self.request.keep_alive {
            State::Reading
        } else {
            State::Closing
        };
        let State::Serving(job) = std::mem::replace(&mut self.state, next) else {
            return Fate::Keep;
        };
        let end = if job.service.is_reset {
            End::Reset
        } else {
            End::Answered(job.service.body_bytes)
        };
        let (due_ns, now_ns) = (job.ends_due_ns(), env.io.now_ns());
        env.shared.accounts.end(&job.receipt, end, due_ns, now_ns);
        if end == End::Reset {
            return Fate::Reset;
        }
        self.advance(env)
    }

    fn answer_at_once<I: Io>(&mut self, env: &mut Env<'_, I>) {
        let What::AtOnce(answer, scratch) = &self.request.what else {
            return;
        };
        let body = match answer.body {
            Body::Static(bytes) => bytes,
            _ => &scratch[..],
        };
        let head = HeadOptions {
            status: answer.status,
            content_type: answer.content_type.as_bytes(),
            length: body.len() as u64,
            allow: answer.allow,
            times: false,
            connection: (!self.request.keep_alive).then_some("close"),
        };
        let out = self.outbox.queue();
        let before = out.len();
        write_head(out, &head);
        if !self.request.is_head {
            out.extend_from_slice(body);
        }
        if !self.request.is_control {
            env.counters.bytes_out.add((out.len() - before) as u64);
        }
        if !self.request.keep_alive {
            self.state = State::Closing;
        }
        self.outbox.flush(&mut env.io, self.id, true);
    }

    /// The client broke the protocol or a limit: says so and ends the connection.
    fn refuse<I: Io>(&mut self, env: &mut Env<'_, I>, error: &ProtocolError) {
        env.counters.protocol_errors.add(1);
        let head = HeadOptions {
            status: error.response_status(),
            content_type: TEXT.as_bytes(),
            length: 0,
            allow: None,
            times: false,
            connection: Some("close"),
        };
        write_head(self.outbox.queue(), &head);
        self.state = State::Closing;
    }

    /// Sends what is queued and decides how it goes on.
    fn settle<I: Io>(&mut self, env: &mut Env<'_, I>) -> Fate {
        self.outbox.flush(&mut env.io, self.id, true);
        if self.paused && self.backlog.is_empty() && !self.is_blocked() {
            self.paused = false;
            env.io.resume(self.id);
        }
        if self.outbox.pending_bytes() > 0 {
            return Fate::Keep;
        }
        match self.state {
            State::Closing if self.finished => Fate::Close,
            State::Closing => {
                self.state = State::Lingering;
                env.io.shutdown(self.id);
                self.backlog = Vec::new();
                if std::mem::take(&mut self.paused) {
                    env.io.resume(self.id);
                }
                let due_ns = env.now_ns + LINGER_NS;
                self.deadline.set(due_ns, self.id, &mut env.timers);
                Fate::Keep
            }
            State::Reading if self.finished && self.backlog.is_empty() => Fate::Close,
            State::Reading | State::Serving(_) | State::Lingering => Fate::Keep,
        }
    }

    fn pause<I: Io>(&mut self, env: &mut Env<'_, I>) {
        if !self.paused {
            self.paused = true;
            env.io.pause(self.id);
        }
    }
}
