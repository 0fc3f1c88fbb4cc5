//! Records the rate over time as request counts in slots of equal length. The length doubles
//! whenever there are too many slots.

use std::collections::BTreeMap;

use crate::time::HOUR_MS;

const SLOTS_MAX: usize = 200_000;

/// The initial length of a slot in milliseconds.
const WIDTH_MS: i64 = 1_000;

/// The counts of all keys, with fast access to the last key that was counted.
#[derive(Debug, Default)]
struct Counts {
    all: BTreeMap<i64, u64>,
    /// The last key and its count, which is not in `all` yet.
    last: (i64, u64),
}

impl Counts {
    fn settle(&mut self) {
        if self.last.1 > 0 {
            *self.all.entry(self.last.0).or_default() += self.last.1;
        }
        self.last.1 = 0;
    }
}

#[derive(Debug)]
pub(super) struct Curve {
    width_ms: i64,
    slots: Counts,
    hours: Counts,
    total: u64,
    /// True if any time had a fraction of a second.
    pub(super) has_fractions: bool,
}

impl Default for Curve {
    fn default() -> Self {
        Self {
            width_ms: WIDTH_MS,
            slots: Counts::default(),
            hours: Counts::default(),
            total: 0,
            has_fractions: false,
        }
    }
}

impl Curve {
    pub(super) fn add(&mut self, at_ms: i64) {
        self.total += 1;
        self.has_fractions |= at_ms % 1_000 != 0;
        if at_ms.div_euclid(self.width_ms) != self.slots.last.0 {
            self.settle();
            // `settle` may have doubled the length of the slots.
            self.slots.last = (at_ms.div_euclid(self.width_ms), 0);
        }
        self.slots.last.1 += 1;
    }

    pub(super) fn count_hour(&mut self, at_ms: i64) {
        let hour = at_ms - at_ms.rem_euclid(HOUR_MS);
        if hour != self.hours.last.0 {
            self.settle_hour();
            self.hours.last = (hour, 0);
        }
        self.hours.last.1 += 1;
    }

    fn settle_hour(&mut self) {
        if self.hours.all.len() < SLOTS_MAX {
            self.hours.settle();
        }
    }

    fn settle(&mut self) {
        self.slots.settle();
        if self.slots.all.len() > SLOTS_MAX {
            self.width_ms *= 2;
            for (slot, count) in std::mem::take(&mut self.slots.all) {
                *self.slots.all.entry(slot.div_euclid(2)).or_default() += count;
            }
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of requests in each hour of the whole log, keyed by the beginning of the
    /// hour.
    pub(super) fn hours(&mut self) -> &BTreeMap<i64, u64> {
        self.settle_hour();
        &self.hours.all
    }

    /// Returns the beginning and length of the covered time, in milliseconds.
    pub(super) fn span(&mut self) -> Option<(i64, i64)> {
        self.settle();
        let mut slots = self.slots.all.keys();
        let first = slots.next()?;
        let last = slots.next_back().unwrap_or(first);
        Some((first * self.width_ms, (last - first + 1) * self.width_ms))
    }

    /// Divides a time span into equal parts, and returns the number of requests in each. A slot
    /// that overlaps several parts is divided among them in proportion.
    pub(super) fn parts(&mut self, start_ms: i64, length_ms: i64, parts: usize) -> Vec<f64> {
        self.settle();
        let mut counts = vec![0.0; parts];
        let part_ms = length_ms as f64 / parts as f64;
        for (slot, count) in &self.slots.all {
            let begin = (slot * self.width_ms - start_ms) as f64 / part_ms;
            let end = ((slot + 1) * self.width_ms - start_ms) as f64 / part_ms;
            let density = *count as f64 / (end - begin);
            let first = begin.max(0.0) as usize;
            for (part, sum) in counts.iter_mut().enumerate().skip(first) {
                let overlap = end.min((part + 1) as f64) - begin.max(part as f64);
                if overlap <= 0.0 {
                    break;
                }
                *sum += overlap * density;
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_all_requests() {
        let mut curve = Curve::default();
        for second in 0..100 {
            (0..second).for_each(|_| curve.add(1_000_000 + second * 1_000));
        }
        let (start, length) = curve.span().unwrap_or_default();
        assert_eq!((start, length), (1_001_000, 99_000));
        let parts = curve.parts(start, length, 7);
        assert!(
            (parts.iter().sum::<f64>() - 4_950.0).abs() < 1e-6,
            "{parts:?}"
        );
        assert!(parts.is_sorted() && !curve.has_fractions);
    }

    #[test]
    fn slots_grow_with_the_covered_time() {
        let mut curve = Curve::default();
        (0..500_000).for_each(|second| curve.add(second * 1_000));
        let (_, length) = curve.span().unwrap_or_default();
        assert!(curve.slots.all.len() <= SLOTS_MAX + 1);
        assert_eq!(curve.total(), 500_000);
        assert!((length - 500_000_000).abs() <= curve.width_ms);
    }
}
