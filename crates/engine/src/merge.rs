//! Merges the workers' records of each second.

use std::collections::BTreeMap;

use crate::record::Interval;

/// The maximum number of seconds whose records are held back until every worker has delivered.
const OPEN_MAX: usize = 8;

/// The seconds that some workers have not delivered yet.
#[derive(Debug, Default)]
pub struct Merge {
    workers: usize,
    /// For each worker, the number of the last second that it delivered, plus 1.
    next: BTreeMap<usize, u32>,
    open: BTreeMap<u32, Interval>,
}

impl Merge {
    pub fn new(workers: usize) -> Self {
        Self {
            workers: workers.max(1),
            ..Self::default()
        }
    }

    /// Adds a worker's second, and returns the seconds that are now complete. If the second was
    /// overdue before, it is returned again, with only the records that were missing.
    pub fn take(&mut self, worker: usize, interval: &Interval) -> Vec<Interval> {
        self.open
            .entry(interval.second)
            .and_modify(|merged| merged.add(interval))
            .or_insert_with(|| interval.clone());
        self.next.insert(worker, interval.second + 1);
        let have_all_begun = self.next.len() >= self.workers;
        let first = self.next.values().min().filter(|_| have_all_begun);
        let all_past = first.copied().unwrap_or(0);
        let open = self.open.split_off(&all_past);
        std::mem::replace(&mut self.open, open)
            .into_values()
            .collect()
    }

    /// Removes and returns the oldest seconds, so that at most eight remain held back. The returned
    /// seconds lack the records of a worker that is behind or has ended.
    pub fn overdue(&mut self) -> Vec<Interval> {
        let count = self.open.len().saturating_sub(OPEN_MAX);
        let overdue = (0..count).filter_map(|_| self.open.pop_first());
        overdue.map(|(_, interval)| interval).collect()
    }

    /// Returns the seconds that some workers have not delivered.
    pub fn rest(&mut self) -> Vec<Interval> {
        std::mem::take(&mut self.open).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: u32) -> Interval {
        let mut interval = Interval::new(0);
        interval.second = number;
        interval
    }

    fn numbers(found: &[Interval]) -> Vec<u32> {
        found.iter().map(|it| it.second).collect()
    }

    #[test]
    fn a_second_is_complete_when_all_workers_have_delivered_it() {
        let mut merge = Merge::new(2);
        assert!(merge.take(0, &second(0)).is_empty());
        assert!(merge.take(0, &second(1)).is_empty());
        assert_eq!(numbers(&merge.take(1, &second(0))), [0]);
        assert_eq!(numbers(&merge.rest()), [1]);
    }

    #[test]
    fn a_worker_that_has_ended_is_awaited_for_eight_seconds() {
        let mut merge = Merge::new(2);
        merge.take(1, &second(0));
        merge.take(0, &second(0));
        let mut overdue = Vec::new();
        for number in 1..12 {
            merge.take(0, &second(number));
            overdue.extend(numbers(&merge.overdue()));
        }
        assert_eq!(overdue, [1, 2, 3]);
        assert_eq!(merge.rest().len(), 8);
    }
}
