//! Keeps this process off the cores of the gateway.

use std::fs;

use gatebench_testbed::probe::allowed_cores;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Keeps every thread of this process on some cores until it is dropped, because displays and
/// samplers must not run on the gateway's cores.
pub(super) struct KeptThreads {
    before: Vec<usize>,
}

impl KeptThreads {
    /// Moves the threads as far as the system permits; an empty list moves none.
    pub(super) fn on(cores: &[usize]) -> Self {
        let before = allowed_cores();
        if !cores.is_empty() {
            move_all_threads(cores);
        }
        Self { before }
    }
}

impl Drop for KeptThreads {
    fn drop(&mut self) {
        if !self.before.is_empty() {
            move_all_threads(&self.before);
        }
    }
}

/// Threads that have ended or must not be moved are skipped.
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
        let before = allowed_cores();
        let last = before[before.len() - 1];
        let kept = KeptThreads::on(&[last]);
        assert_eq!(allowed_cores(), [last]);
        drop(kept);
        assert_eq!(allowed_cores(), before);
    }
}
