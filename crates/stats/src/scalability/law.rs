//! The scalability laws, and functions that fit them to measurements.

use serde::Serialize;

use super::Point;

const CORES_MAX: f64 = 1e6;

/// Throughput as a function of the number of cores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Law {
    /// The Universal Scalability Law: λN ÷ (1 + σ(N − 1) + κN(N − 1)).
    Universal {
        /// λ, the throughput per second of one core.
        per_core: f64,
        /// σ, the share of the work that only one core at a time can do; 0 or more.
        contention: f64,
        /// κ, the cost of agreement between each pair of cores; 0 or more.
        coherency: f64,
    },
    /// Throughput that is proportional to the number of cores.
    Linear { per_core: f64 },
}

impl Law {
    pub fn at(&self, cores: f64) -> f64 {
        match *self {
            Self::Universal {
                per_core,
                contention,
                coherency,
            } => {
                let others = cores - 1.0;
                // Divide a huge throughput before multiplying it, to stay in the range of f64.
                per_core / ((1.0 + contention * others + coherency * cores * others) / cores)
            }
            Self::Linear { per_core } => per_core * cores,
        }
    }

    /// Returns the number of cores beyond which additional cores lower the throughput, √((1 − σ) ÷
    /// κ) but at least 1, or `None` if additional cores never lower it: the law is linear, or κ is
    /// 0 and σ is at most 1.
    pub fn peak_cores(&self) -> Option<f64> {
        match *self {
            Self::Universal { contention, .. } if contention > 1.0 => Some(1.0),
            Self::Universal {
                contention,
                coherency,
                ..
            } if coherency > 0.0 => Some(((1.0 - contention) / coherency).sqrt().max(1.0)),
            _ => None,
        }
    }

    /// Returns the smallest whole number of cores that achieves a rate, or `None` if no number up
    /// to [`CORES_MAX`] achieves it.
    pub(super) fn cores_for(&self, rate_per_second: f64) -> Option<u32> {
        let mut high = self.peak_cores().unwrap_or(CORES_MAX).min(CORES_MAX);
        // Tolerate a billionth. Because of rounding, the law may yield slightly less than a rate
        // that a whole number of cores achieves exactly.
        let manages = |cores: f64| self.at(cores) >= rate_per_second * (1.0 - 1e-9);
        if !manages(high) {
            return None;
        }
        let mut low = 0.0;
        while high - low > 1e-7 * high {
            let middle = (low + high) / 2.0;
            if manages(middle) {
                high = middle
            } else {
                low = middle
            }
        }
        let whole = (high - 1e-6 * high).ceil().max(1.0);
        manages(whole).then_some(whole as u32)
    }

    pub(super) fn parameters(&self) -> usize {
        match self {
            Self::Universal { .. } => 3,
            Self::Linear { .. } => 1,
        }
    }

    /// Fits the line through the origin that minimizes the squared errors of the logarithms.
    pub(super) fn linear(points: &[Point]) -> Option<Self> {
        let log = |point: &Point| point.throughput_per_second.ln() - point.cores.ln();
        let mean = points.iter().map(log).sum::<f64>() / points.len() as f64;
        Some(Self::Linear {
            per_core: mean.exp(),
        })
    }

    /// Fits the law that minimizes the squared relative errors in its linear form
    /// `N ÷ X = a + b(N − 1) + cN(N − 1)`. Its coefficients a = 1 ÷ λ, b = σ ÷ λ and c = κ ÷ λ must
    /// not be negative. The result is the best of four fits, which set neither, one or both of b
    /// and c to 0. Fits in which a coefficient is negative do not count (C. L. Lawson, R. J.
    /// Hanson, *Solving Least Squares Problems*, 1974, chapter 23).
    pub(super) fn universal(points: &[Point]) -> Option<Self> {
        let largest = points
            .iter()
            .map(|p| p.throughput_per_second)
            .reduce(f64::max)?;
        // Divide both sides by N ÷ X, so that each error is relative.
        let row = |point: &Point| {
            let (n, share) = (point.cores, point.throughput_per_second / largest);
            [share / n, share * (n - 1.0) / n, share * (n - 1.0)]
        };
        let rows: Vec<[f64; 3]> = points.iter().map(row).collect();
        let chosen: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];
        let fits = chosen.iter().filter_map(|columns| Fit::of(&rows, columns));
        let best = fits.min_by(|a, b| a.squares.total_cmp(&b.squares))?;
        let [a, b, c] = best.coefficients;
        Some(Self::Universal {
            per_core: largest / a,
            contention: b / a,
            coherency: c / a,
        })
    }
}

/// A solution in which some of the coefficients may be fixed at 0.
struct Fit {
    coefficients: [f64; 3],
    squares: f64,
}

impl Fit {
    /// Returns the least-squares solution of row · coefficients = 1, with nonzero coefficients only
    /// for `columns`. Returns `None` if the solution is not unique, a coefficient is negative, or
    /// the first is 0.
    fn of(rows: &[[f64; 3]], columns: &[usize]) -> Option<Self> {
        // Scaling the columns to length 1 keeps the equations well-conditioned.
        let length = |column: usize| {
            let squares = rows.iter().map(|row| row[column].powi(2));
            squares.sum::<f64>().sqrt()
        };
        let lengths: Vec<f64> = columns.iter().map(|column| length(*column)).collect();
        let value = |row: &[f64; 3], i: usize| row[columns[i]] / lengths[i];
        let size = columns.len();
        let product = |i: usize, j: usize| -> f64 {
            rows.iter().map(|row| value(row, i) * value(row, j)).sum()
        };
        let equation = |i: usize| {
            let right: f64 = rows.iter().map(|row| value(row, i)).sum();
            (0..size).map(|j| product(i, j)).chain([right]).collect()
        };
        let system: Vec<Vec<f64>> = (0..size).map(equation).collect();
        let solution = solve(system)?;
        let mut coefficients = [0.0; 3];
        for (i, column) in columns.iter().enumerate() {
            coefficients[*column] = solution[i] / lengths[i];
        }
        let allowed =
            coefficients[0] > 0.0 && coefficients.iter().all(|c| *c >= 0.0 && c.is_finite());
        let error = |row: &[f64; 3]| {
            let fitted: f64 = row.iter().zip(coefficients).map(|(x, c)| x * c).sum();
            (fitted - 1.0).powi(2)
        };
        allowed.then(|| Self {
            coefficients,
            squares: rows.iter().map(error).sum(),
        })
    }
}

/// Solves a system of equations by Gaussian elimination with row pivoting. The last column is the
/// right-hand side. Returns `None` if the equations are linearly dependent.
fn solve(mut system: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = system.len();
    for column in 0..size {
        let largest = |i: &usize, j: &usize| {
            f64::total_cmp(&system[*i][column].abs(), &system[*j][column].abs())
        };
        let pivot = (column..size).max_by(largest)?;
        system.swap(column, pivot);
        let upper = system[column].clone();
        // Columns have length 1, so a remainder this small is a rounding error, and the column
        // depends on the others.
        if upper[column].is_nan() || upper[column].abs() < 1e-12 {
            return None;
        }
        for row in system.iter_mut().skip(column + 1) {
            let factor = row[column] / upper[column];
            row.iter_mut()
                .zip(&upper)
                .for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    let mut solution = vec![0.0; size];
    for i in (0..size).rev() {
        let known: f64 = (i + 1..size).map(|j| system[i][j] * solution[j]).sum();
        solution[i] = (system[i][size] - known) / system[i][i];
    }
    Some(solution)
}
