//! Sums of counters whose owners come and go. The last value of an owner that has gone remains in
//! the sum.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use crate::system::processes::ThreadAccount;

impl AddAssign for ThreadAccount {
    fn add_assign(&mut self, other: Self) {
        self.run_queue_wait_ns += other.run_queue_wait_ns;
        self.switches_voluntary += other.switches_voluntary;
        self.switches_involuntary += other.switches_involuntary;
    }
}

/// Counters by owner, and the sum for owners that have gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger<K, C> {
    present: BTreeMap<K, C>,
    gone: C,
    gone_count: u32,
}

impl<K: Ord, C: Copy + Default + AddAssign> Ledger<K, C> {
    /// Replaces the current values of the owners, and returns the sum over all owners ever seen.
    pub(crate) fn update(&mut self, now: BTreeMap<K, C>) -> C {
        for (key, counters) in &self.present {
            if !now.contains_key(key) {
                self.gone += *counters;
                self.gone_count += 1;
            }
        }
        self.present = now;
        self.sum_now(|_| None)
    }

    /// Returns the sum with the current values of the present owners, which `read` returns. An
    /// owner without a current value counts with its last value.
    pub(crate) fn sum_now(&self, read: impl Fn(&K) -> Option<C>) -> C {
        let mut sum = self.gone;
        for (key, last) in &self.present {
            sum += read(key).unwrap_or(*last);
        }
        sum
    }

    /// Returns the number of owners that have gone.
    pub(crate) fn gone_count(&self) -> u32 {
        self.gone_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_that_have_gone_are_still_counted() {
        let mut ledger = Ledger::<u32, u64>::default();
        assert_eq!(ledger.update([(1, 10), (2, 5)].into()), 15);
        assert_eq!(ledger.update([(1, 12)].into()), 17);
        assert_eq!(ledger.update([(1, 12), (3, 1)].into()), 18);
        assert_eq!(ledger.update(BTreeMap::new()), 18);
        assert_eq!(ledger.gone_count(), 3);
        ledger.update([(4, 10), (5, 1)].into());
        assert_eq!(ledger.sum_now(|owner| (*owner == 4).then_some(12)), 18 + 13);
    }
}
