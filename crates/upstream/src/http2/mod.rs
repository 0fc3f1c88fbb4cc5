//! A client's HTTP/2 connection, with requests on many streams. Each response is sent when it is
//! due.
//!
//! The responses that are due together are sent together, stamped with one reading of the clock.
//! While a send is outstanding, no more responses are queued. A client that reads slowly therefore
//! delays only its own responses, and the output in memory stays bounded although receiving is
//! never paused.

mod heads;
mod reply;

use std::collections::VecDeque;

use gatebench_net::http2::{self, Block, Event, Limits, Server, Settings, StreamId};
use gatebench_net::timers::{Deadline, Timers};
use gatebench_net::{ConnId, Io, Outbox};

use crate::BODY_BYTES_MAX;
use crate::asked::Asked;
use crate::control;
use crate::env::{Conversation, Env, Fate, PENDING_BYTES_MAX, Speaker};
use crate::response::Response;
use heads::Heads;
pub(crate) use reply::{PIECE_BYTES, Reply, Step};

/// The interval after which the budgets of a connection are refilled.
const REFILL_NS: u64 = 1_000_000_000;

/// A request and its response on one stream. The memory is reused for later requests.
pub(crate) trait Responding<I: Io, O>: Default {
    /// Chooses the response based on the head of the request.
    fn begin(&mut self, env: &mut Env<'_, I, O>, asked: &Asked<'_>, is_control: bool);

    /// Takes a piece of the request's body. Returns the number of bytes that are kept.
    fn take_body(&mut self, piece: &[u8]) -> usize;

    /// Rejects the request with this response, which replaces the one that was chosen before.
    fn refuse(&mut self, response: Response);

