//! Contexts that are costly to make and can be used again, one user at a time.

use std::sync::Mutex;

/// The most idle contexts; each thread uses at most one at a time.
const IDLE_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct Pool<T> {
    idle: Mutex<Vec<T>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self {
            idle: Mutex::default(),
        }
    }
}

impl<T> Pool<T> {
    /// An idle one. The lock is held for a push or a pop, never while a context works.
    pub fn take(&self) -> Option<T> {
        self.idle.lock().ok()?.pop()
    }

    /// Returns an item that may be used again.
    pub fn give(&self, context: T) {
        if let Ok(mut idle) = self.idle.lock()
            && idle.len() < IDLE_MAX
        {
            idle.push(context);
        }
    }
}
