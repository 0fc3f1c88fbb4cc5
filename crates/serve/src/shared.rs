//! Values that several threads use.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value. A drawing that failed has left it whole.
pub(crate) fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
