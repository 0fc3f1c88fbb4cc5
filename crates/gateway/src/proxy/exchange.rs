//! Handles a request from the arrival of its head until it is sent to an upstream or gets the
//! gateway's own response.

use std::io;
use std::rc::Rc;

use gatebench_net::http1::{Framing, Head, write_last_chunk};
use gatebench_net::timers::Timers;
use gatebench_net::{ConnId, ConnMap, Io};

use super::client::{Exchange, Phase};
use super::edit::{Edited, Refused};
use super::log::AccessLog;
use super::origin::Origin;
use super::worker::{Notices, Totals};
use crate::client_ref::ClientRef;
use crate::compiled::{Current, Limits, Waits};
use crate::faults::Injector;
use crate::message::{
    CONTINUE, Choice, Destination, Form, Local, Refusal, Relay, Toward, form_of, relay,
    write_local, write_request,
};
use crate::path::{Target, strip};
use crate::policy::{Notes, Request};
use crate::redis::Link;
use crate::soap::Line;

/// While more output bytes than this are pending on a connection, their source is not read.
pub(crate) const PENDING_BYTES_MAX: usize = 128 * 1024;

/// A paused upstream is read again once fewer output bytes than this are pending for the client.
pub(crate) const PENDING_BYTES_LOW: usize = 64 * 1024;

/// The state that all connections of a worker share.
pub(crate) struct Core<I> {
    pub(crate) io: I,
    pub(crate) worker: usize,
    pub(crate) current: Current,
    pub(crate) origins: ConnMap<Origin>,
    /// The connections to Redis servers.
    pub(crate) links: Vec<Link>,
    /// The connections to Saxon helpers.
    pub(crate) lines: Vec<Line>,
    /// The buffer for a Redis key.
    pub(crate) redis_key: Vec<u8>,
    /// The buffer for a normalized path.
    pub(crate) path: String,
    pub(crate) faults: Injector,
    pub(crate) notices: Notices,
    /// The serial number of the last Redis query.
    pub(crate) asked: u64,
    pub(crate) limits: Limits,
    /// The deadline for requests in flight, if the gateway is stopping.
    pub(crate) drain_until_ns: Option<u64>,
    pub(crate) timers: Timers<ClientRef>,
    pub(crate) log: AccessLog,
    pub(crate) totals: Totals,
    /// The clock reading after the last poll. Deadlines at or before this time have passed. A later
    /// time must not be used, because events since the poll are not known yet.
    pub(crate) polled_ns: u64,
    /// The clock reading after the last poll, or after long work since then. New deadlines are
    /// counted from this time.
    pub(crate) now_ns: u64,
}

impl<I: Io> Core<I> {
    /// Updates the clock after work that may have taken a long time.
    pub(crate) fn note_time(&mut self) {
        self.now_ns = self.io.now_ns();
    }

    /// Stops reading from a connection until [`Self::resume`]. Does nothing for a stream, which is
    /// read only on demand.
    pub(crate) fn pause(&mut self, client_ref: ClientRef) {
        if client_ref.slot.is_none() {
            self.io.pause(client_ref.conn);
        }
    }

    pub(crate) fn resume(&mut self, client_ref: ClientRef) {
        if client_ref.slot.is_none() {
            self.io.resume(client_ref.conn);
        }
    }

    /// Sends FIN. Does nothing for a stream, which ends with its last frame.
    pub(crate) fn shutdown(&mut self, client_ref: ClientRef) {
        if client_ref.slot.is_none() {
            self.io.shutdown(client_ref.conn);
        }
    }

    pub(crate) fn origin_for(&mut self, target: usize, waits: Waits) -> io::Result<ConnId> {
        if let Some(id) = self.current.take_idle(target)
            && let Some(origin) = self.origins.get_mut(id)
        {
            origin.is_reused = true;
            origin.has_responded = false;
            origin.waits = waits;
            origin.expect_life(self.now_ns, &mut self.timers);
            return Ok(id);
        }
        self.open(target, waits)
    }

    pub(crate) fn open(&mut self, target: usize, waits: Waits) -> io::Result<ConnId> {
        let id = self
            .io
            .connect(self.current.targets[target].address, None)?;
        let mut origin = Origin::connecting(id, target, waits);
        let due_ns = self.now_ns + waits.connect_ns;
        origin.deadline.set(due_ns, id.into(), &mut self.timers);
        self.origins.insert(id, origin);
        Ok(id)
    }

