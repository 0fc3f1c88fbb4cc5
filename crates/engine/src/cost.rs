//! Measures the CPU time and the run-queue wait of a worker's thread.

use std::fs::File;
use std::os::unix::fs::FileExt;

use gatebench_net::clock;

pub(crate) struct ThreadCost {
    schedstat: Option<File>,
    last: (u64, u64),
}

impl ThreadCost {
    pub(crate) fn new() -> Self {
        // Kernels without CONFIG_SCHED_INFO lack this file. The wait is then unknown and reported
        // as 0.
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        let mut cost = Self {
            schedstat,
            last: (0, 0),
        };
        cost.last = cost.read();
        cost
    }

    /// Returns the CPU time and the run-queue wait since the last call (since [`Self::new`] for the
    /// first call), in nanoseconds.
    pub(crate) fn since_last(&mut self) -> (u64, u64) {
        let now = self.read();
        let since = (now.0 - self.last.0, now.1.saturating_sub(self.last.1));
        self.last = now;
        since
    }

    fn read(&self) -> (u64, u64) {
        (
            clock::thread_cpu_ns(),
            self.run_queue_wait_ns().unwrap_or(0),
        )
    }

    /// Reads the nanoseconds spent waiting on a run queue, which are the second field of
    /// `schedstat` (documented in the kernel's `sched-stats.rst`).
    fn run_queue_wait_ns(&self) -> Option<u64> {
        let mut text = [0; 96];
        let len = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..len]).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok()
    }
}
