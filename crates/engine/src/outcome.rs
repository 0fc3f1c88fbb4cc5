//! What a load came to.

use std::collections::BTreeMap;

use gatebench_net::Backend;

use crate::record::{Class, Counts, Interval, Metric, Recording};

/// The whole load, merged over workers and seconds by addition.
#[derive(Debug)]
pub struct Outcome {
    /// All counts.
    pub counts: Counts,
    /// All recordings.
    pub recordings: BTreeMap<(Metric, Class), Recording>,
    /// The texts of the checks, in the order of [`Counts::checks_failed`].
    pub checks: Vec<String>,
    /// When the first request was due, `CLOCK_MONOTONIC` nanoseconds.
    pub start_ns: u64,
    /// The measured window, `CLOCK_MONOTONIC` nanoseconds.
    pub window_ns: (u64, u64),
    /// How long the last answers were waited for, nanoseconds.
    pub drained_ns: u64,
    /// Whether the load was stopped before its end; then the window is shorter than asked for.
    pub interrupted: bool,
    /// The kernel interface used.
    pub backend: Backend,
    /// Each worker's cost.
    pub workers: Vec<WorkerFacts>,
}

/// What one worker cost in the measured window.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkerFacts {
    /// CPU time of its thread, nanoseconds.
    pub cpu_ns: u64,
    /// Time it was ready but had no core, nanoseconds.
    pub run_queue_wait_ns: u64,
}

impl Outcome {
    /// Adds one interval of one worker.
    pub(crate) fn add(&mut self, worker: usize, interval: &Interval) {
        self.counts.add(&interval.counts);
        for (metric, class, recording) in interval.recordings() {
            match self.recordings.get_mut(&(metric, class)) {
                Some(total) => total.add(recording),
                None => {
                    self.recordings.insert((metric, class), recording.clone());
                }
            }
        }
        self.workers[worker].cpu_ns += interval.cpu_ns;
        self.workers[worker].run_queue_wait_ns += interval.run_queue_wait_ns;
    }
}
