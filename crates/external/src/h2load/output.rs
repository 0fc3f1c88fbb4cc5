//! Parses the report that h2load prints.

use std::collections::BTreeMap;

use crate::figures::{Figures, ParseError};

pub(crate) fn parse(stdout: &str) -> Result<Figures, ParseError> {
    let line = |start: &str| {
        let rest = stdout.lines().find_map(|line| line.strip_prefix(start));
        let rest = rest.map(str::trim);
        rest.ok_or_else(|| ParseError::missing(&format!("the line '{start}'")))
    };
    let requests = counted(line("requests: ")?)?;
    let of = |name: &str| {
        let count = requests.get(name).copied();
        count.ok_or_else(|| ParseError::missing(&format!("the number of requests {name}")))
    };
    let mut by_class = counted(line("status codes: ")?)?;
    by_class.retain(|_, count| *count > 0);
    let completed: u64 = by_class.values().sum();
    let mut errors = BTreeMap::new();
    for kind in ["errored", "timeout"] {
        errors.insert(kind.to_owned(), of(kind)?);
    }
    errors.retain(|_, count| *count > 0);
    let times = times(line("time for request:")?)?;
    let [min_ns, max_ns, mean_ns] = times.map(|ns| (completed > 0).then_some(ns));
    Ok(Figures {
        duration_ns: duration_ns(line("finished in ")?, of("done")?)?,
        sent: of("started")?,
        completed,
        by_class,
        errors,
        bytes_received: Some(bytes(line("traffic: ")?)?),
        min_ns,
        max_ns,
        mean_ns,
        ..Figures::default()
    })
}

/// Parses `5 total, 4 started` into counts by name.
fn counted(text: &str) -> Result<BTreeMap<String, u64>, ParseError> {
    let pair = |item: &str| {
        let (count, name) = item.trim().split_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    text.split(',')
        .map(|item| pair(item).ok_or_else(|| ParseError::wrong("a count", item)))
        .collect()
}

/// Parses `1.00s, 43071.00 req/s, 4.52MB/s`. The time is rounded, so the result is the number of
/// requests divided by their rate, if both are above 0.
fn duration_ns(text: &str, done: u64) -> Result<u64, ParseError> {
    let both = || -> Option<(u64, f64)> {
        let mut items = text.split(',').map(str::trim);
        let duration_ns = time_ns(items.next()?)?;
        Some((
            duration_ns,
            items.next()?.strip_suffix(" req/s")?.parse().ok()?,
        ))
    };
    match both() {
        Some((_, rate)) if done > 0 && rate > 0.0 => Ok((done as f64 / rate * 1e9).round() as u64),
        Some((duration_ns, _)) => Ok(duration_ns),
        None => Err(ParseError::wrong("the duration", text)),
    }
}

/// Parses `6.29MB (6596886) total, ...`.
fn bytes(text: &str) -> Result<u64, ParseError> {
    let number = text
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'));
    let number = number.and_then(|(number, _)| number.parse().ok());
    number.ok_or_else(|| ParseError::wrong("the traffic", text))
}

/// Parses the minimum, maximum and mean, and returns them in nanoseconds. The standard deviation
/// after them must be valid but is not returned.
fn times(text: &str) -> Result<[u64; 3], ParseError> {
    let times: Option<Vec<u64>> = text.split_whitespace().take(4).map(time_ns).collect();
    match times.as_deref() {
        Some(&[min, max, mean, _]) => Ok([min, max, mean]),
        _ => Err(ParseError::wrong("the time for a request", text)),
    }
}

/// Converts a time such as `45us`, `1.24ms` or `1.00s` to nanoseconds.
fn time_ns(text: &str) -> Option<u64> {
    let units = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (number, scale) = units
        .into_iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    let value: f64 = number.parse().ok()?;
    (value.is_finite() && value >= 0.0).then(|| (value * scale).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_all_their_units() {
        assert_eq!(time_ns("45us"), Some(45_000));
        assert_eq!(time_ns("1.24ms"), Some(1_240_000));
        assert_eq!(time_ns("1.00s"), Some(1_000_000_000));
        for wrong in ["", "s", "45", "-1s", "xms"] {
            assert_eq!(time_ns(wrong), None, "{wrong}");
        }
    }
}
