//! Measures the resources that a process tree has used so far, and finds the files that it writes.

use std::collections::BTreeMap;
use std::fs;
use std::ops::AddAssign;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::process;

use gatebench_net::clock;
use serde::{Deserialize, Serialize};

use super::cgroup::{self, Throttling, control_groups, group_of_container};
use crate::system::processes::{self, ProcessKey, ThreadAccount, field, tree};

/// The processes that belong to a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The process alone, because its children are other components.
    Process,
    /// Everything below the process, but not the process itself: the processes of a supervisor.
    Below,
    Tree,
}

/// The state of a component at one point in time. CPU times count from the start of each process,
/// waiting times and context switches from the start of each thread, and `processes_ended` from the
/// first sample. They never decrease. The figures in `throttling` count from the creation of the
/// control group. All other figures are current values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The time on `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// CPU time, user and system, of all threads. A process that has ended counts with its value in
    /// the last sample before its end.
    pub cpu_ns: u64,
    /// The time that the component's threads were runnable but waited for a core.
    pub run_queue_wait_ns: u64,
    /// Context switches that occurred because a thread waited for something.
    pub switches_voluntary: u64,
    /// Context switches that occurred because another thread took the core.
    pub switches_involuntary: u64,
    pub rss_anon_bytes: u64,
    /// Open descriptors of the processes whose descriptors are visible to this user.
    pub descriptors: u64,
    pub processes: u32,
    pub threads: u32,
    /// Processes that have ended since the first sample, for example replaced workers.
    pub processes_ended: u32,
    /// The effects of the CPU limit of the component's control group; none if the component has no
    /// separate group, or if the kernel keeps no statistics for the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
}

/// The threads of a component, and the files that it writes, at one point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outside {
    /// CPU time in nanoseconds, by the IDs of the process and the thread.
    pub threads: Vec<((u32, u32), u64)>,
    /// Sizes in bytes, by device and inode.
    pub files: Vec<((u64, u64), u64)>,
}

/// Samples one component repeatedly, and keeps the counters of its processes and threads that have
/// ended.
#[derive(Debug)]
pub struct Sampler {
    root: u32,
    scope: Scope,
    cpu: Ledger<ProcessKey, u64>,
    threads: Ledger<(ProcessKey, u32), ThreadAccount>,
    /// The folder of the group that `group_choice` selects, which is looked up once the component
    /// has a process. The inner value is none if there is no such group.
    group: Option<Option<PathBuf>>,
    group_choice: GroupChoice,
}

/// The CPU group that a component's throttling is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupChoice {
    /// The component's innermost group, unless this program is in the same group.
    Own,
    /// The component's innermost group, even if this program is in it: in a pod, this program does
    /// no other work.
    Shared,
    /// The group of another container whose processes are visible.
    OfContainer,
}

impl Sampler {
    pub fn new(root: u32, scope: Scope) -> Self {
        Self {
            root,
            scope,
            cpu: Ledger::default(),
            threads: Ledger::default(),
            group: None,
            group_choice: GroupChoice::Own,
        }
    }

    #[must_use]
    pub(crate) fn in_group(self, group_choice: GroupChoice) -> Self {
        Self {
            group_choice,
            ..self
        }
    }

    /// Returns the root of the tree, if it is not itself a process of the component.
    pub fn supervisor(&self) -> Option<u32> {
        (self.scope == Scope::Below).then_some(self.root)
    }

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

    /// Returns the CPU time so far of all processes, except those that started after the last
    /// sample. This method makes only two system calls per process, so it may be called repeatedly
    /// during a load.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu.sum_now(|key| processes::cpu_ns(key.pid))
    }

    /// Returns the proportional set size of the component; none if the size of at least one of its
    /// processes is not visible to this user. The kernel walks all pages to compute a size, which
    /// distorts the tail of the latency distribution, so call this only before and after a load.
    pub fn pss_bytes(&self) -> Option<u64> {
        let processes = self.processes().into_iter();
        processes.map(|key| processes::pss_bytes(key.pid)).sum()
    }

    /// Reads a file for each thread and descriptor, so call this only before and after a load.
    pub fn outside(&self) -> Outside {
        let processes = self.processes();
        let threads = |key: &ProcessKey| {
            let pid = key.pid;
            let threads = processes::threads(pid).into_iter();
            threads.filter_map(move |it| Some(((pid, it), processes::thread_cpu_ns(pid, it)?)))
        };
        let files = |key: &ProcessKey| files_written_by(key.pid);
        let files: FileSizes = processes.iter().flat_map(files).collect();
        Outside {
            threads: processes.iter().flat_map(threads).collect(),
            files: files.into_iter().collect(),
        }
    }

    pub fn pids(&self) -> Vec<u32> {
        self.processes().into_iter().map(|key| key.pid).collect()
    }

    /// The group is looked up only once, because a measured process does not change its group.
    fn throttling(&mut self, first: Option<&ProcessKey>) -> Option<Throttling> {
        if self.group.is_none() {
            self.group = first.map(|key| group_of(key.pid, self.group_choice));
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
        if self.group_choice == GroupChoice::OfContainer {
            // When a connection breaks, the gateway's first process becomes the parent of the
            // holder, which is this process's parent, so both can be in the gateway's tree.
            pids.retain(|pid| ![process::id(), parent_id()].contains(pid));
        }
        pids.into_iter().filter_map(processes::key).collect()
    }
}

