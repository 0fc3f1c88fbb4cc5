//! The outcome of a load.

use std::collections::BTreeMap;

use gatebench_net::Backend;
use serde::{Deserialize, Serialize};

use crate::Load;
use crate::counts::Counts;
use crate::record::{FirstRequest, Interval};
use crate::recorder::Kept;
use crate::recording::{Recording, Recordings, add};
use crate::route::RouteRecord;
use crate::upstream_clock::Halves;

/// The outcome of the whole load, summed over workers and seconds.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub counts: Counts,
    pub recordings: Recordings,
    pub halves: Halves,
    /// The outcome of each group, in the order of the load.
    pub groups: Vec<GroupOutcome>,
    /// Responses by status, from 100 to 599. A status that did not occur is absent.
    pub statuses: BTreeMap<u16, u64>,
    /// The time from the start of a connection until requests could be sent, including TLS.
    /// Connections made before the measurement are included.
    pub connects: Recording,
    /// The number of connections that resumed a TLS session.
    pub resumed: u64,
    /// Service times, added latencies and request halves of the requests that were due outside the
    /// measured window. No other recording contains these times.
    pub unmeasured: Recordings,
    /// The checks as strings, in the order of [`Counts::checks_failed`].
    pub checks: Vec<String>,
    /// The start of the load, on `CLOCK_MONOTONIC` in nanoseconds.
    pub start_ns: u64,
    /// Among all requests, including those of the warm-up, the one that was sent first; `None` if
    /// no request was sent.
    pub first: Option<FirstRequest>,
    pub window_ns: (u64, u64),
    /// The time spent waiting for the last responses; the longest among the workers.
    pub drained_ns: u64,
    /// True if the load was stopped before the end of the drain.
    pub interrupted: bool,
    pub backend: Backend,
    pub workers: Vec<WorkerFacts>,
}

/// Counts and histograms of the requests of one group.
#[derive(Clone, Debug)]
pub struct GroupOutcome {
    pub name: String,
    pub counts: Counts,
    pub recordings: Recordings,
    /// The group's routes with their names, in the order of its requests; empty if the load has
    /// only one route.
    pub routes: Vec<(String, RouteRecord)>,
}

/// The cost of one worker in the measured window.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct WorkerFacts {
    /// The CPU time of the worker's thread, without the time spent on polls that found no event
    /// ([`crate::Load::spin`]).
    pub cpu_ns: u64,
    /// The time during which the thread was ready but had no core.
    pub run_queue_wait_ns: u64,
}

impl Outcome {
    /// Returns the outcome of a load that has no workers and has sent no request.
    pub fn of(load: &Load, backend: Backend) -> Self {
        let requests = load.groups.iter().flat_map(|group| &group.requests);
        let checks = requests.flat_map(|request| &request.checks);
        let checks: Vec<String> = checks.map(ToString::to_string).collect();
        Self {
            counts: Counts::new(checks.len()),
            recordings: BTreeMap::new(),
            halves: Halves::default(),
            groups: Vec::new(),
            statuses: BTreeMap::new(),
            connects: Recording::new(),
            resumed: 0,
            unmeasured: BTreeMap::new(),
            checks,
            start_ns: 0,
            first: None,
            window_ns: (0, 0),
            drained_ns: 0,
            interrupted: false,
            backend,
            workers: Vec::new(),
        }
    }

    /// Adds the outcome of another load generator that sent a part of the same load. The window
    /// becomes the span of both windows, so both outcomes must use the same clock.
    pub fn join(&mut self, other: Self) {
        self.counts.add(&other.counts);
        add_recordings(&mut self.recordings, &other.recordings);
        self.halves.add(&other.halves);
        for (own, other) in self.groups.iter_mut().zip(&other.groups) {
            own.counts.add(&other.counts);
            add_recordings(&mut own.recordings, &other.recordings);
            for ((_, own), (_, other)) in own.routes.iter_mut().zip(&other.routes) {
                own.add(other);
            }
        }
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.connects.add(&other.connects);
        self.resumed += other.resumed;
        add_recordings(&mut self.unmeasured, &other.unmeasured);
        self.start_ns = self.start_ns.min(other.start_ns);
        let firsts = [self.first, other.first].into_iter().flatten();
        self.first = firsts.min_by_key(|it| it.sent_ns);
        self.window_ns.0 = self.window_ns.0.min(other.window_ns.0);
        self.window_ns.1 = self.window_ns.1.max(other.window_ns.1);
        self.drained_ns = self.drained_ns.max(other.drained_ns);
        self.interrupted |= other.interrupted;
        self.workers.extend(other.workers);
    }

    pub fn add(&mut self, worker: usize, interval: &Interval) {
        self.counts.add(&interval.counts);
        self.halves.add(&interval.halves);
        for (status, count) in interval.statuses() {
            *self.statuses.entry(status).or_default() += count;
        }
        for (metric, class, recording) in interval.recordings() {
            add(&mut self.recordings, (metric, class), recording);
        }
        self.workers[worker].cpu_ns += interval.cpu_ns;
        self.workers[worker].run_queue_wait_ns += interval.run_queue_wait_ns;
    }

    /// Divides the outcome into the load's groups. `groups` contains each group's name and the
    /// names of its routes.
    pub(crate) fn divide(&mut self, groups: Vec<(String, Vec<String>)>, kept: Kept) {
        self.connects = kept.connects;
        self.resumed = kept.resumed;
        self.unmeasured = kept.unmeasured;
        let mut routes = kept.routes.into_iter();
        let mut records = kept.groups.into_iter();
        for (name, names) in groups {
            let (counts, recordings) = match records.next() {
                Some(record) => {
                    let each = record.recordings();
                    let cloned = each.map(|(metric, class, it)| ((metric, class), it.clone()));
                    (record.counts.clone(), cloned.collect())
                }
                // The only group is the whole load.
                None => (self.counts.clone(), self.recordings.clone()),
            };
            self.groups.push(GroupOutcome {
                name,
                counts,
                recordings,
                routes: names.into_iter().zip(routes.by_ref()).collect(),
            });
        }
    }
}

fn add_recordings(to: &mut Recordings, from: &Recordings) {
    for (key, recording) in from {
        add(to, *key, recording);
    }
}
