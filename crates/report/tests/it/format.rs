//! Tests the formatting of numbers in reports.

use gatebench_report::Unit;
use gatebench_report::format::{duration, quantity};

#[test]
fn quantities_have_three_significant_digits_and_a_unit() {
    for (value, unit, text) in [
        (41_234.0, Unit::RequestsPerSecond, "41.2k requests/s"),
        (5_000.0, Unit::RequestsPerSecond, "5,000 requests/s"),
        (812.4, Unit::RequestsPerSecond, "812 requests/s"),
        (1_250_000.0, Unit::RequestsPerSecond, "1.25M requests/s"),
        (38_040.0, Unit::Nanoseconds, "38.0 µs"),
        (999_960.0, Unit::Nanoseconds, "1.00 ms"),
        (-1_500.0, Unit::Nanoseconds, "−1.50 µs"),
        (0.0, Unit::Nanoseconds, "0 ns"),
        (
            24_123.0,
            Unit::CpuNanosecondsPerRequest,
            "24.1 µs CPU/request",
        ),
        (12_897_485.0, Unit::Bytes, "12.3 MiB"),
        (0.9731, Unit::Cores, "0.973 cores"),
        (0.3449, Unit::Ratio, "0.345×"),
        (1_234.0, Unit::Count, "1,234"),
    ] {
        assert_eq!(quantity(value, unit), text);
    }
}

#[test]
fn durations_have_a_suitable_unit() {
    let words = [45.0, 600.0, 9_000.0, 7_200.0, 86_400.0].map(duration);
    assert_eq!(words, ["45 s", "10 min", "2.5 h", "2 h", "24 h"]);
}
