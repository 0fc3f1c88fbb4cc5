//! Locks that ignore poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value, even if a thread panicked while it held the lock.
pub(crate) fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
