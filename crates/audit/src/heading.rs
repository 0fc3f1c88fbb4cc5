//! Derives the meaning of a column from its heading.

use std::sync::LazyLock;

use regex_lite::{Captures, Regex};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// Part of the row's label.
    Label,
    Rate,
    Mean,
    /// A quantile of times, such as 0.95 for p95.
    Quantile(f64),
    Min,
    Max,
    Deviation,
    /// Connections or virtual users.
    Users,
    Requests,
    /// The number or share of failed requests.
    Errors,
    /// The time for which load was applied.
    Duration,
    Memory,
    CpuPerRequest,
    Cores,
    /// The number of repetitions, or the spread of their results.
    Repetition,
    Other,
}

impl Meaning {
    pub(crate) fn is_time(self) -> bool {
        matches!(self, Self::Mean | Self::Quantile(_) | Self::Min | Self::Max)
    }

    /// Returns the rank of the figure among the times of all requests, from 0 for the shortest to 1
    /// for the longest, or `None` if the figure has no rank.
    pub(crate) fn rank(self) -> Option<f64> {
        match self {
            Self::Min => Some(0.0),
            Self::Quantile(share) => Some(share),
            Self::Max => Some(1.0),
            _ => None,
        }
    }
}

/// Matches percentiles such as `p95`, `P(95)`, `p99.9`, `p99_9`, `95th percentile` and `95%`.
static PERCENTILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\bp\s*\(?\s*(\d{1,2}(?:[._]\d+)?|999|9999)(?:\b|_|\))|\b(\d{1,2}(?:\.\d+)?)\s*(?:th\b|%)",
    )
    .expect("the pattern is a constant")
});

/// The meanings, each with the words that indicate it in headings, separated by commas. The first
/// match is used.
const WORDS: [(Meaning, &str); 18] = [
    (
        Meaning::Repetition,
        "runs, repetitions, repeats, range, interval, confidence, spread, ±, ci, blocks",
    ),
    (
        Meaning::CpuPerRequest,
        "cpu per request, cpu/req, µs/req, us/req, cpu_ns_per_request",
    ),
    // These precede the rates, because some of their words contain `rate`.
    (
        Meaning::Errors,
        "errors, error rate, error_rate, failure rate, failure_rate, failed, failures, timeouts, \
         non-2xx",
    ),
    (
        Meaning::Other,
        "success rate, success_rate, hit rate, hit_rate",
    ),
    // In these, `min` means minutes, or may mean either minutes or the shortest time.
    (
        Meaning::Other,
        "per min, per minute, requests/min, req/min, duration (min), duration [min], \
         duration_min, elapsed (min)",
    ),
    (
        Meaning::Rate,
        "requests per second, request rate, transaction rate, req/s, reqs/s, requests/s, requests/sec, \
         req/sec, rps, qps, tps, throughput, rate_per_second, rate",
    ),
    (Meaning::Deviation, "stdev, stddev, std dev, sd, deviation"),
    (Meaning::Mean, "avg, average, mean"),
    (Meaning::Max, "max, maximum, longest, slowest"),
    (Meaning::Min, "min, minimum, shortest, fastest"),
    (Meaning::Quantile(0.5), "median response time"),
    // Without one of the words above, `response time` means the mean.
    (Meaning::Mean, "response time"),
    (
        Meaning::Users,
        "users, vus, connections, concurrency, clients",
    ),
    (Meaning::Memory, "memory, mem, rss"),
    (Meaning::Duration, "duration, elapsed"),
    (Meaning::Requests, "requests, transactions, samples"),
    (Meaning::Cores, "cores, vcpu, vcpus, cpus"),
    (Meaning::Quantile(0.5), "median"),
];

/// The words in a heading that show that a rate is one of data, not of requests.
const DATA: &str = "transfer bandwidth byte bytes kbyte kbytes mbyte mbytes bit bits kbit kbits \
                    mbit mbits gbit gbits bps kbps mbps gbps b/s b/sec kb mb gb kib mib gib";