    /// Puts a connection back into the pool; the caller must not have sent any part of the request
    /// on it. Closes the connection if it is not established or if the pool is full.
    pub(crate) fn give_back(&mut self, id: Option<ConnId>) {
        let Some(origin) = id.and_then(|id| self.origins.get_mut(id)) else {
            return;
        };
        let id = origin.id;
        if origin.is_connected && self.current.put_idle(origin.target, id) {
            origin.outbox.queue().clear();
            origin.client = None;
            origin.deadline.clear();
            origin.resume(&mut self.io);
            return;
        }
        self.cancel(Some(id));
    }

    /// Closes a connection to a target whose response is no longer needed.
    pub(crate) fn cancel(&mut self, id: Option<ConnId>) {
        if let Some(id) = id
            && self.origins.remove(id).is_some()
        {
            self.io.close(id);
        }
    }
}

impl Exchange {
    /// Chooses the route and applies its policies; then forwards the request or responds to it.
    pub(crate) fn begin<I: Io>(&mut self, head: &Head<'_>, core: &mut Core<I>) {
        self.toward = Toward {
            is_head: head.method() == "HEAD",
            is_http10: head.version_minor() == 0,
            keep_alive: head.keep_alive() && !(core.is_draining() && self.id.slot.is_none()),
        };
        self.expects_continue = head.expects_continue();
        self.is_request_done = false;
        self.passed_over = 0;
        self.has_response = false;
        self.asking = None;
        self.parked = None;
        self.notes = Notes::default();
        self.begun_ns = core.now_ns;
        self.crowded_ns = 0;
        if core.log.is_on() {
            self.log.begin(head.method(), head.target());
        }
        if !Rc::ptr_eq(&self.active, &core.current.active) {
            self.active = Rc::clone(&core.current.active);
        }
        self.is_crowded = false;
        let choice = self.choose(head, core);
        match choice {
            // The request was forwarded, or is collected first.
            None => {}
            // The client waits for a response before it sends the body, or the body is too long to
            // read and discard.
            Some(choice) if self.asking.is_none() && (self.expects_continue || is_long(head)) => {
                self.toward.keep_alive = false;
                self.response(core, choice);
            }
            Some(choice) => self.phase = Phase::Local(choice),
        }
    }

    /// Returns the gateway's own response, or `None` if the request is forwarded or collected.
    fn choose<I: Io>(&mut self, head: &Head<'_>, core: &mut Core<I>) -> Option<Choice> {
        let active = Rc::clone(&self.active);
        let mut memory = std::mem::take(&mut core.path);
        self.route = None;
        let choice = match active.compiled.router.find(head.target(), &mut memory) {
            Err(words) => Some(self.refused(Refusal::new(400, words))),
            Ok(target) if active.compiled.is_metrics_path(target.path) => Some(Choice::Metrics),
            Ok(target) => {
                self.route = target.route;
                match target.route {
                    Some(route) => self.pass_on(route, head, target, core),
                    None => Some(Choice::Error(404)),
                }
            }
        };
        core.path = memory;
        choice
    }

    /// Forwards or collects a request, unless the gateway responds itself.
    fn pass_on<I: Io>(
        &mut self,
        route: usize,
        head: &Head<'_>,
        target: Target<'_>,
        core: &mut Core<I>,
    ) -> Option<Choice> {
        if core.faults.strays() {
            return Some(Choice::Error(500));
        }
        let judged = self.judge(route, head, target.path, core);
        judged.or_else(|| {
            let sent = self.send_on(route, head, target, core);
            sent.err().map(|_| Choice::Error(502))
        })
    }

    /// Applies the policies of a route to the head of a request. Returns the gateway's own
    /// response, or `None` if the head passes.
    fn judge<I: Io>(
        &mut self,
        route: usize,
        head: &Head<'_>,
        path: &str,
        core: &mut Core<I>,
    ) -> Option<Choice> {
        let compiled = &self.active.compiled;
        let caches = &mut core.current.caches;
        let chain = &compiled.routes[route].chain;
        if chain.soap.is_some() {
            self.passage.begin(head);
        }
        let request = Request {
            head,
            path,
            now_ns: core.now_ns,
        };
        let choice = chain.judge(&request, &compiled.consumers, caches, &mut self.notes);
        if chain.openapi.is_some() {
            core.note_time();
        }
        // The checks of the body come before the mock.
        let is_checked = self.notes.mock.is_some() && chain.collects(head, &self.notes);
        let choice = choice.filter(|_| !is_checked);
        let choice = choice.or_else(|| {
            self.notes.refusal = Some(chain.unreadable(head)?);
            Some(Choice::Refused)
        });
        // A body that is too large to keep is refused before it arrives.
        let max_bytes = core.limits.collected_max as u64;
        let is_too_long = matches!(head.framing(), Framing::Length(length) if length > max_bytes);
        let choice = choice.or_else(|| {
            let is_refused = is_too_long && chain.collects(head, &self.notes);
            is_refused.then_some(Choice::Error(413))
        });
        if chain.redis.is_none() || !matches!(choice, None | Some(Choice::Mock(_))) {
            return choice;
        }
        let active = Rc::clone(&self.active);
        let limit = active.compiled.routes[route].chain.redis.as_ref()?;
        self.count(limit, head, core).or(choice)
    }

