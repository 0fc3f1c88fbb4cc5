//! Threads that prevent cores from idling. An idle virtual core is returned to the host, and waking
//! it takes from tens of microseconds to milliseconds, which would be measured as the gateway's
//! time.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, Scope};

use gatebench_net::turns::run_when_idle;
use gatebench_net::workers::pin_to_core;

/// Spins on each of these cores whenever nothing else runs there, until `over` is set. Returns once
/// all threads are spinning.
///
/// # Errors
/// The system's error if a core cannot be kept awake. The thread then ends, because on another core
/// or with a higher priority it would disturb the load.
pub(crate) fn keep_awake<'scope>(
    scope: &'scope Scope<'scope, '_>,
    cores: &[usize],
    over: &'scope AtomicBool,
) -> io::Result<()> {
    let (is_set_up, all) = mpsc::channel();
    for core in cores.iter().copied() {
        let is_set_up = is_set_up.clone();
        let spin = move || {
            let ready = pin_to_core(core).and_then(|()| run_when_idle());
            let spins = ready.is_ok();
            // The receiver no longer exists if another core has failed.
            let _ = is_set_up.send(ready);
            drop(is_set_up);
            while spins && !over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        thread::Builder::new()
            .name("keeper".into())
            .spawn_scoped(scope, spin)?;
    }
    drop(is_set_up);
    all.into_iter().collect()
}
