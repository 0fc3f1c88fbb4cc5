//! Times on a log's clock, in milliseconds since 1970. The offset from UTC is dropped, so hours are
//! those that the log shows.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

pub(crate) const HOUR_MS: i64 = 3_600_000;

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// Parses a number of one to four digits.
fn number(digits: &[u8]) -> Option<i16> {
    let add = |sum: Option<i16>, byte: &u8| {
        byte.is_ascii_digit()
            .then(|| Some(sum? * 10 + i16::from(byte - b'0')))?
    };
    let is_short = (1..=4).contains(&digits.len());
    is_short.then(|| digits.iter().fold(Some(0), add))?
}

/// Parses the first two digits of a string.
fn pair(text: &[u8]) -> Option<i8> {
    number(text.get(..2)?).map(|it| it as i8)
}

/// Parses a date and a time of day such as `13:55:36`, with or without a fraction of a second.
fn at(year: &[u8], month: i8, day: &[u8], clock: &[u8]) -> Option<i64> {
    let (hour, minute, second) = (pair(clock)?, pair(clock.get(3..)?)?, pair(clock.get(6..)?)?);
    let fraction = match clock.get(8) {
        Some(b'.' | b',') => &clock[9..],
        _ => &[],
    };
    let digits = fraction.iter().take_while(|it| it.is_ascii_digit());
    let digits = &fraction[..digits.count().min(3)];
    let millis = i32::from(number(digits).unwrap_or(0)) * [0, 100, 10, 1][digits.len()];
    // A leap second is treated as the previous second.
    let second = second.min(59);
    let (year, day, nanos) = (number(year)?, pair(day)?, millis * 1_000_000);
    let time = DateTime::new(year, month, day, hour, minute, second, nanos).ok()?;
    Some(Offset::UTC.to_timestamp(time).ok()?.as_millisecond())
}

/// Parses `10/Oct/2000:13:55:36 -0700`, as in nginx, Apache and HAProxy.
pub(crate) fn common(text: &[u8]) -> Option<i64> {
    let name = text.get(3..6)?;
    let month = MONTHS.iter().position(|it| it.as_slice() == name)? as i8 + 1;
    let is_separated = text[2] == b'/' && text.get(6) == Some(&b'/') && text.get(11) == Some(&b':');
    is_separated.then(|| at(&text[7..11], month, text, &text[12..]))?
}

/// Parses `2016-04-15T20:17:00.310Z` (RFC 3339).
pub(crate) fn iso(text: &[u8]) -> Option<i64> {
    let month = pair(text.get(5..)?)?;
    let is_separated =
        text[4] == b'-' && text[7] == b'-' && matches!(text.get(10), Some(b'T' | b' '));
    is_separated.then(|| at(&text[..4], month, &text[8..], &text[11..]))?
}

pub(crate) fn common_or_iso(text: &[u8]) -> Option<i64> {
    iso(text).or_else(|| common(text))
}

/// Converts a number of seconds, milliseconds, microseconds or nanoseconds since 1970 to
/// milliseconds. The unit is derived from the size of the number.
pub(crate) fn since_1970(number: f64) -> Option<i64> {
    let millis = match number {
        it if !(1e8..1e20).contains(&it) => return None,
        it if it < 1e11 => it * 1e3,
        it if it < 1e14 => it,
        it if it < 1e17 => it / 1e3,
        it => it / 1e6,
    };
    Some(millis as i64)
}

/// Formats a time as `2025-01-31 14:05:00`. The result is empty for a time outside the calendar.
pub(crate) fn in_words(at_ms: i64) -> String {
    let time = Timestamp::from_second(at_ms.div_euclid(1_000));
    let words = |it| Offset::UTC.to_datetime(it).to_string().replace('T', " ");
    time.map(words).unwrap_or_default()
}

/// Parses an hour such as `2025-01-31T14`, and returns its beginning.
pub(crate) fn hour(text: &str) -> Option<i64> {
    let is_hour = text.len() == "2025-01-31T14".len();
    is_hour.then(|| iso(format!("{text}:00:00").as_bytes()))?
}

/// Formats the hour of a time, such as `2025-01-31T14`.
pub(crate) fn hour_in_words(at_ms: i64) -> String {
    let words = in_words(at_ms).replace(' ', "T");
    words.split(':').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_in_each_form() {
        let expected = Some(971_186_136_000);
        assert_eq!(common(b"10/Oct/2000:13:55:36 -0700"), expected);
        assert_eq!(iso(b"2000-10-10T13:55:36+02:00"), expected);
        assert_eq!(iso(b"2000-10-10 13:55:36"), expected);
        assert_eq!(
            common(b"10/Oct/2000:13:55:36.5"),
            expected.map(|it| it + 500)
        );
        assert_eq!(
            iso(b"2000-10-10T13:55:36.123456Z"),
            expected.map(|it| it + 123)
        );
        for number in [971_186_136.0, 971_186_136e3, 971_186_136e6, 971_186_136e9] {
            assert_eq!(since_1970(number), expected);
        }
        for wrong in [
            "",
            "10/Okt/2000:13:55:36",
            "2000-1x-10T13:55:36",
            "10/Oct/2000",
            "30/Feb/2000:13:55:36",
            "2000-10-10T25:55:36",
        ] {
            assert_eq!(common_or_iso(wrong.as_bytes()), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn hours_are_read_as_they_are_written(number in -10_000_i64..1_000_000) {
            let at_ms = number * HOUR_MS;
            prop_assert_eq!(hour(&hour_in_words(at_ms)), Some(at_ms));
        }

        #[test]
        fn no_text_panics(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = common_or_iso(&text);
        }
    }
}
