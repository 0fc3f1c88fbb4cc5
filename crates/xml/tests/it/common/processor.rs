//! Measures the CPU time of this thread.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap())
}

pub fn cpu_of(work: impl FnOnce()) -> Duration {
    let before = cpu();
    work();
    cpu() - before
}
