//! A client's HTTP/1.1 connection. Requests are served one at a time, and each response is sent at
//! the time that the case sets.
//!
//! While a request is served, nothing more is read. Bytes that arrive wait in the inbox, and
//! receiving is paused.

use gatebench_net::http1::{Decoder, Event};
use gatebench_net::timers::Deadline;
use gatebench_net::trace::TIMES_BYTES;
use gatebench_net::{ConnId, Io, Outbox};

use super::FaultServer;
use super::request::{Job, Request, What};
use super::service::Env;
use crate::asked::Asked;
use crate::control;
use crate::env::{CONTINUE, Conversation, Fate, Speaker};
use crate::inbox::{Inbox, request_decoder};
use crate::pattern;
use crate::response::write_head;

pub(crate) struct Connection {
    id: ConnId,
    decoder: Decoder,
    outbox: Outbox,
    inbox: Inbox,
    /// True if the client has sent FIN.
    finished: bool,
    state: State,
    request: Request,
    /// The kind of client that sent the first request.
    speaker: Option<Speaker>,
    deadline: Deadline,
}

enum State {
    Reading,
    Serving(Job),
    /// The last response is queued.
    Closing,
    /// The last response and FIN have been sent.
    Lingering,
}

impl<'p, I: Io> Conversation<I, &'p FaultServer> for Connection {
    fn new(id: ConnId) -> Self {
        Self {
            id,
            decoder: request_decoder(),
            outbox: Outbox::default(),
            inbox: Inbox::default(),
            finished: false,
            state: State::Reading,
            request: Request::default(),
            speaker: None,
            deadline: Deadline::default(),
        }
    }

    fn gone(&mut self, env: &mut Env<'_, 'p, I>) -> Option<Speaker> {
        if let State::Serving(job) = &self.state {
            job.abandoned(env);
        }
        self.speaker
    }

    fn received(&mut self, env: &mut Env<'_, 'p, I>, bytes: &[u8]) -> Fate {
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

    fn sent(&mut self, env: &mut Env<'_, 'p, I>, bytes: Vec<u8>) -> Fate {
        self.outbox.sent(bytes);
        self.advance(env)
    }

    // A client that has sent FIN may still read the response to its request.
    fn end_of_stream(&mut self, env: &mut Env<'_, 'p, I>) -> Fate {
        self.finished = true;
        match self.state {
            State::Lingering => Fate::Close,
            _ => self.settle(env),
        }
    }

    fn due(&mut self, env: &mut Env<'_, 'p, I>) -> Fate {
        if !self.deadline.expired(env.now_ns, self.id, &mut env.timers) {
            return Fate::Keep;
        }
        match self.state {
            State::Serving(_) => self.serve(env),
            State::Lingering => Fate::Close,
            State::Reading | State::Closing => Fate::Keep,
        }
    }
}

impl Connection {
    fn is_blocked(&self) -> bool {
        !matches!(self.state, State::Reading) || self.outbox.pending_bytes() > 0
    }

    /// Reads as much of the inbox as the state allows.
    fn advance<I: Io>(&mut self, env: &mut Env<'_, '_, I>) -> Fate {
        while !self.is_blocked() && !self.inbox.is_empty() {
            let bytes = self.inbox.take();
            self.read(env, &bytes);
            self.outbox.flush(&mut env.io, self.id, true);
        }
        self.settle(env)
    }

    /// Reads requests. Bytes that may not be read yet are put in the inbox.
    fn read<I: Io>(&mut self, env: &mut Env<'_, '_, I>, bytes: &[u8]) {
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
            let wire_bytes = (before - input.len()) as u64;
            match event {
                Event::Head(head) => {
                    let asked = Asked::over_http1(head);
                    let is_control = control::is_reserved(asked.path);
                    Speaker::identify(&mut self.speaker, is_control, env.counters);
                    self.request = Request::of(env, &asked, is_control);
                    self.request.keep_alive = head.keep_alive() && head.version_minor() > 0;
                    if head.expects_continue() {
                        self.outbox.queue().extend_from_slice(CONTINUE);
                        self.outbox.flush(&mut env.io, self.id, true);
                    }
                }
                // The body of a request is ignored, and requests are never informational.
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
            self.inbox.put_back(input);
        }
    }

    fn whole<I: Io>(&mut self, env: &mut Env<'_, '_, I>) {
        let wire_bytes = self.request.wire_bytes;
        self.request.note(env, wire_bytes);
        let case = match &self.request.what {
            What::Case(case) => *case,
            What::AtOnce(..) => return self.response_at_once(env),
        };
        let job = Job::begin(env, case);
        let due_ns = job.next_due_ns();
        self.state = State::Serving(job);
        self.deadline.set(due_ns, self.id, &mut env.timers);
    }

    /// Sends the piece that is due, after the head if it is the first one.
    fn serve<I: Io>(&mut self, env: &mut Env<'_, '_, I>) -> Fate {
        let State::Serving(job) = &mut self.state else {
            return Fate::Keep;
        };
        let before = self.outbox.pending_bytes();
        if job.pieces_sent == 0 {
            let (head, times) = job.head(self.request.nonce, env.io.now_ns());
            let head = self.request.on_connection(head);
            let out = self.outbox.queue();
            if let (Some(at), Some(times)) = (write_head(out, &head), times) {
                let place = &mut out[at..at + TIMES_BYTES];
                times.write(place.try_into().expect("the slice is as long as the times"));
            }
        }
        if !self.request.is_head {
            pattern::copy(self.outbox.queue(), job.next_bytes());
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
        self.end(env)
    }

    /// Handles the end of a response, when its last byte is being sent or the reset is due.
    fn end<I: Io>(&mut self, env: &mut Env<'_, '_, I>) -> Fate {
        let next = if self.request.keep_alive {
            State::Reading
        } else {
            State::Closing
        };
        let State::Serving(job) = std::mem::replace(&mut self.state, next) else {
            return Fate::Keep;
        };
        job.ended(env);
        if job.service.is_reset {
            return Fate::Reset;
        }
        self.advance(env)
    }

    fn response_at_once<I: Io>(&mut self, env: &mut Env<'_, '_, I>) {
        let Some((head, body)) = self.request.at_once() else {
            return;
        };
        let head = self.request.on_connection(head);
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

    /// Sends the queued bytes and decides whether the connection stays open.
    fn settle<I: Io>(&mut self, env: &mut Env<'_, '_, I>) -> Fate {
        self.outbox.flush(&mut env.io, self.id, true);
        if !self.is_blocked() {
            self.inbox.resume(&mut env.io, self.id);
        }
        if self.outbox.pending_bytes() > 0 {
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
            State::Reading | State::Serving(_) | State::Lingering => Fate::Keep,
        }
    }
}
