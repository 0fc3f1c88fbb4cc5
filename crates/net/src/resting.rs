//! Listeners that rest because no descriptor or no memory was left for the next connection.
//!
//! Accepting fails until a descriptor or memory is released, and retrying immediately would keep a
//! core busy. Meanwhile, the peers wait in the backlog.

use rustix::io::Errno;

use crate::ListenerId;

/// The time from the moment at which the first listener begins to rest until all resting listeners
/// wake.
pub(crate) const REST_NS: u64 = 50_000_000;

/// The resting listeners of one loop. All of them wake when the first one does.
#[derive(Default)]
pub(crate) struct Resting {
    listeners: Vec<ListenerId>,
    until_ns: u64,
}

impl Resting {
    /// Reports whether accepting failed for a lasting reason: no descriptors for the process or the
    /// host, or no memory (accept(2)).
    pub(crate) fn is_due(error: Errno) -> bool {
        matches!(
            error,
            Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM
        )
    }

    pub(crate) fn rest(&mut self, listener: ListenerId, now_ns: u64) {
        if self.listeners.is_empty() {
            self.until_ns = now_ns + REST_NS;
        }
        self.listeners.push(listener);
    }

    /// Returns `until_ns`, or the time when the resting listeners wake if that is earlier.
    pub(crate) fn bound(&self, until_ns: Option<u64>) -> Option<u64> {
        if self.listeners.is_empty() {
            return until_ns;
        }
        Some(until_ns.map_or(self.until_ns, |until_ns| until_ns.min(self.until_ns)))
    }

    /// Returns all resting listeners once the first of them has rested long enough, and before that
    /// none. `now_ns`, which reads the clock, is called only if a listener rests.
    pub(crate) fn wake(&mut self, now_ns: impl FnOnce() -> u64) -> Vec<ListenerId> {
        if self.listeners.is_empty() || now_ns() < self.until_ns {
            return Vec::new();
        }
        std::mem::take(&mut self.listeners)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_listeners_wake_with_the_first() {
        let mut resting = Resting::default();
        assert_eq!(resting.bound(None), None);
        assert_eq!(resting.wake(|| u64::MAX), []);
        resting.rest(ListenerId(1), 1000);
        resting.rest(ListenerId(0), 2000);
        assert_eq!(resting.bound(None), Some(1000 + REST_NS));
        assert_eq!(resting.bound(Some(5)), Some(5));
        assert_eq!(resting.bound(Some(u64::MAX)), Some(1000 + REST_NS));
        assert_eq!(resting.wake(|| 999 + REST_NS), []);
        let woken = resting.wake(|| 1000 + REST_NS);
        assert_eq!(woken, [ListenerId(1), ListenerId(0)]);
        assert_eq!(resting.bound(Some(7)), Some(7));
    }
}
