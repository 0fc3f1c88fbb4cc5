//! The cores of this machine, and keeping this process off those of the gateway.

use std::fs;

use gatebench_model::Topology;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores that this process may use, in ascending order; none where the system does not say.
pub(crate) fn allowed() -> Vec<usize> {
    sched_getaffinity(None)
        .map(|set| listed(&set))
        .unwrap_or_default()
}

/// The sharing of cores and caches between them.
pub(crate) fn topology() -> Topology {
    gatebench_testbed::probe::topology(&allowed())
}

fn listed(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU)
        .filter(|core| set.is_set(*core))
        .collect()
}

/// Keeps every thread of this process on some cores, until it is dropped: displays and samplers must
/// not run where the gateway does.
pub(crate) struct Kept {
    before: Vec<usize>,
}

impl Kept {
    /// Does it as far as the system lets; no cores means anywhere.
    pub(crate) fn on(cores: &[usize]) -> Self {
        let before = allowed();
        if !cores.is_empty() {
            move_all_threads(cores);
        }
        Self { before }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !self.before.is_empty() {
            move_all_threads(&self.before);
        }
    }
}

/// A thread that just ended, or one that may not be moved, is left as it is.
fn move_all_threads(cores: &[usize]) {
    let mut set = CpuSet::new();
    for core in cores.iter().filter(|core| **core < CpuSet::MAX_CPU) {
        set.set(*core);
    }
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return;
    };
    for name in tasks.flatten().map(|task| task.file_name()) {
        if let Some(thread) = name
            .to_str()
            .and_then(|name| name.parse().ok())
            .and_then(Pid::from_raw)
        {
            let _ = sched_setaffinity(Some(thread), &set);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_stay_where_they_are_put_and_go_back() {
        let before = allowed();
        let last = before[before.len() - 1];
        let kept = Kept::on(&[last]);
        assert_eq!(allowed(), [last]);
        drop(kept);
        assert_eq!(allowed(), before);
    }
}
