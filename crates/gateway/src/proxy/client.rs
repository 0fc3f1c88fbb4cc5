//! A client's HTTP/1.1 connection, or one stream of its HTTP/2 connection: reads requests and keeps
//! the state of the current one.

use std::rc::Rc;

use gatebench_net::http1::{Decoder, Event, Limits, ProtocolError};
use gatebench_net::http2;
use gatebench_net::timers::Deadline;
use gatebench_net::{ConnId, Io, Outbox};

use super::edit::in_words_of;
use super::exchange::{Core, PENDING_BYTES_LOW, PENDING_BYTES_MAX};
use super::log::{ABORTED, LogEntry};
use crate::client_ref::ClientRef;
use crate::compiled::ActiveConfig;
use crate::faults::{Delays, Hold};
use crate::message::{Choice, Collected, Form, Local, Refusal, Relay, Toward};
use crate::openapi::ResponseCheck;
use crate::policy::Notes;
use crate::soap::{Parked, Passage};

/// The maximum time that a connection stays open after its last response. Closing it immediately
/// could destroy the response in transit (RFC 9112 9.6).
const LINGER_NS: u64 = 1_000_000_000;

/// The consequence of an event for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Keep,
    Close,
    /// Ends the connection or stream in a way that shows the client that data was cut off.
    Abort,
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) decoder: Decoder,
    /// Bytes received but not decoded yet.
    backlog: Vec<u8>,
    /// True while the protocol of the connection is unknown.
    pub(crate) is_unheard: bool,
    pub(crate) exchange: Exchange,
}

/// The state of a connection or stream, kept apart from its decoder because events borrow from the
/// decoder while this state changes.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) id: ClientRef,
    pub(crate) outbox: Outbox,
    pub(crate) phase: Phase,
    pub(crate) toward: Toward,
    pub(crate) expects_continue: bool,
    pub(crate) is_request_done: bool,
    /// The number of bytes of the request's body that were read only to be discarded, because the
    /// gateway will respond by itself.
    pub(crate) passed_over: u64,
    /// True once the response's head has been written.
    pub(crate) has_response: bool,
    pub(crate) request_relay: Relay,
    pub(crate) response_relay: Relay,
    pub(crate) origin: Option<ConnId>,
    /// The configuration of the current request.
    pub(crate) active: Rc<ActiveConfig>,
    pub(crate) route: Option<usize>,
    /// The time at which the head of the request was read, by the monotonic clock.
    pub(crate) begun_ns: u64,
    pub(crate) status: u16,
    /// The number of the Redis query about the request, while the reply is pending.
    pub(crate) asking: Option<u64>,
    /// The current message, while a Saxon helper transforms it.
    pub(crate) parked: Option<Parked>,
    pub(crate) notes: Notes,
    pub(crate) response_check: Option<ResponseCheck>,
    /// The form of the request's body, if it is collected to be forwarded.
    pub(crate) request_form: Form,
    /// The form of the response's body, if it is collected.
    pub(crate) response_form: Form,
    /// The number of the chosen upstream in the configuration.
    pub(crate) upstream: usize,
    /// The worker's number for the chosen target.
    pub(crate) target: usize,
    /// The targets that could not be reached, so no part of the request was sent to them.
    pub(crate) unreachable: Vec<usize>,
    /// The number of upstream connections that closed while the request waited for Redis.
    pub(crate) gated_closes: usize,
    /// The request, if a policy needs it in full.
    pub(crate) collected: Collected,
    /// The response, if a policy needs it in full.
    pub(crate) collected_response: Collected,
    pub(crate) passage: Passage,
    pub(crate) delays: Delays,
    pub(crate) hold: Hold,
    pub(crate) log: LogEntry,
    /// True while the request waits because its connection buffers too much for the client.
    pub(crate) is_crowded: bool,
    /// The time at which the current wait (`is_crowded`) began; `crowded_ns` is the total time of
    /// earlier waits.
    crowded_since_ns: u64,
    pub(crate) crowded_ns: u64,
    is_paused: bool,
    /// True once the client has sent FIN.
    is_finished: bool,
    is_in_head: bool,
    deadline: Deadline,
}

/// The phase of a connection, or of a stream over HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Between requests, or inside a head.
    Idle,
    /// The gateway will respond by itself, usually once the request is complete.
    Local(Choice),
    /// The request is read to the end before it is passed on or a mock responds to it.
    Collecting,
    /// An upstream serves the request.
    Relaying,
    /// The response is complete but the request is not: the rest of the request is read and
    /// discarded.
    Draining,
    /// The last response is queued.
    Closing,
    /// The last response and FIN have been sent.
    Lingering,
}

