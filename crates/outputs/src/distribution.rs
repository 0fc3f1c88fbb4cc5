//! Values with their counts, in ascending order.

/// Values in nanoseconds with their counts, and the exact statistics that buckets do not preserve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    values: Vec<(u64, u64)>,
    count: u64,
    pub(crate) sum_ns: u128,
    /// 0 if there are no values.
    pub(crate) min_ns: u64,
    /// 0 if there are no values.
    pub(crate) max_ns: u64,
}

impl Distribution {
    /// Creates a distribution from values in ascending order with their counts. The sum, the
    /// minimum and the maximum are those of these values until [`Distribution::with_exact`]
    /// replaces them.
    pub fn new(values: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let values: Vec<(u64, u64)> = values.into_iter().filter(|(_, count)| *count > 0).collect();
        let product = |(value, count): &(u64, u64)| u128::from(*value) * u128::from(*count);
        Self {
            count: values.iter().map(|(_, count)| count).sum(),
            sum_ns: values.iter().map(product).sum(),
            min_ns: values.first().map_or(0, |(value, _)| *value),
            max_ns: values.last().map_or(0, |(value, _)| *value),
            values,
        }
    }

    /// Sets the exact sum, minimum and maximum, unless the distribution is empty.
    #[must_use]
    pub fn with_exact(self, sum_ns: u128, min_ns: u64, max_ns: u64) -> Self {
        if self.count == 0 {
            return self;
        }
        Self {
            sum_ns,
            min_ns,
            max_ns,
            ..self
        }
    }

    pub fn values(&self) -> &[(u64, u64)] {
        &self.values
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let is_first = self.count == 0;
        self.min_ns = if is_first {
            other.min_ns
        } else {
            self.min_ns.min(other.min_ns)
        };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        let mine = std::mem::take(&mut self.values);
        self.values.reserve(mine.len() + other.values.len());
        let mut theirs = other.values.iter().copied().peekable();
        for (value, count) in mine {
            while let Some(smaller) = theirs.next_if(|(other, _)| *other < value) {
                self.values.push(smaller);
            }
            let same = theirs.next_if(|(other, _)| *other == value);
            self.values
                .push((value, count + same.map_or(0, |(_, count)| count)));
        }
        self.values.extend(theirs);
    }

    /// The values at these shares of the count. The shares must be in ascending order. The value at
    /// a share is the smallest value such that at least this share of all values is at or below it,
    /// clamped to the exact minimum and maximum.
    pub fn at<'a>(&'a self, shares: &'a [f64]) -> impl Iterator<Item = u64> + 'a {
        let mut values = self.values.iter();
        let (mut value, mut until) = (0, 0);
        shares.iter().map(move |share| {
            let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
            while until < rank
                && let Some((next, count)) = values.next()
            {
                value = *next;
                until += count;
            }
            value.clamp(self.min_ns, self.max_ns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_add_up_in_order() {
        let mut sum = Distribution::new([(10, 1), (30, 2)]);
        sum.add(&Distribution::new([(5, 1), (30, 1), (40, 4)]).with_exact(201, 4, 44));
        assert_eq!(sum.values(), [(5, 1), (10, 1), (30, 3), (40, 4)]);
        let exact = (sum.count(), sum.sum_ns, sum.min_ns, sum.max_ns);
        assert_eq!(exact, (9, 271, 4, 44));
        let mut empty = Distribution::default();
        empty.add(&Distribution::default());
        assert_eq!(empty, Distribution::default());
        empty.add(&sum);
        assert_eq!(empty, sum);
    }

    #[test]
    fn a_share_is_converted_to_a_rank() {
        let all = Distribution::new((1..=100).map(|value| (value, 1)));
        let at: Vec<u64> = all.at(&[0.0, 0.5, 0.99, 0.995, 1.0]).collect();
        assert_eq!(at, [1, 50, 99, 100, 100]);
    }
}
