//! Numbers as people read them. Used in sentences here and by every report, so that a number looks
//! the same wherever it stands.

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
        Unit::CpuNanosecondsPerRequest => (digits(value / 1e3), "µs CPU/request"),
        Unit::RequestsPerSecond => (thousands(value), "requests/s"),
        Unit::Bytes => scaled(value, &SIZES),
        Unit::Cores => (digits(value), "cores"),
        Unit::Ratio => (format!("{}×", digits(value)), ""),
        Unit::Count => (grouped(value), ""),
    }
}

/// The name of a metric in tables and legends.
pub fn metric_title(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "throughput",
        Metric::ThroughputOfFloor => "throughput over the floor's",
        Metric::AchievedRate => "completed over intended",
        Metric::GatewayCpuPerRequest => "gateway CPU per request",
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
        Metric::ResponseP50OverFloor => "response p50 minus the floor's p50",
        Metric::ResponseP99OverFloor => "response p99 minus the floor's p99",
        Metric::LatenessP99 => "send lateness p99",
        Metric::GatewayRssAnonMax => "gateway memory (RssAnon)",
        Metric::GatewayStart => "gateway start to ready",
        Metric::Errors => "requests without an answer",
        Metric::ChecksFailed => "answers that failed a check",
        Metric::Dropped => "arrivals dropped",
    }
}

/// Scales, the largest first.
const TIMES: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
const SIZES: [(f64, &str); 4] = [
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
    (digits(value / size), suffix)
}

/// `812`, `5,000`, `41.2k`, `1.25M`: grouped below ten thousand, abbreviated from there.
fn thousands(value: f64) -> String {
    match round_to_three(value).abs() {
        size if size >= 1e6 => format!("{}M", digits(value / 1e6)),
        size if size >= 1e4 => format!("{}k", digits(value / 1e3)),
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

/// Three significant digits, never fewer than the whole part has.
fn digits(value: f64) -> String {
    let size = round_to_three(value).abs();
    let decimals = match size {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

fn round_to_three(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let magnitude = 10_f64.powi(2 - value.abs().log10().floor() as i32);
    (value * magnitude).round() / magnitude
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
