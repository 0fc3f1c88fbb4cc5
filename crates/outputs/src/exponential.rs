//! A distribution in exponential buckets, which Prometheus calls a native histogram.

use crate::distribution::Distribution;

/// The counts by bucket. Bucket `i` contains values above b^(i-1) and up to b^i, where b is
/// 2^(2^-scale).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exponential {
    pub(crate) zeros: u64,
    /// The index and count of each bucket that contains values, in ascending order.
    pub(crate) buckets: Vec<(i32, u64)>,
}

impl Exponential {
    /// Puts the values in buckets whose bounds are in units of `unit_ns` nanoseconds.
    pub(crate) fn of(all: &Distribution, unit_ns: f64, scale: i32) -> Self {
        let mut it = Self::default();
        for (value, count) in all.values() {
            if *value == 0 {
                it.zeros += count;
                continue;
            }
            let index = index_of(*value as f64 / unit_ns, scale);
            match it.buckets.last_mut() {
                Some((last, sum)) if *last == index => *sum += count,
                _ => it.buckets.push((index, *count)),
            }
        }
        it
    }

    /// Runs of consecutive buckets, each as the index of its first bucket and the counts.
    pub(crate) fn runs(&self) -> Vec<(i32, Vec<u64>)> {
        let mut runs: Vec<(i32, Vec<u64>)> = Vec::new();
        for (index, count) in &self.buckets {
            match runs.last_mut() {
                Some((first, counts)) if *first + counts.len() as i32 == *index => {
                    counts.push(*count);
                }
                _ => runs.push((*index, vec![*count])),
            }
        }
        runs
    }
}

/// Returns the index of the bucket that contains `value`, which must be above 0.
fn index_of(value: f64, scale: i32) -> i32 {
    let per_octave = f64::from(1 << scale);
    let bound = |index: i32| (f64::from(index) / per_octave).exp2();
    let mut index = (value.log2() * per_octave).ceil() as i32;
    // The logarithm of a value at a bound may be rounded into the neighboring bucket.
    if value <= bound(index - 1) {
        index -= 1;
    } else if value > bound(index) {
        index += 1;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_belong_to_the_bucket_below() {
        for scale in [0, 3, 8] {
            for index in -300..300 {
                let bound = (f64::from(index) / f64::from(1 << scale)).exp2();
                assert_eq!(index_of(bound, scale), index, "scale {scale}");
                assert_eq!(index_of(bound * 1.000_1, scale), index + 1, "scale {scale}");
            }
        }
    }

    #[test]
    fn runs_have_no_gap() {
        let all = Distribution::new([(0, 7), (1_000, 1), (2_000, 2), (4_000, 3), (64_000, 4)]);
        let it = Exponential::of(&all, 1_000.0, 0);
        assert_eq!(it.zeros, 7);
        assert_eq!(it.runs(), [(0, vec![1, 2, 3]), (6, vec![4])]);
    }
}
