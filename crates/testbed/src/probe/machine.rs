//! Reads the busy, interrupt and steal times of the machine's cores, the throttling of this
//! program, and the load average.

use std::fs;

use gatebench_net::clock;
use serde::{Deserialize, Serialize};

use super::cgroup;

/// The times of a core since boot, in nanoseconds. The kernel counts in ticks, usually of 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreTimes {
    pub core: usize,
    /// Busy time: user, nice, system, hardware interrupts and softirq.
    pub busy_ns: u64,
    #[serde(default)]
    pub irq_ns: u64,
    #[serde(default)]
    pub softirq_ns: u64,
    /// Steal time, during which the hypervisor ran other guests although a thread was runnable.
    pub steal_ns: u64,
}

/// The state of the machine at one point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineSample {
    /// The time on `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Each core that is online.
    pub cores: Vec<CoreTimes>,
    /// The longest time that a CPU limit has throttled one of this program's groups.
    pub throttled_ns: u64,
}

impl MachineSample {
    pub fn read() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let tick_ns = Self::tick_ns();
        Self {
            at_ns: clock::now_ns(),
            cores: stat
                .lines()
                .filter_map(|it| core_times(it, tick_ns))
                .collect(),
            throttled_ns: cgroup::throttled_ns(),
        }
    }

    /// Returns the length of a tick, the unit of the times in `/proc/stat`, in nanoseconds.
    pub fn tick_ns() -> u64 {
        1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
    }

    pub fn steal_ns(&self, cores: &[usize]) -> u64 {
        self.among(cores).map(|times| times.steal_ns).sum()
    }

    pub fn busy_ns(&self, cores: &[usize]) -> u64 {
        self.among(cores).map(|times| times.busy_ns).sum()
    }

    pub fn softirq_ns(&self, cores: &[usize]) -> u64 {
        self.among(cores).map(|times| times.softirq_ns).sum()
    }

    pub fn irq_ns(&self, cores: &[usize]) -> u64 {
        self.among(cores).map(|times| times.irq_ns).sum()
    }

    fn among(&self, cores: &[usize]) -> impl Iterator<Item = &CoreTimes> {
        let all = self.cores.iter();
        all.filter(|times| cores.contains(&times.core))
    }
}

/// Returns the load average of the last minute: the exponentially damped average of the number of
/// threads that were running, runnable or in uninterruptible sleep (proc_loadavg(5)). It is not
/// divided by the number of cores. Returns none if there is no `/proc`.
pub fn load_average() -> Option<f64> {
    first_number(&fs::read_to_string("/proc/loadavg").ok()?)
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Parses `cpuN user nice system idle iowait irq softirq steal …`; guest time is part of user and
/// nice time.
fn core_times(line: &str, tick_ns: u64) -> Option<CoreTimes> {
    let mut fields = line.strip_prefix("cpu")?.split_whitespace();
    // The line for the whole machine, `cpu  …`, has no number.
    let core = fields.next().filter(|_| !line.starts_with("cpu "))?;
    let core = core.parse().ok()?;
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal] = *ticks.first_chunk()?;
    Some(CoreTimes {
        core,
        irq_ns: irq * tick_ns,
        softirq_ns: softirq * tick_ns,
        busy_ns: (user + nice + system + irq + softirq) * tick_ns,
        steal_ns: steal * tick_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_read_and_the_whole_machine_is_not_a_core() {
        let times = core_times("cpu1 1 2 3 400 500 6 7 8 0 0", 10);
        let expected = CoreTimes {
            core: 1,
            busy_ns: 190,
            irq_ns: 60,
            softirq_ns: 70,
            steal_ns: 80,
        };
        assert_eq!(times, Some(expected));
        assert_eq!(core_times("cpu  1 2 3 4 5 6 7 8 0 0", 10), None);
        assert_eq!(core_times("intr 1 2 3", 10), None);
    }

    #[test]
    fn the_first_number_is_for_the_last_minute() {
        assert_eq!(first_number("0.42 1.50 2.00 3/417 12345\n"), Some(0.42));
        assert_eq!(first_number(""), None);
        assert!(load_average().is_some_and(|it| it >= 0.0));
    }
}
