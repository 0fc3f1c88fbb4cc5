//! Allows for growth in steps, which is invisible until the next step.
//!
//! An allocator takes memory from the system in arenas, and the readings do not show a leak into an
//! arena that the process already holds. Any series may therefore hide one more step of growth.

use super::envelope::span;
use super::{Because, LeakVerdict, Sample, sensible, undetermined};

/// The largest amount that may be acquired at once, and the time that an envelope spans.
pub(super) struct Steps {
    known: f64,
    /// The larger of the known step and the largest step of the series.
    size: f64,
    /// The time from the first minimum to the last, in seconds.
    span: f64,
    /// The duration of the whole series, in seconds.
    duration: f64,
    /// The growth per second from the first minimum to the last.
    rise: f64,
}

impl Steps {
    /// Determines the steps of a series from its envelope `judged` and from `finest`, its envelope
    /// in the shortest windows.
    pub(super) fn of(judged: &[Sample], finest: &[Sample], known: f64, duration: f64) -> Self {
        let (rise, seconds) = span(judged).unwrap_or((0.0, duration));
        Self {
            known,
            size: known.max(largest(finest)),
            span: seconds,
            duration,
            rise: rise / seconds,
        }
    }

    pub(super) fn per_second(&self) -> f64 {
        self.size / self.span
    }

    /// Returns a verdict that allows for one more step. *No leak* requires that the growth and one
    /// step together stay within the bound. The growth is `grown` per second or the rise from the
    /// first minimum to the last, whichever is larger. In a run of the suggested length, the bound
    /// allows at least one known step.
    pub(super) fn allow(&self, verdict: LeakVerdict, grown: f64, bound: f64) -> LeakVerdict {
        let grown = grown.max(self.rise).max(0.0);
        match verdict {
            LeakVerdict::NoLeak if grown + self.per_second() > bound => {
                let left = (bound - grown).max(0.0);
                let times_as_long = self.per_second() / left;
                undetermined(Because::Steps, times_as_long, self.duration)
            }
            LeakVerdict::Undetermined {
                because,
                seconds_needed,
            } => {
                let of_step = self.known / bound * self.duration / self.span;
                let needed = seconds_needed.map(|seconds| seconds.max(of_step));
                LeakVerdict::Undetermined {
                    because,
                    seconds_needed: needed.and_then(|it| sensible(it, self.duration)),
                }
            }
            settled => settled,
        }
    }
}

/// Returns the largest step: the amount by which all later minima exceed all earlier ones, or 0 if
/// there is no step.
fn largest(envelope: &[Sample]) -> f64 {
    let rise = |at: usize| {
        let (before, after) = envelope.split_at(at);
        let highest = before.iter().map(|it| it.value);
        let lowest = after.iter().map(|it| it.value);
        lowest.fold(f64::INFINITY, f64::min) - highest.fold(f64::NEG_INFINITY, f64::max)
    };
    (1..envelope.len()).map(rise).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(values: &[f64]) -> Vec<Sample> {
        let sample = |(at, value): (usize, &f64)| Sample {
            at_seconds: at as f64,
            value: *value,
        };
        values.iter().enumerate().map(sample).collect()
    }

    #[test]
    fn a_step_is_a_rise_that_stays() {
        let cases: [(&[f64], f64); 7] = [
            (&[5.0, 5.0, 5.0], 0.0),
            (&[5.0, 5.0, 9.0, 9.0], 4.0),
            (&[5.0, 6.0, 9.0, 8.5, 10.0], 2.5),
            (&[5.0, 9.0, 5.0, 9.0, 5.0], 0.0),
            (&[9.0, 7.0, 5.0], 0.0),
            (&[5.0], 0.0),
            (&[], 0.0),
        ];
        for (values, step) in cases {
            assert_eq!(largest(&envelope(values)), step, "{values:?}");
        }
    }

    #[test]
    fn no_leak_leaves_room_for_one_more_step() {
        // The series grows by 10 in 100 s, and may have grown by 20 more.
        let values: Vec<f64> = (0..=100).map(|at| f64::from(at) / 10.0).collect();
        let grown = envelope(&values);
        let steps = Steps::of(&grown, &grown, 20.0, 100.0);
        assert!((steps.per_second() - 0.2).abs() < 1e-12);
        let of = |bound| steps.allow(LeakVerdict::NoLeak, 0.0, bound);
        assert_eq!(of(0.31), LeakVerdict::NoLeak);
        let LeakVerdict::Undetermined {
            because: Because::Steps,
            seconds_needed: Some(seconds),
        } = of(0.2)
        else {
            panic!("{:?}", of(0.2))
        };
        // The bound leaves 0.1 per second for a step of 20.
        assert!((seconds - 200.0).abs() < 1e-9, "{seconds}");
        assert_eq!(steps.allow(LeakVerdict::Leak, 9.0, 0.2), LeakVerdict::Leak);
    }
}
