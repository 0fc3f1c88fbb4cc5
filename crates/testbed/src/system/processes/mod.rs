//! Reads the state of processes, mostly from `/proc`. A process may end between two reads; later
//! reads then return nothing for it.

mod listeners;
mod sockets;

use std::fs;

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use rustix::process::Signal;

pub(crate) use self::listeners::listeners;
pub(crate) use self::sockets::{holders_of_pipe, sockets_of};

type Inode = u64;

/// A process, distinct from a later process with the same process ID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProcessKey {
    pub pid: u32,
    /// The start of the process, in clock ticks since boot.
    pub started: u64,
}

/// The scheduler's figures for one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadAccount {
    /// 0 if the kernel keeps no `schedstat`.
    pub run_queue_wait_ns: u64,
    pub switches_voluntary: u64,
    pub switches_involuntary: u64,
}

pub(crate) fn key(pid: u32) -> Option<ProcessKey> {
    let started = started_ticks(pid)?;
    Some(ProcessKey { pid, started })
}

/// Returns the start of a process, in ticks since boot; `None` if the process has ended. A zombie
/// counts as ended, because its parent may be slow to reap it, as the first process of a container
/// often is.
pub(crate) fn started(pid: u32) -> Option<u64> {
    let (has_ended, ticks) = stat(pid)?;
    (!has_ended).then_some(ticks)
}

/// Returns the start of a process, even of a zombie; `None` after its parent has waited for it.
pub(crate) fn started_ticks(pid: u32) -> Option<u64> {
    stat(pid).map(|(_, ticks)| ticks)
}

/// Returns whether a process has ended, and when it started, in ticks since boot.
fn stat(pid: u32) -> Option<(bool, u64)> {
    stat_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses fields 3 and 22 of `/proc/PID/stat`. The program's name may contain any character, even
/// spaces and parentheses, so fields are counted from the last closing parenthesis.
fn stat_in(stat: &str) -> Option<(bool, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let has_ended = ["Z", "X"].contains(&fields.next()?);
    Some((has_ended, fields.nth(18)?.parse().ok()?))
}

/// Returns the direct children of a process; empty if the process does not exist.
pub fn children(pid: u32) -> Vec<u32> {
    let of_thread = |thread: u32| -> Vec<u32> {
        let list = fs::read_to_string(format!("/proc/{pid}/task/{thread}/children"));
        let list = list.unwrap_or_default();
        let children = list.split_whitespace();
        children.filter_map(|child| child.parse().ok()).collect()
    };
    threads(pid).into_iter().flat_map(of_thread).collect()
}

/// Returns a process and all its descendants, the process itself first.
pub fn tree(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(children(pid));
        next += 1;
    }
    found
}

pub(crate) fn threads(pid: u32) -> Vec<u32> {
    numbers_in(&format!("/proc/{pid}/task"))
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    names
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Reports whether a process would handle this signal now: it sleeps, catches the signal and does
/// not block it (`State`, `SigCgt` and `SigBlk` of proc_pid_status(5)).
pub(crate) fn awaits(pid: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    is_awaited_in(&status, signal)
}

fn is_awaited_in(status: &str, signal: Signal) -> bool {
    let is_in = |name: &str| {
        let set = field(status, name).and_then(|set| u64::from_str_radix(set, 16).ok());
        set.is_some_and(|set| set >> (signal.as_raw() - 1) & 1 == 1)
    };
    let sleeps = field(status, "State:").is_some_and(|state| state.starts_with('S'));
    sleeps && is_in("SigCgt:") && !is_in("SigBlk:")
}

/// Returns the CPU time of all threads of a process, including ended ones, in nanoseconds.
pub(crate) fn cpu_ns(pid: u32) -> Option<u64> {
    let clock: ClockId = clock_getcpuclockid(Pid::from_raw(i32::try_from(pid).ok()?)).ok()?;
    let time = clock_gettime(clock).ok()?;
    Some(time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_nsec().unsigned_abs())
}

pub(crate) fn rss_anon_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    kibibytes(&status, "RssAnon:")
}

/// Returns the proportional set size of a process, in bytes. Do not call this during a measurement,
/// because the kernel walks every page.
pub(crate) fn pss_bytes(pid: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    kibibytes(&rollup, "Pss:")
}

