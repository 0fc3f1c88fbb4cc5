//! Detects leaks of memory, or of any other resource that a process acquires and releases.
//!
//! The memory of a healthy process is often a sawtooth, which no straight line fits. The lower
//! envelope, formed by the minima of windows that are longer than a tooth, is the memory that
//! remains after the process has released some. The envelope's slope is the Theil–Sen slope, and
//! the slope's interval comes from a moving-block bootstrap, which preserves the correlation of
//! adjacent values. A quantity that grows in steps may have grown by one step more than the series
//! shows.
//!
//! Sources: P. K. Sen, *Estimates of the Regression Coefficient Based on Kendall's Tau*, Journal of
//! the American Statistical Association 63, 1968; H. R. Künsch, *The Jackknife and the Bootstrap
//! for General Stationary Observations*, Annals of Statistics 17(3), 1989; A. D. Sokal, *Monte
//! Carlo Methods in Statistical Mechanics*, 1996, section 3 (correlation times).

mod correlation;
mod envelope;
mod lately;
mod slope;
mod steps;

use serde::Serialize;

use crate::Interval;
use envelope::Envelope;
use lately::{ends_with_a_rise, grows_lately};
use slope::Resampled;
use steps::Steps;

pub(crate) use correlation::memory_of_rests;

pub const CONFIDENCE: f64 = 0.95;

/// Growth that exceeds the bound by this number of half-widths of the interval is detected in nine
/// of ten runs: 1 + z(0.9) ÷ z(0.975).
const SEEN_IN_NINE_OF_TEN: f64 = 1.654;

/// The length of the shortest series whose range is meaningful. The range of a shorter series may
/// be small merely because memory is taken from the system in large steps.
const RANGE_SECONDS_MIN: f64 = 600.0;

/// A longer run is not suggested if it would have to be more than this many times as long as the
/// present one, and longer than a month.
const LONGER_MAX: f64 = 1_000.0;
const MONTH_SECONDS: f64 = 30.0 * 86_400.0;

/// A reading of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The time of the reading, from any origin.
    pub at_seconds: f64,
    /// The amount that the process held, in any unit.
    pub value: f64,
}

/// The settings that determine a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Growth that does not matter, in the values' unit per hour; 0 or more.
    pub bound_per_hour: f64,
    /// The largest amount that may be acquired at once, in the values' unit, such as an arena of
    /// the allocator, a page or a descriptor; 0 for smooth growth. If the series shows a larger
    /// step, that step is used instead.
    pub step: f64,
    pub seed: u64,
}

/// The result of judging a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The lower envelope from which the slope is computed.
    pub envelope: Vec<Sample>,
    /// The envelope's growth, in the values' unit per hour; `None` if the series is too short for a
    /// slope. The range of the values may still allow a verdict.
    pub slope_per_hour: Option<f64>,
    pub interval: Option<Interval>,
    /// The smallest growth that nine of ten such runs would report as a leak, including
    /// [`Self::resolution_per_hour`].
    pub smallest_seen_per_hour: Option<f64>,
    /// The growth that may be hidden because the next step has not occurred yet, in the values'
    /// unit per hour. It is one step divided by the time from the first minimum to the last of the
    /// envelope on which the verdict is based.
    pub resolution_per_hour: f64,
    pub verdict: LeakVerdict,
}

/// The verdict on a series of readings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LeakVerdict {
    /// The interval is above the bound, and [`Because::Slowing`] does not apply.
    Leak,
    /// There is no leak above the bound. Either the interval is at or below the bound, or the range
    /// of all values over at least ten minutes is at most the growth that the bound allows. In both
    /// cases, the growth must stay within the bound even if one more step is added. In addition,
    /// the envelope does not grow by more than the bound from the first minimum to the last or in
    /// the last third, and does not end with an unusually large rise above the bound.
    NoLeak,
    /// The series is not sufficient for either verdict.
    Undetermined {
        because: Because,
        /// The length that a run would need for a verdict; `None` if that is more than a thousand
        /// times the length of this run and more than a month.
        seconds_needed: Option<f64>,
    },
}

/// The reason why neither verdict is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// The series is too short: it does not have ten windows that are longer than a tooth (or,
    /// without teeth, than the correlation time), or fewer than eight of the minima are
    /// independent.
    TooShort,
    /// The growth of the series slows down and may no longer exceed the bound, like that of a cache
    /// that fills. The growth of a leak may slow down, too.
    Slowing,
    /// The series may be growing at its end, as it does with a leak that begins late.
    GrowingLately,
    /// The interval contains the bound.
    Unclear,
    /// The series shows no growth above the bound, but the next step, which has not occurred yet,
    /// may reveal such growth.
    Steps,
}

