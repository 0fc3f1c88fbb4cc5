//! A worker's records: one for the current second and, if there are several groups or routes, one
//! for each of them.

use std::ops::Range;

use crate::kind::{Class, ErrorKind, Metric};
use crate::record::{FirstRequest, Interval};
use crate::recording::{Recording, Recordings, add};
use crate::response::Exchange;
use crate::route::RouteRecord;
use crate::upstream_clock::{Clocks, UpstreamClock};

pub(crate) struct Recorder {
    pub(crate) interval: Box<Interval>,
    pub(crate) kept: Kept,
    /// The window in which a request must be due to be counted.
    pub(crate) window: Range<u64>,
    /// True if requests carry a nonce.
    pub(crate) traced: bool,
    /// The upstreams' clock; `None` if they share the clock of this process.
    pub(crate) upstream_clock: Option<UpstreamClock>,
    /// The number of requests in flight.
    pub(crate) busy: usize,
    /// The number of requests since the start that got a complete response, including those of the
    /// warm-up.
    pub(crate) completed: u64,
    /// The number of requests since the start that failed, including those of the warm-up.
    pub(crate) failed: u64,
    /// Among all requests, including those of the warm-up, the one that was sent first.
    pub(crate) first: FirstRequest,
}

/// The records of the whole measurement, returned at the end of the load.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// One record for each group; empty if there is a single group, whose record would equal the
    /// load's.
    pub(crate) groups: Vec<Interval>,
    /// One record for each route; empty if there is a single route, whose record would equal the
    /// load's.
    pub(crate) routes: Vec<RouteRecord>,
    /// The time from the start of a connection until requests could be sent. Connections made
    /// before the measurement are included.
    pub(crate) connects: Recording,
    pub(crate) resumed: u64,
    /// The times of the requests due outside the measurement.
    pub(crate) unmeasured: Recordings,
}

impl Kept {
    pub(crate) fn new(groups: usize, routes: usize, checks: usize) -> Self {
        let several = |count: usize| if count > 1 { count } else { 0 };
        Self {
            groups: vec![Interval::new(checks); several(groups)],
            routes: vec![RouteRecord::new(); several(routes)],
            connects: Recording::new(),
            resumed: 0,
            unmeasured: Recordings::new(),
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (to, from) in self.groups.iter_mut().zip(&other.groups) {
            to.add(from);
        }
        for (to, from) in self.routes.iter_mut().zip(&other.routes) {
            to.add(from);
        }
        self.connects.add(&other.connects);
        self.resumed += other.resumed;
        for (key, recording) in &other.unmeasured {
            add(&mut self.unmeasured, *key, recording);
        }
    }

    /// Records a request due outside the measurement. Its times are used to check the gateway's own
    /// metrics, which cover the whole load.
    #[cold]
    fn unmeasured(&mut self, class: Class, clocks: Option<Clocks>, exchange: &Exchange, now: u64) {
        let service_ns = now.saturating_sub(exchange.sent_ns);
        let times = exchange.times.filter(|it| it.nonce == exchange.nonce);
        let times = times.filter(|_| clocks.is_some());
        let added = times.map(|it| (Metric::Added, service_ns.saturating_sub(it.service_ns)));
        let half = times.filter(|_| clocks == Some(Clocks::Shared)).map(|it| {
            let half_ns = it.received_ns.saturating_sub(exchange.sent_ns);
            (Metric::RequestHalf, half_ns)
        });
        let service = (Metric::Service, service_ns);
        for (metric, ns) in added.into_iter().chain(half).chain([service]) {
            let recording = self.unmeasured.entry((metric, class));
            recording.or_default().record(ns);
        }
    }
}

impl Recorder {
    /// Applies a change to the record of the current second and, if each group has its own record,
    /// to that of the group.
    pub(crate) fn note(&mut self, group: usize, note: impl Fn(&mut Interval)) {
        note(&mut self.interval);
        if let Some(record) = self.kept.groups.get_mut(group) {
            note(record);
        }
    }

    /// Records that a request is in flight. Each request that begins must end exactly once, by
    /// [`Self::settle`] or [`Self::fail`].
    pub(crate) fn begin(&mut self, group: usize, exchange: &Exchange, bytes: u64) {
        self.busy += 1;
        if exchange.sent_ns < self.first.sent_ns {
            self.first = FirstRequest {
                due_ns: exchange.intended_ns,
                sent_ns: exchange.sent_ns,
            };
        }
        if !self.window.contains(&exchange.intended_ns) {
            return;
        }
        self.note(group, |it| {
            it.counts.sent += 1;
            it.counts.bytes_sent += bytes;
        });
        if let Some(record) = self.kept.routes.get_mut(exchange.route) {
            record.sent += 1;
        }
    }