    /// Queues the head on a connection to the route's upstream or, if a policy needs the whole
    /// request, keeps it until the request is complete. If a mock will respond, collects only the
    /// body.
    fn send_on<I: Io>(
        &mut self,
        route: usize,
        head: &Head<'_>,
        target: Target<'_>,
        core: &mut Core<I>,
    ) -> io::Result<()> {
        if self.notes.mock.is_some() {
            // The request is only checked, so its head is not needed, and JSON edits do not apply.
            self.collected
                .begin(|out| out.extend_from_slice(b"\r\n\r\n"));
            self.collect(Form::Other, core);
            return Ok(());
        }
        let active = Rc::clone(&self.active);
        let route_of = &active.compiled.routes[route];
        let Some(upstream) = route_of.upstream else {
            return Err(io::ErrorKind::NotFound.into());
        };
        self.upstream = upstream;
        self.unreachable.clear();
        self.gated_closes = 0;
        self.target = core
            .current
            .next_target(&active, upstream, &[], core.now_ns);
        self.delays = core.current.delays[route].next();
        let collects = route_of.chain.collects(head, &self.notes);
        let origin = match collects {
            true => None,
            false => Some(self.take_origin(core)?),
        };
        let settings = &core.current.targets[self.target];
        let to = Destination {
            rest: match route_of.strip_path {
                true => strip(target.rest, &route_of.prefix),
                false => target.rest,
            },
            authority: target.authority,
            fallback_authority: &settings.authority,
            is_last: settings.keepalive == 0,
            edits: &route_of.chain.request_headers,
            consumer: route_of
                .chain
                .consumer_field(&self.notes, &active.compiled.consumers),
            trusted: &route_of.chain.trusted,
            is_collected: collects,
            is_gzip_alone: route_of.chain.processes_responses(),
        };
        let Some(id) = origin else {
            self.collected.begin(|out| {
                write_request(out, head, &to);
            });
            self.collect(form_of(head), core);
            return Ok(());
        };
        let Some(origin) = core.origins.get_mut(id) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        self.request_relay = write_request(origin.outbox.queue(), head, &to);
        if origin.is_reused && may_repeat(head) {
            origin.replay.extend_from_slice(origin.outbox.queue());
        }
        self.hold(origin, core.now_ns, &mut core.faults);
        self.phase = Phase::Relaying;
        Ok(())
    }

    fn collect<I: Io>(&mut self, form: Form, core: &mut Core<I>) {
        self.request_form = form;
        self.phase = Phase::Collecting;
        self.invite(core);
    }

    fn take_origin<I: Io>(&mut self, core: &mut Core<I>) -> io::Result<ConnId> {
        let route = self.route.map(|route| &self.active.compiled.routes[route]);
        let waits = route.map_or(core.limits.waits, |route| route.waits);
        let id = core.origin_for(self.target, waits)?;
        self.attach(id, core);
        Ok(id)
    }

