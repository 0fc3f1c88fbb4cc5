//! Estimates the factor by which a value changes when a count doubles. A straight line is fitted to
//! the logarithms.
//!
//! Source: ordinary least squares of ln(value) on log2(count); any textbook, such as N. R. Draper
//! and H. Smith, *Applied Regression Analysis*, 3rd edition, section 1.2.

use serde::Serialize;

/// A line fitted to the logarithms of counts and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Doubling {
    /// The factor by which the value changes when the count doubles.
    pub factor: f64,
    /// The line's value at a count of 1.
    pub at_one: f64,
}

impl Doubling {
    /// Fits the line to points (count, value). Returns `None` if there are fewer than two different
    /// counts or if any number is not positive and finite.
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

    /// Returns the line's value at a count above zero.
    pub fn at(&self, count: f64) -> f64 {
        self.at_one * self.factor.powf(count.log2())
    }
}
