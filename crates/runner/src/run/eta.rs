//! Estimates the remaining time of a run.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Eta {
    planned: Duration,
    total: Duration,
    count: u32,
}

impl Eta {
    pub(crate) fn new(planned: Duration) -> Self {
        Self {
            planned,
            total: Duration::ZERO,
            count: 0,
        }
    }

    pub(crate) fn took(&mut self, duration: Duration) {
        self.total += duration;
        self.count += 1;
    }

    /// Returns the expected duration of this number of trials, based on the mean duration of the
    /// finished trials or, before the first one has finished, on the plan's estimate.
    pub(crate) fn for_trials(&self, trials: u32) -> Duration {
        let each = self.total.checked_div(self.count).unwrap_or(self.planned);
        each.saturating_mul(trials)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_durations_replace_planned_ones() {
        let mut eta = Eta::new(Duration::from_secs(8));
        assert_eq!(eta.for_trials(3), Duration::from_secs(24));
        eta.took(Duration::from_secs(9));
        eta.took(Duration::from_secs(11));
        assert_eq!(eta.for_trials(3), Duration::from_secs(30));
        assert_eq!(eta.for_trials(0), Duration::ZERO);
    }
}
