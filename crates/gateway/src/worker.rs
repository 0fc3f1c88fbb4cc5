//! One worker's loop: events to the two sides of each request.

use std::io;
use std::sync::{Mutex, PoisonError};

use gatebench_net::http1::{Event as Part, write_last_chunk};
use gatebench_net::timers::Timers;
use gatebench_net::workers::{STOP_CHECK_NS, Seat, Service};
use gatebench_net::{ConnId, ConnMap, Event, Io};

use crate::balance::Balance;
use crate::client::{Client, Exchange, Fate};
use crate::exchange::{Core, PENDING_BYTES_LOW, PENDING_BYTES_MAX, relay};
use crate::forward::{Relay, write_response};
use crate::hold::{DelayTurns, Holds};
use crate::local::Local;
use crate::log::AccessLog;
use crate::origin::Origin;
use crate::pool::Pools;
use crate::site::Site;

/// What a gateway did from start to stop, over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Answers given to clients, the gateway's own among them.
    pub answers: u64,
    /// Requests sent a second time because a kept connection had been closed by the upstream.
    pub retries: u64,
    /// Requests that failed for the upstream: answered with 502 or 504, or broken off.
    pub upstream_failures: u64,
}

/// What the workers share.
pub(crate) struct Gateway {
    site: Site,
    totals: Mutex<Totals>,
}

impl Gateway {
    pub(crate) fn new(site: Site) -> Self {
        Self {
            site,
            totals: Mutex::default(),
        }
    }

    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    pub(crate) fn totals(&self) -> Totals {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Once a worker, at its end.
    fn add(&self, totals: Totals) {
        let mut sum = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        sum.answers += totals.answers;
        sum.retries += totals.retries;
        sum.upstream_failures += totals.upstream_failures;
    }
}

impl Service for Gateway {
    fn run<I: Io>(&self, io: I, seat: Seat<'_>) -> io::Result<()> {
        let mut worker = Worker::new(io, &self.site);
        let mut events = Vec::new();
        let mut outcome = Ok(());
        while !seat.stopped() && outcome.is_ok() {
            outcome = worker.round(&mut events);
        }
        worker.core.log.flush(worker.core.now_ns);
        self.add(worker.core.totals);
        outcome
    }
}

struct Worker<'a, I> {
    core: Core<'a, I>,
    clients: ConnMap<Client>,
    origins: ConnMap<Origin>,
}

impl<'a, I: Io> Worker<'a, I> {
    fn new(io: I, site: &'a Site) -> Self {
        let balances = site
            .upstreams
            .iter()
            .map(|one| Balance::new(one.weights.iter().copied()));
        let delays = site
            .routes
            .iter()
            .map(|route| route.delay.map(DelayTurns::new));
        let core = Core {
            now_ns: io.now_ns(),
            io,
            site,
            pools: Pools::new(site.targets.len()),
            balances: balances.collect(),
            delays: delays.collect(),
            timers: Timers::default(),
            holds: Holds::default(),
            log: AccessLog::new(site.access_log),
            totals: Totals::default(),
        };
        Self {
            core,
            clients: ConnMap::default(),
            origins: ConnMap::default(),
        }
    }

    /// Waits, then handles what happened and what is due.
    fn round(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        let core = &mut self.core;
        let wakes = [core.timers.next_ns(), core.holds.sleep_until_ns()];
        let until_ns = wakes
            .into_iter()
            .flatten()
            .fold(core.now_ns + STOP_CHECK_NS, u64::min);
        core.io.poll(Some(until_ns), events)?;
        core.now_ns = core.io.now_ns();
        for event in events.drain(..) {
            self.handle(event);
        }
        while let Some(id) = self.core.holds.pop_due(self.core.now_ns) {
            self.release(id);
        }
        while let Some(id) = self.core.timers.pop_due(self.core.now_ns) {
            self.due(id);
        }
        self.core.log.tick(self.core.now_ns);
        Ok(())
    }

    fn handle(&mut self, event: Event) {
        let id = event.conn();
        match event {
            Event::Accepted { .. } => {
                let client = Client::new(id, &mut self.core);
                self.clients.insert(id, client);
            }
            Event::Received { bytes, .. } => {
                if self.clients.get(id).is_some() {
                    self.with_client(id, |client, origins, core| {
                        client.received(origins, core, &bytes)
                    });
                } else {
                    self.origin_received(id, &bytes);
                }
            }
            Event::Sent { bytes, .. } if self.clients.get(id).is_some() => {
                self.client_sent(id, bytes);
            }
            Event::Sent { bytes, .. } => self.origin_sent(id, bytes),
            Event::Connected { .. } => self.origin_connected(id),
            Event::EndOfStream { .. } => {
                if self.clients.get(id).is_some() {
                    self.with_client(id, Client::end_of_stream);
                } else {
                    self.origin_ended(id);
                }
            }
            Event::Failed { .. } => {
                self.obey(id, Fate::Close);
                self.origin_broke(id, 502);
            }
        }
    }

