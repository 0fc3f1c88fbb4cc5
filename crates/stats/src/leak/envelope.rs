//! Computes the lower envelope of a series, which consists of the minima of windows of equal
//! length. The envelope shows the memory that remains after the process has released some.

use super::Sample;
use super::correlation::{period, rank_correlations, time};

/// The number of cells to which a long series is reduced before its correlation is computed.
const CELLS_MAX: usize = 600;

/// The maximum number of windows; more windows take longer to compute and add little.
const WINDOWS_MAX: usize = 60;

/// The minimum number of windows for a usable slope.
const WINDOWS_MIN: usize = 10;

/// The minimum length of a window, as a multiple of the series' period (a tooth), or of its
/// correlation time if it has no period. It exceeds 1, so that few windows lack the minimum of a
/// tooth.
const TEETH: f64 = 1.25;

pub(super) struct Envelope {
    pub(super) samples: Vec<Sample>,
    /// The envelope in windows whose length suits the first half of the series; the same as
    /// `samples` if these windows are not shorter. A late change lengthens the correlation time,
    /// and the resulting long windows would hide the change.
    pub(super) undisturbed: Vec<Sample>,
    /// The factor by which the series would have to be longer for a usable slope; at most 1 if the
    /// series is long enough.
    pub(super) longer_needed: f64,
}

impl Envelope {
    pub(super) fn of(samples: &[Sample]) -> Self {
        let fit = fitting(samples);
        let halves = 2.0 * fitting(&samples[..samples.len().div_ceil(2)]);
        let windows = |fit: f64| minima(samples, (fit.floor() as usize).clamp(1, WINDOWS_MAX));
        Self {
            samples: windows(fit),
            undisturbed: windows(fit.max(halves)),
            longer_needed: WINDOWS_MIN as f64 / fit,
        }
    }
}

/// Computes the envelope in the shortest windows, regardless of the period and the correlation
/// time.
pub(super) fn finest(samples: &[Sample]) -> Vec<Sample> {
    minima(samples, WINDOWS_MAX)
}

/// Returns the rise of an envelope from its first minimum to its last, and the seconds between
/// them, or `None` if there are fewer than two minima.
pub(super) fn span(envelope: &[Sample]) -> Option<(f64, f64)> {
    let (first, last) = (envelope.first()?, envelope.last()?);
    let seconds = last.at_seconds - first.at_seconds;
    (seconds > 0.0).then_some((last.value - first.value, seconds))
}

/// Returns the number of windows of suitable length that fit into a series.
fn fitting(samples: &[Sample]) -> f64 {
    let cells = minima(samples, samples.len().min(CELLS_MAX));
    let correlations = rank_correlations(&cells);
    let remembered = period(&correlations).map_or(time(&correlations), |lag| lag as f64);
    cells.len() as f64 / (TEETH * remembered)
}

/// Returns the smallest sample of each of `count` windows of equal length, without the windows that
/// contain no samples.
fn minima(samples: &[Sample], count: usize) -> Vec<Sample> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Vec::new();
    };
    let length = (last.at_seconds - first.at_seconds) / count as f64;
    let window = |sample: &Sample| {
        let index = (sample.at_seconds - first.at_seconds) / length;
        (index as usize).min(count - 1)
    };
    let windows = samples.chunk_by(|a, b| window(a) == window(b));
    let lowest = |window: &[Sample]| {
        let samples = window.iter().copied();
        samples.min_by(|a, b| a.value.total_cmp(&b.value))
    };
    windows.filter_map(lowest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sawtooth from 100 to 149.
    fn teeth(count: u32) -> Vec<Sample> {
        let sample = |i: u32| Sample {
            at_seconds: f64::from(i),
            value: 100.0 + f64::from(i % 50),
        };
        (0..50 * count).map(sample).collect()
    }

    #[test]
    fn the_envelope_of_a_sawtooth_is_below_its_teeth() {
        let envelope = Envelope::of(&teeth(40));
        assert!(envelope.samples.iter().all(|sample| sample.value == 100.0));
        let windows = envelope.samples.len();
        assert!((20..=40).contains(&windows), "{windows}");
        assert!(envelope.longer_needed < 1.0);
    }

    #[test]
    fn three_teeth_are_too_few() {
        assert!(Envelope::of(&teeth(3)).longer_needed > 3.0);
    }

    #[test]
    fn gaps_leave_windows_out() {
        let at = [0.0, 1.0, 2.0, 9.0, 10.0];
        let samples = at.map(|at_seconds| Sample {
            at_seconds,
            value: 10.0 - at_seconds,
        });
        let found: Vec<f64> = minima(&samples, 5).iter().map(|s| s.at_seconds).collect();
        assert_eq!(found, [1.0, 2.0, 10.0]);
    }
}
