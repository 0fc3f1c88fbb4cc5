//! The bodies of `/json/{valid|invalid}`, which contain the time of day. Each worker generates them
//! at most ten times per second.

use std::io::Write;

use jiff::Timestamp;

/// The time during which the bodies are reused, in nanoseconds.
const REFRESH_NS: u64 = 100_000_000;

/// The size of the valid body in bytes, which never varies.
const VALID_BYTES: usize = 65;

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
    /// Returns the body for a request at `now_ns` by the monotonic clock. If `valid` is false, the
    /// closing quote is missing.
    pub(crate) fn at(&mut self, now_ns: u64, valid: bool) -> &[u8] {
        let is_old = |made_ns| now_ns.saturating_sub(made_ns) >= REFRESH_NS;
        if self.made_ns.is_none_or(is_old) {
            self.make(Timestamp::now(), now_ns);
        }
        if valid { &self.valid } else { &self.invalid }
    }

    fn make(&mut self, time: Timestamp, now_ns: u64) {
        self.made_ns = Some(now_ns);
        self.valid.clear();
        let uptime_ms = now_ns / 1_000_000 % 1_000_000_000;
        // Writing to a vector cannot fail.
        let _ = write!(
            self.valid,
            "{{\"time\": \"{}.{:09} +0000 UTC m=+{:06}.{:03}\"}}",
            time.strftime("%Y-%m-%d %H:%M:%S"),
            time.subsec_nanosecond(),
            uptime_ms / 1000,
            uptime_ms % 1000,
        );
        self.invalid.clear();
        self.invalid
            .extend_from_slice(&self.valid[..self.valid.len() - 2]);
        self.invalid.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_correct_around_leap_days() {
        let mut bodies = TimeBodies::default();
        for (days, date) in [
            (0, "1970-01-01"),
            (11_016, "2000-02-29"),
            (19_782, "2024-02-29"),
            (19_783, "2024-03-01"),
            (20_453, "2025-12-31"),
        ] {
            bodies.make(Timestamp::from_second(days * 86_400).unwrap(), 0);
            let body = String::from_utf8_lossy(&bodies.valid);
            let begins = format!("{{\"time\": \"{date} 00:00:00.000000000 ");
            assert!(body.starts_with(&begins), "{body}");
        }
    }

    #[test]
    fn bodies_have_their_form_and_length() {
        let mut bodies = TimeBodies::default();
        bodies.make(Timestamp::new(1_709_208_000, 5).unwrap(), 12_345_678_901);
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
