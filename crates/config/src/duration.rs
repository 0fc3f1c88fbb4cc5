//! Durations as users write them: `250ms`, `10s`, `5m`, `24h`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration written as a number with a unit of `us`, `ms`, `s`, `m` or `h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HumanDuration(pub Duration);

/// The units and their lengths in nanoseconds, in ascending order.
const UNITS: [(&str, u64); 5] = [
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl HumanDuration {
    /// The `format` of durations in JSON Schemas. In addition to the pattern, it limits a duration
    /// to 3.2e16 ns, about 370 days.
    pub(crate) const FORMAT: &str = "gatebench-duration";

    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// The duration in nanoseconds; `u64::MAX` if it is longer.
    pub fn as_nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0.as_secs_f64()
    }

    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }
}

/// The reason why a string is not a [`HumanDuration`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The string is not a non-negative number with a unit.
    #[error("'{0}' is not a duration: write a number and a unit, as in 250ms, 10s, 5m or 24h")]
    Form(String),
    /// The duration is longer than about 370 days.
    #[error("'{0}' is longer than a year")]
    TooLong(String),
}

impl FromStr for HumanDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let total = UNITS.iter().find_map(|(unit, nanos)| {
            let digits = text.strip_suffix(unit)?;
            let is_number = digits.ends_with(|c: char| c.is_ascii_digit());
            let number: f64 = digits.parse().ok()?;
            let number = Some(number).filter(|it| is_number && *it >= 0.0)?;
            Some(number * *nanos as f64)
        });
        let total = total.ok_or_else(|| DurationError::Form(text.to_owned()))?;
        // Up to this limit, f64 represents whole microseconds exactly.
        if !(0.0..=3.2e16).contains(&total) {
            return Err(DurationError::TooLong(text.to_owned()));
        }
        Ok(Self(Duration::from_nanos(total.round() as u64)))
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.as_nanos();
        if nanos == 0 {
            return f.write_str("0s");
        }
        let mut units = UNITS.iter().rev();
        let whole = units.find(|(_, size)| nanos.is_multiple_of(*size));
        let (unit, size) = whole.unwrap_or(&UNITS[0]);
        write!(f, "{}{unit}", nanos as f64 / *size as f64)
    }
}

impl Serialize for HumanDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for HumanDuration {
    fn schema_name() -> Cow<'static, str> {
        "HumanDuration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9]+(\\.[0-9]+)?(us|ms|s|m|h)$",
            "patternErrorMessage": "write a number and a unit, as in 250ms, 10s, 5m or 24h",
            "format": Self::FORMAT,
            "description": "A duration: 250ms, 10s, 5m, 24h"
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_parsed_with_their_units() {
        let nanos = |text: &str| text.parse::<HumanDuration>().map(HumanDuration::as_nanos);
        assert_eq!(nanos("250ms"), Ok(250_000_000));
        assert_eq!(nanos("1.5s"), Ok(1_500_000_000));
        assert_eq!(nanos("24h"), Ok(86_400_000_000_000));
        assert_eq!(nanos("0s"), Ok(0));
        for wrong in ["", "5", "s", "-1s", "5 s", "5min", "nans", "infs", "9000h"] {
            assert!(nanos(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_written_duration_is_parsed_to_the_same_value(micros in 0..31_000_000_000_000_u64) {
            let duration = HumanDuration(Duration::from_micros(micros));
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
        }
    }
}
