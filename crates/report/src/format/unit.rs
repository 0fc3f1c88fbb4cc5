//! Units and their scales. All values of a table column have the same scale, which makes them easy
//! to compare.

use gatebench_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::{counted, ends, grouped, round_to_three, three_figures};

/// The unit of a number, which determines its scale, decimals and symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds of wall time.
    Nanoseconds,
    CpuNanosecondsPerRequest,
    RequestsPerSecond,
    Bytes,
    BitsPerSecond,
    /// A number of busy cores.
    Cores,
    /// A ratio; 1 means equal.
    Ratio,
    Count,
}

/// A unit with a prefix, such as ms, and the number of base units in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitScale {
    /// The number by which a value is divided before it is written.
    pub divisor: f64,
    /// The letter or symbol directly after the number, like the `k` in `41.2k` or the `×` in
    /// `0.412×`; may be empty.
    pub letter: &'static str,
    /// The unit, for the header of the column; empty for a count or a ratio.
    pub unit: &'static str,
    /// The smallest value to which the scale applies.
    from: f64,
}

const TIMES: &[UnitScale] = &[
    step(1.0, "ns"),
    step(1e3, "µs"),
    step(1e6, "ms"),
    step(1e9, "s"),
];
const SIZES: &[UnitScale] = &[
    step(1.0, "B"),
    step(1_024.0, "KiB"),
    step(1_048_576.0, "MiB"),
    step(1_073_741_824.0, "GiB"),
];
const BIT_RATES: &[UnitScale] = &[
    step(1.0, "bit/s"),
    step(1e3, "kbit/s"),
    step(1e6, "Mbit/s"),
    step(1e9, "Gbit/s"),
];
// A single scale makes the figures of all tables and sentences easy to compare.
const CPU_TIMES: &[UnitScale] = &[scale(1e3, 0.0, "", "µs")];
const RATES: &[UnitScale] = &[
    scale(1.0, 0.0, "", "/s"),
    scale(1e3, 1e4, "k", "/s"),
    scale(1e6, 1e6, "M", "/s"),
];
const CORES: &[UnitScale] = &[scale(1.0, 0.0, "", "cores")];
const RATIOS: &[UnitScale] = &[scale(1.0, 0.0, "×", "")];
const COUNTS: &[UnitScale] = &[scale(1.0, 0.0, "", "")];

const fn scale(divisor: f64, from: f64, letter: &'static str, unit: &'static str) -> UnitScale {
    UnitScale {
        divisor,
        letter,
        unit,
        from,
    }
}

const fn step(size: f64, unit: &'static str) -> UnitScale {
    scale(size, size, "", unit)
}

impl Unit {
    /// Returns all scales of the unit, in ascending order.
    fn scales(self) -> &'static [UnitScale] {
        match self {
            Self::Nanoseconds => TIMES,
            Self::CpuNanosecondsPerRequest => CPU_TIMES,
            Self::RequestsPerSecond => RATES,
            Self::Bytes => SIZES,
            Self::BitsPerSecond => BIT_RATES,
            Self::Cores => CORES,
            Self::Ratio => RATIOS,
            Self::Count => COUNTS,
        }
    }
}

impl UnitScale {
    /// Returns the coarsest scale that applies to a value.
    pub fn of(value: f64, unit: Unit) -> Self {
        let steps = unit.scales();
        // The scale is chosen after rounding, so 999.6 µs is written as 1.00 ms, not as 1,000 µs.
        let size = round_to_three(value).abs();
        let fits = |step: &&Self| size >= step.from;
        *steps.iter().rev().find(fits).unwrap_or(&steps[0])
    }

    /// Returns a common scale for several values: that of the largest value, or a finer one if the
    /// smallest nonzero value would otherwise be less than 0.1.
    pub fn of_all(values: impl IntoIterator<Item = f64>, unit: Unit) -> Self {
        let sizes: Vec<f64> = values
            .into_iter()
            .map(f64::abs)
            .filter(|size| size.is_finite() && *size > 0.0)
            .collect();
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let smallest = sizes.iter().copied().fold(largest, f64::min);
        let limit = Self::of(largest, unit).divisor;
        let steps = unit.scales();
        let keeps_figures = |step: &&Self| step.divisor <= limit && smallest / step.divisor >= 0.1;
        *steps.iter().rev().find(keeps_figures).unwrap_or(&steps[0])
    }

