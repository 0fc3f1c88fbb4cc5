//! One worker's part of one group: its connections that are free, its arrivals, its turn.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use gatebench_model::Shape;
use gatebench_net::ConnId;
use gatebench_net::tls::ClientContext;

use crate::load::Group;
use crate::run::{Compiled, requests_per_connection};
use crate::schedule::Schedule;

pub(super) struct GroupState<'a> {
    pub(super) settings: &'a Group,
    /// Its routes in the load's list.
    pub(super) routes: Range<usize>,
    /// Connections without a request, longest idle first: arrivals rotate over all of them.
    pub(super) idle: VecDeque<ConnId>,
    /// Intended times of arrivals that wait for a connection.
    pub(super) queue: VecDeque<u64>,
    pub(super) queue_max: usize,
    pub(super) closed: bool,
    pub(super) schedule: Option<&'a Schedule>,
    /// First connections that are not up yet.
    pub(super) missing: u32,
    /// When to try again to connect, once for each connection that is missing.
    pub(super) reconnects: VecDeque<u64>,
    /// Index of the next arrival of the whole group that is this worker's, and when it is due.
    pub(super) next_index: u64,
    pub(super) next_due_ns: Option<u64>,
    /// What TLS connections are made with.
    pub(super) tls: Option<ClientContext>,
    /// Requests after which a connection ends.
    pub(super) requests_per_connection: Option<u64>,
    next_route: usize,
    next_source: usize,
    next_port: u16,
}

/// The first port that a PROXY header names.
const FIRST_PORT: u16 = 1_024;

impl<'a> GroupState<'a> {
    /// The part of worker `number` in the group with that index.
    pub(super) fn new(compiled: &'a Compiled<'a>, index: usize, number: usize) -> Self {
        let settings = &compiled.load.groups[index];
        let routes = compiled.groups[index].clone();
        let queue_max = match &settings.shape {
            Shape::Closed(_) => 0,
            Shape::Open(open) => share(open.queue_max, number, compiled.workers) as usize,
        };
        let mut group = Self {
            settings,
            missing: 0,
            next_route: routes.start + number % routes.len(),
            routes,
            idle: VecDeque::new(),
            queue: VecDeque::new(),
            queue_max,
            closed: matches!(settings.shape, Shape::Closed(_)),
            schedule: compiled.schedules[index].as_ref(),
            reconnects: VecDeque::new(),
            next_index: number as u64,
            next_due_ns: None,
            // Each worker has sessions of its own, so that no two meet at a lock.
            tls: settings.target.tls.as_ref().map(ClientContext::separate),
            requests_per_connection: requests_per_connection(&settings.shape),
            next_source: number,
            next_port: FIRST_PORT,
        };
        group.missing = group.connections(number, compiled.workers);
        group
    }

    /// Connections of this worker.
    pub(super) fn connections(&self, number: usize, workers: usize) -> u32 {
        let all = match &self.settings.shape {
            Shape::Closed(closed) => closed.connections,
            Shape::Open(open) => open.connections_max,
        };
        share(all, number, workers)
    }

    /// The route of the next request.
    pub(super) fn take_turn(&mut self) -> usize {
        let route = self.next_route;
        self.next_route = if route + 1 == self.routes.end {
            self.routes.start
        } else {
            route + 1
        };
        route
    }

    /// The local address of the next connection.
    pub(super) fn source(&mut self) -> Option<IpAddr> {
        let sources = &self.settings.target.sources;
        let source = sources
            .get(self.next_source % sources.len().max(1))
            .copied();
        self.next_source = self.next_source.wrapping_add(1);
        source
    }

    /// Whether anything stands between HTTP and the socket.
    pub(super) fn has_layer(&self) -> bool {
        let target = &self.settings.target;
        target.tls.is_some() || target.proxy.is_some()
    }

    /// What the next connection begins with, before TLS.
    pub(super) fn preamble(&mut self) -> Vec<u8> {
        let target = &self.settings.target;
        let Some(proxy) = target.proxy else {
            return Vec::new();
        };
        let destination = target.address;
        let source = target.sources.first().copied();
        let source = SocketAddr::new(source.unwrap_or(destination.ip()), self.next_port);
        self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_PORT);
        proxy.header(source, destination)
    }

    /// When something has to be done without an event: an arrival or a connection.
    pub(super) fn wake_at(&self) -> Option<u64> {
        let times = [self.next_due_ns, self.reconnects.front().copied()];
        times.into_iter().flatten().min()
    }

    /// When the next arrival of this worker is due in a load that began at `start_ns`.
    pub(super) fn due_ns(&self, start_ns: u64) -> Option<u64> {
        Some(start_ns + self.schedule?.due_ns(self.next_index)?)
    }
}

/// This worker's part of a number that is divided among all, the remainder going to the first.
pub(super) fn share(all: u32, number: usize, workers: usize) -> u32 {
    let workers = workers as u32;
    all / workers + u32::from((number as u32) < all % workers)
}
