//! The body of `/json/{valid|invalid}`: the time of day, made ten times a second, not once a request.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// How long a body is used.
const REFRESH_NS: u64 = 100_000_000;

/// Bytes of the valid body; it never varies.
const VALID_BYTES: usize = 65;

/// The two bodies at hand.
pub(crate) struct TimeBodies {
    valid: Vec<u8>,
    invalid: Vec<u8>,
    made_ns: Option<u64>,
}

impl Default for TimeBodies {
    fn default() -> Self {
        let empty = || Vec::with_capacity(VALID_BYTES);
        Self {
            valid: empty(),
            invalid: empty(),
            made_ns: None,
        }
    }
}

impl TimeBodies {
    /// The body for a request at `now_ns` (monotonic); without its closing quote when not `valid`.
    pub(crate) fn at(&mut self, now_ns: u64, valid: bool) -> &[u8] {
        if self
            .made_ns
            .is_none_or(|made_ns| now_ns.saturating_sub(made_ns) >= REFRESH_NS)
        {
            let since_epoch = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            self.make(since_epoch.as_secs(), since_epoch.subsec_nanos(), now_ns);
        }
        if valid { &self.valid } else { &self.invalid }
    }

    fn make(&mut self, seconds: u64, nanos: u32, now_ns: u64) {
        self.made_ns = Some(now_ns);
        self.valid.clear();
        let (year, month, day) = civil_from_days(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let uptime_ms = now_ns / 1_000_000 % 1_000_000_000;
        // Writing to a vector cannot fail.
        let _ = write!(
            self.valid,
            "{{\"time\": \"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{nanos:09} +0000 UTC m=+{:06}.{:03}\"}}",
            uptime_ms / 1000,
            uptime_ms % 1000,
        );
        self.invalid.clear();
        self.invalid
            .extend_from_slice(&self.valid[..self.valid.len() - 2]);
        self.invalid.push(b'}');
    }
}

/// The civil date of a day counted from 1970-01-01 (Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms").
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn dates_are_right_around_leap_days() {
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(civil_from_days(11_016), (2000, 2, 29));
        assert_eq!(civil_from_days(19_782), (2024, 2, 29));
        assert_eq!(civil_from_days(19_783), (2024, 3, 1));
        assert_eq!(civil_from_days(20_453), (2025, 12, 31));
    }

    #[test]
    fn bodies_have_their_form_and_length() {
        let mut bodies = TimeBodies::default();
        bodies.make(1_709_208_000, 5, 12_345_678_901);
        assert_eq!(
            bodies.valid,
            br#"{"time": "2024-02-29 12:00:00.000000005 +0000 UTC m=+000012.345"}"#
        );
        assert_eq!(bodies.valid.len(), VALID_BYTES);
        assert!(serde_json::from_slice::<serde_json::Value>(&bodies.valid).is_ok());
        assert!(serde_json::from_slice::<serde_json::Value>(&bodies.invalid).is_err());
    }

    #[test]
    fn a_body_is_used_for_a_tenth_of_a_second() {
        let mut bodies = TimeBodies::default();
        let first = bodies.at(1, true).to_vec();
        assert_eq!(bodies.at(REFRESH_NS, true), first);
        assert_ne!(bodies.at(REFRESH_NS + 1, true), first);
    }
}
