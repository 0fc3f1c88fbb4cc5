//! Reads the CPU time of the gateway's thread that recompiles definitions.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gatebench_testbed::probe::processes::tree;

/// The thread's name in /proc.
const THREAD: &str = "xml-refresher";

/// The interval between readings.
const REST: Duration = Duration::from_millis(20);

/// CPU time of a thread at a point in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Time since the Unix epoch.
    pub at_ns: i128,
    /// The CPU time since the thread's start. It decreases if another thread replaces this one.
    pub cpu_ns: u64,
}

/// Reads the CPU time of the thread, in any process below `child`, until the child has ended.
pub fn until_end(child: &mut Child) -> Result<Vec<Reading>, String> {
    let mut readings = Vec::new();
    let mut thread = None;
    loop {
        let ended = child.try_wait();
        if ended
            .map_err(|error| format!("cannot wait for gatebench: {error}"))?
            .is_some()
        {
            return Ok(readings);
        }
        let known: Option<PathBuf> = thread.take().or_else(|| find(child.id()));
        if let Some(task) = known
            && let Some(cpu_ns) = cpu_ns(&task)
        {
            let since = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            readings.push(Reading {
                at_ns: since.as_nanos() as i128,
                cpu_ns,
            });
            thread = Some(task);
        }
        std::thread::sleep(REST);
    }
}

/// Returns the CPU time from the last reading before `from_ns` (or, if there is none, the first
/// reading after it) to the last reading before `to_ns`.
pub fn used(readings: &[Reading], from_ns: i128, to_ns: i128) -> u64 {
    let inside = readings
        .iter()
        .filter(|it| (from_ns..to_ns).contains(&it.at_ns));
    let before = readings.iter().rfind(|it| it.at_ns < from_ns);
    let all: Vec<&Reading> = before.into_iter().chain(inside).collect();
    let steps = all.windows(2);
    steps
        .map(|pair| pair[1].cpu_ns.saturating_sub(pair[0].cpu_ns))
        .sum()
}

fn cpu_ns(task: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

fn find(ancestor: u32) -> Option<PathBuf> {
    let mut tasks = tree(ancestor)
        .into_iter()
        .filter_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).ok())
        .flat_map(|tasks| tasks.flatten().map(|task| task.path()));
    tasks.find(|task| {
        let name = std::fs::read_to_string(task.join("comm"));
        name.is_ok_and(|name| name.trim_end() == THREAD)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_counted_for_each_thread() {
        let reading = |at_ns: i128, cpu_ns: u64| Reading { at_ns, cpu_ns };
        let readings = [
            reading(5, 100),
            reading(12, 130),
            reading(18, 150),
            // Another thread has replaced the first.
            reading(25, 10),
            reading(28, 40),
        ];
        assert_eq!(used(&readings, 10, 20), 50);
        assert_eq!(used(&readings, 20, 30), 30);
        assert_eq!(used(&readings, 30, 40), 0);
        assert_eq!(used(&[], 0, 10), 0);
    }
}