    /// Counts the complete request and its bytes, unless its path is a control path. Returns the
    /// time at which the response is due.
    fn whole(&mut self, env: &mut Env<'_, I, O>, wire_bytes: u64) -> u64;

    /// Sends the next part of the response.
    fn go_on(&mut self, env: &mut Env<'_, I, O>, reply: &mut Reply<'_>) -> Step;

    /// Ends the exchange because the client has canceled it or has disconnected.
    fn given_up(&mut self, env: &mut Env<'_, I, O>);
}

pub(crate) struct Connection<E> {
    id: ConnId,
    server: Server,
    outbox: Outbox,
    heads: Heads,
    /// The streams, by slot.
    streams: Vec<Stream<E>>,
    /// The streams that have something to send, in round-robin order.
    turns: VecDeque<StreamId>,
    /// The streams whose responses are due later.
    later: Timers<StreamId>,
    deadline: Deadline,
    /// The kind of client that sent the first request.
    speaker: Option<Speaker>,
    /// The number of bytes received since the last complete request.
    wire_bytes: u64,
    /// The number of bytes that were sent but are not counted yet, because the kind of client is
    /// unknown.
    uncounted_bytes: u64,
    /// The number of bytes of request bodies that are kept for the responses.
    kept_bytes: u64,
    /// The time at which the budgets of the connection were last refilled.
    refilled_ns: u64,
    /// True if the client has sent FIN.
    finished: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The last frame is queued.
    Closing,
    /// The last frame and FIN have been sent.
    Lingering,
}

struct Stream<E> {
    /// The stream's ID; `None` while there is no request.
    id: Option<StreamId>,
    kept_bytes: u64,
    exchange: E,
}

impl<E: Default> Connection<E> {
    pub(crate) fn new(id: ConnId) -> Self {
        let server = Server::new(Settings::default(), Limits::default());
        let mut outbox = Outbox::default();
        server.preface(outbox.queue());
        Self {
            id,
            server,
            outbox,
            heads: Heads::default(),
            streams: Vec::new(),
            turns: VecDeque::new(),
            later: Timers::default(),
            deadline: Deadline::default(),
            speaker: None,
            wire_bytes: 0,
            uncounted_bytes: 0,
            kept_bytes: 0,
            refilled_ns: 0,
            finished: false,
            state: State::Open,
        }
    }
}

impl<I: Io, O, E: Responding<I, O>> Conversation<I, O> for Connection<E> {
    fn new(id: ConnId) -> Self {
        Self::new(id)
    }

    fn received(&mut self, env: &mut Env<'_, I, O>, bytes: &[u8]) -> Fate {
        if self.state != State::Open {
            return Fate::Keep;
        }
        self.wire_bytes += bytes.len() as u64;
        if env.now_ns >= self.refilled_ns + REFILL_NS {
            self.refilled_ns = env.now_ns;
            self.server.refill_budgets();
        }
        self.read(env, bytes);
        self.settle(env)
    }

    fn sent(&mut self, env: &mut Env<'_, I, O>, bytes: Vec<u8>) -> Fate {
        self.outbox.sent(bytes);
        self.settle(env)
    }

    fn due(&mut self, env: &mut Env<'_, I, O>) -> Fate {
        if !self.deadline.expired(env.now_ns, self.id, &mut env.timers) {
            return Fate::Keep;
        }
        if self.state == State::Lingering {
            return Fate::Close;
        }
        while let Some(stream) = self.later.pop_due(env.now_ns) {
            self.turns.push_back(stream);
        }
        self.settle(env)
    }

    fn end_of_stream(&mut self, env: &mut Env<'_, I, O>) -> Fate {
        self.finished = true;
        match self.state {
            State::Lingering => Fate::Close,
            State::Open | State::Closing => self.settle(env),
        }
    }

    fn gone(&mut self, env: &mut Env<'_, I, O>) -> Option<Speaker> {
        for stream in &mut self.streams {
            if stream.id.take().is_some() {
                stream.exchange.given_up(env);
            }
        }
        self.speaker
    }
}

impl<E> Connection<E> {
    fn read<I: Io, O>(&mut self, env: &mut Env<'_, I, O>, mut input: &[u8])
    where
        E: Responding<I, O>,
    {
        loop {
            let event = match self.server.next(&mut input, self.outbox.queue()) {
                Ok(Some(event)) => event,
                Ok(None) => return,
                Err(_) => {
                    // A GOAWAY frame that states the reason has been queued.
                    env.counters.protocol_errors.add(1);
                    self.state = State::Closing;
                    return;
                }
            };
            match event {
                Event::Head { stream, head } => {
                    let speaker = &mut self.speaker;
                    open(&mut self.streams, stream).begin(env, &head, speaker);
                    if expects_continue(&head) {
                        let block = Block::response(100);
                        self.server.inform(stream, &block, self.outbox.queue());
                    }
                }
                Event::Body { stream, bytes } => {
                    if let Some(stream) = find(&mut self.streams, stream) {
                        stream.take_body(bytes, &mut self.kept_bytes);
                    }
                }
                Event::End { stream } => self.finish(env, stream),
                Event::Reset { stream, error, .. } => {
                    env.counters.protocol_errors.add(u64::from(error.is_some()));
                    self.give_up(env, stream);
                }
                // A client that sends GOAWAY still waits for its responses. The other events do not
                // concern an origin.
                Event::Informational { .. }
                | Event::Trailers { .. }
                | Event::Settings
                | Event::GoAway { .. } => {}
            }
        }
    }

    fn finish<I: Io, O>(&mut self, env: &mut Env<'_, I, O>, id: StreamId)
    where
        E: Responding<I, O>,
    {
        let Some(stream) = find(&mut self.streams, id) else {
            return;
        };
        let wire_bytes = std::mem::take(&mut self.wire_bytes);
        let due_ns = stream.exchange.whole(env, wire_bytes);
        if due_ns <= env.now_ns {
            self.turns.push_back(id);
        } else {
            self.put_off(env, id, due_ns);
        }
    }

    fn put_off<I, O>(&mut self, env: &mut Env<'_, I, O>, id: StreamId, due_ns: u64) {
        self.later.schedule(due_ns, id);
        self.arm(env);
    }

    /// Sets the deadline to the time at which the next response is due.
    fn arm<I, O>(&mut self, env: &mut Env<'_, I, O>) {
        if self.state == State::Open
            && let Some(next_ns) = self.later.next_ns()
        {
            self.deadline.set(next_ns, self.id, &mut env.timers);
        }
    }

    fn give_up<I: Io, O>(&mut self, env: &mut Env<'_, I, O>, id: StreamId)
    where
        E: Responding<I, O>,
    {
        if let Some(stream) = find(&mut self.streams, id) {
            stream.exchange.given_up(env);
            self.kept_bytes -= stream.close();
        }
    }

    /// Queues a piece of each stream in turn, until enough is queued or no stream can send more.
    /// Returns true if any piece contained times.
    fn speak<I: Io, O>(&mut self, env: &mut Env<'_, I, O>) -> bool
    where
        E: Responding<I, O>,
    {
        if self.turns.is_empty() {
            return false;
        }
        let now_ns = env.io.now_ns();
        let mut are_timed = false;
        let mut silent = 0;
        while silent < self.turns.len() && self.outbox.queue().len() < PENDING_BYTES_MAX {
            let Some(id) = self.turns.pop_front() else {
                break;
            };
            let Some(stream) = find(&mut self.streams, id) else {
                continue;
            };
            let out = self.outbox.queue();
            let before = out.len();
            let mut reply = Reply::new(&mut self.server, &mut self.heads, id, out, now_ns);
            let step = stream.exchange.go_on(env, &mut reply);
            are_timed |= reply.is_timed;
            match step {
                Step::More => {
                    let said = self.outbox.queue().len() - before;
                    silent = if said > 0 { 0 } else { silent + 1 };
                    self.turns.push_back(id);
                }
                Step::Later(due_ns) => self.put_off(env, id, due_ns),
                Step::Done => self.kept_bytes -= stream.close(),
                Step::Reset => {
                    self.kept_bytes -= stream.close();
                    let code = http2::ErrorCode::INTERNAL_ERROR;
                    self.server.reset(id, code, self.outbox.queue());
                }
            }
        }
        are_timed
    }

    /// Queues the responses that are due, sends the queued bytes and decides whether the connection
    /// stays open.
    fn settle<I: Io, O>(&mut self, env: &mut Env<'_, I, O>) -> Fate
    where
        E: Responding<I, O>,
    {
        self.arm(env);
        // A send that finishes immediately causes no event, so the loop continues.
        while !self.is_sending() {
            let are_timed = self.state == State::Open && self.speak(env);
            let queued = self.outbox.queue().len();
            if queued == 0 {
                break;
            }
            self.uncounted_bytes += queued as u64;
            if self.speaker == Some(Speaker::Client) {
                let sent_bytes = std::mem::take(&mut self.uncounted_bytes);
                env.counters.bytes_out.add(sent_bytes);
            }
            self.outbox.flush(&mut env.io, self.id, are_timed);
        }
        if self.outbox.pending_bytes() > 0 {
            return Fate::Keep;
        }
        match self.state {
            State::Closing if self.finished => Fate::Close,
            State::Closing => {
                self.state = State::Lingering;
                self.deadline = Deadline::default();
                env.linger(self.id, &mut self.deadline);
                Fate::Keep
            }
            // Bytes that wait for the client's windows would wait forever, because no window update
            // can arrive after FIN.
            State::Open if self.finished && self.later.is_empty() => Fate::Close,
            State::Open | State::Lingering => Fate::Keep,
        }
    }

    fn is_sending(&mut self) -> bool {
        self.outbox.pending_bytes() > self.outbox.queue().len()
    }
}

const TOO_MUCH: &str = "upstream: the request bodies kept for one connection exceed 128 MiB\n";

impl<E> Stream<E> {
    fn begin<I: Io, O>(
        &mut self,
        env: &mut Env<'_, I, O>,
        head: &http2::Head<'_>,
        speaker: &mut Option<Speaker>,
    ) where
        E: Responding<I, O>,
    {
        let asked = Asked::over_http2(*head);
        let is_control = control::is_reserved(asked.path);
        Speaker::identify(speaker, is_control, env.counters);
        self.exchange.begin(env, &asked, is_control);
    }

    /// Rejects the request if the bodies kept for the connection now exceed [`BODY_BYTES_MAX`].
    fn take_body<I: Io, O>(&mut self, piece: &[u8], of_connection: &mut u64)
    where
        E: Responding<I, O>,
    {
        let kept = self.exchange.take_body(piece) as u64;
        self.kept_bytes += kept;
        *of_connection += kept;
        if *of_connection > BODY_BYTES_MAX {
            self.exchange.refuse(Response::error(413, TOO_MUCH));
            *of_connection -= std::mem::take(&mut self.kept_bytes);
        }
    }

    /// Frees the slot. Returns the number of bytes that were kept for its request.
    fn close(&mut self) -> u64 {
        self.id = None;
        std::mem::take(&mut self.kept_bytes)
    }
}

/// Returns the slot of a new stream, which is created on first use.
fn open<E: Default>(streams: &mut Vec<Stream<E>>, id: StreamId) -> &mut Stream<E> {
    while streams.len() <= id.slot() {
        streams.push(Stream {
            id: None,
            kept_bytes: 0,
            exchange: E::default(),
        });
    }
    let stream = &mut streams[id.slot()];
    stream.id = Some(id);
    stream
}

/// Finds a stream that has not been closed.
fn find<E>(streams: &mut [Stream<E>], id: StreamId) -> Option<&mut Stream<E>> {
    let stream = streams.get_mut(id.slot())?;
    (stream.id == Some(id)).then_some(stream)
}

/// Reports whether the client waits for 100 (Continue) before it sends the body (RFC 9110 10.1.1).
fn expects_continue(head: &http2::Head<'_>) -> bool {
    head.field("expect")
        .is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"))
}
