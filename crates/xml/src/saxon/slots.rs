//! Slots for helpers, which may end and be replaced.

use std::sync::{Arc, Mutex};

use super::engine::Engine;
use super::helper::Helper;
use super::locked;

/// A place for a helper, empty while none is ready.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// Locked by the thread that waits for the helper's result.
    pub helper: Mutex<Option<Helper>>,
    /// The address of the same helper, for callers that do not wait. When the helper ends, the
    /// address is removed before the helper is.
    engine: Mutex<Option<Arc<Engine>>>,
}

impl Slot {
    pub fn new(helper: Helper) -> Self {
        let slot = Self::default();
        slot.take(helper);
        slot
    }

    pub fn engine(&self) -> Option<Arc<Engine>> {
        locked(&self.engine).clone()
    }

    /// Returns the address of the slot's helper, or `None` if the slot is empty or a thread waits
    /// for the helper, for example to compile a stylesheet.
    pub fn free_engine(&self) -> Option<Arc<Engine>> {
        let is_free = self.helper.try_lock().is_ok_and(|helper| helper.is_some());
        is_free.then(|| self.engine()).flatten()
    }

    /// Removes the slot's engine if it is the engine `gone`, and reports whether it was removed.
    pub fn lose(&self, gone: &Engine) -> bool {
        let mut engine = locked(&self.engine);
        let lost = engine.take_if(|engine| std::ptr::eq(&**engine, gone));
        lost.is_some()
    }

    pub fn take(&self, helper: Helper) {
        *locked(&self.engine) = Some(Arc::clone(&helper.engine));
        *locked(&self.helper) = Some(helper);
    }
}

/// Returns all slots in order, starting with slot `first` and wrapping around.
pub(super) fn from(slots: &[Slot], first: usize) -> impl Iterator<Item = &Slot> {
    let (before, after) = slots.split_at(first % slots.len());
    after.iter().chain(before)
}
