//! Lets another thread stop a load and watch its progress.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A handle for stopping a load and watching its progress from another thread.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    ready: AtomicBool,
    /// The start of the load, on `CLOCK_MONOTONIC`; 0 until it is set.
    start_ns: AtomicU64,
    /// The time set by [`Self::measure_from`]; 0 until it is set.
    measure_ns: AtomicU64,
    live: Vec<Live>,
}

/// Counters of one worker, updated once per round of its loop.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Live {
    /// The number of complete responses so far, including those in the warm-up.
    pub completed: AtomicU64,
    /// The number of requests so far that ended without a complete response, including those in the
    /// warm-up.
    pub failed: AtomicU64,
    /// The number of arrivals waiting for a connection.
    pub queued: AtomicU64,
}

impl Control {
    /// Creates a control for a load with this number of workers. 0 is treated as 1, because a load
    /// with an empty list of [cores](crate::Load::cores) has one worker.
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

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the start of the load, on `CLOCK_MONOTONIC` in nanoseconds, or `None` until it is
    /// set. The warm-up begins at this time.
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

    /// Sets the start of the load, on `CLOCK_MONOTONIC` in nanoseconds. If this load generator
    /// sends only a [part](crate::Load::part) of a load, the caller must set the start, because
    /// only the caller knows when the other load generators are ready.
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

    /// Returns the time that the first call of [`Self::measure_from`] set, even if it has no
    /// effect, or `None` if there was no call.
    pub fn measured_from(&self) -> Option<u64> {
        Some(self.measure_ns.load(Ordering::Acquire)).filter(|at_ns| *at_ns > 0)
    }

    pub fn live(&self) -> &[Live] {
        &self.live
    }
}
