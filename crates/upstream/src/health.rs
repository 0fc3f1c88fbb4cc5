//! A deliberate fault of an origin, which lasts until the control path ends it. The origin responds
//! late, or resets the connection that a request arrives on (over HTTP/2, only its stream). The
//! ledger still counts the requests.

use std::sync::atomic::{AtomicU64, Ordering};

/// The value of the state `resetting`. Any other value is a delay in nanoseconds.
const RESETTING: u64 = u64::MAX;

const DELAY_MS_MAX: u64 = 60_000;

/// The fault of an origin, if any, which its workers share.
#[derive(Debug, Default)]
pub(crate) struct Health(AtomicU64);

impl Health {
    /// Returns the additional delay, in nanoseconds, of responses to requests that become complete
    /// now.
    pub(crate) fn delay_ns(&self) -> u64 {
        match self.0.load(Ordering::Relaxed) {
            RESETTING => 0,
            delay_ns => delay_ns,
        }
    }

    pub(crate) fn is_resetting(&self) -> bool {
        self.0.load(Ordering::Relaxed) == RESETTING
    }

    /// Sets the state by its name: `well`, `resetting`, or `slow/200` for a delay of 200 ms.
    /// Returns false if the name is invalid.
    pub(crate) fn set(&self, word: &str) -> bool {
        let state = match word.strip_prefix("slow/") {
            Some(delay) => delay
                .parse::<u64>()
                .ok()
                .filter(|ms| *ms <= DELAY_MS_MAX)
                .map(|ms| ms * 1_000_000),
            None if word == "well" => Some(0),
            None => (word == "resetting").then_some(RESETTING),
        };
        if let Some(state) = state {
            self.0.store(state, Ordering::Relaxed);
        }
        state.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_words_set_and_clear_a_fault() {
        let health = Health::default();
        assert!(health.set("slow/200"));
        assert_eq!(health.delay_ns(), 200_000_000);
        assert!(!health.is_resetting());
        assert!(health.set("resetting"));
        assert_eq!((health.delay_ns(), health.is_resetting()), (0, true));
        for wrong in ["", "slow", "slow/", "slow/x", "slow/60001", "dead"] {
            assert!(!health.set(wrong), "{wrong}");
        }
        assert!(health.is_resetting(), "an invalid name changes nothing");
        assert!(health.set("well"));
        assert_eq!((health.delay_ns(), health.is_resetting()), (0, false));
    }
}