/// Returns the number of open descriptors; `None` if the process has ended, or if its descriptors
/// cannot be counted.
pub(crate) fn descriptors(pid: u32) -> Option<u64> {
    let path = format!("/proc/{pid}/fd");
    // Since Linux 6.2, the size of the folder is the number of descriptors. In earlier versions the
    // size is 0, and the descriptors are counted.
    match fs::metadata(&path).ok()?.len() {
        0 => u64::try_from(fs::read_dir(path).ok()?.count()).ok(),
        count => Some(count),
    }
}

pub(crate) fn thread_account(pid: u32, thread: u32) -> Option<ThreadAccount> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{thread}/status")).ok()?;
    let switches = |name: &str| field(&status, name)?.parse().ok();
    Some(ThreadAccount {
        run_queue_wait_ns: schedstat(pid, thread, 1).unwrap_or(0),
        switches_voluntary: switches("voluntary_ctxt_switches:")?,
        switches_involuntary: switches("nonvoluntary_ctxt_switches:")?,
    })
}

pub(crate) fn thread_cpu_ns(pid: u32, thread: u32) -> Option<u64> {
    schedstat(pid, thread, 0)
}

/// Returns a field of `/proc/PID/task/THREAD/schedstat`, in nanoseconds: 0 is the CPU time, 1 the
/// time spent waiting on the run queue.
fn schedstat(pid: u32, thread: u32, index: usize) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
    text.split_whitespace().nth(index)?.parse().ok()
}

/// Returns the trimmed rest of the first line that begins with `name`.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    value.map(str::trim)
}

/// Returns the value of the first line `NAME n kB`, in bytes.
pub(crate) fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let count: u64 = field(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    count.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;
    use std::thread;
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 10";
        assert_eq!(stat_in(stat), Some((false, 4711)));
    }

    #[test]
    fn only_whole_names_are_found() {
        let status =
            "nonvoluntary_ctxt_switches:\t3\nvoluntary_ctxt_switches:\t5\nRssAnon:\t  12 kB\n";
        assert_eq!(field(status, "voluntary_ctxt_switches:"), Some("5"));
        assert_eq!(kibibytes(status, "RssAnon:"), Some(12 * 1024));
        assert_eq!(kibibytes(status, "RssFile:"), None);
    }

    #[test]
    fn a_zombie_has_ended() {
        let own = started(std::process::id());
        assert!(own.is_some_and(|ticks| ticks > 0));
        let mut child = Command::new("true").spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while started(child.id()).is_some() {
            assert!(Instant::now() < deadline, "it never ended");
            thread::sleep(Duration::from_millis(1));
        }
        let folder = format!("/proc/{}", child.id());
        assert!(Path::new(&folder).exists(), "it is still a zombie");
        assert!(
            started_ticks(child.id()) >= own,
            "it started after this process"
        );
        assert!(child.wait().unwrap().success());
        assert_eq!((started(4_000_000), started_ticks(4_000_000)), (None, None));
    }

    #[test]
    fn a_sleeping_process_awaits_a_signal_that_it_catches_and_does_not_block() {
        let status = |state: &str, blocked: &str, caught: &str| {
            format!(
                "Name:\tx\nState:\t{state}\nSigBlk:\t{blocked}\nSigIgn:\t0000000004001800\nSigCgt:\t{caught}\n"
            )
        };
        let (none, hup, others) = ("0000000000000000", "0000000100716a03", "0000000100716a02");
        for (text, awaited) in [
            (status("S (sleeping)", none, hup), true),
            (status("R (running)", none, hup), false),
            (status("S (sleeping)", "0000000000310a01", hup), false),
            (status("S (sleeping)", none, others), false),
            (String::new(), false),
        ] {
            assert_eq!(is_awaited_in(&text, Signal::HUP), awaited, "{text}");
        }
        assert!(
            !awaits(std::process::id(), Signal::USR2),
            "this process does not catch it"
        );
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(text in ".*") {
            stat_in(&text);
            is_awaited_in(&text, Signal::HUP);
            kibibytes(&text, "Pss:");
        }
    }
}
