//! The thread that replaces ended helpers, and makes all helpers discard stylesheets that are no
//! longer used. Messages do not wait for a new helper to start.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::sleep;
use std::time::Duration;

use super::helper::Helper;
use super::{Shared, locked, wire};
use crate::process::Background;

/// The pause after each start, so that messages that crash helpers do not keep a core busy with
/// restarts.
const REST: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) enum Chore {
    /// The slot with this number has lost its helper.
    Replace(usize),
    /// The stylesheet with this number is no longer used.
    Forget(u64),
}

pub(super) fn start(shared: &Arc<Shared>) -> std::io::Result<Background<Chore>> {
    let (sender, chores) = mpsc::channel();
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new()
        .name("saxon-maintenance".into())
        .spawn(move || {
            for chore in chores {
                match chore {
                    _ if shared.is_over.load(Ordering::Acquire) => return,
                    Chore::Replace(at) => replace(&shared, at),
                    Chore::Forget(number) => forget(&shared, number),
                }
            }
        })?;
    Ok(Background::new(sender, thread))
}

fn replace(shared: &Shared, at: usize) {
    // Dropping the helper ends its process even if the process hangs.
    *locked(&shared.slots[at].helper) = None;
    while !shared.is_over.load(Ordering::Acquire) && !is_replaced(shared, at) {
        sleep(REST);
    }
    sleep(REST);
}

/// Starts a helper, makes it compile all stylesheets in use, and puts it into a slot. Returns false
/// if that fails.
fn is_replaced(shared: &Shared, at: usize) -> bool {
    let Ok(mut helper) = Helper::start(&shared.package, &shared.folder, &shared.bounds) else {
        return false;
    };
    // Keep the lock until the end, so that a thread that waits to compile finds the helper in its
    // slot.
    let used = locked(&shared.used);
    for order in used.values() {
        if helper.ask(order).is_none() {
            return false;
        }
    }
    shared.slots[at].take(helper);
    true
}

fn forget(shared: &Shared, number: u64) {
    locked(&shared.used).remove(&number);
    let Ok(order) = wire::order(b'f', 0, number, b"") else {
        return;
    };
    for slot in &shared.slots {
        if let Some(helper) = locked(&slot.helper).as_mut() {
            // If the helper has ended, the next caller that needs it notices.
            let _ = helper.ask(&order);
        }
    }
}
