//! Stops and resumes the observers of a run: the server of its page and the threads of its outputs.

use std::fs;

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// The number of `SCHED_IDLE`, the policy of the outputs' threads (sched(7)).
const SCHED_IDLE: &str = "5";

/// Stopped observers. They are resumed when this value is dropped, which must happen on the thread
/// that created it.
///
/// A signal can stop only whole processes, and the outputs are threads of the measuring process.
/// The bench therefore stops them as a debugger does, which affects no other thread.
pub struct Stopped {
    page: Pid,
    outputs: Vec<Pid>,
}

impl Stopped {
    /// Stops the observers of process `run` that are running. Returns an error if the page's server
    /// is not among them, if ptrace is forbidden, or if a thread ends meanwhile. In these cases, no
    /// observer remains stopped.
    pub fn of(run: u32) -> Result<Self, Errno> {
        let mut stopped = Self {
            page: page_of(run).ok_or(Errno::ESRCH)?,
            outputs: Vec::new(),
        };
        kill(stopped.page, Signal::SIGSTOP)?;
        for thread in idle_threads(run) {
            ptrace::seize(thread, Options::empty())?;
            ptrace::interrupt(thread)?;
            waitpid(thread, Some(WaitPidFlag::__WALL))?;
            stopped.outputs.push(thread);
        }
        Ok(stopped)
    }

    /// The number of stopped threads of outputs.
    pub fn threads(&self) -> usize {
        self.outputs.len()
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // Resuming an observer fails if it has already ended, which is not an error here.
        for thread in &self.outputs {
            let _ = ptrace::detach(*thread, None);
        }
        let _ = kill(self.page, Signal::SIGCONT);
    }
}

/// Returns the process of `gatebench serve`, a child of process `run`.
pub fn page_of(run: u32) -> Option<Pid> {
    let children = fs::read_to_string(format!("/proc/{run}/task/{run}/children")).ok()?;
    let is_page = |pid: &&str| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).nth(1) == Some(b"serve")
    };
    let page = children.split_whitespace().find(is_page)?;
    page.parse().ok().map(Pid::from_raw)
}

/// Returns the threads of a process under `SCHED_IDLE`, which only outputs use in these runs.
fn idle_threads(process: u32) -> Vec<Pid> {
    let folder = format!("/proc/{process}/task");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_idle = |name: &String| {
        let stat = fs::read_to_string(format!("{folder}/{name}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest);
        // The policy is field 41 (proc(5)); field 3 is the first one after the name.
        after_name.and_then(|rest| rest.split(' ').nth(38)) == Some(SCHED_IDLE)
    };
    let idle = names.filter(is_idle);
    idle.filter_map(|name| name.parse().ok().map(Pid::from_raw))
        .collect()
}
