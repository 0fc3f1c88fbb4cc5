//! Parses durations such as `250ms`, `1.5s` and `1m30s`, and sizes such as `350B`, `5KB` and `1M`.

/// Parses a duration that consists of numbers with units (ns, us, µs, ms, s, m, h), as in Go.
/// Returns nanoseconds, or `None` if the text is not a duration or if the duration is longer than a
/// day.
pub(crate) fn parse_duration_ns(text: &str) -> Option<u64> {
    const DAY_NS: f64 = 86_400e9;
    let mut rest = text;
    let mut total_ns = 0.0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..number_end].parse().ok()?;
        rest = &rest[number_end..];
        let unit_end = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let unit_ns = match &rest[..unit_end] {
            "ns" => 1.0,
            "us" | "µs" | "%C2%B5s" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return None,
        };
        total_ns += number * unit_ns;
        rest = &rest[unit_end..];
    }
    (!text.is_empty() && total_ns <= DAY_NS).then_some(total_ns.round() as u64)
}

/// Parses a size: a whole number with B, K or KB (1,024), M or MB (1,048,576), or no unit. Returns
/// bytes, or `None` if the text is not a size or the size exceeds 64 bits.
pub(crate) fn parse_size_bytes(text: &str) -> Option<u64> {
    let digits_end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let factor = match &text[digits_end..] {
        "" | "B" => 1,
        "K" | "KB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        _ => return None,
    };
    text[..digits_end].parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_sums_of_numbers_with_units() {
        for (text, expected) in [
            ("0s", Some(0)),
            ("100ms", Some(100_000_000)),
            ("1.5s", Some(1_500_000_000)),
            ("1m30s", Some(90_000_000_000)),
            ("250us", Some(250_000)),
            ("250µs", Some(250_000)),
            ("7ns", Some(7)),
            ("24h", Some(86_400_000_000_000)),
            ("25h", None),
            ("", None),
            ("5", None),
            ("ms", None),
            ("-1s", None),
            ("1.2.3s", None),
            ("1 s", None),
            ("1d", None),
        ] {
            assert_eq!(parse_duration_ns(text), expected, "{text}");
        }
    }

    #[test]
    fn sizes_are_whole_numbers_with_a_unit() {
        for (text, expected) in [
            ("350B", Some(350)),
            ("5KB", Some(5120)),
            ("1M", Some(1_048_576)),
            ("2MB", Some(2_097_152)),
            ("17", Some(17)),
            ("", None),
            ("KB", None),
            ("1.5M", None),
            ("1G", None),
            ("99999999999999999999", None),
            ("18446744073709551615M", None),
        ] {
            assert_eq!(parse_size_bytes(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".{0,20}") {
            let _ = (parse_duration_ns(&text), parse_size_bytes(&text));
        }
    }
}
