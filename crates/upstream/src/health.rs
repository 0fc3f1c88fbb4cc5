//! An origin that is ill on purpose, for as long as control says: it answers late, or resets the
//! connections on which requests come. What is asked of it is counted in its ledger all the same.

use std::sync::atomic::{AtomicU64, Ordering};

/// What stands for resetting; any other number is a delay in nanoseconds.
const RESETTING: u64 = u64::MAX;

/// The longest that answers can be held back, in milliseconds.
const DELAY_MS_MAX: u64 = 60_000;

/// How an origin is, shared by its workers.
#[derive(Debug, Default)]
pub(crate) struct Health(AtomicU64);

impl Health {
    /// How much later requests are answered that become whole now, in nanoseconds.
    pub(crate) fn delay_ns(&self) -> u64 {
        match self.0.load(Ordering::Relaxed) {
            RESETTING => 0,
            delay_ns => delay_ns,
        }
    }

    /// Whether requests are reset instead of answered.
    pub(crate) fn is_resetting(&self) -> bool {
        self.0.load(Ordering::Relaxed) == RESETTING
    }

    /// Becomes what a word says: `well`, `resetting`, or `slow/200`, in milliseconds. Whether it is one of these.
    pub(crate) fn become_what(&self, word: &str) -> bool {
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
    fn a_word_makes_it_ill_and_another_well_again() {
        let health = Health::default();
        assert!(health.become_what("slow/200"));
        assert_eq!(
            (health.delay_ns(), health.is_resetting()),
            (200_000_000, false)
        );
        assert!(health.become_what("resetting"));
        assert_eq!((health.delay_ns(), health.is_resetting()), (0, true));
        for wrong in ["", "slow", "slow/", "slow/x", "slow/60001", "dead"] {
            assert!(!health.become_what(wrong), "{wrong}");
        }
        assert!(health.is_resetting(), "a wrong word changes nothing");
        assert!(health.become_what("well"));
        assert_eq!((health.delay_ns(), health.is_resetting()), (0, false));
    }
}
