//! Scales of columns and axes: one unit for all their values, so that these can be compared by eye.

use gatebench_analysis::findings::{Timestamp, Unit};
use gatebench_analysis::format::{self, grouped, round_to_three, three_figures};

/// How the values of a column are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitScale {
    /// A value is divided by this before it is written.
    pub divisor: f64,
    /// Follows the number directly: the `k` of `41.2k`.
    pub letter: &'static str,
    /// The unit, for the head of the column; empty for a plain count.
    pub unit: &'static str,
    /// The scale is for values from here on.
    from: f64,
}

static TIMES: [UnitScale; 4] = scales(&format::TIMES);
static SIZES: [UnitScale; 4] = scales(&format::SIZES);
static BIT_RATES: [UnitScale; 4] = scales(&format::BIT_RATES);
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

/// Returns the scales of units, the smallest first.
const fn scales(units: &[(f64, &'static str); 4]) -> [UnitScale; 4] {
    [
        step(units[3]),
        step(units[2]),
        step(units[1]),
        step(units[0]),
    ]
}

const fn step((size, unit): (f64, &'static str)) -> UnitScale {
    scale(size, size, "", unit)
}

fn unit_ladder(unit: Unit) -> &'static [UnitScale] {
    match unit {
        Unit::Nanoseconds => &TIMES,
        Unit::CpuNanosecondsPerRequest => CPU_TIMES,
        Unit::RequestsPerSecond => RATES,
        Unit::Bytes => &SIZES,
        Unit::BitsPerSecond => &BIT_RATES,
        Unit::Cores => CORES,
        Unit::Ratio => RATIOS,
        Unit::Count => COUNTS,
    }
}

impl UnitScale {
    /// The scale in which one value reads best.
    pub fn of(value: f64, unit: Unit) -> Self {
        let steps = unit_ladder(unit);
        // 999.6 µs is written 1.00 ms, not 1,000 µs: the scale is chosen after rounding.
        let size = round_to_three(value).abs();
        let fits = |step: &&Self| size >= step.from;
        *steps.iter().rev().find(fits).unwrap_or(&steps[0])
    }

    /// One scale for many values: the largest one's, stepped down until the smallest that is not
    /// zero is at least a tenth.
    pub fn of_all(values: impl IntoIterator<Item = f64>, unit: Unit) -> Self {
        let sizes: Vec<f64> = values
            .into_iter()
            .map(f64::abs)
            .filter(|size| size.is_finite() && *size > 0.0)
            .collect();
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let smallest = sizes.iter().copied().fold(largest, f64::min);
        let limit = Self::of(largest, unit).divisor;
        let steps = unit_ladder(unit);
        let keeps_figures = |step: &&Self| step.divisor <= limit && smallest / step.divisor >= 0.1;
        *steps.iter().rev().find(keeps_figures).unwrap_or(&steps[0])
    }

    /// The number without its unit: `41.2k`, `0.950`.
    pub fn number(self, value: f64) -> String {
        if !value.is_finite() {
            return "–".into();
        }
        format!("{}{}", three_figures(value / self.divisor), self.letter)
    }

    /// The number with its unit: `41.2k/s`, `0.950 ms`.
    pub fn full(self, value: f64) -> String {
        self.with_unit(self.number(value))
    }

    /// A round value, as ticks have it, without the zeros that three figures would add: `50k/s`.
    pub fn tick(self, value: f64) -> String {
        if value == 0.0 {
            return "0".into();
        }
        let short = round_to_three(value / self.divisor);
        let number = if short >= 1e3 {
            grouped(short)
        } else {
            short.to_string()
        };
        self.with_unit(format!("{number}{}", self.letter))
    }

    fn with_unit(self, number: String) -> String {
        match self.unit {
            "" => number,
            unit if unit.starts_with('/') => format!("{number}{unit}"),
            unit => format!("{number} {unit}"),
        }
    }
}

/// The value in its own best scale.
pub fn quantity(value: f64, unit: Unit) -> String {
    UnitScale::of(value, unit).full(value)
}

/// A duration with unit, as [`quantity`].
pub fn duration(nanoseconds: u64) -> String {
    quantity(nanoseconds as f64, Unit::Nanoseconds)
}

/// A moment in UTC to the second: `2026-11-21 10:07:42 UTC`.
pub fn instant(moment: &Timestamp) -> String {
    // RFC 3339 as jiff writes it: date, T, time, perhaps a fraction, Z.
    let text = moment.to_string();
    let seconds = text.split(['.', 'Z']).next().unwrap_or(&text);
    format!("{} UTC", seconds.replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_figures_everywhere() {
        assert_eq!(quantity(41_234.0, Unit::RequestsPerSecond), "41.2k/s");
        assert_eq!(quantity(5_000.0, Unit::RequestsPerSecond), "5,000/s");
        assert_eq!(quantity(24_100.0, Unit::Nanoseconds), "24.1 µs");
        assert_eq!(quantity(999_960.0, Unit::Nanoseconds), "1.00 ms");
        assert_eq!(
            quantity(19_840.0, Unit::CpuNanosecondsPerRequest),
            "19.8 µs"
        );
        assert_eq!(quantity(3_565_158.0, Unit::Bytes), "3.40 MiB");
        assert_eq!(quantity(0.412, Unit::Ratio), "0.412×");
        assert_eq!(quantity(0.0, Unit::Count), "0");
        assert_eq!(quantity(f64::NAN, Unit::Cores), "– cores");
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
    fn ticks_carry_no_needless_zeros() {
        let scale = UnitScale::of(50_000.0, Unit::RequestsPerSecond);
        assert_eq!(scale.tick(50_000.0), "50k/s");
        assert_eq!(scale.tick(0.0), "0");
        let scale = UnitScale::of(6_000.0, Unit::RequestsPerSecond);
        assert_eq!(scale.tick(6_000.0), "6,000/s");
        assert_eq!(UnitScale::of(0.3, Unit::Cores).tick(0.1 + 0.2), "0.3 cores");
    }
}
