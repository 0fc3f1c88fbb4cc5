//! Detects growth at the end of an envelope, which has little effect on the slope over the whole
//! time.
//!
//! Values in less than 29 % of the time, however extreme, have a limited effect on the median of
//! slopes (the breakdown point of the Theil–Sen slope).

use super::Sample;
use super::envelope::span;
use super::slope::theil_sen;

/// The multiple of the largest earlier change above which a rise at the end is not attributed to
/// chance.
const BEYOND_ANY_BEFORE: f64 = 1.5;

/// Reports whether the envelope may still be growing. This is the case if it grew by more than
/// `bound` per second from its first minimum to its last or in its last third, or if it ends with a
/// rise ([`ends_with_a_rise`]).
pub(super) fn grows_lately(envelope: &[Sample], bound: f64) -> bool {
    let third = &envelope[envelope.len() - envelope.len() / 3..];
    rises(envelope, bound)
        || theil_sen(third).is_some_and(|slope| slope > bound)
        || ends_with_a_rise(envelope, bound)
}

fn rises(envelope: &[Sample], bound: f64) -> bool {
    span(envelope).is_some_and(|(rise, seconds)| rise > bound * seconds)
}

/// Reports whether the envelope ends with a rise, which may extend over its last two windows or
/// over any longer stretch of up to a third of all windows. The rise must exceed `bound` per
/// second, and must clearly exceed the change in every stretch of the same length that precedes it.
pub(super) fn ends_with_a_rise(envelope: &[Sample], bound: f64) -> bool {
    // The lower of two adjacent minima is used, so that one window without the minimum of a tooth
    // does not count as a rise.
    let lower = |pair: &[Sample]| Sample {
        at_seconds: pair[1].at_seconds,
        value: pair[0].value.min(pair[1].value),
    };
    let levels: Vec<Sample> = envelope.windows(2).map(lower).collect();
    let Some(end) = levels.len().checked_sub(1) else {
        return false;
    };
    (2..=envelope.len() / 3).any(|span| {
        let rise = |at: usize| levels[at].value - levels[at - span].value;
        let before = (span..=end - span).map(|at| rise(at).abs());
        let largest = before.fold(0.0, f64::max);
        let allowed = bound * (levels[end].at_seconds - levels[end - span].at_seconds);
        rise(end) > allowed.max(BEYOND_ANY_BEFORE * largest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(value: impl Fn(f64) -> f64) -> Vec<Sample> {
        let sample = |at: u32| Sample {
            at_seconds: f64::from(at),
            value: value(f64::from(at)) + f64::from(at % 3) / 10.0,
        };
        (0..60).map(sample).collect()
    }

    #[test]
    fn each_kind_of_late_growth_is_detected() {
        let still = envelope(|_| 5.0);
        assert!(!grows_lately(&still, 0.01) && !ends_with_a_rise(&still, 0.0));
        // A step of 20 in the middle is neither in the last third nor at the end.
        let step = envelope(|at| if at < 30.0 { 0.0 } else { 20.0 });
        assert!(rises(&step, 0.3) && !rises(&step, 0.4) && !ends_with_a_rise(&step, 0.0));
        let again = envelope(|at| {
            if at < 40.0 {
                40.0 - at
            } else {
                0.5 * (at - 40.0)
            }
        });
        assert!(!rises(&again, 0.0) && grows_lately(&again, 0.4) && !grows_lately(&again, 0.6));
        let late = envelope(|at| (at - 56.0).max(0.0));
        assert!(ends_with_a_rise(&late, 0.3) && !rises(&late, 0.3));
        assert!(!ends_with_a_rise(&late, 1.5));
    }

    #[test]
    fn one_window_without_a_minimum_is_not_a_rise_and_few_windows_have_none() {
        assert!(!grows_lately(
            &envelope(|at| if at == 59.0 { 0.5 } else { 0.0 }),
            0.02
        ));
        for count in 0..6 {
            assert!(
                !ends_with_a_rise(&envelope(|_| 1.0)[..count], 0.0),
                "{count}"
            );
        }
    }
}
