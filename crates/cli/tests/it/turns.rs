//! Serializes the tests that judge by time or keep all cores busy for seconds. More tests run at
//! once than there are cores, because most of them wait; of these tests, only one runs at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other test has its turn. A failed test gives up its turn as well.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
