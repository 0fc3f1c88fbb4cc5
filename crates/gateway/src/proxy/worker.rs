//! One worker's event loop, which passes events to the two sides of each request.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gatebench_net::timers::Timers;
use gatebench_net::workers::{STOP_CHECK_NS, Seat, Service};
use gatebench_net::{ConnId, ConnMap, Event, Io, http2};

use super::client::{Client, Exchange, Fate};
use super::exchange::Core;
use super::http2::Multiplexed;
use super::log::AccessLog;
use crate::client_ref::ClientRef;
use crate::compiled::{CompiledConfig, Current};
use crate::faults::{Faults, Injector};
use crate::message::Choice;

/// Totals over all workers, from start to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Responses that were queued completely for clients, including the gateway's own.
    pub responses: u64,
    /// The number of times that a request was sent again because the upstream closed a kept-alive
    /// connection, or sent to another target because a connection could not be opened. The
    /// replacement of a connection that closed while its request waited for Redis is not counted.
    pub retries: u64,
    /// Requests that failed because of the upstream or its response: the client got an error, or
    /// the response was cut off.
    pub upstream_failures: u64,
    /// Connections that were cut off because `drain_ms` had passed.
    pub cut_off: u64,
}

/// Receives rare messages for the operator, from any worker.
pub(crate) type Notices = Arc<dyn Fn(&str) + Send + Sync>;

pub(crate) struct Gateway {
    pub(crate) notices: Notices,
    pub(crate) faults: Faults,
    compiled: Mutex<Arc<CompiledConfig>>,
    /// Incremented with each new configuration, so that a worker notices it without a lock.
    generation: AtomicU64,
    /// True once the gateway is stopping: it accepts no more connections, and existing ones close
    /// after their current request.
    is_draining: AtomicBool,
    pub(crate) workers: usize,
    drained: AtomicUsize,
    totals: Mutex<Totals>,
}

impl Gateway {
    pub(crate) fn new(compiled: CompiledConfig, workers: usize) -> Self {
        Self {
            notices: Arc::new(|_| {}),
            faults: Faults::default(),
            compiled: Mutex::new(Arc::new(compiled)),
            generation: AtomicU64::new(0),
            is_draining: AtomicBool::new(false),
            workers,
            drained: AtomicUsize::new(0),
            totals: Mutex::default(),
        }
    }

    pub(crate) fn compiled(&self) -> Arc<CompiledConfig> {
        Arc::clone(&self.compiled.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the configuration; each worker adopts the new one after its current round.
    pub(crate) fn replace(&self, compiled: CompiledConfig) {
        *self.compiled.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(compiled);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Makes all workers end once no client connection is left or the drain time is over.
    pub(crate) fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
    }

    pub(crate) fn totals(&self) -> Totals {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, totals: Totals) {
        let mut sum = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        sum.responses += totals.responses;
        sum.retries += totals.retries;
        sum.upstream_failures += totals.upstream_failures;
        sum.cut_off += totals.cut_off;
    }
}

impl Service for Gateway {
    fn run<I: Io>(&self, io: I, seat: Seat<'_>) -> io::Result<()> {
        let mut generation = self.generation.load(Ordering::Acquire);
        let mut worker = Worker::new(io, self.compiled(), seat.index, Arc::clone(&self.notices));
        worker.core.faults = Injector::new(self.faults);
        let mut events = Vec::new();
        let mut outcome = Ok(());
        let mut is_drained = false;
        while !seat.stopped() && outcome.is_ok() {
            let latest = self.generation.load(Ordering::Acquire);
            if latest != generation {
                generation = latest;
                worker.replace(self.compiled());
            }
            outcome = worker.round(&mut events, STOP_CHECK_NS);
            if outcome.is_ok() && self.is_draining.load(Ordering::Acquire) && !is_drained {
                is_drained = worker.is_drained(&seat.listeners, &mut events)?;
                self.drained.fetch_add(is_drained.into(), Ordering::AcqRel);
            }
            // Workers end together, because the first one to end would end the others too, even if
            // they are not drained.
            if self.drained.load(Ordering::Acquire) == self.workers {
                break;
            }
        }
        worker.core.log.flush(worker.core.now_ns);
        self.add(worker.core.totals);
        outcome
    }
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "HTTP/1.1 is the common case, and its state is reached without an indirection"
)]
pub(crate) enum ClientConnection {
    Http1(Client),
    Http2(Box<Multiplexed>),
}

pub(crate) type Clients = ConnMap<ClientConnection>;

pub(crate) fn client_mut(clients: &mut Clients, client_ref: ClientRef) -> Option<&mut Client> {
    match (clients.get_mut(client_ref.conn)?, client_ref.slot) {
        (ClientConnection::Http1(client), None) => Some(client),
        (ClientConnection::Http2(connection), Some(slot)) => connection.client_mut(slot),
        _ => None,
    }
}

pub(crate) fn exchange_mut(clients: &mut Clients, client_ref: ClientRef) -> Option<&mut Exchange> {
    Some(&mut client_mut(clients, client_ref)?.exchange)
}

pub(crate) struct Worker<I> {
    pub(crate) core: Core<I>,
    pub(crate) clients: Clients,
    /// True once the operator has been notified of too many connections. A new configuration resets
    /// it.
    has_reported_full: bool,
}

impl<I: Io> Worker<I> {
    fn new(io: I, compiled: Arc<CompiledConfig>, worker: usize, notices: Notices) -> Self {
        let now_ns = io.now_ns();
        let core = Core {
            polled_ns: now_ns,
            now_ns,
            io,
            worker,
            limits: compiled.limits,
            log: AccessLog::new(compiled.access_log),
            drain_until_ns: None,
            current: Current::new(compiled),
            origins: ConnMap::default(),
            links: Vec::new(),
            lines: Vec::new(),
            redis_key: Vec::new(),
            path: String::new(),
            notices,
            faults: Injector::default(),
            asked: 0,
            timers: Timers::default(),
            totals: Totals::default(),
        };
        Self {
            core,
            clients: Clients::default(),
            has_reported_full: false,
        }
    }

