//! Parses the line of figures that the script prints.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::figures::{Figures, ParseError, Passes};

const MARK: &str = "GATEBENCH ";

/// The name of the metric that counts unchecked responses with an error status. Its only statistic
/// is `count`.
pub const UNCHECKED_RESPONSES: &str = "responses of status 400 and above";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    requests: u64,
    duration_us: u64,
    bytes: u64,
    min_us: f64,
    mean_us: f64,
    max_us: f64,
    percentiles_us: BTreeMap<String, f64>,
    errors: BTreeMap<String, u64>,
    status_400_and_above: u64,
    classes: Vec<u64>,
    checks_failed: BTreeMap<String, u64>,
}

/// Parses the figures in the last marked line.
pub(crate) fn parse(stdout: &str) -> Result<Figures, ParseError> {
    let mut lines = stdout.lines().rev();
    let json = lines.find_map(|line| line.strip_prefix(MARK));
    let json = json.ok_or_else(|| ParseError::missing("the line of figures"))?;
    let mut line: Line = serde_json::from_str(json)
        .map_err(|error| ParseError(format!("the line of figures cannot be read: {error}")))?;
    line.errors.retain(|_, count| *count > 0);
    let errors: u64 = line.errors.values().sum();
    let by_class = (1..).zip(&line.classes).filter(|(_, count)| **count > 0);
    let by_class = by_class.map(|(class, count)| (format!("{class}xx"), *count));
    let has_any = line.requests > 0;
    let if_any = |value_us: f64| has_any.then(|| ns(value_us));
    let percentiles = line.percentiles_us.into_iter().filter(|_| has_any);
    let checks = line.checks_failed.into_iter().map(|(name, failed)| {
        let passed = Some(line.requests.saturating_sub(failed));
        (name, Passes { passed, failed })
    });
    let mut metrics = BTreeMap::new();
    if line.classes.is_empty() {
        let count = line.status_400_and_above as f64;
        let name = UNCHECKED_RESPONSES.to_owned();
        metrics.insert(name, BTreeMap::from([("count".to_owned(), count)]));
    }
    Ok(Figures {
        duration_ns: line.duration_us.saturating_mul(1_000),
        sent: line.requests + errors,
        completed: line.requests,
        by_class: by_class.collect(),
        errors: line.errors,
        checks: checks.collect(),
        bytes_received: Some(line.bytes),
        percentiles_ns: percentiles.map(|(name, us)| (name, ns(us))).collect(),
        min_ns: if_any(line.min_us),
        mean_ns: if_any(line.mean_us),
        max_ns: if_any(line.max_us),
        metrics,
        ..Figures::default()
    })
}

fn ns(value_us: f64) -> u64 {
    (value_us * 1e3).round() as u64
}
