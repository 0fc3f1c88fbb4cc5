//! Lets another thread stop a load and watch its progress.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A handle for stopping a load and watching its progress from another thread.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    /// True once all workers are ready and wait for the start.
    ready: AtomicBool,
    /// The start of the load, on `CLOCK_MONOTONIC`; 0 until it is set.
    start_ns: AtomicU64,
    /// The start of the measurement if the warm-up is ended from outside; 0 until set.
    measure_ns: AtomicU64,
    live: Vec<Live>,
}

/// Counters of one worker, updated once per round of its loop and read by displays.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Live {
    /// The number of responses so far, including the warm-up.
    pub completed: AtomicU64,
    /// The number of requests so far that ended without a response.
    pub failed: AtomicU64,
    /// The number of arrivals waiting for a connection.
    pub queued: AtomicU64,
}

impl Control {
    /// Creates a control for a load with this number of workers.
    pub fn new(workers: usize) -> Self {
        Self {
            stop: AtomicBool::new(false),
            ready: AtomicBool::new(false),
            start_ns: AtomicU64::new(0),
            measure_ns: AtomicU64::new(0),
            live: (0..workers.max(1)).map(|_| Live::default()).collect(),
        }
    }

    /// Ends the load early. The outcome contains the measurement so far.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Reports whether the load was stopped.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the start of the load, on `CLOCK_MONOTONIC` in nanoseconds, or `None` until it is
    /// set. The warm-up starts then and the measurement follows it, so a caller that samples the
    /// load's costs can do so at the boundaries of the measurement.
    pub fn start_ns(&self) -> Option<u64> {
        Some(self.start_ns.load(Ordering::Acquire)).filter(|start_ns| *start_ns > 0)
    }

    /// Reports whether all workers have made their first connections and are ready to start.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    pub(crate) fn be_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Sets the start of the load, on `CLOCK_MONOTONIC` in nanoseconds. For a load that is a
    /// [part](crate::Load::part) of another, the caller must set the start, because only the caller
    /// knows when all the others are ready.
    pub fn starts_at(&self, at_ns: u64) {
        self.start_ns.store(at_ns, Ordering::Release);
    }

    /// Ends the warm-up early, at a future time on `CLOCK_MONOTONIC` in nanoseconds. The
    /// measurement begins then and keeps its length. A time at or after the end of
    /// [`crate::Load::warm_up`] has no effect, and neither does a second call.
    pub fn measure_from(&self, at_ns: u64) {
        let _ = self
            .measure_ns
            .compare_exchange(0, at_ns, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Returns the start of the measurement if the warm-up is ended from outside.
    pub fn measured_from(&self) -> Option<u64> {
        Some(self.measure_ns.load(Ordering::Acquire)).filter(|at_ns| *at_ns > 0)
    }

    /// Returns the workers' counters.
    pub fn live(&self) -> &[Live] {
        &self.live
    }
}
