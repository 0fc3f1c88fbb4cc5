//! Numbers as people read them. Used in sentences here and by every report, so that a number looks
//! the same wherever it stands.

use std::collections::BTreeMap;

use gatebench_stats::{Comparison, Difference, Estimate};

use crate::findings::{Metric, Unit};

/// Writes a value of a unit with three significant digits: `41.2k requests/s`, `38 µs`, `12.3 MiB`.
pub fn quantity(value: f64, unit: Unit) -> String {
    let (number, suffix) = split_quantity(value, unit);
    if suffix.is_empty() {
        number
    } else {
        format!("{number} {suffix}")
    }
}

/// As [`quantity`], but number and unit apart, for tables that name the unit in the head.
pub fn split_quantity(value: f64, unit: Unit) -> (String, &'static str) {
    match unit {
        Unit::Nanoseconds => scaled(value, &TIMES),
        // One scale, so that the rows of a table can be compared by eye.
        Unit::CpuNanosecondsPerRequest => (three_figures(value / 1e3), "µs CPU/request"),
        Unit::RequestsPerSecond => (thousands(value), "requests/s"),
        Unit::Bytes => scaled(value, &SIZES),
        Unit::BitsPerSecond => scaled(value, &BIT_RATES),
        Unit::Cores => (three_figures(value), "cores"),
        Unit::Ratio => (format!("{}×", three_figures(value)), ""),
        Unit::Count => (grouped(value), ""),
    }
}

/// The name of a metric in tables and legends.
pub fn metric_title(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "throughput",
        Metric::ThroughputOfDirect => "throughput over direct throughput",
        Metric::AchievedRate => "completed over intended",
        Metric::ThroughputPerCore => "throughput per gateway core",
        Metric::GatewayCpuPerRequest => "gateway CPU per request",
        Metric::GatewayCoreBusyPerRequest => "gateway core busy per request",
        Metric::GatewayCoreSoftirqPerRequest => "of that, softirq",
        Metric::EngineCpuPerRequest => "engine CPU per request",
        Metric::UpstreamCpuPerRequest => "upstream CPU per request",
        Metric::GatewayCores => "gateway cores busy",
        Metric::AddedP50 => "added latency p50",
        Metric::AddedP90 => "added latency p90",
        Metric::AddedP99 => "added latency p99",
        Metric::AddedP999 => "added latency p99.9",
        Metric::ResponseP50 => "response time p50",
        Metric::ResponseP90 => "response time p90",
        Metric::ResponseP99 => "response time p99",
        Metric::ResponseP999 => "response time p99.9",
        Metric::ResponseP50OverDirect => "response p50 minus direct p50",
        Metric::ResponseP99OverDirect => "response p99 minus direct p99",
        Metric::AddedP50OverNull => "added p50 minus the null gateway's p50",
        Metric::AddedP99OverNull => "added p99 minus the null gateway's p99",
        Metric::LatenessP99 => "send lateness p99",
        Metric::GatewayRssAnonMax => "gateway memory (RssAnon)",
        Metric::GatewayStart => "gateway start to ready",
        Metric::ChangeErrors => "failed from the change on",
        Metric::ChangeAffected => "affected by the change",
        Metric::ChangeWorst => "longest response from the change on",
        Metric::ChangeRecovery => "from the change to recovery",
        Metric::ChangeEffective => "from the change to its effect",
        Metric::FailureShare => "share of the failing target",
        Metric::FailureSentAgain => "requests sent again",
        Metric::FailureAdded => "added latency p99 during the failure",
        Metric::Errors => "requests without an answer",
        Metric::ChecksFailed => "answers that failed a check",
        Metric::Dropped => "arrivals dropped",
    }
}

