//! Computes the slope of an envelope and the slope's random error.

use super::correlation::{rank_correlations, time_of_rests};
use super::{CONFIDENCE, Sample};
use crate::random::Random;
use crate::{median, student};

const RESAMPLES: usize = 500;

const INDEPENDENT_MIN: f64 = 8.0;

/// The quantile of the normal distribution for [`CONFIDENCE`].
const NORMAL_CRITICAL: f64 = 1.959_964;

/// The slope of an envelope per second, and the spread of the slopes of its resamples.
pub(super) struct Resampled {
    pub(super) slope: f64,
    /// The half-width of the interval.
    pub(super) half: f64,
    /// The factor by which the series would have to be longer for a usable slope; at most 1 if the
    /// series is long enough.
    pub(super) longer_needed: f64,
    /// The growth in the earlier half minus that in the later half, and its random error.
    slowed: f64,
    slowed_by_chance: f64,
    /// The growth in the later half, and the half-width of its interval.
    later: f64,
    later_half: f64,
}

impl Resampled {
    /// Returns `None` if the envelope has fewer than four minima.
    pub(super) fn of(envelope: &[Sample], seed: u64) -> Option<Self> {
        if envelope.len() < 4 {
            return None;
        }
        let seen = Slopes::of(envelope)?;
        let level = |s: &Sample| s.value - seen.whole * s.at_seconds;
        let level: Vec<f64> = envelope.iter().map(level).collect();
        let middle = median(&level)?;
        let residuals: Vec<f64> = level.iter().map(|value| value - middle).collect();
        let count = envelope.len() as f64;
        let remembered = time_of_rests(&rank_correlations(envelope), envelope.len());
        let block = ((2.0 * remembered).ceil() + 1.0).min(count / 2.0);
        let slopes = resample(envelope, seen.whole, &residuals, block as usize, seed);
        // Each block counts as one value, and the line uses up two degrees of freedom. The interval
        // is expanded, because the residuals lack the variation that the line explains, and a few
        // blocks show little of the random variation.
        let freedom = (count / block - 2.0).max(1.0);
        let t = student::quantile(0.5 + CONFIDENCE / 2.0, freedom);
        let expanded = t / NORMAL_CRITICAL * (count / block / freedom).sqrt();
        let reach = |of: fn(&Slopes) -> f64, center: f64| {
            let mut away: Vec<f64> = slopes.iter().map(|s| (of(s) - center).abs()).collect();
            away.sort_by(f64::total_cmp);
            let at = (CONFIDENCE * away.len() as f64) as usize;
            expanded * away.get(at).copied().unwrap_or(0.0)
        };
        Some(Self {
            slope: seen.whole,
            half: reach(|slopes| slopes.whole, seen.whole),
            longer_needed: INDEPENDENT_MIN * remembered / count,
            slowed: seen.slowed(),
            slowed_by_chance: reach(Slopes::slowed, 0.0),
            later: seen.later,
            later_half: reach(|slopes| slopes.later, seen.whole),
        })
    }

    /// Reports whether the growth of the series slows down and may no longer exceed `bound`.
    pub(super) fn slowing(&self, bound: f64) -> bool {
        self.slowed > self.slowed_by_chance && self.later - self.later_half <= bound
    }
}

/// The Theil–Sen slopes of an envelope and of its two halves.
struct Slopes {
    whole: f64,
    earlier: f64,
    later: f64,
}

impl Slopes {
    fn of(envelope: &[Sample]) -> Option<Self> {
        let (earlier, later) = envelope.split_at(envelope.len() / 2);
        Some(Self {
            whole: theil_sen(envelope)?,
            earlier: theil_sen(earlier)?,
            later: theil_sen(later)?,
        })
    }

    fn slowed(&self) -> f64 {
        self.earlier - self.later
    }
}

/// Returns the median of the slopes between all pairs of samples, or `None` if there are no pairs.
pub(super) fn theil_sen(samples: &[Sample]) -> Option<f64> {
    let mut slopes = Vec::with_capacity(samples.len() * samples.len() / 2);
    for (i, first) in samples.iter().enumerate() {
        for second in &samples[i + 1..] {
            slopes.push((second.value - first.value) / (second.at_seconds - first.at_seconds));
        }
    }
    let middle = slopes.len() / 2;
    if slopes.is_empty() {
        return None;
    }
    let even = slopes.len() % 2 == 0;
    let (below, upper, _) = slopes.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    let lower = if even {
        below.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    } else {
        upper
    };
    Some(lower.midpoint(upper))
}

/// Returns the slopes of each resample. A resample is the line plus residuals that are drawn in
/// stretches of `block` adjacent values.
fn resample(
    envelope: &[Sample],
    slope: f64,
    residuals: &[f64],
    block: usize,
    seed: u64,
) -> Vec<Slopes> {
    let mut random = Random::seeded(seed);
    let mut redrawn = envelope.to_vec();
    let mut one = |_| {
        let mut drawn = Vec::with_capacity(envelope.len() + block);
        while drawn.len() < envelope.len() {
            let from = random.index(envelope.len() - block + 1);
            drawn.extend_from_slice(&residuals[from..from + block]);
        }
        for ((sample, original), residual) in redrawn.iter_mut().zip(envelope).zip(drawn) {
            sample.value = slope * original.at_seconds + residual;
        }
        Slopes::of(&redrawn)
    };
    (0..RESAMPLES).filter_map(&mut one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_equals_scipys() {
        // scipy 1.17.1: scipy.stats.theilslopes(y, t).slope
        let t = [0.0, 1.0, 2.5, 3.0, 4.5, 6.0, 7.0, 8.5];
        let y = [1.0, 2.2, 1.9, 9.0, 4.1, 5.0, 5.8, 7.7];
        let of = |count: usize| {
            let samples = t.iter().zip(y).take(count);
            let sample = |(at_seconds, value): (&f64, f64)| Sample {
                at_seconds: *at_seconds,
                value,
            };
            theil_sen(&samples.map(sample).collect::<Vec<_>>())
        };
        for (count, slope) in [(8, 0.711111111111111), (7, 0.68)] {
            let found = of(count).unwrap();
            assert!((found - slope).abs() < 1e-12, "{found}");
        }
        assert_eq!(of(1), None);
    }
}
