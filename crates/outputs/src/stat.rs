//! The statistics of a trend that are sent as gauges, under k6's names.

use std::fmt;
use std::str::FromStr;

use crate::distribution::Distribution;

/// A percentile is sent only if at least this many values are beyond it.
const BEYOND_MIN: f64 = 10.0;

/// A statistic of a trend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stat {
    Count,
    Sum,
    Min,
    Max,
    Avg,
    Med,
    /// The percentile with this number, from 0 to 100.
    Percentile(f64),
}

/// The error for an unknown name of a statistic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a statistic of a trend: write count, sum, min, max, avg, med or a percentile, \
     such as p(95)"
)]
pub struct StatError(String);

impl Stat {
    /// The default statistics, which include those that the published dashboards use.
    pub const DEFAULT: [Self; 10] = [
        Self::Min,
        Self::Max,
        Self::Avg,
        Self::Med,
        Self::Percentile(90.0),
        Self::Percentile(95.0),
        Self::Percentile(99.0),
        Self::Percentile(99.9),
        Self::Count,
        Self::Sum,
    ];

    /// Parses a list of statistics such as `avg,p(95)`.
    ///
    /// # Errors
    /// The list contains an unknown name, or a percentile outside 0 to 100.
    pub fn list(text: &str) -> Result<Vec<Self>, StatError> {
        text.split(',').map(|word| word.trim().parse()).collect()
    }

    /// The value of the statistic, with durations in units of `unit_ns` nanoseconds; `None` if
    /// there are no values, or for a percentile (including the median) with fewer than ten values
    /// beyond it.
    pub(crate) fn of(self, all: &Distribution, unit_ns: f64) -> Option<f64> {
        let time = |value_ns: u64| value_ns as f64 / unit_ns;
        let count = all.count() as f64;
        let at = |share: f64| {
            let beyond = count * (1.0 - share);
            let value = all.at(&[share]).next();
            value.filter(|_| beyond + 1e-9 >= BEYOND_MIN).map(time)
        };
        match self {
            _ if all.count() == 0 => None,
            Self::Count => Some(count),
            Self::Sum => Some(all.sum_ns as f64 / unit_ns),
            Self::Min => Some(time(all.min_ns)),
            Self::Max => Some(time(all.max_ns)),
            Self::Avg => Some(all.sum_ns as f64 / count / unit_ns),
            Self::Med => at(0.5),
            Self::Percentile(percent) => at(percent / 100.0),
        }
    }
}

/// The suffix of a metric's name, such as `p99`, or `p999` for 99.9.
impl fmt::Display for Stat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => out.write_str("count"),
            Self::Sum => out.write_str("sum"),
            Self::Min => out.write_str("min"),
            Self::Max => out.write_str("max"),
            Self::Avg => out.write_str("avg"),
            Self::Med => out.write_str("med"),
            Self::Percentile(percent) => {
                write!(out, "p{}", percent.to_string().replace('.', ""))
            }
        }
    }
}

impl FromStr for Stat {
    type Err = StatError;

    fn from_str(word: &str) -> Result<Self, StatError> {
        let percent = || {
            let number = word.strip_prefix("p(")?.strip_suffix(')')?;
            let percent: f64 = number.parse().ok()?;
            (0.0..=100.0).contains(&percent).then_some(percent)
        };
        Ok(match word {
            "count" => Self::Count,
            "sum" => Self::Sum,
            "min" => Self::Min,
            "max" => Self::Max,
            "avg" => Self::Avg,
            "med" => Self::Med,
            _ => Self::Percentile(percent().ok_or_else(|| StatError(word.into()))?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_k6() {
        let stats = Stat::list("count, med,p(99),p(99.9)").unwrap();
        let names: Vec<String> = stats.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["count", "med", "p99", "p999"]);
        for wrong in ["", "p99", "p(101)", "p(x)", "mean"] {
            assert!(Stat::list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_percentile_needs_ten_values_beyond_it() {
        let all = Distribution::new((1..=100).map(|value| (value * 1_000_000, 1)));
        let in_ms = |stat: Stat| stat.of(&all, 1e6);
        assert_eq!(in_ms(Stat::Percentile(90.0)), Some(90.0));
        assert_eq!(in_ms(Stat::Percentile(95.0)), None);
        assert_eq!(
            (in_ms(Stat::Avg), in_ms(Stat::Max)),
            (Some(50.5), Some(100.0))
        );
        assert_eq!(Stat::Max.of(&Distribution::default(), 1.0), None);
    }
}
