//! A worker's part of a group, with its free connections, its arrivals and its next request.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr, UdpSocket};

use gatebench_model::Shape;
use gatebench_net::tls::ClientContext;
use gatebench_net::{ConnId, Peer};

use crate::compiled::Compiled;
use crate::load::{Group, Protocol, nanos};
use crate::population::{Population, ThinkTimes, share};
use crate::random::derive;
use crate::request_mix::Mix;
use crate::schedule::{Arrivals, Schedule};

pub(super) struct GroupState<'a> {
    pub(super) settings: &'a Group,
    /// The index of the group's first route in the load's list.
    first_route: usize,
    mix: Mix,
    pub(super) closed: bool,
    /// The times at which requests are due, in an open group.
    arrivals: Option<Arrivals>,
    pub(super) next_due_ns: Option<u64>,
    left: Option<u64>,

    /// Connections that can take a request, longest idle first, so arrivals rotate over all of
    /// them. An HTTP/2 connection occurs once for each free stream.
    pub(super) idle: VecDeque<ConnId>,
    /// The intended times of arrivals that wait for a connection.
    pub(super) queue: VecDeque<u64>,
    pub(super) queue_max: usize,
    pub(super) thinks: Option<ThinkTimes>,
    /// The connections of thinking users, each with the time at which the thinking ends.
    pub(super) thinking: BinaryHeap<Reverse<(u64, ConnId)>>,
    /// The number of thinking users whose connection was lost and replaced.
    pub(super) orphans: usize,
    /// True in a connection-only load. In that case, `free` is the number of further connections
    /// that may be made at the same time.
    pub(super) handshakes: bool,
    pub(super) free: u32,

    /// The number of connections over time, in a closed group that sends requests.
    population: Option<Population>,
    pub(super) next_change_ns: Option<u64>,
    /// The target number of connections.
    pub(super) wanted: u32,
    /// The actual number of connections, including those being opened but not those that are
    /// leaving.
    pub(super) have: u32,
    /// The number of connections that are ready for a request or have one in flight.
    up: u32,
    down_since_ns: u64,
    /// True if an attempt to connect has failed since the last successful one.
    pub(super) refused: bool,
    /// The number of initial connections that are not up yet.
    pub(super) missing: u32,
    /// The times at which to open connections. In a connection-only load, the times at which `free`
    /// increases by one.
    pub(super) connects: VecDeque<u64>,
    /// The TLS context of this worker's connections; `None` for plain text.
    pub(super) tls: Option<ClientContext>,
    pub(super) requests_per_connection: Option<u64>,
    next_source: usize,
    next_port: u16,
    /// The source address for PROXY headers if the load specifies none.
    address: Option<IpAddr>,
}

const FIRST_PORT: u16 = 1_024;

impl<'a> GroupState<'a> {
    /// Creates a worker's part of the group at `index`. `number` is the worker's number among the
    /// workers of all load generators.
    pub(super) fn new(compiled: &'a Compiled<'a>, index: usize, number: usize) -> Self {
        let settings = &compiled.load.groups[index];
        let (seed, workers) = (
            derive(compiled.load.seed, index as u64),
            compiled.part.workers,
        );
        let weights: Vec<f64> = settings.requests.iter().map(|it| it.weight).collect();
        let limits = Limits::of(&settings.shape);
        let closed = match &settings.shape {
            Shape::Closed(closed) => Some(closed),
            Shape::Open(_) => None,
        };
        let thinks = closed.and_then(|it| it.think.as_ref());
        let warm_up_ns = nanos(compiled.load.warm_up);
        let schedule = compiled.schedules[index].as_ref();
        let connections = share(u64::from(limits.connections), number, workers) as u32;
        // A worker that never has a connection could not send any arrivals, so it gets none.
        let senders = limits.peak.clamp(1, workers as u32) as usize;
        let sends = number < senders;
        let part = |all: u64| match sends {
            true => share(all, number, senders),
            false => 0,
        };
        let handshakes = settings.target.protocol == Protocol::Handshakes;
        // In a connection-only load, each connection is made when it is due.
        let (wanted, free) = if handshakes {
            (0, connections)
        } else {
            (connections, 0)
        };
        let population = closed.filter(|_| !handshakes);
        Self {
            settings,
            first_route: compiled.first_routes[index],
            mix: Mix::new(&weights, settings.order, seed, number),
            closed: closed.is_some(),
            arrivals: schedule
                .filter(|_| sends)
                .map(|it| it.arrivals(number, senders, seed)),
            next_due_ns: None,
            left: limits.requests.map(part),
            idle: VecDeque::new(),
            queue: VecDeque::new(),
            queue_max: part(u64::from(limits.queue)) as usize,
            thinks: thinks.map(|think| ThinkTimes::new(Some(think), seed, number)),
            thinking: BinaryHeap::new(),
            orphans: 0,
            handshakes,
            free,
            population: population.map(|it| Population::new(it, warm_up_ns, number, workers)),
            next_change_ns: None,
            wanted,
            have: 0,
            up: 0,
            down_since_ns: 0,
            refused: false,
            missing: if handshakes {
                connections.min(1)
            } else {
                wanted
            },
            connects: VecDeque::new(),
            // Each worker has its own TLS sessions, so workers do not contend for a lock.
            tls: settings.target.tls.as_ref().map(ClientContext::separate),
            requests_per_connection: limits.requests_per_connection,
            next_source: number,
            next_port: FIRST_PORT,
            address: None,
        }
    }

