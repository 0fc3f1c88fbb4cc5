//! Counts system calls per request in a separate run, because counting costs time.

use std::path::Path;

use crate::CLIENT_CORE;
use crate::client;
use crate::folder::Folder;
use crate::tools::{Job, Tool};

/// The number of calls per request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Syscalls {
    pub all: f64,
    /// The number of `io_uring_enter` calls among them.
    pub io_uring_enter: f64,
}

/// The program that counts system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// perf with the kernel's tracepoints, which slow the tool very little.
    Perf,
    /// strace, which stops the tool at every call and therefore makes its batches larger.
    Strace,
}

/// The minimum number of requests. With fewer, the system calls that the tool makes when it starts
/// would distort the number per request.
const REQUESTS_MIN: u64 = 1000;

const CALLS: &str = "calls";

const EVENTS: &str = "raw_syscalls:sys_enter,syscalls:sys_enter_io_uring_enter";

/// Returns the first counter that works here; the error states which program to install.
pub fn counter() -> Result<Counter, String> {
    let works = |counter: Counter| {
        let Ok(folder) = Folder::new() else {
            return false;
        };
        let file = word(&folder.path(CALLS));
        let words = ["true".to_owned()];
        let counted = client::pinned(CLIENT_CORE, &prefix(counter, &file), &words, 1)
            .and_then(|_| take(&file))
            .and_then(|text| read(counter, &text));
        counted.is_ok()
    };
    let mut all = [Counter::Perf, Counter::Strace].into_iter();
    all.find(|counter| works(*counter)).ok_or_else(|| {
        "system calls are not counted: neither perf nor strace works here; run this as root with perf installed, or install strace with `make external`".into()
    })
}

pub fn count(counter: Counter, tool: &Tool, job: &Job<'_>) -> Result<Syscalls, String> {
    let folder = Folder::new()?;
    let file = word(&folder.path(CALLS));
    let words = (tool.words)(job)?;
    let output = client::pinned(CLIENT_CORE, &prefix(counter, &file), &words, job.seconds)?;
    let made = (tool.read)(job, &output)?;
    let (all, enters) = read(counter, &take(&file)?)?;
    if made.requests < REQUESTS_MIN {
        return Err(format!(
            "only {} requests were made while calls were counted",
            made.requests
        ));
    }
    let per_request = |count: u64| count as f64 / made.requests as f64;
    Ok(Syscalls {
        all: per_request(all),
        io_uring_enter: per_request(enters),
    })
}

fn word(path: &Path) -> String {
    path.display().to_string()
}

fn take(file: &str) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))
}

fn prefix(counter: Counter, file: &str) -> Vec<String> {
    let words: &[&str] = match counter {
        Counter::Perf => &["perf", "stat", "-x,", "-e", EVENTS, "-o", file, "--"],
        Counter::Strace => &["strace", "-f", "-c", "-o", file, "--"],
    };
    words.iter().map(|word| (*word).into()).collect()
}

/// Returns the number of all calls, and the number of `io_uring_enter` calls among them.
fn read(counter: Counter, text: &str) -> Result<(u64, u64), String> {
    let counts = match counter {
        Counter::Perf => read_perf(text),
        Counter::Strace => read_strace(text),
    };
    counts.ok_or_else(|| "the counter of system calls printed no counts".into())
}

/// Parses lines `COUNT,UNIT,EVENT,…`, in which `<not supported>` replaces a missing count.
fn read_perf(text: &str) -> Option<(u64, u64)> {
    let of = |event: &str| {
        let fields = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let mut lines = fields.filter(|fields| fields.get(2) == Some(&event));
        lines.next()?[0].parse().ok()
    };
    let (all, enter) = EVENTS.split_once(',')?;
    Some((of(all)?, of(enter).unwrap_or(0)))
}

/// Parses a table whose last column names a system call and whose fourth column counts its calls.
/// The last line, `total`, counts all calls.
fn read_strace(text: &str) -> Option<(u64, u64)> {
    let of = |name: &str| {
        let rows = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut rows = rows.filter(|row| row.last() == Some(&name));
        rows.next()?.get(3)?.parse().ok()
    };
    Some((of("total")?, of("io_uring_enter").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perf_is_read() {
        let text = "# started on Sat Nov 21 14:53:43 2026\n\n151376,,raw_syscalls:sys_enter,385025064,100.00,,\n\
                    29,,syscalls:sys_enter_io_uring_enter,385025064,100.00,,\n";
        assert_eq!(read(Counter::Perf, text), Ok((151_376, 29)));
        assert!(
            read(
                Counter::Perf,
                "<not supported>,,raw_syscalls:sys_enter,0,100.00,,\n"
            )
            .is_err()
        );
    }

    #[test]
    fn strace_is_read() {
        let text = "% time     seconds  usecs/call     calls    errors syscall\n\
                    ------ ----------- ----------- --------- --------- ------------------\n \
                    99.82    0.082531          15      5384           io_uring_enter\n  \
                    0.00    0.000000           0         2         1 recvfrom\n\
                    ------ ----------- ----------- --------- --------- ------------------\n\
                    100.00    0.082682          15      5482         2 total\n";
        assert_eq!(read(Counter::Strace, text), Ok((5482, 5384)));
        assert!(read(Counter::Strace, "").is_err());
    }
}