impl Client {
    pub(crate) fn new<I: Io>(id: ClientRef, core: &mut Core<I>) -> Self {
        let mut client = Self {
            decoder: Decoder::requests(Limits::default()),
            backlog: Vec::new(),
            is_unheard: id.slot.is_none(),
            exchange: Exchange::new(id, Rc::clone(&core.current.active)),
        };
        client.rearm(core);
        client
    }

    /// Handles the first bytes of a connection; returns all of them once they identify the
    /// protocol.
    pub(crate) fn hear(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.backlog.extend_from_slice(bytes);
        http2::Server::recognizes(&self.backlog)?;
        self.is_unheard = false;
        Some(std::mem::take(&mut self.backlog))
    }

    pub(crate) fn received<I: Io>(&mut self, core: &mut Core<I>, bytes: &[u8]) -> Fate {
        if matches!(self.exchange.phase, Phase::Closing | Phase::Lingering) {
            return Fate::Keep;
        }
        if !self.backlog.is_empty() || !self.exchange.may_read(core) {
            self.backlog.extend_from_slice(bytes);
            self.exchange.pause(core);
            return Fate::Keep;
        }
        self.read(core, bytes);
        self.settle(core)
    }

    /// Sets the deadline for a client whose request head waits until it is known whether a body
    /// follows.
    pub(crate) fn await_body<I: Io>(&mut self, core: &mut Core<I>) {
        let exchange = &mut self.exchange;
        exchange.is_in_head = true;
        exchange.wait(core.limits.client_idle_ns, core);
    }

    /// Reports whether input from the client may still be unread, here or in the kernel.
    pub(crate) fn is_waiting(&self) -> bool {
        self.exchange.is_paused || self.is_owed_reading()
    }

    /// Reports whether something can be read without receiving more bytes from the client.
    fn is_owed_reading(&self) -> bool {
        !self.backlog.is_empty() || self.decoder.has_end()
    }

    /// Handles FIN from the client. Between requests, it ends the connection; within a request, the
    /// client is treated as gone.
    pub(crate) fn end_of_stream<I: Io>(&mut self, core: &mut Core<I>) -> Fate {
        self.exchange.is_finished = true;
        match self.exchange.phase {
            Phase::Idle | Phase::Closing => self.settle(core),
            _ => Fate::Close,
        }
    }

    /// Reads waiting bytes, as far as the limits allow.
    pub(crate) fn advance<I: Io>(&mut self, core: &mut Core<I>) -> Fate {
        while self.is_owed_reading() && self.exchange.may_read(core) {
            let backlog = std::mem::take(&mut self.backlog);
            self.read(core, &backlog);
        }
        self.settle(core)
    }

    pub(crate) fn due<I: Io>(&mut self, core: &mut Core<I>) -> Fate {
        let exchange = &mut self.exchange;
        if !exchange
            .deadline
            .expired(core.polled_ns, exchange.id, &mut core.timers)
        {
            return Fate::Keep;
        }
        let owes_bytes = exchange.outbox.pending_bytes() > 0;
        match exchange.phase {
            Phase::Lingering => return Fate::Close,
            Phase::Idle if exchange.is_in_head && !owes_bytes => exchange.refuse(core, 408),
            Phase::Idle if !owes_bytes => exchange.phase = Phase::Closing,
            Phase::Local(_) | Phase::Collecting => exchange.refuse(core, 408),
            Phase::Relaying if !exchange.is_request_done && !exchange.has_response => {
                core.cancel(exchange.origin.take());
                exchange.refuse(core, 408);
            }
            _ => return Fate::Abort,
        }
        self.settle(core)
    }

    /// Reads requests; bytes that may not be read yet are added to the backlog.
    fn read<I: Io>(&mut self, core: &mut Core<I>, bytes: &[u8]) {
        let mut input = bytes;
        while self.exchange.may_read(core) {
            match self.decoder.next(&mut input) {
                Ok(Some(Event::Head(head))) => self.exchange.begin(&head, core),
                Ok(Some(Event::Body(piece))) => self.exchange.pass_body(piece, core),
                Ok(Some(Event::End)) => self.exchange.end_request(core),
                // Requests are never informational.
                Ok(Some(Event::Informational(_))) => {}
                Ok(None) => break,
                Err(error) => {
                    core.cancel(self.exchange.origin.take());
                    return self.exchange.refuse_broken(core, error);
                }
            }
        }
        if self.exchange.phase != Phase::Closing {
            self.backlog.extend_from_slice(input);
        }
        if let Some(origin) = self.exchange.origin.and_then(|id| core.origins.get_mut(id)) {
            origin.flush(&mut core.io);
        }
    }