    /// Returns the scale that minimizes the length of the longest formatted value. The letter is
    /// part of the unit, as in `k/s`. If possible, every nonzero value is at least 0.1 in this
    /// scale.
    pub fn shortest(values: &[f64], unit: Unit) -> Self {
        let sizes = || values.iter().filter(|it| it.is_finite() && **it != 0.0);
        let keeps_figures = |scale: &Self| sizes().all(|it| it.abs() / scale.divisor >= 0.1);
        let length = |scale: &Self| sizes().map(|it| scale.number(*it).chars().count()).max();
        let scales = unit.scales().iter().map(|it| it.with_letter_in_unit());
        let scales = scales.filter(keeps_figures);
        let all = || Self::of_all(values.iter().copied(), unit);
        scales.min_by_key(length).unwrap_or_else(all)
    }

    fn with_letter_in_unit(self) -> Self {
        let unit = match (self.letter, self.unit) {
            ("k", "/s") => "k/s",
            ("M", "/s") => "M/s",
            _ => return self,
        };
        Self {
            letter: "",
            unit,
            ..self
        }
    }

    /// Formats the number without its unit: `41.2k`, `0.950`.
    pub fn number(self, value: f64) -> String {
        if !value.is_finite() {
            return "–".into();
        }
        format!("{}{}", three_figures(value / self.divisor), self.letter)
    }

    /// Formats the number with its unit: `41.2k/s`, `0.950 ms`.
    pub fn full(self, value: f64) -> String {
        self.with_unit(self.number(value))
    }

    /// Formats a range without its unit and with the letter only at its end: `39.8–41.6k`.
    pub fn range(self, low: f64, high: f64) -> String {
        let (low, high) = (self.number(low), self.number(high));
        ends(low.strip_suffix(self.letter).unwrap_or(&low), &high)
    }

    /// Formats a round value for a tick, without the zeros that three significant digits would add:
    /// `50k/s`.
    pub fn tick(self, value: f64) -> String {
        if value == 0.0 {
            return "0".into();
        }
        let number = match round_to_three(value / self.divisor) {
            long if long >= 1e3 => grouped(long),
            short => short.to_string(),
        };
        self.with_unit(number + self.letter)
    }

    fn with_unit(self, number: String) -> String {
        match self.unit {
            "" => number,
            unit if unit.starts_with('/') => format!("{number}{unit}"),
            unit => format!("{number} {unit}"),
        }
    }
}

/// Formats the value with its unit, in the short form for tables and charts: `41.2k/s`, `24.1 µs`.
pub fn short(value: f64, unit: Unit) -> String {
    UnitScale::of(value, unit).full(value)
}

/// Formats the value with its unit, in the long form for sentences: `41.2k requests/s`, `38.0 µs`,
/// `12.3 MiB`.
pub fn quantity(value: f64, unit: Unit) -> String {
    match split_quantity(value, unit) {
        (number, "") => number,
        (number, words) => format!("{number} {words}"),
    }
}

/// Like [`quantity`], but returns the number and the unit separately.
pub fn split_quantity(value: f64, unit: Unit) -> (String, &'static str) {
    let scale = UnitScale::of(value, unit);
    let is_whole = matches!(unit, Unit::RequestsPerSecond | Unit::Count) && scale.divisor == 1.0;
    let number = match is_whole {
        true => grouped(value),
        false => scale.number(value),
    };
    let words = match unit {
        Unit::CpuNanosecondsPerRequest => "µs CPU/request",
        Unit::RequestsPerSecond => "requests/s",
        _ => scale.unit,
    };
    (number, words)
}