/// The units of times with their sizes, the largest first.
pub const TIMES: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
/// The units of bit rates.
pub const BIT_RATES: [(f64, &str); 4] = [
    (1e9, "Gbit/s"),
    (1e6, "Mbit/s"),
    (1e3, "kbit/s"),
    (1.0, "bit/s"),
];
/// The units of sizes.
pub const SIZES: [(f64, &str); 4] = [
    (1_073_741_824.0, "GiB"),
    (1_048_576.0, "MiB"),
    (1_024.0, "KiB"),
    (1.0, "B"),
];

fn scaled(value: f64, scales: &[(f64, &'static str); 4]) -> (String, &'static str) {
    // 999.6 µs is written 1 ms, not 1,000 µs: the scale is chosen after rounding.
    let rounded = round_to_three(value);
    let (size, suffix) = scales
        .iter()
        .find(|(size, _)| rounded.abs() >= *size)
        .copied()
        .unwrap_or(scales[3]);
    (three_figures(value / size), suffix)
}

/// `812`, `5,000`, `41.2k`, `1.25M`: grouped below ten thousand, abbreviated from there.
fn thousands(value: f64) -> String {
    match round_to_three(value).abs() {
        size if size >= 1e6 => format!("{}M", three_figures(value / 1e6)),
        size if size >= 1e4 => format!("{}k", three_figures(value / 1e3)),
        _ => grouped(value),
    }
}

/// A whole number with commas.
pub fn grouped(value: f64) -> String {
    let whole = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 && whole != "0" {
        format!("-{text}")
    } else {
        text
    }
}

/// Three significant digits, never fewer than the whole part has: `0.412`, `41.2`, `2,400`.
pub fn three_figures(value: f64) -> String {
    let decimals = match round_to_three(value).abs() {
        size if size >= 100.0 || size == 0.0 => return grouped(value),
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// The value, rounded to three significant digits.
pub fn round_to_three(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let places = 2 - value.abs().log10().floor() as i32;
    // Dividing by a power of ten is exact more often than multiplying by its inverse.
    if places >= 0 {
        let power = 10_f64.powi(places);
        (value * power).round() / power
    } else {
        let power = 10_f64.powi(-places);
        (value / power).round() * power
    }
}

/// A ratio and its interval, `0.61×` and `0.58–0.64`; the interval is empty where there is none.
pub fn ratio_and_interval(result: &Comparison) -> (String, String) {
    // Two decimals would write a narrow interval as a point.
    let narrow = |width: f64| if width < 0.02 { 3 } else { 2 };
    let places = result
        .interval
        .map_or(2, |interval| narrow(interval.high - interval.low));
    let number = |value| decimals(value, places);
    // A comparison without a block has no ratio.
    if result.ratio.is_nan() {
        return ("–".into(), String::new());
    }
    let interval = result
        .interval
        .map(|interval| format!("{}–{}", number(interval.low), number(interval.high)));
    (
        format!("{}×", number(result.ratio)),
        interval.unwrap_or_default(),
    )
}

/// A difference with its sign, `+1.24` or `−0.310`, and the ends of its span, `1.10–1.38`, in the scale
/// that `number` writes; a span that reaches below zero is written `−0.1 to +0.2`.
pub fn signed(difference: &Difference, number: impl Fn(f64) -> String) -> (String, String) {
    let sign = |value: f64| if value < 0.0 { "−" } else { "+" };
    let with_sign = |value: f64| format!("{}{}", sign(value), number(value.abs()));
    let (low, high) = difference.span();
    let span = match difference.blocks {
        0 | 1 => String::new(),
        _ if low >= 0.0 => format!("{}–{}", number(low), number(high)),
        _ => format!("{} to {}", with_sign(low), with_sign(high)),
    };
    (with_sign(difference.effect), span)
}

/// A command line quoted for a shell.
pub fn shell_line(words: &[String]) -> String {
    words
        .iter()
        .map(|word| shell_word(word))
        .collect::<Vec<_>>()
        .join(" ")
}

fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// `39.8k–42.0k over 3 blocks`; of one block only `1 block`.
pub(crate) fn range(estimate: &Estimate, unit: Unit) -> String {
    let blocks = counted(estimate.blocks as u64, "block");
    if estimate.blocks < 2 {
        return blocks;
    }
    let (low, low_suffix) = split_quantity(estimate.min, unit);
    let (high, high_suffix) = split_quantity(estimate.max, unit);
    if low_suffix == high_suffix {
        format!("{low}–{high} over {blocks}")
    } else {
        format!("{low} {low_suffix}–{high} {high_suffix} over {blocks}")
    }
}

/// `1 block`, `3 blocks`, `2 processes`.
pub fn counted(count: u64, noun: &str) -> String {
    let ending = match (count, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {noun}{ending}", grouped(count as f64))
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// `12 × timeout, 3 × reset`, the most frequent first.
pub(crate) fn listed_counts(counts: &BTreeMap<String, u64>) -> String {
    let mut seen: Vec<_> = counts.iter().filter(|(_, count)| **count > 0).collect();
    seen.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let items = seen
        .into_iter()
        .map(|(what, count)| format!("{} × {what}", grouped(*count as f64)));
    items.collect::<Vec<_>>().join(", ")
}

/// A share in per cent, with as many decimals as it takes not to read 0.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    let decimals = match value.abs() {
        size if size >= 10.0 || size == 0.0 => 0,
        size if size >= 0.1 => 1,
        _ => 3,
    };
    format!("{value:.decimals$} %")
}

/// A number with fixed decimals.
pub(crate) fn decimals(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

/// `45 s`, `12 min`, `2.5 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s => {
            let hours = s / 3_600.0;
            let text = if hours < 20.0 {
                format!("{hours:.1}")
            } else {
                format!("{hours:.0}")
            };
            format!("{} h", text.trim_end_matches(".0"))
        }
    }
}

/// The first letter in upper case.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|first| first.to_uppercase().to_string())
        .unwrap_or_default();
    first + letters.as_str()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn quantities_have_three_digits_and_a_unit() {
        for (value, unit, text) in [
            (41_234.0, Unit::RequestsPerSecond, "41.2k requests/s"),
            (5_000.0, Unit::RequestsPerSecond, "5,000 requests/s"),
            (812.4, Unit::RequestsPerSecond, "812 requests/s"),
            (1_250_000.0, Unit::RequestsPerSecond, "1.25M requests/s"),
            (38_040.0, Unit::Nanoseconds, "38.0 µs"),
            (999_960.0, Unit::Nanoseconds, "1.00 ms"),
            (-1_500.0, Unit::Nanoseconds, "-1.50 µs"),
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
    fn durations_are_told_as_people_say_them() {
        let told = [45.0, 600.0, 9_000.0, 7_200.0, 86_400.0].map(duration);
        assert_eq!(told, ["45 s", "10 min", "2.5 h", "2 h", "24 h"]);
    }

    #[test]
    fn nouns_lists_and_shares() {
        assert_eq!(counted(1, "block"), "1 block");
        assert_eq!(counted(1_200, "process"), "1,200 processes");
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        let counts = BTreeMap::from([
            ("reset".into(), 3),
            ("timeout".into(), 12),
            ("tls".into(), 0),
        ]);
        assert_eq!(listed_counts(&counts), "12 × timeout, 3 × reset");
        assert_eq!(percent(0.973), "97 %");
        assert_eq!(percent(0.0123), "1.2 %");
        assert_eq!(percent(0.000_012), "0.001 %");
    }

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let words = ["gatebench", "run", "--out", "my run", "it's"].map(String::from);
        assert_eq!(
            shell_line(&words),
            r"gatebench run --out 'my run' 'it'\''s'"
        );
    }

    #[test]
    fn a_range_names_its_blocks() {
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
        let one = Estimate::of_blocks(&[1.0]).unwrap();
        assert_eq!(range(&one, Unit::Count), "1 block");
    }
}
