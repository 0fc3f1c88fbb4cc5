//! What a doubling changes: a straight line through the logarithms.
//!
//! Source: ordinary least squares of ln(value) on log2(count); any textbook, as N. R. Draper and H. Smith, *Applied
//! Regression Analysis*, 3rd edition, section 1.2.

use serde::Serialize;

/// A line through points whose counts and values are both counted in factors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Doubling {
    /// What the value is multiplied by where the count doubles.
    pub factor: f64,
    /// The value of the line where the count is 1.
    pub at_one: f64,
}

impl Doubling {
    /// The line through points (count, value); none with fewer than two counts, or where something is not above zero.
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        if !points
            .iter()
            .all(|it| is_positive(it.0) && is_positive(it.1))
        {
            return None;
        }
        let number = points.len() as f64;
        let mean_x = points.iter().map(|it| it.0.log2()).sum::<f64>() / number;
        let mean_y = points.iter().map(|it| it.1.ln()).sum::<f64>() / number;
        let (mut along, mut across) = (0.0, 0.0);
        for (count, value) in points {
            let x = count.log2() - mean_x;
            along += x * x;
            across += x * (value.ln() - mean_y);
        }
        (along > 0.0).then(|| Self {
            factor: (across / along).exp(),
            at_one: (mean_y - across / along * mean_x).exp(),
        })
    }

    /// The value of the line at a count above zero.
    pub fn at(&self, count: f64) -> f64 {
        self.at_one * self.factor.powf(count.log2())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_value_that_halves_with_each_doubling_is_seen_exactly() {
        let line = Doubling::through(&[(1.0, 800.0), (2.0, 400.0), (8.0, 100.0)]).unwrap();
        assert!((line.factor - 0.5).abs() < 1e-12);
        assert!((line.at(4.0) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn noise_about_a_constant_gives_no_growth() {
        let points = [(10.0, 99.0), (100.0, 101.0), (1000.0, 99.0)];
        let line = Doubling::through(&points).unwrap();
        assert!((line.factor - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_count_is_no_line() {
        assert_eq!(Doubling::through(&[(5.0, 1.0), (5.0, 2.0)]), None);
        assert_eq!(Doubling::through(&[(1.0, 1.0), (2.0, 0.0)]), None);
        assert_eq!(Doubling::through(&[]), None);
    }
}
