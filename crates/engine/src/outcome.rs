//! The outcome of a load.

use std::collections::BTreeMap;

use gatebench_net::Backend;

use crate::counts::Counts;
use crate::record::Interval;
use crate::recorder::Kept;
use crate::recording::{Recording, Recordings, add};
use crate::route::RouteRecord;

/// The outcome of the whole load, merged over workers and seconds by addition.
#[derive(Debug)]
pub struct Outcome {
    /// All counts.
    pub counts: Counts,
    /// All recordings.
    pub recordings: Recordings,
    /// The outcome of each group, in the order of the load.
    pub groups: Vec<GroupOutcome>,
    /// Responses by status, without the statuses that did not occur.
    pub statuses: BTreeMap<u16, u64>,
    /// The time from the beginning of a connection until requests could be sent, TLS included, for
    /// all connections, even those made before the measurement.
    pub connects: Recording,
    /// Connections whose TLS session was resumed.
    pub resumed: u64,
    /// Service, added and request half of the requests that were due outside the measured window,
    /// most of them in the warm-up. No figure of the load contains them.
    pub unmeasured: Recordings,
    /// The checks as strings, in the order of [`Counts::checks_failed`].
    pub checks: Vec<String>,
    /// When the first request was due, on `CLOCK_MONOTONIC` in nanoseconds.
    pub start_ns: u64,
    /// The measured window, on `CLOCK_MONOTONIC` in nanoseconds.
    pub window_ns: (u64, u64),
    /// The wait for the last responses, in nanoseconds.
    pub drained_ns: u64,
    /// True if the load was stopped before its end; then the window is shorter than configured.
    pub interrupted: bool,
    /// The kernel interface used.
    pub backend: Backend,
    /// The cost of each worker.
    pub workers: Vec<WorkerFacts>,
}

/// Counts and histograms of the requests of one group.
#[derive(Clone, Debug)]
pub struct GroupOutcome {
    pub name: String,
    pub counts: Counts,
    pub recordings: Recordings,
    /// Its routes by name, in the order of its requests. Empty if the load has only one.
    pub routes: Vec<(String, RouteRecord)>,
}

/// The cost of one worker in the measured window.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkerFacts {
    /// CPU time of its thread in nanoseconds, without the time spent polling for events
    /// ([`crate::Load::spin`]).
    pub cpu_ns: u64,
    /// Time in nanoseconds during which it was ready but had no core.
    pub run_queue_wait_ns: u64,
}

impl Outcome {
    /// Adds one interval of one worker.
    pub(crate) fn add(&mut self, worker: usize, interval: &Interval) {
        self.counts.add(&interval.counts);
        for (status, count) in interval.statuses() {
            *self.statuses.entry(status).or_default() += count;
        }
        for (metric, class, recording) in interval.recordings() {
            add(&mut self.recordings, (metric, class), recording);
        }
        self.workers[worker].cpu_ns += interval.cpu_ns;
        self.workers[worker].run_queue_wait_ns += interval.run_queue_wait_ns;
    }

    /// Divides the load into its groups, given by name together with the names of their routes.
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
                // The only group is the load.
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
