//! Sums of counters whose owners come and go. What an owner had when it was last seen stays in the sum.

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

/// Counters by owner, and the sum of those whose owners are gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger<K, C> {
    present: BTreeMap<K, C>,
    gone: C,
    gone_count: u32,
}

impl<K: Ord, C: Copy + Default + AddAssign> Ledger<K, C> {
    /// Takes what the owners have now, and gives the sum over all that were ever seen.
    pub(crate) fn update(&mut self, now: BTreeMap<K, C>) -> C {
        for (key, counters) in &self.present {
            if !now.contains_key(key) {
                self.gone += *counters;
                self.gone_count += 1;
            }
        }
        self.present = now;
        let mut sum = self.gone;
        for counters in self.present.values() {
            sum += *counters;
        }
        sum
    }

    /// The sum with what the owners seen last have now; of one that cannot be asked, what it had.
    pub(crate) fn sum_now(&self, ask: impl Fn(&K) -> Option<C>) -> C {
        let mut sum = self.gone;
        for (key, last) in &self.present {
            sum += ask(key).unwrap_or(*last);
        }
        sum
    }

    /// How many owners are gone.
    pub(crate) fn gone_count(&self) -> u32 {
        self.gone_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_stays_counted() {
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
