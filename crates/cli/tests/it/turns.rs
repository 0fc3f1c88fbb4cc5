//! Limits the number of tests with a `Bench` that run at the same time. Most of these tests only
//! wait, so more of them run than there are cores. Of the tests that depend on timing or keep all
//! cores busy for seconds, only one runs at a time.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The number of tests with a `Bench` that run at the same time, for each core.
const PER_CORE: usize = 2;

static TURN: Mutex<()> = Mutex::new(());
static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

thread_local! {
    static HAS_SLOT: Cell<bool> = const { Cell::new(false) };
}

/// Waits until no other test has a turn. Panics if the test has already created its `Bench`,
/// because it would then hold a slot while it waits. A failed test also gives up its turn.
pub fn turn() -> MutexGuard<'static, ()> {
    assert!(
        !HAS_SLOT.get(),
        "the test created its bench before its turn"
    );
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to run a test with a `Bench`, which ends when the slot is dropped.
pub struct Slot {
    is_first: bool,
}

impl Slot {
    /// Waits for a slot, unless this test already has one.
    pub fn wait() -> Self {
        if HAS_SLOT.replace(true) {
            return Self { is_first: false };
        }
        let most = PER_CORE * thread::available_parallelism().map_or(1, Into::into);
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = ENDED.wait_while(running, |running| *running >= most);
        *waited.unwrap_or_else(PoisonError::into_inner) += 1;
        Self { is_first: true }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.is_first {
            HAS_SLOT.set(false);
            *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            ENDED.notify_one();
        }
    }
}