/// Formats the range over the blocks as `39.8k–42.0k over 3 blocks`, or as `1 block` for a single
/// block.
pub fn range(estimate: &Estimate, unit: Unit) -> String {
    let blocks = counted(estimate.blocks as u64, "block");
    if estimate.blocks < 2 {
        return blocks;
    }
    let (low, low_unit) = split_quantity(estimate.min, unit);
    let (high, high_unit) = split_quantity(estimate.max, unit);
    if low_unit == high_unit {
        format!("{} over {blocks}", ends(&low, &high))
    } else {
        format!("{low} {low_unit}–{high} {high_unit} over {blocks}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_significant_digits() {
        assert_eq!(short(41_234.0, Unit::RequestsPerSecond), "41.2k/s");
        assert_eq!(short(5_000.0, Unit::RequestsPerSecond), "5,000/s");
        assert_eq!(short(24_100.0, Unit::Nanoseconds), "24.1 µs");
        assert_eq!(short(999_960.0, Unit::Nanoseconds), "1.00 ms");
        assert_eq!(short(19_840.0, Unit::CpuNanosecondsPerRequest), "19.8 µs");
        assert_eq!(short(3_565_158.0, Unit::Bytes), "3.40 MiB");
        assert_eq!(short(0.412, Unit::Ratio), "0.412×");
        assert_eq!(short(0.0, Unit::Count), "0");
        assert_eq!(short(f64::NAN, Unit::Cores), "– cores");
    }

    #[test]
    fn a_column_has_one_scale() {
        let scale = UnitScale::of_all([950_000.0, 2_400_000.0], Unit::Nanoseconds);
        assert_eq!(scale.full(950_000.0), "0.950 ms");
        let scale = UnitScale::of_all([48_000.0, 2_400_000.0], Unit::Nanoseconds);
        assert_eq!(scale.number(48_000.0), "48.0");
        assert_eq!(scale.full(2_400_000.0), "2,400 µs");
        assert_eq!(UnitScale::of_all([], Unit::Nanoseconds).unit, "ns");
    }

    #[test]
    fn the_shortest_scale_keeps_the_figures() {
        let unit_of = |values: &[f64], unit| UnitScale::shortest(values, unit).unit;
        assert_eq!(unit_of(&[191e3, 3e6], Unit::Nanoseconds), "µs");
        assert_eq!(unit_of(&[26e6, 69.3e6], Unit::Nanoseconds), "ms");
        let rates = [5_190.0, 1_524.0];
        assert_eq!(unit_of(&rates, Unit::RequestsPerSecond), "k/s");
        let scale = UnitScale::shortest(&rates, Unit::RequestsPerSecond);
        assert_eq!(scale.range(1_524.0, 5_190.0), "1.52–5.19");
        assert_eq!(unit_of(&[62.0, 5_190.0], Unit::RequestsPerSecond), "/s");
    }

    #[test]
    fn ticks_have_no_superfluous_zeros() {
        let scale = UnitScale::of(50_000.0, Unit::RequestsPerSecond);
        assert_eq!(scale.tick(50_000.0), "50k/s");
        assert_eq!(scale.tick(0.0), "0");
        let scale = UnitScale::of(6_000.0, Unit::RequestsPerSecond);
        assert_eq!(scale.tick(6_000.0), "6,000/s");
        assert_eq!(UnitScale::of(0.3, Unit::Cores).tick(0.1 + 0.2), "0.3 cores");
    }

    #[test]
    fn a_range_states_its_blocks() {
        let three = Estimate::of_blocks(&[39_800.0, 41_200.0, 42_000.0]).unwrap();
        assert_eq!(
            range(&three, Unit::RequestsPerSecond),
            "39.8k–42.0k over 3 blocks"
        );
        let wide = Estimate::of_blocks(&[900.0, 1_500.0]).unwrap();
        assert_eq!(
            range(&wide, Unit::Nanoseconds),
            "900 ns–1.50 µs over 2 blocks"
        );
        let negative = Estimate::of_blocks(&[-1_130.0, -407.0, 352.0]).unwrap();
        assert_eq!(range(&negative, Unit::Count), "−1,130 to 352 over 3 blocks");
        assert_eq!(short(-0.407, Unit::Ratio), "−0.407×");
        let one = Estimate::of_blocks(&[1.0]).unwrap();
        assert_eq!(range(&one, Unit::Count), "1 block");
    }
}