    /// Records a complete response and, in a traced load, its added latency and halves.
    pub(crate) fn settle(
        &mut self,
        group: usize,
        exchange: &Exchange,
        failed_checks: &[usize],
        now: u64,
    ) {
        self.busy -= 1;
        self.completed += 1;
        let clocks = self.compare_clocks(exchange, now);
        if self.window.contains(&now) {
            self.note(group, |it| it.counts.completed_in_window += 1);
        }
        if !self.window.contains(&exchange.intended_ns) {
            let class = Class::of(exchange.status);
            return self
                .kept
                .unmeasured(class, clocks.filter(|_| self.traced), exchange, now);
        }
        self.interval.count_status(exchange.status);
        let clocks = clocks.filter(|_| self.traced);
        self.note(group, |it| it.count(exchange, failed_checks, clocks, now));
        if let Some(record) = self.kept.routes.get_mut(exchange.route) {
            record.completed += 1;
            record.by_class[Class::of(exchange.status) as usize] += 1;
            record.responses_failing_checks += u64::from(!failed_checks.is_empty());
            record.response.record(exchange.response_ns(now));
        }
    }

    /// Narrows the bounds on the upstream's clock with the times of a request, and returns what is
    /// known about the clocks at that request. Requests of the warm-up narrow the bounds as well,
    /// so that the bounds of its last second are known when the measurement begins.
    fn compare_clocks(&mut self, exchange: &Exchange, now: u64) -> Option<Clocks> {
        let Some(clock) = &mut self.upstream_clock else {
            return Some(Clocks::Shared);
        };
        match exchange.times.filter(|times| times.nonce == exchange.nonce) {
            None => Some(Clocks::Unknown { stepped: false }),
            Some(times) => {
                let left_ns = times.received_ns.saturating_add(times.service_ns);
                Some(clock.see([exchange.sent_ns, times.received_ns, left_ns, now]))
            }
        }
    }

    pub(crate) fn fail(&mut self, group: usize, exchange: &Exchange, kind: ErrorKind, now: u64) {
        self.busy -= 1;
        self.failed += 1;
        if !self.window.contains(&exchange.intended_ns) {
            let class = Class::Failed;
            let clocks = match self.upstream_clock {
                None => Clocks::Shared,
                Some(_) => Clocks::Unknown { stepped: false },
            };
            let clocks = self.traced.then_some(clocks);
            return self.kept.unmeasured(class, clocks, exchange, now);
        }
        self.note(group, |it| it.failure(exchange, kind, now));
        if let Some(record) = self.kept.routes.get_mut(exchange.route) {
            record.errors[kind as usize] += 1;
            record.response.record(exchange.response_ns(now));
        }
    }
}

impl Interval {
    /// `clocks` is `Some` if the request was traced.
    fn count(
        &mut self,
        exchange: &Exchange,
        failed_checks: &[usize],
        clocks: Option<Clocks>,
        now: u64,
    ) {
        let class = Class::of(exchange.status);
        self.counts.completed += 1;
        self.counts.by_class[class as usize] += 1;
        self.counts.responses_failing_checks += u64::from(!failed_checks.is_empty());
        for number in failed_checks {
            self.counts.checks_failed[*number] += 1;
        }
        let service_ns = self.time(class, exchange, now);
        if exchange.first_byte_ns < now {
            let waiting_ns = exchange.first_byte_ns.saturating_sub(exchange.sent_ns);
            self.record_parts(class, waiting_ns, service_ns);
        }
        if let Some(clocks) = clocks {
            self.trace(class, clocks, exchange, service_ns, now);
        }
    }

    fn trace(
        &mut self,
        class: Class,
        clocks: Clocks,
        exchange: &Exchange,
        service_ns: u64,
        now: u64,
    ) {
        match exchange.times {
            None => self.counts.untimed += 1,
            Some(times) if times.nonce != exchange.nonce => self.counts.foreign += 1,
            Some(times) => {
                self.counts.traced += 1;
                let added_ns = service_ns.saturating_sub(times.service_ns);
                let Some(ahead_ns) = self.halves.ahead_ns(clocks) else {
                    return self.record_added(class, added_ns);
                };
                let here = |ns: u64| ns.wrapping_add_signed(ahead_ns.wrapping_neg());
                let received_ns = here(times.received_ns);
                let left_ns = received_ns.saturating_add(times.service_ns);
                let request_half_ns = received_ns.saturating_sub(exchange.sent_ns);
                let response_half_ns = now.saturating_sub(left_ns);
                self.record_trace(class, [added_ns, request_half_ns, response_half_ns]);
            }
        }
    }

    fn failure(&mut self, exchange: &Exchange, kind: ErrorKind, now: u64) {
        self.counts.errors[kind as usize] += 1;
        self.time(Class::Failed, exchange, now);
    }

    /// Records the response time, service time and lateness of a request that ends now, and returns
    /// its service time.
    fn time(&mut self, class: Class, exchange: &Exchange, now: u64) -> u64 {
        let service_ns = now.saturating_sub(exchange.sent_ns);
        let lateness_ns = exchange.sent_ns.saturating_sub(exchange.intended_ns);
        self.record(class, exchange.response_ns(now), service_ns, lateness_ns);
        service_ns
    }
}
