//! Parses the content of a cell: a number, its unit, and the precision to which it was written.

use std::sync::LazyLock;

use regex_lite::Regex;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unit {
    Seconds,
    PerSecond,
    Bytes,
    /// A part of a whole, where `1.0` is the whole.
    Share,
    None,
}

/// A number in its base unit: seconds, per second, bytes, a share, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantity {
    pub(crate) value: f64,
    pub(crate) unit: Unit,
    /// The value of one unit in the last place of the number as written.
    pub(crate) step: f64,
}

impl Quantity {
    /// Reports whether this number exceeds another by more than rounding can explain.
    pub(crate) fn is_above(&self, other: &Self) -> bool {
        self.value - other.value > (self.step + other.step) / 2.0
    }
}

/// Matches a number followed by its unit. Commas may separate thousands.
static WRITTEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^[~≈]?\s*([+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([^\s\d(±–]*(?:\s+[^\s\d(±–]+)*)",
    )
    .expect("the pattern is a constant")
});

/// Looks up a unit by name, and returns its base unit and the factor that converts to that unit.
fn unit_of(name: &str) -> Option<(Unit, f64)> {
    let name = name.trim().trim_end_matches('.');
    // Some documents repeat the unit, as in `2.2 GB GB`.
    let mut words = name.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_repeated = words.all(|word| word == first);
    let name = if is_repeated { first } else { name };
    if let Some(found) = sized(name) {
        return Some(found);
    }
    Some(match name.to_lowercase().as_str() {
        "" | "hits" | "reqs" | "requests" | "vus" => (Unit::None, 1.0),
        "ns" => (Unit::Seconds, 1e-9),
        "us" | "µs" | "μs" => (Unit::Seconds, 1e-6),
        "ms" | "msec" => (Unit::Seconds, 1e-3),
        "s" | "sec" | "secs" | "seconds" => (Unit::Seconds, 1.0),
        "min" | "mins" | "minutes" => (Unit::Seconds, 60.0),
        "h" | "hours" => (Unit::Seconds, 3600.0),
        "%" => (Unit::Share, 0.01),
        "k" => (Unit::None, 1e3),
        "m" => (Unit::None, 1e6),
        "g" => (Unit::None, 1e9),
        other => return rate_of(other),
    })
}

/// Parses a unit of memory. A unit with an `i` is a power of 1024 bytes, even if it ends with `b`.
fn sized(name: &str) -> Option<(Unit, f64)> {
    let factor = match name {
        "B" | "bytes" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "KiB" | "Kib" => 1024.0,
        "MiB" | "Mib" | "Mi" => 1024.0 * 1024.0,
        "GiB" | "Gib" | "Gi" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some((Unit::Bytes, factor))
}

const RATES: &str = "rps qps tps /s req/s reqs/s r/s req/sec requests/s requests/sec trans/sec";

fn rate_of(name: &str) -> Option<(Unit, f64)> {
    let (factor, name) = match name.split_once(' ') {
        Some(("k", rest)) => (1e3, rest),
        Some(("m", rest)) => (1e6, rest),
        _ => match name.strip_prefix('k') {
            Some(rest) => (1e3, rest),
            None => (1.0, name),
        },
    };
    let is_rate = RATES.split(' ').any(|it| it == name);
    is_rate.then_some((Unit::PerSecond, factor))
}

/// `default` is the unit of a bare number, according to the column's heading.
pub(crate) fn quantity(text: &str, default: Option<(Unit, f64)>) -> Option<Quantity> {
    let text = text.trim();
    let found = WRITTEN.captures(text)?;
    let (unit, factor) = unit_of(&found[2])?;
    // The match may be only a part of a number such as `12 908` or of a time such as `1 min 30 s`.
    // After any other unit, a digit is the mark of a footnote.
    let may_continue = match unit {
        Unit::Seconds => factor >= 1.0,
        _ => matches!(found[2].trim().trim_end_matches('.'), "" | "m"),
    };
    let after = text[found.get(0)?.end()..].trim_start();
    if may_continue && after.starts_with(|it: char| it.is_ascii_digit()) {
        return None;
    }
    let digits = found[1].replace(',', "");
    let number: f64 = digits.parse().ok()?;
    let (unit, factor) = match (unit, default) {
        (Unit::None, Some((unit, scale))) => (unit, factor * scale),
        _ => (unit, factor),
    };
    number.is_finite().then_some(Quantity {
        value: number * factor,
        unit,
        step: step_of(&digits) * factor,
    })
}

fn step_of(digits: &str) -> f64 {
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let places = mantissa.split_once('.').map_or(0, |(_, it)| it.len());
    let exponent: i32 = exponent.parse().unwrap_or(0);
    10_f64.powi(exponent - i32::try_from(places).unwrap_or(0))
}

/// Returns the last unit in a heading such as `avg (ms)`, `p99_ns` or `latency, µs`. Single letters
/// other than `s` are not treated as units. Neither is `min`, because in headings such as
/// `latency_ms_min`, it means the shortest time.
pub(crate) fn unit_in_heading(heading: &str) -> Option<(Unit, f64)> {
    let words = heading.split(|it: char| it.is_whitespace() || "()[],_".contains(it));
    let mut units = words.filter(|word| !word.is_empty()).filter_map(|word| {
        let is_letter = word.len() == 1 && word != "s" && word != "%";
        let is_shortest = word.eq_ignore_ascii_case("min");
        unit_of(word).filter(|(unit, _)| *unit != Unit::None && !is_letter && !is_shortest)
    });
    units.next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, value: f64, unit: Unit, step: f64) {
        let found = quantity(text, None).expect(text);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
        assert!(close(found.value, value), "{text}: {found:?}");
        assert_eq!(found.unit, unit, "{text}");
        assert!(close(found.step, step), "{text}: {found:?}");
    }

    #[test]
    fn numbers_have_units_and_steps() {
        reads("12908 rps", 12908.0, Unit::PerSecond, 1.0);
        reads("7.1k RPS", 7100.0, Unit::PerSecond, 100.0);
        reads("12k", 12000.0, Unit::None, 1000.0);
        reads("0.96 ms", 0.96e-3, Unit::Seconds, 1e-5);
        reads("17.51ms", 17.51e-3, Unit::Seconds, 1e-5);
        reads("1.04s", 1.04, Unit::Seconds, 0.01);
        reads("2.2 GB GB", 2.2e9, Unit::Bytes, 1e8);
        reads("87.7  GB", 87.7e9, Unit::Bytes, 1e8);
        let gib = 1_073_741_824.0;
        reads("3.5 Gib", 3.5 * gib, Unit::Bytes, 0.1 * gib);
        reads("1,234.5", 1234.5, Unit::None, 0.1);
        reads("99.9 %", 0.999, Unit::Share, 0.001);
        reads("2461.09 trans/sec", 2461.09, Unit::PerSecond, 0.01);
        reads("3.1 ms (2.9–3.4)", 3.1e-3, Unit::Seconds, 1e-4);
        reads("1e3", 1000.0, Unit::None, 1000.0);
        reads("12,908,000", 12_908_000.0, Unit::None, 1.0);
        for spread in ["12–14", "12 (±3)", "12 ±3", "12±3"] {
            reads(spread, 12.0, Unit::None, 1.0);
        }
        reads("2 min", 120.0, Unit::Seconds, 60.0);
        reads("12\u{a0}ms", 12e-3, Unit::Seconds, 1e-3);
        // The last digit is the mark of a footnote.
        reads("15.2 ms1", 15.2e-3, Unit::Seconds, 1e-4);
        reads("900 rps2", 900.0, Unit::PerSecond, 1.0);
    }

    #[test]
    fn other_text_is_not_a_quantity() {
        for text in [
            "",
            "N/A",
            "–",
            "libxslt",
            "all 3 of them",
            "![graph](a.png)",
        ] {
            assert_eq!(quantity(text, None), None, "{text}");
        }
        assert_eq!(quantity("5 apples", None), None, "an unknown unit");
    }

    #[test]
    fn a_part_of_a_number_is_not_a_quantity() {
        for text in [
            "0,96 ms",
            "0,960 ms",
            "1,5",
            "1,2345",
            "12,34 %",
            "1.234.567",
            "12 908 rps",
            "12\u{a0}908 rps",
            "12\u{202f}908 rps",
            "1m30s",
            "1m 30s",
            "1 min 30 s",
            "1 h 30 min",
            "2 minutes 30 seconds",
        ] {
            assert_eq!(quantity(text, None), None, "{text}");
        }
    }

    #[test]
    fn bare_numbers_have_the_unit_of_their_heading() {
        let unit = unit_in_heading("avg (ms)");
        assert_eq!(unit, Some((Unit::Seconds, 1e-3)));
        let found = quantity("3.86", unit).map(|it| (it.value, it.unit));
        assert_eq!(found, Some((3.86 * 1e-3, Unit::Seconds)));
        assert_eq!(unit_in_heading("p99_ns"), Some((Unit::Seconds, 1e-9)));
        assert_eq!(unit_in_heading("Requests per second"), None);
        assert_eq!(unit_in_heading("K6 p95"), None);
        for heading in ["latency_ms_min", "Latency (ms) min", "latency_ms min"] {
            assert_eq!(unit_in_heading(heading), unit, "{heading}");
        }
        assert_eq!(unit_in_heading("Min response time"), None);
    }
}