    /// Prepares for the stop of the gateway: a response whose head is not written yet will close
    /// the connection, and an idle connection gets a short deadline for a request that is already
    /// arriving.
    pub(crate) fn drain<I: Io>(&mut self, core: &mut Core<I>) {
        self.exchange.toward.keep_alive &= self.exchange.has_response;
        if self.exchange.phase == Phase::Idle && self.exchange.outbox.pending_bytes() == 0 {
            self.rearm(core);
        }
    }

    /// Sends queued bytes and decides whether the connection stays open.
    fn settle<I: Io>(&mut self, core: &mut Core<I>) -> Fate {
        let exchange = &mut self.exchange;
        exchange.flush(&mut core.io);
        if exchange.is_paused && self.backlog.is_empty() && exchange.may_read(core) {
            exchange.is_paused = false;
            core.resume(exchange.id);
        }
        if exchange.outbox.pending_bytes() == 0 {
            match exchange.phase {
                Phase::Closing if exchange.is_finished => return Fate::Close,
                Phase::Closing => self.linger(core),
                Phase::Idle if exchange.is_finished && self.backlog.is_empty() => {
                    return Fate::Close;
                }
                _ => {}
            }
        }
        self.rearm(core);
        Fate::Keep
    }

    /// Sends FIN and waits for the FIN of the client; bytes that still arrive are discarded.
    fn linger<I: Io>(&mut self, core: &mut Core<I>) {
        let exchange = &mut self.exchange;
        exchange.phase = Phase::Lingering;
        core.shutdown(exchange.id);
        self.backlog = Vec::new();
        if exchange.is_paused {
            exchange.is_paused = false;
            core.resume(exchange.id);
        }
        exchange.wait(LINGER_NS, core);
    }

    /// Sets the deadline for the client to send or to read more bytes; clears it if neither is
    /// expected.
    fn rearm<I: Io>(&mut self, core: &mut Core<I>) {
        let exchange = &mut self.exchange;
        let limits = core.limits;
        let is_held = exchange.is_paused || exchange.is_crowded;
        let owes_body = !exchange.is_request_done && !is_held;
        let was_in_head = exchange.is_in_head;
        exchange.is_in_head = exchange.phase == Phase::Idle && !self.decoder.is_idle();
        let wait_ns = match exchange.phase {
            Phase::Lingering => return,
            // The whole head has one deadline, even if its bytes keep arriving.
            Phase::Idle if exchange.is_in_head && was_in_head => return,
            Phase::Idle if exchange.is_in_head => limits.request_head_ns,
            Phase::Idle => core.idle_ns(),
            // Each piece of the body has a timeout, and so does the whole body.
            _ if owes_body => {
                let end_ns = exchange.begun_ns + exchange.crowded_ns + limits.request_body_ns;
                limits
                    .client_idle_ns
                    .min(end_ns.saturating_sub(core.now_ns))
            }
            _ if exchange.outbox.pending_bytes() > 0 => limits.client_idle_ns,
            _ => return exchange.deadline.clear(),
        };
        exchange.wait(wait_ns, core);
    }
}

impl Exchange {
    /// Begins or ends a wait (`is_crowded`); returns true if the exchange was waiting before. A
    /// waiting exchange has no deadline, because the client cannot continue it.
    pub(crate) fn crowd(&mut self, waits: bool, now_ns: u64) -> bool {
        let waited = std::mem::replace(&mut self.is_crowded, waits);
        if waits {
            self.deadline.clear();
            self.crowded_since_ns = now_ns;
        } else if waited {
            self.crowded_ns += now_ns.saturating_sub(self.crowded_since_ns);
        }
        waited
    }

