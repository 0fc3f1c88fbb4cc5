//! What the cores of the machine did, whoever used them.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::accounting::SoftirqPayer;
use crate::cgroup;
use crate::clock::monotonic_ns;

/// A core since boot, in nanoseconds; the kernel counts in ticks, mostly of 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreTimes {
    /// The core's number.
    pub core: usize,
    /// Time it ran something: user, system and interrupts.
    pub busy_ns: u64,
    /// Of the busy time, that in interrupts.
    #[serde(default)]
    pub irq_ns: u64,
    /// Of the busy time, that in softirq.
    #[serde(default)]
    pub softirq_ns: u64,
    /// Time the hypervisor gave to others although something was runnable.
    pub steal_ns: u64,
}

/// The machine at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineSample {
    /// When, on `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Each core that is online.
    pub cores: Vec<CoreTimes>,
    /// Time that a CPU limit has stopped the groups this program is in.
    pub throttled_ns: u64,
}

impl MachineSample {
    /// Reads the machine now.
    pub fn read() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let tick_ns = Self::tick_ns();
        Self {
            at_ns: monotonic_ns(),
            cores: stat
                .lines()
                .filter_map(|line| core_times(line, tick_ns))
                .collect(),
            throttled_ns: cgroup::throttled_ns(),
        }
    }

    /// The kernel's unit of the times of cores.
    pub fn tick_ns() -> u64 {
        1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
    }

    /// Steal time of some cores, summed.
    pub fn steal_ns(&self, cores: &[usize]) -> u64 {
        self.among(cores).map(|times| times.steal_ns).sum()
    }

    /// Busy time of some cores, summed.
    pub fn busy_ns(&self, cores: &[usize]) -> u64 {
        self.among(cores).map(|times| times.busy_ns).sum()
    }

    /// Time of some cores in softirq, summed.
    pub fn softirq_ns(&self, cores: &[usize]) -> u64 {
        self.among(cores).map(|times| times.softirq_ns).sum()
    }

    /// Time of some cores in interrupts, summed.
    pub fn irq_ns(&self, cores: &[usize]) -> u64 {
        self.among(cores).map(|times| times.irq_ns).sum()
    }

    fn among(&self, cores: &[usize]) -> impl Iterator<Item = &CoreTimes> {
        self.cores
            .iter()
            .filter(|times| cores.contains(&times.core))
    }
}

/// CPU time that processes other than ours took on these cores between two samples. `ours_ns` is
/// our own components on them took meanwhile. If no process pays for softirq and interrupts, they
/// are not foreign either. Below a tick per core the result means nothing.
pub fn foreign_cpu_ns(
    cores: &[usize],
    before: &MachineSample,
    after: &MachineSample,
    ours_ns: u64,
    payer: SoftirqPayer,
) -> u64 {
    let charged_ns = |sample: &MachineSample| {
        let unpaid_ns = match payer {
            SoftirqPayer::Nobody => sample.softirq_ns(cores) + sample.irq_ns(cores),
            SoftirqPayer::Processes | SoftirqPayer::Unknown => 0,
        };
        sample.busy_ns(cores).saturating_sub(unpaid_ns)
    };
    charged_ns(after)
        .saturating_sub(charged_ns(before))
        .saturating_sub(ours_ns)
}

/// Reads `cpuN user nice system idle iowait irq softirq steal …`; guest time is part of user time.
fn core_times(line: &str, tick_ns: u64) -> Option<CoreTimes> {
    let mut fields = line.strip_prefix("cpu")?.split_whitespace();
    // The line of the whole machine has no number: its first field is missing, and a blank comes first.
    let core = if line.starts_with("cpu ") {
        None
    } else {
        fields.next()?.parse().ok()
    }?;
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
        assert_eq!(
            times,
            Some(CoreTimes {
                core: 1,
                busy_ns: 190,
                irq_ns: 60,
                softirq_ns: 70,
                steal_ns: 80
            })
        );
        assert_eq!(core_times("cpu  1 2 3 4 5 6 7 8 0 0", 10), None);
        assert_eq!(core_times("intr 1 2 3", 10), None);
    }

    #[test]
    fn foreign_time_is_what_is_left_on_the_cores() {
        let at = |busy: [u64; 2]| MachineSample {
            cores: busy
                .iter()
                .enumerate()
                .map(|(core, &busy_ns)| CoreTimes {
                    core,
                    busy_ns,
                    irq_ns: busy_ns / 50,
                    softirq_ns: busy_ns / 5,
                    steal_ns: 0,
                })
                .collect(),
            ..MachineSample::default()
        };
        let (before, after) = (at([100, 100]), at([250, 900]));
        let foreign = |cores: &[usize], ours_ns, payer| {
            foreign_cpu_ns(cores, &before, &after, ours_ns, payer)
        };
        for payer in [SoftirqPayer::Processes, SoftirqPayer::Unknown] {
            assert_eq!(foreign(&[0], 50, payer), 100);
            assert_eq!(foreign(&[0, 1], 950, payer), 0);
            assert_eq!(foreign(&[0], 500, payer), 0);
        }
        // Of 150 ns, 33 were interrupts and softirq, which none of the 50 ns has.
        assert_eq!(foreign(&[0], 50, SoftirqPayer::Nobody), 67);
        assert_eq!(foreign(&[0], 117, SoftirqPayer::Nobody), 0);
    }
}