/// Returns the meaning of a heading and the name of the subject that was measured: `K6 p95` is the
/// p95 of `k6`. Times are compared only with times of the same subject.
pub(crate) fn meaning(heading: &str) -> (Meaning, String) {
    let text = heading.to_lowercase().replace("<br/>", " ");
    // `95 % CI` is not a percentile, but `p95 (95 % CI)` is.
    let is_interval = ["ci", "interval", "confidence"]
        .iter()
        .any(|word| has_word(&text, word));
    let is_named = |it: &Captures<'_>| it.get(1).is_some() || !is_interval;
    if let Some(found) = PERCENTILE.captures(&text).filter(is_named) {
        let digits = found.get(1).or(found.get(2)).map_or("", |it| it.as_str());
        let whole = found.get(0).map_or("", |it| it.as_str());
        return (Meaning::Quantile(share(digits)), rest(&text, whole));
    }
    for (meaning, words) in WORDS {
        if let Some(word) = words.split(", ").find(|word| has_word(&text, word)) {
            // Other words for rates, such as `rps`, always mean requests.
            let may_be_of_data = word == "throughput" || word.starts_with("rate");
            if may_be_of_data && DATA.split(' ').any(|it| has_word(&text, it)) {
                return (Meaning::Other, text);
            }
            return (meaning, rest(&text, word));
        }
    }
    (Meaning::Other, text)
}

/// Converts digits to a share: `95` to 0.95, and `999`, as in p999, to 0.999.
fn share(digits: &str) -> f64 {
    let text = match digits {
        "999" => "99.9".to_owned(),
        "9999" => "99.99".to_owned(),
        other => other.replace('_', "."),
    };
    let percent: f64 = text.parse().unwrap_or(0.0);
    // Without rounding, 99.9 / 100 would not equal 0.999.
    (percent * 1e4).round() / 1e6
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let is_part = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
        !is_part(before) && !is_part(after)
    })
}

/// Words in headings that do not name the subject that was measured.
const FILLERS: &str = "ms us µs ns s sec percentile of the time latency duration req response";

/// Returns the words of a heading without the text `found` and the fillers.
fn rest(text: &str, found: &str) -> String {
    let left = text.replacen(found, " ", 1);
    let words = left.split(|it: char| !it.is_alphanumeric() && it != '-');
    let is_filler = |word: &&str| word.is_empty() || FILLERS.split(' ').any(|it| it == *word);
    let others: Vec<&str> = words.filter(|word| !is_filler(word)).collect();
    others.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_many_tools_are_recognized() {
        for (heading, expected, thing) in [
            ("K6 p95", Meaning::Quantile(0.95), "k6"),
            ("P(99) req duration", Meaning::Quantile(0.99), ""),
            ("p99.9 ms", Meaning::Quantile(0.999), ""),
            ("95th percentile", Meaning::Quantile(0.95), ""),
            ("K6 Avg", Meaning::Mean, "k6"),
            (
                "Kong Proxy Latency p95",
                Meaning::Quantile(0.95),
                "kong proxy",
            ),
        ] {
            assert_eq!(meaning(heading), (expected, thing.into()));
        }
        for (heading, expected) in [
            ("p99_9_ns", Meaning::Quantile(0.999)),
            ("p999", Meaning::Quantile(0.999)),
            ("Requests per second", Meaning::Rate),
            ("RPS", Meaning::Rate),
            ("rate_per_second", Meaning::Rate),
            ("Requests", Meaning::Requests),
            ("Error rate", Meaning::Errors),
            ("error_rate", Meaning::Errors),
            ("success_rate", Meaning::Other),
            ("Success rate", Meaning::Other),
            ("Cache hit rate", Meaning::Other),
            ("95 % CI", Meaning::Repetition),
            ("95% confidence interval", Meaning::Repetition),
            ("p99 ms (95 % CI)", Meaning::Quantile(0.99)),
            ("95%", Meaning::Quantile(0.95)),
            ("Kong Linux Memory", Meaning::Memory),
            ("Scenario", Meaning::Other),
            ("Data Sent", Meaning::Other),
            ("Transfer rate [Kbytes/sec]", Meaning::Other),
            ("Throughput (MB/s)", Meaning::Other),
            ("throughput_mbps", Meaning::Other),
            ("Throughput", Meaning::Rate),
            ("rps (1 KB)", Meaning::Rate),
            ("Memory (MB)", Meaning::Memory),
            ("latency_ms_min", Meaning::Min),
            ("Duration (min)", Meaning::Other),
            ("Requests per min", Meaning::Other),
            ("Response time", Meaning::Mean),
            ("Average Response Time", Meaning::Mean),
            ("Median Response Time", Meaning::Quantile(0.5)),
            ("Min Response Time", Meaning::Min),
            ("Max Response Time", Meaning::Max),
            // This heading contains `min` only within a word.
            ("Administrator", Meaning::Other),
        ] {
            assert_eq!(meaning(heading).0, expected, "{heading}");
        }
    }
}
