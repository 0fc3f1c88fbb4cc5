//! Threads that keep cores from idling. A virtual core that idles is given back to the host, and
//! its wake-up takes from tens of microseconds to milliseconds, which would count as the gateway's
//! time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope};

use gatebench_net::turns::run_when_idle;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Name of the threads.
const NAME: &str = "keeper";

/// Spins on each of these cores, whenever nothing else runs there, until `over` is set.
pub(crate) fn keep_awake<'scope>(
    scope: &'scope Scope<'scope, '_>,
    cores: &[usize],
    over: &'scope AtomicBool,
) {
    for core in cores.iter().copied() {
        let spin = move || {
            let mut set = CpuSet::new();
            set.set(core);
            // A thread on another core, or of a higher priority, would disturb the load.
            if sched_setaffinity(None, &set).is_err() || run_when_idle().is_err() {
                return;
            }
            while !over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        // Without the thread the load is one like any other.
        let _ = thread::Builder::new()
            .name(NAME.into())
            .spawn_scoped(scope, spin);
    }
}
