//! Computes the energy statistic between two stretches of a series, and finds the split where it is
//! largest.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Split {
    /// The index of the first value after the split, within the segment.
    pub(super) at: usize,
    /// The energy distance between the m values before the split and the n values after it, times
    /// mn ÷ (m + n), for the n that maximizes this product. This is equation 5 of the paper named
    /// in the parent module.
    pub(super) statistic: f64,
}

impl Split {
    /// Returns the split whose left side differs most from any number of the values that follow it
    /// (equation 7). Returns `None` if the segment is too short for two sides or all of its values
    /// are equal.
    pub(super) fn best(values: &[f64], min_segment: usize) -> Option<Self> {
        if values.len() < 2 * min_segment || values.iter().all(|value| *value == values[0]) {
            return None;
        }
        let distances = Distances::between(values);
        let mut best: Option<Self> = None;
        for at in min_segment..=values.len() - min_segment {
            for end in at + min_segment..=values.len() {
                let statistic = distances.statistic(at, end);
                if best.is_none_or(|best| statistic > best.statistic) {
                    best = Some(Self { at, statistic });
                }
            }
        }
        best
    }
}

/// Cumulative sums of the distances between all values, from which each statistic is computed in
/// constant time.
struct Distances {
    /// In row i and column j, the sum over all pairs of the first i and the first j values.
    sums: Vec<f64>,
    columns: usize,
    /// The reciprocals of the integers from 0 to the number of values. Multiplying by them is
    /// faster than dividing.
    inverses: Vec<f64>,
}

impl Distances {
    fn between(values: &[f64]) -> Self {
        let columns = values.len() + 1;
        let mut sums = vec![0.0; columns * columns];
        for (i, first) in values.iter().enumerate() {
            let mut row = 0.0;
            for (j, second) in values.iter().enumerate() {
                row += (first - second).abs();
                sums[(i + 1) * columns + j + 1] = sums[i * columns + j + 1] + row;
            }
        }
        let inverses = (0..columns).map(|count| 1.0 / count as f64).collect();
        Self {
            sums,
            columns,
            inverses,
        }
    }

    fn sum(&self, rows: usize, columns: usize) -> f64 {
        self.sums[rows * self.columns + columns]
    }

    /// Returns the statistic that compares the values before `at` with those from `at` to `end`.
    fn statistic(&self, at: usize, end: usize) -> f64 {
        let (m, n) = (at as f64, (end - at) as f64);
        // The sums contain each pair within a side twice.
        let left = self.sum(at, at);
        let across = self.sum(at, end) - left;
        let right = self.sum(end, end) - left - 2.0 * across;
        let within = left * n * self.inverses[at - 1] + right * m * self.inverses[end - at - 1];
        (2.0 * across - within) * self.inverses[end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_those_of_the_authors_package() {
        // With R 4.2.2 and ecp 3.1.6, which counts positions from 1:
        //   D <- as.matrix(dist(x)); splitPoint(1, 30, D, 5)  # 11  17.2222222222222
        //   splitPoint(11, 30, D, 5)                          # 22  6.845
        //   splitPoint(1, 10, D, 5)                           #  6  -0.3
        let x = [
            2.1, 1.7, 2.4, 1.9, 2.2, 2.0, 1.8, 2.3, 1.6, 2.5, 4.1, 3.8, 4.4, 4.0, 3.7, 4.2, 3.9,
            4.3, 4.6, 3.6, 4.05, 1.0, 7.2, 2.5, 5.9, 0.6, 6.8, 3.3, 8.1, -0.4,
        ];
        for (range, at, statistic) in [
            (0..30, 10, 155.0 / 9.0),
            (10..30, 11, 6.845),
            (0..10, 5, -0.3),
        ] {
            let found = Split::best(&x[range.clone()], 5).unwrap();
            assert_eq!(found.at, at, "{range:?}");
            assert!((found.statistic - statistic).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn equation_5_by_hand() {
        // The energy distance between {0, 1} and {4, 6} is 2 × (4 + 6 + 3 + 5) ÷ 4 − 1 − 2 = 6, and
        // the factor is 2 × 2 ÷ 4 = 1.
        let found = Split::best(&[0.0, 1.0, 4.0, 6.0], 2).unwrap();
        assert_eq!((found.at, found.statistic), (2, 6.0));
        assert_eq!(Split::best(&[0.0, 1.0, 4.0], 2), None);
        assert_eq!(Split::best(&[3.0; 9], 2), None);
    }
}
