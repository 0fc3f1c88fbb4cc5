//! Reads which cores, packages and NUMA nodes the logical CPUs belong to, and their speeds, from
//! `/sys/devices/system/cpu`.

use std::fs;
use std::path::Path;

use gatebench_model::{Cpu, Topology};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::cgroup::cpu_limit;

const ROOT: &str = "/sys/devices/system/cpu";

/// The highest plausible CPU number; ranges with a higher one are ignored.
const CPU_MAX: usize = 1 << 16;

/// Returns the CPUs that this process may use, in ascending order; empty if the system does not
/// report them.
pub fn allowed_cores() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_default();
    let is_set = |core: &usize| set.is_set(*core);
    (0..CpuSet::MAX_CPU).filter(is_set).collect()
}

/// Returns the CPUs that this process may use. If its CPU limit is lower than their number, returns
/// only the first ones, as many as the limit rounded up.
pub fn usable_cores() -> Vec<usize> {
    let mut cores = allowed_cores();
    if let Some(cpus) = cpu_limit() {
        cores.truncate((cpus.ceil() as usize).max(1));
    }
    cores
}

pub fn topology(allowed: &[usize]) -> Topology {
    topology_below(Path::new(ROOT), allowed)
}

/// Returns the topology of the given CPUs, read from a directory with a folder `cpuN` for each. A
/// CPU without a list of threads, or with a list that lacks it, is treated as a separate core.
pub fn topology_below(root: &Path, allowed: &[usize]) -> Topology {
    let mut cpus: Vec<Cpu> = allowed.iter().map(|cpu| read(root, *cpu)).collect();
    let speeds =
        ["cpu_capacity", "cpufreq/cpuinfo_max_freq"].map(|file| speeds(root, allowed, file));
    // CPUs with the same capacity may still have different maximum frequencies.
    let differ = |speeds: &&Vec<u64>| speeds.iter().any(|speed| *speed != speeds[0]);
    let chosen = speeds.iter().flatten().find(differ).or(speeds[0].as_ref());
    for (cpu, speed) in cpus.iter_mut().zip(chosen.into_iter().flatten()) {
        cpu.speed = Some(*speed);
    }
    Topology::new(cpus)
}

fn read(root: &Path, number: usize) -> Cpu {
    let folder = root.join(format!("cpu{number}"));
    let lists = ["topology/core_cpus_list", "topology/thread_siblings_list"];
    let listed = lists
        .iter()
        .find_map(|file| Some(cpu_list(&fs::read_to_string(folder.join(file)).ok()?)));
    let threads = listed.filter(|threads| threads.contains(&number));
    Cpu {
        number,
        threads: threads.unwrap_or_else(|| vec![number]),
        core: number_in(&folder.join("topology/core_id")),
        package: number_in(&folder.join("topology/physical_package_id")),
        node: node_of(&folder),
        speed: None,
    }
}

/// Returns the NUMA node that the CPU's folder links to.
fn node_of(folder: &Path) -> Option<usize> {
    let names = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|it| it.file_name());
    let nodes = names.filter_map(|name| name.to_str()?.strip_prefix("node")?.parse().ok());
    nodes.min()
}

/// Returns the speed of each CPU as stated in this file of its folder; none if any CPU lacks the
/// file.
fn speeds(root: &Path, allowed: &[usize], file: &str) -> Option<Vec<u64>> {
    let speed = |cpu: &usize| number_in(&root.join(format!("cpu{cpu}")).join(file));
    allowed.iter().map(speed).collect()
}

fn number_in<N: std::str::FromStr>(path: &Path) -> Option<N> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Parses a list such as `0-3,8` and returns the numbers in ascending order. Other text is ignored.
pub(crate) fn cpu_list(text: &str) -> Vec<usize> {
    let mut cpus: Vec<usize> = text
        .trim()
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let ends: (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            (ends.1 <= CPU_MAX).then_some(ends.0..=ends.1)
        })
        .flatten()
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_a_damaged_one_is_ignored() {
        assert_eq!(cpu_list("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!(cpu_list("3,1"), [1, 3]);
        for damaged in ["", "a", "-", "4-2", "0-99999999999", "1-x"] {
            assert!(cpu_list(damaged).is_empty(), "{damaged}");
        }
    }
}
