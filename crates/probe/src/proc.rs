//! Reading `/proc/PID`. A process may end between two reads: then it is simply not there.

use std::fs;

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProcessKey {
    pub pid: u32,
    /// Clock ticks after boot.
    pub started: u64,
}

/// The scheduler's account of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadAccount {
    pub run_queue_wait_ns: u64,
    pub switches_voluntary: u64,
    pub switches_involuntary: u64,
}

/// The process of this number, if there is one.
pub(crate) fn key(pid: u32) -> Option<ProcessKey> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(ProcessKey {
        pid,
        started: start_time(&stat)?,
    })
}

/// Field 22 of `/proc/PID/stat`. The name of the program may hold anything, also blanks and brackets,
/// so that fields are counted from the last closing bracket.
fn start_time(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(19)?
        .parse()
        .ok()
}

/// The threads of a process.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    tasks
        .flatten()
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect()
}

/// CPU time of all threads of a process, those that ended included, in nanoseconds.
pub(crate) fn cpu_ns(pid: u32) -> Option<u64> {
    let clock: ClockId = clock_getcpuclockid(Pid::from_raw(i32::try_from(pid).ok()?)).ok()?;
    let time = clock_gettime(clock).ok()?;
    Some(time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_nsec().unsigned_abs())
}

/// Anonymous resident memory in bytes.
pub(crate) fn rss_anon_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    kibibytes(&status, "RssAnon:")
}

/// Proportional set size in bytes. The kernel walks every page for it: not during a measurement.
pub(crate) fn pss_bytes(pid: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    kibibytes(&rollup, "Pss:")
}

/// Open descriptors; none where they may not be seen.
pub(crate) fn descriptors(pid: u32) -> Option<u64> {
    let path = format!("/proc/{pid}/fd");
    // Since Linux 6.2 the size of the folder is their number; before, it is 0 and they are counted.
    match fs::metadata(&path).ok()?.len() {
        0 => u64::try_from(fs::read_dir(path).ok()?.count()).ok(),
        count => Some(count),
    }
}

/// What the scheduler says about one thread.
pub(crate) fn thread_account(pid: u32, thread: u32) -> Option<ThreadAccount> {
    let schedstat =
        fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).unwrap_or_default();
    let status = fs::read_to_string(format!("/proc/{pid}/task/{thread}/status")).ok()?;
    Some(ThreadAccount {
        run_queue_wait_ns: schedstat
            .split_whitespace()
            .nth(1)
            .and_then(|wait| wait.parse().ok())
            .unwrap_or(0),
        switches_voluntary: field(&status, "voluntary_ctxt_switches:")?.parse().ok()?,
        switches_involuntary: field(&status, "nonvoluntary_ctxt_switches:")?
            .parse()
            .ok()?,
    })
}

/// CPU time of one thread in nanoseconds, by the scheduler's own account.
pub(crate) fn thread_cpu_ns(pid: u32, thread: u32) -> Option<u64> {
    let account = fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).ok()?;
    account.split_whitespace().next()?.parse().ok()
}

/// The value of a line `NAME value`.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

/// The value of a line `NAME n kB`, in bytes.
pub(crate) fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let count: u64 = field(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    count.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 10";
        assert_eq!(start_time(stat), Some(4711));
    }

    #[test]
    fn only_whole_names_are_found() {
        let status =
            "nonvoluntary_ctxt_switches:\t3\nvoluntary_ctxt_switches:\t5\nRssAnon:\t  12 kB\n";
        assert_eq!(field(status, "voluntary_ctxt_switches:"), Some("5"));
        assert_eq!(kibibytes(status, "RssAnon:"), Some(12 * 1024));
        assert_eq!(kibibytes(status, "RssFile:"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".*") {
            start_time(&text);
            kibibytes(&text, "Pss:");
        }
    }
}
