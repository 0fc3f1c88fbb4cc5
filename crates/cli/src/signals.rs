//! Handles signals on separate threads.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::exit::Exit;
use crate::failure::Failure;

/// A flag that is set if a signal has arrived since [`hold`].
static HELD: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// True once a handler that was installed after [`hold`] receives the signals.
static IS_TAKEN_OVER: AtomicBool = AtomicBool::new(false);

/// Keeps the first signal from ending the process, and passes it to a later handler. Until there is
/// one, calls `on_first` at the first signal, and `on_second` at the second, which ends the
/// process.
pub fn hold(on_first: fn(), on_second: impl Fn() + Send + 'static) -> Result<(), Failure> {
    let held = Arc::clone(HELD.get_or_init(Arc::default));
    let mut signals = Signals::new(ending()).map_err(cannot)?;
    for signal in ending() {
        signal_hook::flag::register(signal, Arc::clone(&held)).map_err(cannot)?;
    }
    spawn("held signals", move || {
        let mut is_first = true;
        for _ in signals.forever() {
            if IS_TAKEN_OVER.load(Ordering::Relaxed) {
                continue;
            }
            if std::mem::take(&mut is_first) {
                on_first();
            } else {
                on_second();
                signal_hook::low_level::exit(i32::from(Exit::Interrupted.code()));
            }
        }
    })
}

/// Reports whether a signal has arrived since [`hold`].
pub fn is_held() -> bool {
    HELD.get().is_some_and(|held| held.load(Ordering::Relaxed))
}

/// Returns the signals that end the process by default: SIGINT, SIGTERM and, unless the process
/// ignores it, SIGHUP. A process that was started with `nohup` must outlive its terminal.
fn ending() -> impl Iterator<Item = i32> {
    let all = [SIGINT, SIGTERM, SIGHUP].into_iter();
    all.filter(|&signal| signal != SIGHUP || !is_ignored(signal))
}

/// Calls `on_signal` on a separate thread for each SIGINT and SIGTERM and, unless the process
/// ignores SIGHUP, for each SIGHUP. A signal since [`hold`] counts as one that arrives now.
pub fn on_signal(mut on_signal: impl FnMut() + Send + 'static) -> Result<(), Failure> {
    let mut signals = Signals::new(ending()).map_err(cannot)?;
    IS_TAKEN_OVER.store(true, Ordering::Relaxed);
    spawn("signals", move || {
        // A signal may have set the flag and also be pending. The flag is read first, so that no
        // signal counts twice.
        let held = usize::from(is_held());
        let pending = signals.pending().count();
        (0..held.max(pending)).for_each(|_| on_signal());
        signals.forever().for_each(|_| on_signal());
    })
}

/// Returns a flag that the first signal sets.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    on_signal(move || flag.store(true, Ordering::Relaxed))?;
    Ok(stop)
}

/// The time that a server has to notice the flag before the process ends.
const FLAG_SEEN_MAX: Duration = Duration::from_millis(250);

/// Returns a flag that the second SIGINT or SIGTERM sets; the process ends soon after. The first
/// such signal calls `on_first`. Each SIGHUP calls `on_hangup` on a separate thread, because a long
/// call must not delay other signals. All SIGHUPs that arrive during a call lead to one more call.
pub fn second_stop_flag(
    mut on_first: impl FnMut() + Send + 'static,
    mut on_hangup: impl FnMut() + Send + 'static,
) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(cannot)?;
    let (hangup, hangups) = mpsc::sync_channel(1);
    spawn("hangups", move || {
        hangups.into_iter().for_each(|()| on_hangup())
    })?;
    let handle = move || {
        let mut is_first = true;
        signals.forever().for_each(|signal| match signal {
            // If the channel is full, the call that is already pending serves this signal as well.
            SIGHUP => drop(hangup.try_send(())),
            _ if std::mem::take(&mut is_first) => on_first(),
            _ => {
                flag.store(true, Ordering::Relaxed);
                thread::sleep(FLAG_SEEN_MAX);
                // A worker may be busy for a long time, so the process does not wait for it.
                signal_hook::low_level::exit(i32::from(Exit::Fine.code()));
            }
        });
    };
    spawn("signals", handle)?;
    Ok(stop)
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let builder = thread::Builder::new().name(name.into());
    builder.spawn(body).map(drop).map_err(cannot)
}

/// Makes a write beyond the file size limit fail with an error, like a write to a full disk. By
/// default, SIGXFSZ would end the process.
pub fn survive_file_size_limit() -> Result<(), Failure> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map_err(cannot)?;
    Ok(())
}

/// Reports whether this process ignores a signal, for example SIGHUP after `nohup`.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default();
    mask >> (signal - 1) & 1 == 1
}

fn cannot(error: io::Error) -> Failure {
    Failure::environment(format!("cannot handle signals: {error}"), "try again")
}
