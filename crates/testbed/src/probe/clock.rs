//! The clock that samples are stamped with.

use std::fs;
use std::path::Path;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// The name of the clock source, as a path below `/`.
const SOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Now on `CLOCK_MONOTONIC`, in nanoseconds: the clock of every time stamp of a run.
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// The hardware that the kernel reads time from now, as `tsc`; none where the kernel does not say.
/// The kernel changes it while it runs if it finds the source to be unstable.
pub fn clock_source() -> Option<String> {
    clock_source_below(Path::new("/"))
}

/// As [`clock_source`], of the machine whose `/sys` is below `root`.
pub fn clock_source_below(root: &Path) -> Option<String> {
    let name = fs::read_to_string(root.join(SOURCE)).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// CPU time of the calling thread, in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

fn nanoseconds(time: Timespec) -> u64 {
    // Neither clock is ever negative.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
