//! Chooses the backend and runs a task on it.

use std::io;
use std::num::NonZeroU64;

use crate::{Backend, Epoll, IoConfig, IoTask, Uring};

/// Returns the requested backend. If none is requested, returns io_uring if the kernel allows
/// everything that the loop needs (containers often refuse it), and otherwise epoll.
pub fn choose(wanted: Option<Backend>) -> Backend {
    wanted.unwrap_or_else(|| match Uring::new(IoConfig::default()) {
        Ok(_) => Backend::Uring,
        Err(_) => Backend::Epoll,
    })
}

/// Runs `task` on this thread with the chosen backend.
///
/// # Errors
/// The kernel refuses the backend.
pub fn run<T: IoTask>(backend: Option<Backend>, task: T) -> io::Result<T::Output> {
    // Timers of this thread may fire late by up to the thread's timer slack, 50 µs by default,
    // which is too much for an arrival schedule. If the kernel refuses the change, accuracy
    // suffers, but not correctness.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    match choose(backend) {
        Backend::Uring => Ok(task.run(Uring::new(IoConfig::default())?)),
        Backend::Epoll => Ok(task.run(Epoll::new(IoConfig::default())?)),
    }
}
