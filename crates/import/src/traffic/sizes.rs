//! Records a distribution of sizes, in buckets with exact means.

/// The base-2 logarithm of the number of buckets per doubling.
const BITS: u32 = 2;

/// Sizes by bucket, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes(Vec<Bucket>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket {
    index: u16,
    count: u64,
    sum: u64,
}

fn index(size: u64) -> u16 {
    let size = size.max(1);
    let octave = size.ilog2();
    let below = (size >> octave.saturating_sub(BITS)) & ((1 << BITS) - 1);
    (octave << BITS | below as u32) as u16
}

impl Sizes {
    pub(super) fn add(&mut self, size: u64) {
        self.add_bucket(Bucket {
            index: index(size),
            count: 1,
            sum: size,
        });
    }

    pub(super) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|bucket| self.add_bucket(*bucket));
    }

    fn add_bucket(&mut self, new: Bucket) {
        match self.0.binary_search_by_key(&new.index, |it| it.index) {
            Ok(at) => {
                self.0[at].count += new.count;
                self.0[at].sum = self.0[at].sum.saturating_add(new.sum);
            }
            Err(at) => self.0.insert(at, new),
        }
    }

    /// Returns `parts` sizes in ascending order, each the mean of an equal share of the recorded
    /// sizes. If all means are equal, returns only one; if nothing was recorded, none.
    pub(super) fn quantiles(&self, parts: u32) -> Vec<u64> {
        let total: u64 = self.0.iter().map(|bucket| bucket.count).sum();
        if total == 0 {
            return Vec::new();
        }
        let buckets = self.0.iter().rev();
        let buckets = buckets.map(|it| (it.count as f64, it.sum as f64 / it.count as f64));
        let mut left: Vec<(f64, f64)> = buckets.collect();
        let share = total as f64 / f64::from(parts);
        let mut means = Vec::new();
        for _ in 0..parts {
            let (mut wanted, mut sum, mut count_taken) = (share, 0.0, 0.0);
            while let Some((count, mean)) = left.last_mut() {
                let taken = wanted.min(*count);
                sum += taken * *mean;
                count_taken += taken;
                *count -= taken;
                wanted -= taken;
                if *count > 1e-9 || wanted <= 1e-9 {
                    break;
                }
                left.pop();
            }
            // Rounding may leave the last part empty.
            let rest = means.last().copied().unwrap_or(0);
            let mean = match count_taken > 1e-6 {
                true => (sum / count_taken).round() as u64,
                false => rest,
            };
            means.push(mean.max(rest));
        }
        if means.iter().all(|mean| *mean == means[0]) {
            means.truncate(1);
        }
        means
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_constant_size_is_one_value() {
        let mut sizes = Sizes::default();
        (0..9).for_each(|_| sizes.add(512));
        assert_eq!(sizes.quantiles(20), [512]);
        assert!(Sizes::default().quantiles(20).is_empty());
    }

    proptest! {
        #[test]
        fn quantiles_keep_the_mean(all in prop::collection::vec(0..1_000_000_u64, 1..200)) {
            let mut sizes = Sizes::default();
            all.iter().for_each(|size| sizes.add(*size));
            let quantiles = sizes.quantiles(20);
            let mean = |all: &[u64]| all.iter().sum::<u64>() as f64 / all.len() as f64;
            let (expected, found) = (mean(&all), mean(&quantiles));
            prop_assert!((expected - found).abs() <= 1.0 + expected * 1e-6, "{} {}", expected, found);
            prop_assert!(quantiles.is_sorted());
        }
    }
}