    pub(crate) fn attach<'c, I>(
        &mut self,
        id: ConnId,
        core: &'c mut Core<I>,
    ) -> Option<&'c mut Origin> {
        self.origin = Some(id);
        let origin = core.origins.get_mut(id)?;
        origin.client = Some(self.id);
        origin.decoder.expect(self.toward.is_head);
        origin.replay.clear();
        origin.is_gated = self.asking.is_some();
        Some(origin)
    }

    fn hold(&self, origin: &mut Origin, now_ns: u64, faults: &mut Injector) {
        let delay_ns = self.delays.request_ns;
        let id = origin.id.into();
        origin.hold.begin(delay_ns, now_ns, id, faults);
    }

    pub(crate) fn refused(&mut self, refusal: Box<Refusal>) -> Choice {
        self.notes.refusal = Some(refusal);
        Choice::Refused
    }

    pub(crate) fn write_response(&mut self, local: Local<'_>) {
        write_local(self.outbox.queue(), local, self.toward);
        self.has_response = true;
        self.status = local.status;
    }

    /// Asks a client that waits for 100 Continue to send the body, because the gateway needs it.
    fn invite<I: Io>(&mut self, core: &mut Core<I>) {
        if std::mem::take(&mut self.expects_continue) {
            self.outbox.queue().extend_from_slice(CONTINUE);
            self.flush(&mut core.io);
        }
    }

    pub(crate) fn pass_body<I: Io>(&mut self, piece: &[u8], core: &mut Core<I>) {
        if let Some(left) = &mut self.notes.body_max {
            match left.checked_sub(piece.len() as u64) {
                Some(rest) => *left = rest,
                None => return self.refuse_body(413, core),
            }
        }
        match self.phase {
            Phase::Relaying => {
                if let Some(origin) = self.origin.and_then(|id| core.origins.get_mut(id)) {
                    relay(origin.outbox.queue(), self.request_relay, piece);
                }
            }
            Phase::Collecting if !self.collected.add(piece, core.limits.collected_max) => {
                self.refuse_body(413, core);
            }
            Phase::Local(choice) => {
                self.passed_over += piece.len() as u64;
                if self.passed_over > READ_FOR_NOTHING_BYTES && self.asking.is_none() {
                    self.toward.keep_alive = false;
                    self.response(core, choice);
                }
            }
            _ => {}
        }
    }

    /// Refuses a request because of its body, even if the upstream already has a part of it.
    fn refuse_body<I: Io>(&mut self, status: u16, core: &mut Core<I>) {
        self.notes.body_max = None;
        let is_awaited = matches!(
            self.phase,
            Phase::Relaying | Phase::Collecting | Phase::Local(Choice::Mock(_))
        );
        if is_awaited {
            core.cancel(self.origin.take());
            self.refuse(core, status);
        }
    }

    pub(crate) fn end_request<I: Io>(&mut self, core: &mut Core<I>) {
        self.is_request_done = true;
        match self.phase {
            // The count from Redis has not arrived yet.
            Phase::Local(_) | Phase::Collecting if self.asking.is_some() => {}
            Phase::Local(choice) => self.response(core, choice),
            Phase::Draining => self.phase = Phase::Idle,
            Phase::Collecting => self.send_collected(core),
            Phase::Relaying => {
                if let Some(origin) = self.origin.and_then(|id| core.origins.get_mut(id)) {
                    if self.request_relay == Relay::Chunked {
                        write_last_chunk(origin.outbox.queue());
                    }
                    // The upstream's timeout restarts at the last byte of the request, however
                    // slowly the request arrived.
                    if origin.is_connected && !origin.is_paused {
                        origin.expect_life(core.now_ns, &mut core.timers);
                    }
                }
            }
            Phase::Idle | Phase::Closing | Phase::Lingering => {}
        }
    }

    pub(crate) fn send_collected<I: Io>(&mut self, core: &mut Core<I>) {
        let edited = self.edit_request(core);
        self.send_edited(edited, core);
    }

    /// Sends a request to its target, or responds with the route's mock, unless a policy refuses
    /// the request or is still processing it.
    pub(crate) fn send_edited<I: Io>(
        &mut self,
        edited: Result<Edited, Refused>,
        core: &mut Core<I>,
    ) {
        // The policies may have taken a long time, and the upstream's timeout starts only now.
        core.note_time();
        match edited {
            Ok(Edited::Done) => {}
            Ok(Edited::Parked) => return,
            Err(why) => return self.refuse_collected(why, core),
        }
        if let Some(mock) = self.notes.mock {
            self.collected.clear();
            return self.response(core, Choice::Mock(mock));
        }
        let sent = self.take_origin(core);
        let Some(origin) = sent.ok().and_then(|id| core.origins.get_mut(id)) else {
            self.collected.clear();
            return self.response(core, Choice::Error(502));
        };
        self.collected.write(origin.outbox.queue());
        self.request_relay = Relay::Plain;
        self.hold(origin, core.now_ns, &mut core.faults);
        self.phase = Phase::Relaying;
    }

    fn refuse_collected<I: Io>(&mut self, why: Refused, core: &mut Core<I>) {
        self.collected.clear();
        match why {
            Refused::Refusal(refusal) => {
                let choice = self.refused(refusal);
                self.response(core, choice);
            }
            Refused::Fault(fault) => {
                self.write_fault(&fault);
                self.complete(core);
            }
        }
    }
}

/// The maximum size of a body, in bytes, that the gateway reads and discards to keep the connection
/// open.
const READ_FOR_NOTHING_BYTES: u64 = 1 << 20;

fn is_long(head: &Head<'_>) -> bool {
    matches!(head.framing(), Framing::Length(length) if length > READ_FOR_NOTHING_BYTES)
}

/// Reports whether a request may be sent twice: it is idempotent (RFC 9110 9.2.2) and has no body.
fn may_repeat(head: &Head<'_>) -> bool {
    matches!(head.framing(), Framing::None | Framing::Length(0))
        && matches!(
            head.method(),
            "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE"
        )
}
