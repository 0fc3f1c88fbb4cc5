//! Chooses between polling for events and sleeping.

/// If the thread waits this long for its core within one second, the core is considered shared.
/// Polling would then take time from other threads, perhaps from those of the target.
const SHARED_WAIT_NS: u64 = 20_000_000;

const PAUSE_MAX_SECONDS: u32 = 64;

/// Allows polling only while no other thread needs the core. If the core was shared, polling pauses
/// for a second, and for twice as long each time this happens again, but for at most
/// [`PAUSE_MAX_SECONDS`]. Each second of polling in which the core was not shared halves the next
/// pause, which is never shorter than a second.
#[derive(Debug)]
pub(super) struct Watch {
    is_allowed: bool,
    pause_seconds: u32,
    left_seconds: u32,
    /// The CPU time of this second's polls that found nothing.
    pub(super) idle_ns: u64,
}

impl Watch {
    pub(super) fn new(is_allowed: bool) -> Self {
        Self {
            is_allowed,
            pause_seconds: 1,
            left_seconds: 0,
            idle_ns: 0,
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_allowed && self.left_seconds == 0
    }

    /// Ends a second in which the thread waited this long for its core, and returns the CPU time of
    /// the polls that found nothing.
    pub(super) fn end_second(&mut self, run_queue_wait_ns: u64) -> u64 {
        if !self.is_on() {
            self.left_seconds = self.left_seconds.saturating_sub(1);
        } else if run_queue_wait_ns >= SHARED_WAIT_NS {
            self.left_seconds = self.pause_seconds;
            self.pause_seconds = (2 * self.pause_seconds).min(PAUSE_MAX_SECONDS);
        } else {
            self.pause_seconds = (self.pause_seconds / 2).max(1);
        }
        std::mem::take(&mut self.idle_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns, for each of these waits, the number of seconds for which polling then pauses.
    fn pauses(watch: &mut Watch, waits_ns: &[u64]) -> Vec<u32> {
        let pause = |wait_ns: &u64| {
            watch.end_second(*wait_ns);
            let mut seconds = 0;
            while !watch.is_on() {
                watch.end_second(0);
                seconds += 1;
            }
            seconds
        };
        waits_ns.iter().map(pause).collect()
    }

    #[test]
    fn polling_on_a_shared_core_pauses_for_longer_each_time() {
        let mut watch = Watch::new(true);
        assert_eq!(pauses(&mut watch, &[SHARED_WAIT_NS - 1]), [0]);
        assert_eq!(
            pauses(&mut watch, &[SHARED_WAIT_NS; 9]),
            [1, 2, 4, 8, 16, 32, 64, 64, 64]
        );
        assert_eq!(
            pauses(&mut watch, &[0, 0, 0, SHARED_WAIT_NS]),
            [0, 0, 0, 8],
            "each quiet second halves the next pause"
        );
    }

    #[test]
    fn a_disabled_watch_stays_off() {
        let mut watch = Watch::new(false);
        watch.end_second(0);
        assert!(!watch.is_on());
    }

    #[test]
    fn idle_time_is_reported_once() {
        let mut watch = Watch::new(true);
        watch.idle_ns += 7;
        assert_eq!((watch.end_second(0), watch.end_second(0)), (7, 0));
    }
}
