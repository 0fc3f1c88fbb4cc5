//! Threads that keep cores from idling. An idle virtual core returns to the host, and waking it
//! takes from tens of microseconds to milliseconds, which would count as the gateway's time.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, Scope};

use gatebench_net::turns::run_when_idle;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Name of the threads.
const NAME: &str = "keeper";

/// Spins on each of these cores whenever nothing else runs there, until `over` is set. Returns when
/// all threads spin.
///
/// # Errors
/// The system's error if a core cannot be kept awake. A thread on another core, or with a higher
/// priority, would disturb the load, so it ends.
pub(crate) fn keep_awake<'scope>(
    scope: &'scope Scope<'scope, '_>,
    cores: &[usize],
    over: &'scope AtomicBool,
) -> io::Result<()> {
    let (is_set_up, all) = mpsc::channel();
    for core in cores.iter().copied() {
        let is_set_up = is_set_up.clone();
        let spin = move || {
            let mut set = CpuSet::new();
            set.set(core);
            let ready = sched_setaffinity(None, &set)
                .map_err(io::Error::from)
                .and_then(|()| run_when_idle());
            let spins = ready.is_ok();
            // The receiver is gone if another core has failed.
            let _ = is_set_up.send(ready);
            drop(is_set_up);
            while spins && !over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        thread::Builder::new()
            .name(NAME.into())
            .spawn_scoped(scope, spin)?;
    }
    drop(is_set_up);
    all.into_iter().collect()
}
