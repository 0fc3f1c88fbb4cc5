//! The thread that puts new helpers in the place of those that have gone, and lets all forget what is not
//! used any more: work that nobody's message waits for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Sender};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use super::helper::{Helper, Trouble};
use super::{Shared, locked, wire};

/// Rest after each start, so that messages that crash helpers cannot keep a core busy with starting them.
const REST: Duration = Duration::from_millis(50);

/// What there is to do.
#[derive(Debug)]
pub(super) enum Chore {
    /// The seat of that number has lost its helper.
    Replace(usize),
    /// The stylesheet of that number is not used any more.
    Forget(u64),
}

/// Starts the thread; it ends when the sender is dropped.
pub(super) fn start(shared: &Arc<Shared>) -> std::io::Result<(Sender<Chore>, JoinHandle<()>)> {
    let (tell, chores) = mpsc::channel();
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new()
        .name("saxon-keeper".into())
        .spawn(move || {
            for chore in chores {
                match chore {
                    _ if shared.is_over.load(Ordering::Acquire) => return,
                    Chore::Replace(at) => replace(&shared, at),
                    Chore::Forget(number) => forget(&shared, number),
                }
            }
        })?;
    Ok((tell, thread))
}

fn replace(shared: &Shared, at: usize) {
    // What hangs is ended.
    *locked(&shared.seats[at].helper) = None;
    while !shared.is_over.load(Ordering::Acquire) && !is_replaced(shared, at) {
        sleep(REST);
    }
    sleep(REST);
}

/// Puts a helper that knows all stylesheets in use into a seat.
fn is_replaced(shared: &Shared, at: usize) -> bool {
    let Ok(mut helper) = Helper::start(&shared.package, &shared.folder, &shared.bounds) else {
        return false;
    };
    // Held to the end, so that whoever compiles meanwhile finds the helper in its seat afterwards.
    let used = locked(&shared.used);
    for order in used.values() {
        if let Err(Trouble::Gone) = helper.ask(order) {
            return false;
        }
    }
    shared.seats[at].take(helper);
    true
}

fn forget(shared: &Shared, number: u64) {
    locked(&shared.used).remove(&number);
    let Ok(order) = wire::order(b'f', 0, number, b"") else {
        return;
    };
    for seat in &shared.seats {
        if let Some(helper) = locked(&seat.helper).as_mut() {
            // Where it has gone the next one who needs it will see.
            let _ = helper.ask(&order);
        }
    }
}
