//! The resources that a process tree has used so far.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gatebench_net::clock;
use serde::{Deserialize, Serialize};

use super::cgroup::{self, Throttling, control_groups};
use super::ledger::Ledger;
use super::written::{self, FileSizes};
use crate::system::processes::{self, ProcessKey, ThreadAccount, tree};

/// Which processes belong to a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The process alone, because its children are other components.
    Process,
    /// Everything below the process, but not the process itself: the processes of a supervisor.
    Below,
    /// The process and everything below it.
    Tree,
}

/// A component at one time. Times, switches and ends count from the first sample or from the start
/// of a process, and never decrease; the other figures are current values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The time on `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// CPU time, user and system, of all threads. A process that has ended counts with its value at
    /// the last sample before.
    pub cpu_ns: u64,
    /// Time for which its threads were runnable and waited for a core.
    pub run_queue_wait_ns: u64,
    /// Context switches because a thread waited for something.
    pub switches_voluntary: u64,
    /// Context switches because another thread took the core.
    pub switches_involuntary: u64,
    /// Anonymous resident memory.
    pub rss_anon_bytes: u64,
    /// Open descriptors of the processes whose descriptors are visible to this user.
    pub descriptors: u64,
    pub processes: u32,
    pub threads: u32,
    /// Processes that have ended since the first sample, for example replaced workers.
    pub processes_ended: u32,
    /// The effects of the CPU limit of its control group; none if the component has no separate
    /// group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
}

/// The threads of a component, and the files that it writes, at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outside {
    /// CPU time in nanoseconds, by the IDs of the process and the thread.
    pub threads: Vec<((u32, u32), u64)>,
    /// Sizes in bytes, by device and inode.
    pub files: Vec<((u64, u64), u64)>,
}

/// Samples one component repeatedly.
#[derive(Debug)]
pub struct Sampler {
    root: u32,
    scope: Scope,
    cpu: Ledger<ProcessKey, u64>,
    threads: Ledger<(ProcessKey, u32), ThreadAccount>,
    /// The folder of its separate CPU group, once it has a process.
    group: Option<Option<PathBuf>>,
}

impl Sampler {
    /// A sampler of the process tree at `root`.
    pub fn new(root: u32, scope: Scope) -> Self {
        Self {
            root,
            scope,
            cpu: Ledger::default(),
            threads: Ledger::default(),
            group: None,
        }
    }

    /// The root of the tree, if it is not itself a process of the component.
    pub fn supervisor(&self) -> Option<u32> {
        (self.scope == Scope::Below).then_some(self.root)
    }

    /// Reads the resources that the component has used so far, and those that it holds now.
    pub fn sample(&mut self) -> Sample {
        let mut sample = Sample {
            at_ns: clock::now_ns(),
            ..Sample::default()
        };
        let mut cpu = BTreeMap::new();
        let mut accounts = BTreeMap::new();
        let processes = self.processes();
        sample.throttling = self.throttling(processes.first());
        for key in processes {
            let Some(cpu_ns) = processes::cpu_ns(key.pid) else {
                continue;
            };
            cpu.insert(key, cpu_ns);
            let threads = processes::threads(key.pid);
            let account =
                |thread: u32| Some(((key, thread), processes::thread_account(key.pid, thread)?));
            accounts.extend(threads.into_iter().filter_map(account));
            sample.rss_anon_bytes += processes::rss_anon_bytes(key.pid).unwrap_or(0);
            sample.descriptors += processes::descriptors(key.pid).unwrap_or(0);
        }
        sample.processes = count(cpu.len());
        sample.threads = count(accounts.len());
        sample.cpu_ns = self.cpu.update(cpu);
        sample.processes_ended = self.cpu.gone_count();
        let account = self.threads.update(accounts);
        sample.run_queue_wait_ns = account.run_queue_wait_ns;
        sample.switches_voluntary = account.switches_voluntary;
        sample.switches_involuntary = account.switches_involuntary;
        sample
    }

    /// The CPU time so far of all processes, except processes that started after the last sample.
    /// It takes one system call per process, which is cheap enough for ten readings per second
    /// during a load.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu.sum_now(|key| processes::cpu_ns(key.pid))
    }

    /// The proportional set size of the component; none if it is not visible to this user. The
    /// kernel walks all pages for it, which distorts the tail of the latency distribution: call
    /// this only before and after a load.
    pub fn pss_bytes(&self) -> Option<u64> {
        let processes = self.processes().into_iter();
        processes.map(|key| processes::pss_bytes(key.pid)).sum()
    }

    /// Observes threads and files. This reads a file for each thread and descriptor: call this only
    /// before and after a load.
    pub fn outside(&self) -> Outside {
        let processes = self.processes();
        let threads = |key: &ProcessKey| {
            let pid = key.pid;
            let threads = processes::threads(pid).into_iter();
            threads.filter_map(move |it| Some(((pid, it), processes::thread_cpu_ns(pid, it)?)))
        };
        let files = |key: &ProcessKey| written::of_process(key.pid);
        let files: FileSizes = processes.iter().flat_map(files).collect();
        Outside {
            threads: processes.iter().flat_map(threads).collect(),
            files: files.into_iter().collect(),
        }
    }

    /// The current processes of the component.
    pub fn pids(&self) -> Vec<u32> {
        self.processes().into_iter().map(|key| key.pid).collect()
    }

    /// Groups are looked up once, because a measured process does not change its group.
    fn throttling(&mut self, first: Option<&ProcessKey>) -> Option<Throttling> {
        if self.group.is_none() {
            self.group = first.map(|key| own_group(key.pid));
        }
        cgroup::throttling_of(self.group.as_ref()?.as_ref()?)
    }

    fn processes(&self) -> Vec<ProcessKey> {
        let mut pids = match self.scope {
            Scope::Process => vec![self.root],
            Scope::Tree | Scope::Below => tree(self.root),
        };
        if self.scope == Scope::Below {
            pids.remove(0);
        }
        pids.into_iter().filter_map(processes::key).collect()
    }
}

/// The CPU group of a process; none if it is also this program's group.
fn own_group(pid: u32) -> Option<PathBuf> {
    let innermost = |pid| control_groups(pid, "cpu").into_iter().next();
    let group = innermost(pid)?.folder;
    let ours = innermost(std::process::id());
    ours.is_none_or(|ours| ours.folder != group)
        .then_some(group)
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