    fn new(id: ClientRef, active: Rc<ActiveConfig>) -> Self {
        Self {
            id,
            outbox: Outbox::default(),
            phase: Phase::Idle,
            toward: Toward {
                keep_alive: true,
                ..Toward::default()
            },
            expects_continue: false,
            is_request_done: false,
            passed_over: 0,
            has_response: false,
            request_relay: Relay::Plain,
            response_relay: Relay::Plain,
            origin: None,
            active,
            route: None,
            begun_ns: 0,
            status: 0,
            asking: None,
            parked: None,
            notes: Notes::default(),
            response_check: None,
            request_form: Form::Other,
            response_form: Form::Other,
            upstream: 0,
            target: 0,
            unreachable: Vec::new(),
            gated_closes: 0,
            collected: Collected::default(),
            collected_response: Collected::default(),
            passage: Passage::default(),
            delays: Delays::default(),
            hold: Hold::default(),
            log: LogEntry::default(),
            is_crowded: false,
            crowded_since_ns: 0,
            crowded_ns: 0,
            is_paused: false,
            is_finished: false,
            is_in_head: false,
            deadline: Deadline::default(),
        }
    }

    fn may_read<I>(&self, core: &Core<I>) -> bool {
        let has_room = self.outbox.pending_bytes() <= PENDING_BYTES_MAX;
        match self.phase {
            Phase::Idle | Phase::Draining => has_room,
            // A complete request may be waiting for Redis or a helper, and the next request waits
            // for it.
            Phase::Local(_) | Phase::Collecting => {
                has_room && !self.is_request_done && !self.is_crowded
            }
            Phase::Relaying => {
                let origin = self.origin.and_then(|id| core.origins.get(id));
                !self.is_request_done
                    && origin.is_some_and(|one| one.pending_bytes() <= PENDING_BYTES_MAX)
            }
            Phase::Closing | Phase::Lingering => false,
        }
    }

    fn wait<I>(&mut self, wait_ns: u64, core: &mut Core<I>) {
        let due_ns = core.now_ns + wait_ns;
        self.deadline.set(due_ns, self.id, &mut core.timers);
    }

    fn pause<I: Io>(&mut self, core: &mut Core<I>) {
        if !self.is_paused {
            self.is_paused = true;
            core.pause(self.id);
        }
    }

    /// Sends the queued bytes, unless they are held. A stream sends nothing here, because its
    /// connection fetches the bytes.
    pub(crate) fn flush<I: Io>(&mut self, io: &mut I) {
        if !self.hold.is_held() && self.id.slot.is_none() {
            self.outbox.flush(io, self.id.conn, false);
        }
    }

    /// Resumes reading from the upstream if the client has read enough.
    pub(crate) fn relieve<I: Io>(&mut self, core: &mut Core<I>) {
        if self.outbox.pending_bytes() < PENDING_BYTES_LOW
            && !self.is_crowded
            && let Some(origin) = self.origin.and_then(|id| core.origins.get_mut(id))
            && origin.is_paused
        {
            origin.resume(&mut core.io);
            origin.expect_life(core.now_ns, &mut core.timers);
        }
    }

    /// Stops reading from the upstream until [`Self::relieve`].
    pub(crate) fn hold_off<I: Io>(&self, core: &mut Core<I>) {
        if let Some(origin) = self.origin.and_then(|id| core.origins.get_mut(id)) {
            origin.pause(&mut core.io);
        }
    }

    /// Reports whether reading the response from the upstream must pause.
    pub(crate) fn is_full(&self) -> bool {
        self.is_crowded || self.outbox.pending_bytes() > PENDING_BYTES_MAX
    }

    /// Reports whether a body is being collected.
    pub(crate) fn keeps(&self) -> bool {
        self.phase == Phase::Collecting || self.collected_response.is_begun()
    }

    /// Reports whether the response may have to be collected: it has not begun, and the route
    /// collects some responses.
    pub(crate) fn may_keep_response(&self) -> bool {
        let route = self.route.map(|route| &self.active.compiled.routes[route]);
        !self.has_response && route.is_some_and(|route| route.chain.may_collect_responses())
    }

    pub(crate) fn kept_bytes(&self) -> usize {
        self.collected.body.len() + self.collected_response.body.len()
    }

    /// Clears the deadline and `is_crowded` of an exchange whose request has ended or is deferred.
    pub(crate) fn rest(&mut self) {
        self.deadline.clear();
        self.is_crowded = false;
    }

    /// Reports whether the gateway's own response can be sent without waiting for more of the
    /// request: the request is complete, or the client waits for the response before it sends the
    /// body.
    pub(crate) fn sends_no_more(&self) -> bool {
        self.is_request_done || self.expects_continue
    }