    /// Returns the times at which to open the initial connections, in nanoseconds from the first
    /// attempt.
    pub(super) fn connect_times(&self, workers: usize) -> impl Iterator<Item = u64> + use<> {
        let limits = Limits::of(&self.settings.shape);
        let gap_ns = limits
            .connections_per_second
            .map_or(0.0, |rate| 1e9 * workers as f64 / rate);
        (0..self.wanted).map(move |number| (f64::from(number) * gap_ns) as u64)
    }

    /// Users with think times start at different points within their first think time.
    pub(super) fn start(&mut self, start_ns: u64) {
        self.advance(start_ns);
        self.next_change_ns = self.change_after(0).map(|at| start_ns + at);
        self.spread_streams();
        let Some(thinks) = &mut self.thinks else {
            return;
        };
        let users = self.idle.len() as u64;
        for (number, conn) in (0..).zip(self.idle.drain(..)) {
            let thought_ns = u128::from(thinks.draw_ns()) * number / u128::from(users);
            self.thinking
                .push(Reverse((start_ns + thought_ns as u64, conn)));
        }
    }

    /// Replaces the schedule and the population with those of a shortened warm-up. `warm_up`
    /// contains the start and the time that has passed since then, in nanoseconds.
    pub(super) fn warm_up_for(
        &mut self,
        schedule: Option<Schedule>,
        population: Option<Population>,
        warm_up: (u64, u64),
    ) {
        let (start_ns, after_start_ns) = warm_up;
        if let (Some(arrivals), Some(schedule)) = (&mut self.arrivals, schedule) {
            let next = arrivals.go_on_by(schedule);
            self.next_due_ns = self.next_due_ns.and(next).map(|due| start_ns + due);
        }
        if self.population.is_some() {
            self.population = population;
            self.next_change_ns = self.change_after(after_start_ns).map(|at| start_ns + at);
        }
    }

    /// Orders the idle streams so that arrivals use one stream of every connection before they use
    /// a second stream of any connection.
    fn spread_streams(&mut self) {
        let mut seen: HashMap<ConnId, usize> = HashMap::new();
        let mut turns: Vec<_> = self
            .idle
            .drain(..)
            .map(|conn| {
                let turn = seen.entry(conn).or_default();
                *turn += 1;
                (*turn, conn)
            })
            .collect();
        turns.sort_by_key(|(turn, _)| *turn);
        self.idle.extend(turns.into_iter().map(|(_, conn)| conn));
    }

    pub(super) fn advance(&mut self, start_ns: u64) {
        let next = self.arrivals.as_mut().and_then(Arrivals::next_due_ns);
        self.next_due_ns = next.map(|due| start_ns + due);
    }

