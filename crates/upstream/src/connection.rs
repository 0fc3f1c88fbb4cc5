//! One client's connection: requests in, answers out, in order.
//!
//! It reads no further while an answer is delayed, while a long body is being sent, and while the
//! client is slow to take what was sent. What arrives meanwhile waits in the kernel, but for what was
//! under way, which waits in the backlog.

use gatebench_net::http1::{Decoder, Event, Limits};
use gatebench_net::timers::{Deadline, Timers};
use gatebench_net::{ConnId, Io};

use crate::counters::Counters;
use crate::exchange::{Exchange, Speaker, State};
use crate::ledger::Ledger;
use crate::random::Random;
use crate::wall_clock::TimeBodies;
use crate::{BODY_BYTES_MAX, Kind};

/// How long a connection lives on after its last answer, for the client to read it: closing at once
/// could destroy it on the way (RFC 9112 9.6).
const LINGER_NS: u64 = 1_000_000_000;

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