fn group_of(pid: u32, choice: GroupChoice) -> Option<PathBuf> {
    let innermost = |pid| Some(control_groups(pid, "cpu").into_iter().next()?.folder);
    match choice {
        GroupChoice::Own => {
            innermost(pid).filter(|it| innermost(process::id()).as_ref() != Some(it))
        }
        GroupChoice::Shared => innermost(pid),
        GroupChoice::OfContainer => Some(group_of_container(pid, "cpu")?.folder),
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

impl AddAssign for ThreadAccount {
    fn add_assign(&mut self, other: Self) {
        self.run_queue_wait_ns += other.run_queue_wait_ns;
        self.switches_voluntary += other.switches_voluntary;
        self.switches_involuntary += other.switches_involuntary;
    }
}

/// A counter that never decreases.
trait Counter {
    /// Returns the larger value of each figure, because the files of a thread that is ending can
    /// lack its earlier figures.
    #[must_use]
    fn at_least(self, earlier: Self) -> Self;
}

impl Counter for u64 {
    fn at_least(self, earlier: Self) -> Self {
        self.max(earlier)
    }
}

impl Counter for ThreadAccount {
    fn at_least(self, earlier: Self) -> Self {
        Self {
            run_queue_wait_ns: self.run_queue_wait_ns.max(earlier.run_queue_wait_ns),
            switches_voluntary: self.switches_voluntary.max(earlier.switches_voluntary),
            switches_involuntary: self.switches_involuntary.max(earlier.switches_involuntary),
        }
    }
}

/// Counters by owner (a process or a thread), and the sum for owners that are gone.
#[derive(Clone, Debug, Default)]
struct Ledger<K, C> {
    present: BTreeMap<K, C>,
    gone: C,
    gone_count: u32,
}

impl<K: Ord, C: Copy + Default + AddAssign + Counter> Ledger<K, C> {
    /// Replaces the current values of the owners, and returns the sum over all owners ever seen.
    fn update(&mut self, mut now: BTreeMap<K, C>) -> C {
        for (key, earlier) in &self.present {
            match now.get_mut(key) {
                Some(counters) => *counters = counters.at_least(*earlier),
                None => {
                    self.gone += *earlier;
                    self.gone_count += 1;
                }
            }
        }
        self.present = now;
        self.sum_now(|_| None)
    }

    /// Returns the sum over all owners ever seen. `read` returns the current value of a present
    /// owner; if it returns none, the owner's last value counts.
    fn sum_now(&self, read: impl Fn(&K) -> Option<C>) -> C {
        let mut sum = self.gone;
        for (key, last) in &self.present {
            sum += read(key).map_or(*last, |now| now.at_least(*last));
        }
        sum
    }

    fn gone_count(&self) -> u32 {
        self.gone_count
    }
}

/// Sizes of files in bytes, by device and inode, which do not change when a file is renamed.
type FileSizes = BTreeMap<(u64, u64), u64>;

/// The mask of the access mode in `flags`, and the value for read-only access (open(2)).
const ACCESS_MODE: u32 = 0o3;
const READ_ONLY: u32 = 0o0;

/// Returns the regular files that a process has open for writing, except deleted ones; empty if the
/// process's descriptors are not visible to this user.
fn files_written_by(pid: u32) -> FileSizes {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return FileSizes::new();
    };
    let size = |name: &str| {
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{name}")).ok()?;
        let flags = u32::from_str_radix(field(&info, "flags:")?, 8).ok()?;
        let file = fs::metadata(format!("/proc/{pid}/fd/{name}")).ok()?;
        // Programs use a deleted file as a buffer, not as a log.
        let is_log = flags & ACCESS_MODE != READ_ONLY && file.is_file() && file.nlink() > 0;
        is_log.then(|| ((file.dev(), file.ino()), file.len()))
    };
    let names = descriptors.flatten();
    names
        .filter_map(|entry| size(entry.file_name().to_str()?))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn owners_that_have_gone_are_still_counted() {
        let mut ledger = Ledger::<u32, u64>::default();
        assert_eq!(ledger.update([(1, 10), (2, 5)].into()), 15);
        assert_eq!(ledger.update([(1, 12)].into()), 17);
        assert_eq!(ledger.update([(1, 12), (3, 1)].into()), 18);
        assert_eq!(ledger.update(BTreeMap::new()), 18);
        assert_eq!(ledger.gone_count(), 3);
        ledger.update([(4, 10), (5, 1)].into());
        assert_eq!(ledger.sum_now(|owner| (*owner == 4).then_some(12)), 18 + 13);
    }

    #[test]
    fn files_open_for_writing_are_found_with_their_sizes() {
        let folder = tempfile::tempdir().unwrap();
        let (log, other) = (folder.path().join("log"), folder.path().join("other"));
        fs::write(&other, b"").unwrap();
        let mut file = fs::File::create(&log).unwrap();
        let _reading = fs::File::open(&other).unwrap();
        let own = process::id();
        let before = files_written_by(own);
        file.write_all(b"twelve bytes").unwrap();
        fs::write(&other, b"open for reading only").unwrap();
        let after = files_written_by(own);
        let key = |path| {
            let file = fs::metadata(path).unwrap();
            (file.dev(), file.ino())
        };
        assert_eq!(after.get(&key(&log)), Some(&12));
        assert!(!after.contains_key(&key(&other)));
        assert_eq!(before.get(&key(&log)), Some(&0));
    }
}