    /// Lets a client do something and draws the consequence.
    fn with_client(
        &mut self,
        id: ConnId,
        act: impl FnOnce(&mut Client, &mut ConnMap<Origin>, &mut Core<'a, I>) -> Fate,
    ) {
        if let Some(client) = self.clients.get_mut(id) {
            let fate = act(client, &mut self.origins, &mut self.core);
            self.obey(id, fate);
        }
    }

    fn obey(&mut self, id: ConnId, fate: Fate) {
        if fate == Fate::Keep {
            return;
        }
        let Some(client) = self.clients.remove(id) else {
            return;
        };
        self.core.cancel(&mut self.origins, client.exchange.origin);
        match fate {
            Fate::Abort => self.core.io.abort(id),
            Fate::Close | Fate::Keep => self.core.io.close(id),
        }
    }

    fn due(&mut self, id: ConnId) {
        self.with_client(id, Client::due);
        if let Some(origin) = self.origins.get_mut(id)
            && origin
                .deadline
                .expired(self.core.now_ns, id, &mut self.core.timers)
        {
            self.origin_broke(id, 504);
        }
    }

    /// A hold has ended: what it kept leaves.
    fn release(&mut self, id: ConnId) {
        let Core { io, now_ns, .. } = &mut self.core;
        if let Some(origin) = self.origins.get_mut(id)
            && origin.hold.release(*now_ns)
        {
            origin.flush(io);
        }
        if let Some(client) = self.clients.get_mut(id)
            && client.exchange.hold.release(*now_ns)
        {
            self.with_client(id, Client::advance);
        }
    }

    fn client_sent(&mut self, id: ConnId, bytes: Vec<u8>) {
        let Some(client) = self.clients.get_mut(id) else {
            return;
        };
        let exchange = &mut client.exchange;
        exchange.outbox.sent(bytes);
        if exchange.outbox.pending_bytes() < PENDING_BYTES_LOW
            && let Some(origin) = exchange.origin.and_then(|id| self.origins.get_mut(id))
            && origin.is_paused
        {
            origin.resume(&mut self.core.io);
            let due_ns = self.core.now_ns + self.core.site.limits.upstream_ns;
            origin
                .deadline
                .set(due_ns, origin.id, &mut self.core.timers);
        }
        self.with_client(id, Client::advance);
    }

    fn origin_connected(&mut self, id: ConnId) {
        if let Some(origin) = self.origins.get_mut(id) {
            origin.is_connected = true;
            origin.flush(&mut self.core.io);
            let due_ns = self.core.now_ns + self.core.site.limits.upstream_ns;
            origin.deadline.set(due_ns, id, &mut self.core.timers);
        }
    }

    fn origin_sent(&mut self, id: ConnId, bytes: Vec<u8>) {
        let Some(origin) = self.origins.get_mut(id) else {
            return;
        };
        origin.outbox.sent(bytes);
        origin.flush(&mut self.core.io);
        let Some(client) = origin.client else { return };
        if !origin.is_paused {
            let due_ns = self.core.now_ns + self.core.site.limits.upstream_ns;
            origin.deadline.set(due_ns, id, &mut self.core.timers);
        }
        if self.clients.get(client).is_some_and(Client::is_waiting) {
            self.with_client(client, Client::advance);
        }
    }

    fn origin_received(&mut self, id: ConnId, bytes: &[u8]) {
        let Some(origin) = self.origins.get_mut(id) else {
            return;
        };
        let client_id = origin.client;
        let Some(client) = client_id.and_then(|client| self.clients.get_mut(client)) else {
            // An answer nobody asked for (RFC 9112 9.2): the connection is of no further use.
            return self.discard(id);
        };
        origin.has_answered = true;
        let mut input = bytes;
        match pass_answer(origin, &mut client.exchange, &mut self.core, &mut input) {
            Progress::Broken => self.origin_broke(id, 502),
            Progress::Whole => self.answer_is_whole(id, input.is_empty()),
            Progress::Partial => {
                let now_ns = self.core.now_ns;
                if client.exchange.outbox.pending_bytes() > PENDING_BYTES_MAX && !origin.is_paused {
                    origin.is_paused = true;
                    self.core.io.pause(id);
                }
                if origin.is_paused {
                    origin.deadline.clear();
                } else {
                    let due_ns = now_ns + self.core.site.limits.upstream_ns;
                    origin.deadline.set(due_ns, id, &mut self.core.timers);
                }
                let client_id = client.exchange.id;
                self.with_client(client_id, Client::advance);
            }
        }
    }

    /// The answer's last byte was read: keeps the connection where it can be kept, and goes on with
    /// the client.
    fn answer_is_whole(&mut self, id: ConnId, nothing_follows: bool) {
        let Some(origin) = self.origins.get_mut(id) else {
            return;
        };
        let Some(client_id) = origin.client.take() else {
            return;
        };
        let Some(client) = self.clients.get_mut(client_id) else {
            return self.discard(id);
        };
        if client.exchange.answer_relay == Relay::Chunked {
            write_last_chunk(client.exchange.outbox.queue());
        }
        let is_fit = nothing_follows
            && client.exchange.is_request_done
            && origin.decoder.keep_alive()
            && origin.outbox.queue().is_empty();
        client.exchange.complete(&mut self.core);
        let keepalive = self.core.site.targets[origin.target].keepalive;
        if is_fit && self.core.pools.put(origin.target, id, keepalive) {
            origin.deadline.clear();
            origin.resume(&mut self.core.io);
        } else {
            self.discard(id);
        }
        self.with_client(client_id, Client::advance);
    }

    /// The target will send no more.
    fn origin_ended(&mut self, id: ConnId) {
        let Some(origin) = self.origins.get_mut(id) else {
            return;
        };
        match origin.decoder.end_of_stream() {
            Ok(true) if origin.client.is_some() => self.answer_is_whole(id, false),
            _ => self.origin_broke(id, 502),
        }
    }

    /// A connection to a target is lost, or it took too long: tries again where that is harmless,
    /// else tells the client.
    fn origin_broke(&mut self, id: ConnId, status: u16) {
        let Some(origin) = self.discard_with(id) else {
            return;
        };
        let Some(client_id) = origin.client else {
            return;
        };
        let Some(client) = self.clients.get_mut(client_id) else {
            return;
        };
        client.exchange.origin = None;
        if status == 502 && !origin.has_answered && !origin.replay.is_empty() {
            self.core.totals.retries += 1;
            if retry(
                origin,
                &mut client.exchange,
                &mut self.origins,
                &mut self.core,
            ) {
                return;
            }
        }
        self.core.totals.upstream_failures += 1;
        if client.exchange.has_answer {
            return self.obey(client_id, Fate::Abort);
        }
        client.exchange.toward.keep_alive &= client.exchange.is_request_done;
        client.exchange.answer(&mut self.core, Local::error(status));
        self.with_client(client_id, Client::advance);
    }

    fn discard(&mut self, id: ConnId) {
        self.discard_with(id);
    }

    /// Closes a connection to a target and takes it out of everything.
    fn discard_with(&mut self, id: ConnId) -> Option<Origin> {
        let origin = self.origins.remove(id)?;
        self.core.io.close(id);
        if origin.client.is_none() {
            self.core.pools.forget(origin.target, id);
        }
        Some(origin)
    }
}

/// How far an answer has come.
enum Progress {
    Partial,
    Whole,
    Broken,
}

/// Passes on what a target sent.
fn pass_answer<I: Io>(
    origin: &mut Origin,
    exchange: &mut Exchange,
    core: &mut Core<'_, I>,
    input: &mut &[u8],
) -> Progress {
    loop {
        match origin.decoder.next(input) {
            Ok(None) => return Progress::Partial,
            Ok(Some(Part::Head(head))) => {
                let out = exchange.outbox.queue();
                let (relay, until_close) = write_response(out, &head, exchange.toward);
                exchange.answer_relay = relay;
                exchange.toward.keep_alive &= !until_close;
                exchange.has_answer = true;
                exchange.status = head.status();
                let delay_ns = exchange.delays.response_ns;
                exchange
                    .hold
                    .begin(delay_ns, core.now_ns, exchange.id, &mut core.holds);
            }
            Ok(Some(Part::Body(piece))) => {
                relay(exchange.outbox.queue(), exchange.answer_relay, piece);
            }
            Ok(Some(Part::End)) => return Progress::Whole,
            Ok(Some(Part::Informational(100))) if exchange.expects_continue => {
                exchange.expects_continue = false;
                exchange
                    .outbox
                    .queue()
                    .extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
            }
            Ok(Some(Part::Informational(_))) => {}
            Err(_) => return Progress::Broken,
        }
    }
}

/// Sends a request again over a new connection; answers whether that could be begun.
fn retry<I: Io>(
    failed: Origin,
    exchange: &mut Exchange,
    origins: &mut ConnMap<Origin>,
    core: &mut Core<'_, I>,
) -> bool {
    let Ok(id) = core.open(origins, failed.target) else {
        return false;
    };
    let Some(origin) = origins.get_mut(id) else {
        return false;
    };
    origin.outbox.queue().extend_from_slice(&failed.replay);
    origin.client = failed.client;
    origin.decoder.expect(exchange.toward.is_head);
    exchange.origin = Some(id);
    true
}