/// Judges a series, which must not include the warm-up. Returns `None` if there are fewer than two
/// samples, a number is not finite, or the times do not increase.
pub fn growth(samples: &[Sample], rule: Rule) -> Option<Growth> {
    let finite = |s: &Sample| s.at_seconds.is_finite() && s.value.is_finite();
    let rising = samples.is_sorted_by(|a, b| a.at_seconds < b.at_seconds);
    if samples.len() < 2 || !rising || !samples.iter().all(finite) {
        return None;
    }
    let unit = Unit::of(samples);
    let duration = samples[samples.len() - 1].at_seconds - samples[0].at_seconds;
    let brought: Vec<Sample> = samples.iter().map(|s| unit.bring(s)).collect();
    let per_hour = 3_600.0 * unit.range;
    let bound = rule.bound_per_hour / per_hour;
    let (envelope, finest) = (Envelope::of(&brought), envelope::finest(&brought));
    let resampled = Resampled::of(&envelope.samples, rule.seed);
    let needed = envelope
        .longer_needed
        .max(resampled.as_ref().map_or(1.0, |r| r.longer_needed));
    let found = resampled.filter(|_| needed <= 1.0);
    let (verdict, judged, grown) = match &found {
        Some(found) => {
            let most = found.slope + found.half;
            (judge(found, bound, duration), &envelope.undisturbed, most)
        }
        // The range of the scaled values is at most 1.
        None if is_narrow(&unit, rule, duration) => (LeakVerdict::NoLeak, &finest, 1.0 / duration),
        None => {
            let verdict = undetermined(Because::TooShort, needed.max(2.0), duration);
            (verdict, &envelope.undisturbed, 0.0)
        }
    };
    let steps = Steps::of(judged, &finest, rule.step / unit.range, duration);
    let verdict = steps.allow(consistent(verdict, judged, bound, duration), grown, bound);
    let resolution_per_hour = steps.per_second() * per_hour;
    let interval = |found: &Resampled| {
        let ends = (found.slope - found.half, found.slope + found.half);
        Interval::of((ends.0 * per_hour, ends.1 * per_hour), CONFIDENCE)
    };
    let smallest = |found: &Resampled| {
        let apart = SEEN_IN_NINE_OF_TEN * found.half * per_hour;
        rule.bound_per_hour + apart + resolution_per_hour
    };
    Some(Growth {
        envelope: envelope.samples.iter().map(|s| unit.back(s)).collect(),
        slope_per_hour: found.as_ref().map(|found| found.slope * per_hour),
        interval: found.as_ref().map(interval),
        smallest_seen_per_hour: found.as_ref().map(smallest),
        resolution_per_hour,
        verdict,
    })
}

/// Reports whether the series is at least ten minutes long and the range of its values is at most
/// the growth that the bound allows. A series that settles ever more slowly is correlated over too
/// long a time for a usable slope, but its range can be judged without a slope.
fn is_narrow(unit: &Unit, rule: Rule, duration: f64) -> bool {
    duration >= RANGE_SECONDS_MIN && unit.range <= rule.bound_per_hour * duration / 3_600.0
}

/// Corrects a verdict that the end of the envelope contradicts. *No leak* becomes *growing lately*
/// if the envelope may be growing lately. *Undetermined*, unless the growth slows down, becomes
/// *growing lately* if a rise at the end exceeds the bound and clearly exceeds all earlier changes.
fn consistent(verdict: LeakVerdict, envelope: &[Sample], bound: f64, duration: f64) -> LeakVerdict {
    let lately = match verdict {
        LeakVerdict::NoLeak => grows_lately(envelope, bound),
        LeakVerdict::Undetermined { because, .. } => {
            because != Because::Slowing && ends_with_a_rise(envelope, bound)
        }
        LeakVerdict::Leak => false,
    };
    match lately {
        true => undetermined(Because::GrowingLately, 2.0, duration),
        false => verdict,
    }
}

fn judge(found: &Resampled, bound: f64, duration: f64) -> LeakVerdict {
    if found.slope + found.half <= bound {
        return LeakVerdict::NoLeak;
    }
    if found.slope - found.half > bound {
        return if found.slowing(bound) {
            undetermined(Because::Slowing, 2.0, duration)
        } else {
            LeakVerdict::Leak
        };
    }
    // The error of a slope is proportional to the duration to the power of −3/2.
    let apart = (found.slope - bound).abs();
    undetermined(
        Because::Unclear,
        (found.half / apart).powf(2.0 / 3.0),
        duration,
    )
}

fn undetermined(because: Because, times_as_long: f64, duration: f64) -> LeakVerdict {
    LeakVerdict::Undetermined {
        because,
        seconds_needed: sensible(times_as_long * duration, duration),
    }
}

/// Returns the length of a run, or `None` if it is too long to be suggested after a run of this
/// duration.
fn sensible(seconds: f64, duration: f64) -> Option<f64> {
    // The comparison is also false if the length is NaN.
    (seconds <= MONTH_SECONDS.max(LONGER_MAX * duration)).then_some(seconds)
}

/// Scales values to a range of 1 and shifts times to begin at 0, so that computations with tiny or
/// huge values stay in the range of f64.
struct Unit {
    begin_seconds: f64,
    low: f64,
    range: f64,
}

impl Unit {
    fn of(samples: &[Sample]) -> Self {
        let values = samples.iter().map(|s| s.value);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let range = values.fold(f64::NEG_INFINITY, f64::max) - low;
        Self {
            begin_seconds: samples[0].at_seconds,
            low,
            range: if range > 0.0 {
                range.min(f64::MAX)
            } else {
                1.0
            },
        }
    }

    fn bring(&self, sample: &Sample) -> Sample {
        Sample {
            at_seconds: sample.at_seconds - self.begin_seconds,
            value: sample.value / self.range - self.low / self.range,
        }
    }

    fn back(&self, sample: &Sample) -> Sample {
        Sample {
            at_seconds: sample.at_seconds + self.begin_seconds,
            value: sample.value * self.range + self.low,
        }
    }
}
