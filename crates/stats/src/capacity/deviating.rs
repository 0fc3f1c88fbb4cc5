//! Finds processes that differ from the others.
//!
//! Source: F. E. Grubbs, *Procedures for Detecting Outlying Observations in Samples*, Technometrics
//! 11(1), 1969. Here, the statistic is the distance of a value from the mean of the others, divided
//! by the standard error of this distance, which is estimated without the value itself.

use crate::student;

/// The accepted share of searches that report a deviating process although all processes differ
/// only by chance.
const FALSE_ALARMS: f64 = 0.05;

/// The minimum number of processes for a test. With fewer, at most two others remain, which are too
/// few to show a spread.
const PROCESSES_MIN: usize = 4;

/// The middle of a process's curve, as the logarithm of a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Middle {
    pub(super) at: f64,
    pub(super) error: f64,
}

/// Returns the indices of the processes whose middles differ from the others by more than chance
/// explains.
pub(super) fn deviating(middles: &[Middle]) -> Vec<usize> {
    if middles.len() < PROCESSES_MIN {
        return Vec::new();
    }
    let count = middles.len() as f64;
    // Every process is tested, so the level is divided by the number of processes (Bonferroni).
    let beyond = student::quantile(1.0 - FALSE_ALARMS / 2.0 / count, count - 2.0);
    let differs = |at: &usize| {
        let own = middles[*at];
        let mut others = middles.to_vec();
        others.remove(*at);
        let mean = mean(&others, |it| it.at);
        let squares = mean_of_squares(&others, |it| it.at - mean) * (count - 1.0) / (count - 2.0);
        // Middles have errors even if they happen to be alike.
        let errors = mean_of_squares(&others, |it| it.error);
        let spread = squares.max(errors);
        let more = (own.error * own.error - errors).max(0.0);
        let deviation = (spread * count / (count - 1.0) + more).sqrt();
        (own.at - mean).abs() > beyond * deviation
    };
    (0..middles.len()).filter(differs).collect()
}

fn mean(of: &[Middle], value: impl Fn(&Middle) -> f64) -> f64 {
    of.iter().map(value).sum::<f64>() / of.len() as f64
}

fn mean_of_squares(of: &[Middle], value: impl Fn(&Middle) -> f64) -> f64 {
    mean(of, |it| value(it).powi(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Noise;

    fn middles(at: &[f64], error: f64) -> Vec<Middle> {
        at.iter().map(|at| Middle { at: *at, error }).collect()
    }

    #[test]
    fn an_outlier_among_five_is_reported() {
        let four = [9.90, 9.91, 9.89, 9.90];
        let with = |fifth: f64| [four[0], four[1], fifth, four[2], four[3]];
        assert_eq!(deviating(&middles(&with(9.80), 0.005)), [2]);
        assert_eq!(deviating(&middles(&with(9.93), 0.005)), [0; 0]);
        // If the errors are larger, the same distance may be due to chance.
        assert_eq!(deviating(&middles(&with(9.80), 0.03)), [0; 0]);
        // The middles of equal processes are known only within their errors.
        let equal = |fifth: f64| [9.9, 9.9, 9.9, 9.9, fifth];
        assert_eq!(deviating(&middles(&equal(9.92), 0.005)), [0; 0]);
        assert_eq!(deviating(&middles(&equal(9.80), 0.005)), [4]);
        assert_eq!(deviating(&middles(&[9.9, 9.9, 5.0], 0.005)), [0; 0]);
    }

    #[test]
    fn processes_that_differ_by_chance_are_rarely_reported() {
        let mut noise = Noise::seeded(41);
        let runs = 2_000;
        let named = (0..runs).filter(|_| {
            let at: Vec<f64> = (0..5).map(|_| 0.02 * noise.normal()).collect();
            !deviating(&middles(&at, 0.002)).is_empty()
        });
        // At a true share of 5 %, the standard error is half a percentage point, so both bounds are
        // at least three standard errors away.
        let share = named.count() as f64 / f64::from(runs);
        assert!((0.03..0.065).contains(&share), "{share}");
    }
}