    /// Sends the gateway's own response if it was due but had to wait for room.
    pub(crate) fn response_late<I: Io>(&mut self, core: &mut Core<I>) {
        if let Phase::Local(choice) = self.phase
            && self.sends_no_more()
            && self.asking.is_none()
        {
            self.toward.keep_alive &= self.is_request_done;
            self.response(core, choice);
        }
    }

    pub(crate) fn forget_deadline<I: Io>(&mut self, core: &mut Core<I>) {
        self.deadline.clear();
        self.deadline
            .expired(core.polled_ns, self.id, &mut core.timers);
    }

    /// Queues one of the gateway's own responses, and completes the request ([`Self::complete`]).
    pub(crate) fn response<I: Io>(&mut self, core: &mut Core<I>, choice: Choice) {
        let active = Rc::clone(&self.active);
        let metrics = match (choice, &active.compiled.metrics) {
            (Choice::Metrics, Some(metrics)) => metrics.text(),
            _ => String::new(),
        };
        let mut local = Local::new(
            choice,
            self.notes.standing,
            &active.compiled.pages,
            &metrics,
        );
        let refusal = self.notes.refusal.take();
        if let Some(refusal) = &refusal {
            local = local.with_refusal(refusal);
        }
        let fault = self.fault_for(choice, local.status);
        if let Some(fault) = &fault {
            local = in_words_of(local, fault);
        }
        self.write_response(local);
        self.complete(core);
    }

    /// Queues an error response, unless a response has already begun. Nothing more is read from
    /// this client.
    pub(crate) fn refuse<I: Io>(&mut self, core: &mut Core<I>, status: u16) {
        self.refuse_for(core, status, None);
    }

    /// Refuses a request that breaks the protocol or exceeds a limit of the decoder; the response
    /// states the rule or the limit.
    fn refuse_broken<I: Io>(&mut self, core: &mut Core<I>, error: ProtocolError) {
        let status = error.response_status();
        let why = Refusal::new(status, format!("the request is refused: {error}"));
        self.refuse_for(core, status, Some(why));
    }

    fn refuse_for<I: Io>(&mut self, core: &mut Core<I>, status: u16, why: Option<Box<Refusal>>) {
        if self.has_response && self.phase != Phase::Idle {
            // At least a part of a response is queued, so an error can no longer be reported.
            self.count_abandoned(core);
            self.phase = Phase::Closing;
            return;
        }
        if self.phase == Phase::Idle {
            self.route = None;
            self.begun_ns = core.now_ns;
            self.crowded_ns = 0;
            self.notes = Notes::default();
            self.is_request_done = false;
            // Nothing is known about the refused request, and the facts about the previous one do
            // not apply.
            self.toward = Toward::default();
            self.log.begin("-", "-");
        }
        self.toward.keep_alive = false;
        self.notes.refusal = why;
        self.response(core, Choice::Error(status));
    }

    /// Counts and logs the current request, if there is one, as aborted: its connection or stream
    /// ends before the whole response has been queued.
    pub(crate) fn count_abandoned<I: Io>(&self, core: &mut Core<I>) {
        let is_pending = matches!(
            self.phase,
            Phase::Local(_) | Phase::Collecting | Phase::Relaying
        );
        if !is_pending {
            return;
        }
        self.write_log(ABORTED, core);
        if let Some(metrics) = &self.active.compiled.metrics
            && core.faults.counts_abandoned()
        {
            let duration_ns = core.io.now_ns().saturating_sub(self.begun_ns);
            metrics.count_aborted(core.worker, self.route, duration_ns);
        }
    }

    /// Counts and logs a response that is completely queued, and sets the next phase.
    pub(crate) fn complete<I: Io>(&mut self, core: &mut Core<I>) {
        core.totals.responses += 1;
        core.faults.responded(self.status);
        if let Some(metrics) = &self.active.compiled.metrics
            && core.faults.counts()
        {
            let duration_ns = core.io.now_ns().saturating_sub(self.begun_ns);
            metrics.count(core.worker, self.route, self.status, duration_ns);
        }
        self.write_log(self.status, core);
        self.origin = None;
        self.asking = None;
        self.parked = None;
        // A client that is still waiting for 100 Continue may never send the body.
        let can_go_on = self.is_request_done || !self.expects_continue;
        self.phase = match (self.toward.keep_alive && can_go_on, self.is_request_done) {
            (false, _) => Phase::Closing,
            (true, true) => Phase::Idle,
            (true, false) => Phase::Draining,
        };
    }
}
