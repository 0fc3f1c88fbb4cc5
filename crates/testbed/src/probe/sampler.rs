//! What a process tree has used so far.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::cgroup::{self, Throttling, control_groups};
use super::clock::monotonic_ns;
use super::ledger::Ledger;
use super::written::{self, FileSizes};
use crate::system::processes::{self, ProcessKey, ThreadAccount, tree};

/// Which processes belong to a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The process alone: for a process whose children are other components.
    Process,
    /// Everything below the process, without itself: for what a supervisor supervises.
    Below,
    /// The process and everything below it.
    Tree,
}

/// A component at one moment. Times, switches and ends are counted since the component was first
/// sampled or its processes started, and never decrease; the rest is what there is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When, on `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// CPU time, user and system, of all threads. Of a process that ended, what it had at the last sample.
    pub cpu_ns: u64,
    /// Time its threads were runnable and waited for a core.
    pub run_queue_wait_ns: u64,
    /// Context switches because a thread waited for something.
    pub switches_voluntary: u64,
    /// Context switches because a thread had to make room.
    pub switches_involuntary: u64,
    /// Anonymous resident memory.
    pub rss_anon_bytes: u64,
    /// Open descriptors, of those processes whose descriptors may be seen.
    pub descriptors: u64,
    /// Processes.
    pub processes: u32,
    /// Threads.
    pub threads: u32,
    /// Processes that ended since the first sample: crashes, or workers that were replaced.
    pub processes_ended: u32,
    /// What the CPU limit of its control group did; none where the component has no group of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
}

/// Samples one component again and again.
#[derive(Debug)]
pub struct Sampler {
    root: u32,
    scope: Scope,
    cpu: Ledger<ProcessKey, u64>,
    threads: Ledger<(ProcessKey, u32), ThreadAccount>,
    /// The folder of its own CPU group, once there is a process to ask.
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

    /// What the component has used so far, and what it holds now.
    pub fn sample(&mut self) -> Sample {
        let mut sample = Sample {
            at_ns: monotonic_ns(),
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

    /// CPU time so far of the processes that were there at the last sample: one system call for each,
    /// cheap enough to be asked ten times a second during a load.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu.sum_now(|key| processes::cpu_ns(key.pid))
    }

    /// Proportional set size of the component; none where it may not be seen. The kernel walks all
    /// pages for it, which disturbs the tail of latencies: before and after a load only.
    pub fn pss_bytes(&self) -> Option<u64> {
        self.processes()
            .into_iter()
            .map(|key| processes::pss_bytes(key.pid))
            .sum()
    }

    /// CPU time of each thread so far, in nanoseconds, by the numbers of its process and its own. Reads
    /// a file of every thread: before and after a load only.
    pub fn thread_cpu_ns(&self) -> BTreeMap<(u32, u32), u64> {
        let of_process = |key: ProcessKey| {
            let threads = processes::threads(key.pid).into_iter();
            threads.filter_map(move |thread| {
                Some((
                    (key.pid, thread),
                    processes::thread_cpu_ns(key.pid, thread)?,
                ))
            })
        };
        self.processes().into_iter().flat_map(of_process).collect()
    }

    /// The processes of the component now.
    pub fn pids(&self) -> Vec<u32> {
        self.processes().into_iter().map(|key| key.pid).collect()
    }

    /// The files that the component has open for writing. Before and after a load only.
    pub fn written_files(&self) -> FileSizes {
        let of_process = |key: ProcessKey| written::of_process(key.pid);
        self.processes().into_iter().flat_map(of_process).collect()
    }

    /// Groups are looked up once: a process that is measured does not move.
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

/// The CPU group of a process, where it is not also this program's.
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
