//! Places for helpers, which come and go.

use std::sync::{Arc, Mutex};

use super::engine::Engine;
use super::helper::Helper;
use super::locked;

/// A place for a helper.
#[derive(Debug)]
pub(super) struct Seat {
    /// Held by whoever waits for the helper's answer.
    pub helper: Mutex<Option<Helper>>,
    /// The same helper, for those who do not wait. It is known to be gone here first.
    engine: Mutex<Option<Arc<Engine>>>,
}

impl Seat {
    pub fn new(helper: Helper) -> Self {
        let engine = Arc::clone(&helper.engine);
        Self {
            helper: Mutex::new(Some(helper)),
            engine: Mutex::new(Some(engine)),
        }
    }

    /// Its helper.
    pub fn engine(&self) -> Option<Arc<Engine>> {
        locked(&self.engine).clone()
    }

    /// Its helper, unless somebody waits for that: it compiles, then.
    pub fn free_engine(&self) -> Option<Arc<Engine>> {
        let is_free = self.helper.try_lock().is_ok_and(|helper| helper.is_some());
        is_free.then(|| self.engine()).flatten()
    }

    /// Its helper has gone; answers whether it was this one.
    pub fn lose(&self, gone: &Engine) -> bool {
        let mut engine = locked(&self.engine);
        let is_it = engine
            .as_ref()
            .is_some_and(|engine| std::ptr::eq(&**engine, gone));
        if is_it {
            *engine = None;
        }
        is_it
    }

    /// Takes a new helper.
    pub fn take(&self, helper: Helper) {
        *locked(&self.engine) = Some(Arc::clone(&helper.engine));
        *locked(&self.helper) = Some(helper);
    }
}

/// All seats, from one of them on.
pub(super) fn from(seats: &[Seat], first: usize) -> impl Iterator<Item = &Seat> {
    let (before, after) = seats.split_at(first % seats.len());
    after.iter().chain(before)
}