    /// Switches to another configuration. Requests in flight keep theirs, except that the new
    /// `limits` apply to them immediately.
    fn replace(&mut self, compiled: Arc<CompiledConfig>) {
        self.core.limits = compiled.limits;
        self.has_reported_full = false;
        let replaced = self.core.current.replace(compiled);
        for id in replaced.idle {
            self.core.origins.remove(id);
            self.core.io.close(id);
        }
        let routes = self.core.current.active.compiled.routes.iter();
        let limits = routes.filter_map(|route| route.chain.redis.as_ref());
        for link in &mut self.core.links {
            link.renumber(&replaced.limits);
            link.is_used = limits.clone().any(|limit| limit.server == link.server);
        }
    }

    /// Waits for at most `wait_ns`, then handles events and due deadlines.
    pub(crate) fn round(&mut self, events: &mut Vec<Event>, wait_ns: u64) -> io::Result<()> {
        let core = &mut self.core;
        let wakes = [core.timers.next_ns(), core.faults.sleep_until_ns()];
        let until_ns = wakes
            .into_iter()
            .flatten()
            .fold(core.now_ns + wait_ns, u64::min);
        core.io.poll(Some(until_ns), events)?;
        core.note_time();
        core.polled_ns = core.now_ns;
        for event in events.drain(..) {
            self.handle(event);
        }
        while let Some(id) = self.core.faults.pop_due(self.core.now_ns) {
            self.release(id);
        }
        while let Some(id) = self.core.timers.pop_due(self.core.polled_ns) {
            self.due(id);
        }
        self.core.send_counts_to_redis();
        self.core.drop_unused_links();
        self.core.send_orders();
        self.core.log.tick(self.core.now_ns);
        Ok(())
    }

    fn handle(&mut self, event: Event) {
        let id = event.conn();
        let is_client = self.clients.get(id).is_some();
        if !is_client && let Some(link) = self.core.link_of(id) {
            return self.handle_link(link, event);
        }
        if !is_client && let Some(line) = self.core.line_of(id) {
            return self.handle_line(line, event);
        }
        match event {
            Event::Accepted { .. } if self.clients.len() >= self.core.limits.connections_max => {
                self.turn_away(id);
            }
            Event::Accepted { .. } => {
                let client = Client::new(id.into(), &mut self.core);
                self.clients.insert(id, ClientConnection::Http1(client));
            }
            Event::Received { bytes, .. } if is_client => self.client_received(id, &bytes),
            Event::Received { bytes, .. } => self.origin_received(id, &bytes),
            Event::Sent { bytes, .. } if is_client => self.client_sent(id, bytes),
            Event::Sent { bytes, .. } => self.origin_sent(id, bytes),
            Event::Connected { .. } => self.origin_connected(id),
            Event::EndOfStream { .. } if is_client => {
                self.with_connection(id, |connection, core| match connection {
                    ClientConnection::Http1(client) => client.end_of_stream(core),
                    ClientConnection::Http2(connection) => connection.end_of_stream(core),
                })
            }
            Event::EndOfStream { .. } => self.origin_ended(id),
            Event::Failed { .. } => {
                self.obey(id.into(), Fate::Close);
                self.origin_broke(id, Choice::Error(502));
            }
        }
    }

    /// Closes a new connection, because clients already have the maximum number open.
    fn turn_away(&mut self, id: ConnId) {
        self.core.io.close(id);
        if !std::mem::replace(&mut self.has_reported_full, true) {
            let count = self.core.limits.connections_max;
            (self.core.notices)(&format!(
                "gateway: clients have {count} connections open to one worker, so it closes new ones; \
                 raise connections_max, or add workers"
            ));
        }
    }

