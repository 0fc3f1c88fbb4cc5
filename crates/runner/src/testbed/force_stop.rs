//! Ends at once what is being started or stopped, while the thread that does it is blocked.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Scope};
use std::time::Duration;

use gatebench_testbed::probe::processes::children;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::interrupt::{Interrupt, Urgency};

/// How often the interrupt is looked at, and the signal repeated: a supervisor that has been told
/// twice kills what it supervises.
const EVERY: Duration = Duration::from_millis(20);

/// What supervisors call themselves.
const SUPERVISOR: &str = "gb-supervisor";

/// What the run shares with the thread that ends what is being started.
#[derive(Debug, Default)]
pub(crate) struct ForceStop {
    /// The number of testbeds that are being started.
    starting: AtomicUsize,
    over: AtomicBool,
}

impl ForceStop {
    /// Until the guard is dropped, the first interrupt ends whatever is being started.
    pub(crate) fn while_starting(&self) -> impl Drop + '_ {
        self.starting.fetch_add(1, Ordering::Relaxed);
        Started(&self.starting)
    }

    /// Watches the interrupt on a thread of its own until the guard is dropped.
    pub(crate) fn watch<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        interrupt: &'s Interrupt,
    ) -> impl Drop + 's {
        scope.spawn(move || {
            while !self.over.load(Ordering::Relaxed) {
                let starting = self.starting.load(Ordering::Relaxed) > 0;
                if interrupt.urgency() == Urgency::Now || (starting && interrupt.is_raised()) {
                    end_supervisors();
                }
                thread::sleep(EVERY);
            }
        });
        Over(&self.over)
    }
}

/// One that is being started, until it is dropped.
struct Started<'a>(&'a AtomicUsize);

impl Drop for Started<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Tells that the run is over when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Asks every supervisor that is a child of this process to end.
pub(crate) fn end_supervisors() {
    let own = std::process::id();
    for pid in children(own) {
        let Some(raw) = Pid::from_raw(pid.cast_signed()) else {
            continue;
        };
        // The handle is taken first and the child looked at again: a number may have been given to
        // another process meanwhile, a handle not.
        let Ok(handle) = pidfd_open(raw, PidfdFlags::empty()) else {
            continue;
        };
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if name.trim() == SUPERVISOR && children(own).contains(&pid) {
            // Failing means that it has ended.
            let _ = pidfd_send_signal(&handle, Signal::TERM);
        }
    }
}
