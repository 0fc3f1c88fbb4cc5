//! A pool of contexts that are expensive to create, each of which is used by one thread at a time.

use std::sync::Mutex;

/// The maximum number of idle contexts. Each thread uses at most one at a time.
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
    /// Takes an idle context, if there is one. The lock is held only for a push or a pop, never
    /// while a context is in use.
    pub fn take(&self) -> Option<T> {
        self.idle.lock().ok()?.pop()
    }

    pub fn give(&self, context: T) {
        if let Ok(mut idle) = self.idle.lock()
            && idle.len() < IDLE_MAX
        {
            idle.push(context);
        }
    }
}
