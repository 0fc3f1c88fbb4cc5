//! Stops processes immediately while the thread that starts or stops them is blocked.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::supervise::NAME;
use crate::system::processes::children;

/// Sends SIGTERM to every supervisor that is a child of this process.
pub(crate) fn end_supervisors() {
    let own = std::process::id();
    for pid in children(own) {
        let Some(raw) = Pid::from_raw(pid.cast_signed()) else {
            continue;
        };
        // The child is checked after its handle was opened, because a process ID can be reused, but
        // a handle cannot.
        let Ok(handle) = pidfd_open(raw, PidfdFlags::empty()) else {
            continue;
        };
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if name.trim().as_bytes() == NAME.to_bytes() && children(own).contains(&pid) {
            // An error means that the supervisor has ended.
            let _ = pidfd_send_signal(&handle, Signal::TERM);
        }
    }
}
