//! Merges the workers' records of each second.

use std::collections::BTreeMap;

use gatebench_engine::Interval;

/// The seconds that some workers have not handed out yet.
#[derive(Debug, Default)]
pub(crate) struct Merge {
    workers: usize,
    /// The next second of each worker.
    next: BTreeMap<usize, u32>,
    open: BTreeMap<u32, Interval>,
}

impl Merge {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            workers: workers.max(1),
            ..Self::default()
        }
    }

    /// Adds a worker's second, and returns the seconds that are now complete.
    pub(crate) fn take(&mut self, worker: usize, interval: &Interval) -> Vec<Interval> {
        match self.open.get_mut(&interval.second) {
            Some(merged) => merged.add(interval),
            None => {
                self.open.insert(interval.second, interval.clone());
            }
        }
        self.next.insert(worker, interval.second + 1);
        let all_past = if self.next.len() < self.workers {
            0
        } else {
            self.next.values().copied().min().unwrap_or(0)
        };
        let open = self.open.split_off(&all_past);
        std::mem::replace(&mut self.open, open)
            .into_values()
            .collect()
    }

    /// Returns the seconds that some workers have not handed out.
    pub(crate) fn rest(&mut self) -> Vec<Interval> {
        std::mem::take(&mut self.open).into_values().collect()
    }
}
