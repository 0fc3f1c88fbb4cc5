//! Ctrl-C and its relatives.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::exit::Exit;
use crate::failure::Failure;

/// Calls `on_signal` for each SIGINT, SIGTERM and SIGHUP, on a thread of its own.
pub fn on_signal(mut on_signal: impl FnMut() + Send + 'static) -> Result<(), Failure> {
    // What was started with `nohup` shall outlive its terminal.
    let wanted = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|&signal| signal != SIGHUP || !is_ignored(signal));
    let mut signals = Signals::new(wanted).map_err(cannot)?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || signals.forever().for_each(|_| on_signal()))
        .map_err(cannot)?;
    Ok(())
}

/// A flag that the first signal sets.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    on_signal(move || flag.store(true, Ordering::Relaxed))?;
    Ok(stop)
}

/// What serves is given so long to see a flag, before the process ends without it.
const FLAG_SEEN_MAX: Duration = Duration::from_millis(250);

/// A flag that the second SIGINT or SIGTERM sets, soon after which the process ends whether it is seen or not; the
/// first calls `on_first`, and SIGHUP `on_hangup`, on a thread of their own.
pub fn stop_flag_beside(
    mut on_first: impl FnMut() + Send + 'static,
    mut on_hangup: impl FnMut() + Send + 'static,
) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(cannot)?;
    let handle = move || {
        let mut is_first = true;
        signals.forever().for_each(|signal| match signal {
            SIGHUP => on_hangup(),
            _ if std::mem::take(&mut is_first) => on_first(),
            _ => {
                flag.store(true, Ordering::Relaxed);
                thread::sleep(FLAG_SEEN_MAX);
                // A worker may be in the middle of something long. What it would still write is not waited for.
                signal_hook::low_level::exit(i32::from(Exit::Fine.code()));
            }
        });
    };
    thread::Builder::new()
        .name("signals".into())
        .spawn(handle)
        .map_err(cannot)?;
    Ok(stop)
}

/// Makes writing beyond the limit on file sizes an error like a full disk, instead of the end of the process.
pub fn survive_file_size_limit() -> Result<(), Failure> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map_err(cannot)?;
    Ok(())
}

/// Whether whoever started this process made it ignore a signal.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default();
    mask >> (signal - 1) & 1 == 1
}

fn cannot(error: io::Error) -> Failure {
    Failure::sentence(
        &format!("environment: signals cannot be handled: {error}; try again"),
        Exit::Environment,
    )
}