    /// Takes one of the requests that may still be sent. Returns false if none is left.
    pub(super) fn take_request(&mut self) -> bool {
        match &mut self.left {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }

    pub(super) fn up(&mut self) {
        self.up += 1;
        self.refused = false;
    }

    pub(super) fn down(&mut self, now: u64) {
        self.up -= 1;
        self.down_since_ns = now;
    }

    /// Reports whether there is no connection and an attempt to connect has failed since the last
    /// successful one. Always returns false in a connection-only load.
    pub(super) fn is_cut_off(&self) -> bool {
        self.up == 0 && self.refused && !self.handshakes
    }

    /// Reports whether the group is cut off and has had no connection for longer than the timeout
    /// of a request.
    fn is_given_up(&self, now: u64) -> bool {
        let timeout_ns = nanos(self.settings.timeout);
        self.is_cut_off() && now.saturating_sub(self.down_since_ns) > timeout_ns
    }

    /// Reports whether a connection that has carried this number of requests must carry no more.
    pub(super) fn is_used_up(&self, requests: u64) -> bool {
        let most = self.requests_per_connection;
        most.is_some_and(|most| requests >= most)
    }

    pub(super) fn has_place(&self) -> bool {
        self.free > 0 || !self.idle.is_empty()
    }

    /// Reports whether a request can be sent now without using a connection that an orphan (see
    /// [`Self::orphan`]) needs.
    pub(super) fn has_spare_place(&self) -> bool {
        self.free > 0 || self.idle.len() > self.orphans
    }

    /// Counts the users that were thinking on this lost connection as orphans. The caller replaces
    /// the connection.
    pub(super) fn orphan(&mut self, conn: ConnId) {
        let users = self.thinking.iter().filter(|it| it.0.1 == conn);
        self.orphans += users.count();
    }

    /// Reports whether the group has sent all requests that it may send, or cannot send the rest.
    pub(super) fn is_exhausted(&self, now: u64) -> bool {
        let is_sent = self.left == Some(0) && self.queue.is_empty();
        is_sent || self.left.is_some() && self.is_given_up(now)
    }

    /// Sets the target number of connections for a time after the start, and returns the time of
    /// the next change.
    pub(super) fn repopulate(&mut self, after_start_ns: u64) -> Option<u64> {
        let population = self.population.as_ref()?;
        self.wanted = population.connections_at(after_start_ns);
        self.change_after(after_start_ns)
    }

    pub(super) fn has_too_many(&self) -> bool {
        self.have > self.wanted
    }

    fn change_after(&self, after_start_ns: u64) -> Option<u64> {
        self.population.as_ref()?.next_change_ns(after_start_ns)
    }

    /// Chooses the route of the next request, and returns its index.
    pub(super) fn take_turn(&mut self) -> usize {
        self.first_route + self.mix.choose()
    }

    pub(super) fn source(&mut self) -> Option<IpAddr> {
        self.next_source = self.next_source.wrapping_add(1);
        self.last_source()
    }

    pub(super) fn last_source(&self) -> Option<IpAddr> {
        let sources = &self.settings.target.sources;
        let last = self.next_source.wrapping_sub(1) % sources.len().max(1);
        sources.get(last).copied()
    }

    pub(super) fn has_layer(&self) -> bool {
        let target = &self.settings.target;
        let speaks_http2 = matches!(target.protocol, Protocol::Http2 { .. });
        target.tls.is_some() || target.proxy.is_some() || speaks_http2
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Returns the bytes that precede TLS on a connection from `source`: its PROXY header, or no
    /// bytes if the target uses none.
    pub(super) fn preamble(&mut self, source: Option<IpAddr>) -> Vec<u8> {
        let target = &self.settings.target;
        let Some(proxy) = target.proxy else {
            return Vec::new();
        };
        let Peer::Tcp(destination) = target.address else {
            return proxy.unknown();
        };
        let source = source.unwrap_or(self.own_address(destination));
        let source = SocketAddr::new(source, self.next_port);
        self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_PORT);
        proxy.header(source, destination)
    }

    /// Returns the local address that packets to `destination` are sent from. The kernel chooses it
    /// by the route, and reports it without sending a packet. If there is no route, returns the
    /// address of `destination`.
    fn own_address(&mut self, destination: SocketAddr) -> IpAddr {
        let route = || {
            let any = match destination {
                SocketAddr::V4(_) => IpAddr::from([0; 4]),
                SocketAddr::V6(_) => IpAddr::from([0; 16]),
            };
            let socket = UdpSocket::bind((any, 0)).ok()?;
            socket.connect(destination).ok()?;
            Some(socket.local_addr().ok()?.ip())
        };
        *self
            .address
            .get_or_insert_with(|| route().unwrap_or(destination.ip()))
    }

    /// Returns the next time at which work is due even if no event occurs.
    pub(super) fn wake_at(&self) -> Option<u64> {
        let thought = self.thinking.peek().map(|Reverse((until, _))| *until);
        let connect = self.connects.front().copied();
        let times = [self.next_due_ns, connect, thought, self.next_change_ns];
        times.into_iter().flatten().min()
    }
}

struct Limits {
    connections: u32,
    peak: u32,
    queue: u32,
    requests: Option<u64>,
    requests_per_connection: Option<u64>,
    connections_per_second: Option<f64>,
}

impl Limits {
    fn of(shape: &Shape) -> Self {
        match shape {
            Shape::Closed(closed) => Self {
                connections: closed.connections,
                peak: closed
                    .stages
                    .iter()
                    .map(|stage| stage.connections)
                    .fold(closed.connections, u32::max),
                queue: 0,
                requests: closed.requests_max,
                requests_per_connection: closed.requests_per_connection,
                connections_per_second: closed.connections_per_second,
            },
            Shape::Open(open) => Self {
                connections: open.connections_max,
                peak: open.connections_max,
                queue: open.queue_max,
                requests: open.requests_max,
                requests_per_connection: open.requests_per_connection,
                connections_per_second: open.connections_per_second,
            },
        }
    }
}
