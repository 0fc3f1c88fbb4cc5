//! The report that h2load prints.

use std::collections::BTreeMap;

use crate::figures::{Figures, ParseError};

/// Reads the report.
pub(crate) fn parse(stdout: &str) -> Result<Figures, ParseError> {
    let line = |start: &str| {
        stdout
            .lines()
            .find_map(|line| line.strip_prefix(start))
            .map(str::trim)
            .ok_or_else(|| ParseError::missing(&format!("the line '{start}'")))
    };
    let requests = counted(line("requests: ")?)?;
    let of = |name: &str| {
        let count = requests.get(name).copied();
        count.ok_or_else(|| ParseError::missing(&format!("the number of requests {name}")))
    };
    let by_class = counted(line("status codes: ")?)?;
    let completed: u64 = by_class.values().sum();
    let done = of("done")?;
    let errors = [("errored", of("errored")?), ("timeout", of("timeout")?)];
    let times = times(line("time for request:")?)?;
    let if_completed = |value_ns: u64| (completed > 0).then_some(value_ns);
    Ok(Figures {
        duration_ns: duration_ns(line("finished in ")?, done)?,
        sent: of("started")?,
        completed,
        by_class: by_class
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect(),
        errors: errors
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| (kind.to_owned(), count))
            .collect(),
        bytes_received: Some(bytes(line("traffic: ")?)?),
        min_ns: if_completed(times[0]),
        max_ns: if_completed(times[1]),
        mean_ns: if_completed(times[2]),
        ..Figures::default()
    })
}

/// Parses `5 total, 4 started` into numbers by name.
fn counted(text: &str) -> Result<BTreeMap<String, u64>, ParseError> {
    let pair = |item: &str| {
        let (count, name) = item.trim().split_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    text.split(',')
        .map(|item| pair(item).ok_or_else(|| ParseError::wrong("a count", item)))
        .collect()
}

/// Parses `1.00s, 43071.00 req/s, 4.52MB/s`. The time is rounded; requests divided by their rate
/// are more exact.
fn duration_ns(text: &str, done: u64) -> Result<u64, ParseError> {
    let mut items = text.split(',').map(str::trim);
    let duration = items.next().and_then(time_ns);
    let rate: Option<f64> = items
        .next()
        .and_then(|item| item.strip_suffix(" req/s"))
        .and_then(|rate| rate.parse().ok());
    let (Some(duration), Some(rate)) = (duration, rate) else {
        return Err(ParseError::wrong("how long it took", text));
    };
    if done > 0 && rate > 0.0 {
        Ok((done as f64 / rate * 1e9).round() as u64)
    } else {
        Ok(duration)
    }
}

/// Parses `6.29MB (6596886) total, ...`.
fn bytes(text: &str) -> Result<u64, ParseError> {
    let number = text
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .and_then(|(number, _)| number.parse().ok());
    number.ok_or_else(|| ParseError::wrong("the traffic", text))
}

/// The minimum, the maximum, the mean and the standard deviation.
fn times(text: &str) -> Result<[u64; 4], ParseError> {
    let mut words = text.split_whitespace().map(time_ns);
    let mut next = || words.next().flatten();
    match (next(), next(), next(), next()) {
        (Some(min), Some(max), Some(mean), Some(sd)) => Ok([min, max, mean, sd]),
        _ => Err(ParseError::wrong("the time for a request", text)),
    }
}

/// Parses `45us`, `1.24ms`, `1.00s`.
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