    fn with_connection(
        &mut self,
        id: ConnId,
        act: impl FnOnce(&mut ClientConnection, &mut Core<I>) -> Fate,
    ) {
        if let Some(connection) = self.clients.get_mut(id) {
            let fate = act(connection, &mut self.core);
            self.obey(id.into(), fate);
        }
    }

    pub(crate) fn with_client(
        &mut self,
        client_ref: ClientRef,
        act: impl FnOnce(&mut Client, &mut Core<I>) -> Fate,
    ) {
        self.with_connection(client_ref.conn, |connection, core| {
            match (connection, client_ref.slot) {
                (ClientConnection::Http1(client), None) => act(client, core),
                (ClientConnection::Http2(connection), Some(slot)) => {
                    connection.with_stream(slot, core, act)
                }
                _ => Fate::Keep,
            }
        });
    }

    /// Applies the result of an action. If the connection is to end and `client_ref` names a
    /// stream, only the stream ends.
    pub(crate) fn obey(&mut self, client_ref: ClientRef, fate: Fate) {
        if fate == Fate::Keep {
            return;
        }
        if client_ref.slot.is_some() {
            return self.with_client(client_ref, |_, _| fate);
        }
        let id = client_ref.conn;
        match self.clients.remove(id) {
            None => return,
            Some(ClientConnection::Http1(client)) => {
                client.exchange.count_abandoned(&mut self.core);
                self.core.cancel(client.exchange.origin);
            }
            Some(ClientConnection::Http2(connection)) => {
                connection.count_abandoned(&mut self.core);
                for origin in connection.origins() {
                    self.core.cancel(Some(origin));
                }
            }
        }
        match fate {
            Fate::Abort => self.core.io.abort(id),
            Fate::Close | Fate::Keep => self.core.io.close(id),
        }
    }

    fn due(&mut self, client_ref: ClientRef) {
        self.with_connection(client_ref.conn, |connection, core| {
            match (connection, client_ref.slot) {
                (ClientConnection::Http1(client), None) => client.due(core),
                (ClientConnection::Http2(connection), None) => connection.due(core),
                (ClientConnection::Http2(connection), Some(slot)) => {
                    connection.stream_due(slot, core)
                }
                (ClientConnection::Http1(_), Some(_)) => Fate::Keep,
            }
        });
        let id = client_ref.conn;
        if let Some(link) = self.core.link_of(id) {
            return self.link_due(link);
        }
        if let Some(line) = self.core.line_of(id) {
            return self.line_due(line);
        }
        if let Some(origin) = self.core.origins.get_mut(id)
            && origin
                .deadline
                .expired(self.core.polled_ns, client_ref, &mut self.core.timers)
        {
            if origin.owes_nothing(&mut self.clients) {
                origin.expect_life(self.core.now_ns, &mut self.core.timers);
            } else {
                self.origin_broke(id, Choice::Error(504));
            }
        }
    }

    /// Handles the end of a hold: the held bytes are sent.
    fn release(&mut self, client_ref: ClientRef) {
        let now_ns = self.core.now_ns;
        if let Some(origin) = self.core.origins.get_mut(client_ref.conn)
            && origin.hold.release(now_ns)
        {
            origin.flush(&mut self.core.io);
        }
        let exchange = exchange_mut(&mut self.clients, client_ref);
        if exchange.is_some_and(|exchange| exchange.hold.release(now_ns)) {
            self.with_client(client_ref, Client::advance);
        }
    }

    fn client_received(&mut self, id: ConnId, bytes: &[u8]) {
        if let Some(ClientConnection::Http1(client)) = self.clients.get_mut(id)
            && client.is_unheard
        {
            return self.first_received(id, bytes);
        }
        self.with_connection(id, |connection, core| match connection {
            ClientConnection::Http1(client) => client.received(core, bytes),
            ClientConnection::Http2(connection) => connection.received(core, bytes),
        });
    }

    /// Handles the first bytes of a connection, which identify its protocol unless TLS negotiated
    /// one.
    fn first_received(&mut self, id: ConnId, bytes: &[u8]) {
        let Some(ClientConnection::Http1(client)) = self.clients.get_mut(id) else {
            return;
        };
        let Some(greeting) = client.hear(bytes) else {
            return;
        };
        let agreed = self.core.io.session(id).and_then(|session| session.alpn());
        let is_http2 = match agreed {
            Some(protocol) => protocol == b"h2",
            None => http2::Server::recognizes(&greeting) == Some(true),
        };
        if is_http2 && self.core.current.active.compiled.http2 {
            let connection = Multiplexed::new(id, &mut self.core);
            self.clients
                .insert(id, ClientConnection::Http2(Box::new(connection)));
        }
        self.client_received(id, &greeting);
    }

    fn client_sent(&mut self, id: ConnId, bytes: Vec<u8>) {
        self.with_connection(id, |connection, core| match connection {
            ClientConnection::Http1(client) => {
                client.exchange.outbox.sent(bytes);
                client.exchange.relieve(core);
                client.advance(core)
            }
            ClientConnection::Http2(connection) => connection.sent(core, bytes),
        });
    }
}
