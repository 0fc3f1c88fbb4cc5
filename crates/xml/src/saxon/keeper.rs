//! The thread that puts new helpers in the place of those that have gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Sender};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use super::helper::{Helper, Trouble};
use super::{Shared, locked};

/// Rest after each start, so that messages that crash helpers cannot keep a core busy with starting them.
const REST: Duration = Duration::from_millis(50);

/// Starts the thread; it ends when the sender is dropped.
pub(super) fn start(shared: &Arc<Shared>) -> std::io::Result<(Sender<usize>, JoinHandle<()>)> {
    let (lost, seats) = mpsc::channel();
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new()
        .name("saxon-keeper".into())
        .spawn(move || {
            for at in seats {
                while !shared.is_over.load(Ordering::Acquire) && !is_replaced(&shared, at) {
                    sleep(REST);
                }
                sleep(REST);
            }
        })?;
    Ok((lost, thread))
}

/// Puts a helper that knows all stylesheets in use into a seat.
fn is_replaced(shared: &Shared, at: usize) -> bool {
    let Ok(mut helper) = Helper::start(&shared.folder, &shared.bounds) else {
        return false;
    };
    // Held to the end, so that whoever compiles meanwhile finds the helper in its seat afterwards.
    let used = locked(&shared.used);
    for (number, order) in used.iter() {
        if let Err(Trouble::Gone) = helper.compile(*number, order) {
            return false;
        }
    }
    *locked(&shared.seats[at]) = Some(helper);
    true
}
