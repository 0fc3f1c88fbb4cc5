//! Sets the cores and the priority of this process's threads.

use std::fs;

use gatebench_model::{Cpu, Topology};
use gatebench_net::turns::run_when_idle;
use gatebench_testbed::probe::{allowed_cores, topology};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Returns the CPUs that this process may use and whose physical core has no CPU in `used`, for
/// threads that must not disturb a measurement. The list is empty if there are none.
pub fn spare_cores(used: &[usize]) -> Vec<usize> {
    spare(&topology(&allowed_cores()), used)
}

fn spare(topology: &Topology, used: &[usize]) -> Vec<usize> {
    let cpus = topology.cpus().iter();
    let is_spare = |cpu: &&Cpu| !cpu.threads.iter().any(|thread| used.contains(thread));
    cpus.filter(is_spare).map(|cpu| cpu.number).collect()
}

/// Lets this thread run almost only when its core is otherwise idle, and moves it to these cores if
/// there are any. If the system does not permit it, the thread keeps its policy and its cores.
///
/// The highest nice value would not suffice: a thread that has it keeps the core for up to a few
/// milliseconds when a thread of the load generator wakes up.
pub(crate) fn step_aside(cores: &[usize]) {
    let _ = run_when_idle();
    if !cores.is_empty() {
        let _ = sched_setaffinity(None, &set_of(cores));
    }
}

/// Keeps every thread of this process on some cores until this value is dropped, because displays
/// and samplers must not run on the gateway's cores.
pub(crate) struct KeptThreads {
    before: Vec<usize>,
}

impl KeptThreads {
    pub(crate) fn on(cores: &[usize]) -> Self {
        let before = allowed_cores();
        move_all_threads(cores);
        Self { before }
    }
}

impl Drop for KeptThreads {
    fn drop(&mut self) {
        move_all_threads(&self.before);
    }
}

/// Moves every thread of this process to these cores; an empty list moves none. Threads that have
/// ended or that the system does not permit to be moved are skipped.
fn move_all_threads(cores: &[usize]) {
    if cores.is_empty() {
        return;
    }
    let set = set_of(cores);
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    for name in tasks.flatten().map(|task| task.file_name()) {
        let number = name.to_str().and_then(|name| name.parse().ok());
        if let Some(thread) = number.and_then(Pid::from_raw) {
            let _ = sched_setaffinity(Some(thread), &set);
        }
    }
}

fn set_of(cores: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for core in cores.iter().filter(|core| **core < CpuSet::MAX_CPU) {
        set.set(*core);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scheduling policy of the calling thread (proc(5), field 41).
    fn policy() -> String {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, after_name) = stat.rsplit_once(')').unwrap();
        after_name.split_whitespace().nth(38).unwrap().to_owned()
    }

    #[test]
    fn only_the_thread_that_steps_aside_runs_when_its_core_is_idle() {
        let before = policy();
        let aside = std::thread::spawn(|| {
            step_aside(&[]);
            policy()
        });
        assert_eq!(aside.join().unwrap(), "5");
        assert_eq!((before.as_str(), policy().as_str()), ("0", "0"));
    }

    #[test]
    fn a_core_with_a_used_thread_is_not_spare() {
        let cpu = |number: usize| Cpu {
            number,
            threads: vec![number % 2, number % 2 + 2],
            ..Cpu::default()
        };
        let two_cores = Topology::new((0..4).map(cpu).collect());
        assert_eq!(spare(&two_cores, &[0]), [1, 3]);
        assert_eq!(spare(&two_cores, &[0, 3]), Vec::<usize>::new());
        assert_eq!(spare(&Topology::flat(&[0, 1, 2]), &[0, 1]), [2]);
    }

    #[test]
    fn threads_move_and_return() {
        let before = allowed_cores();
        let last = before[before.len() - 1];
        let kept = KeptThreads::on(&[last]);
        assert_eq!(allowed_cores(), [last]);
        drop(kept);
        assert_eq!(allowed_cores(), before);
    }
}
