//! The output of wrk, quoted in a text: each run becomes a row.

use crate::table::Table;

/// The columns, and the words that lead to them.
const HEADINGS: [&str; 7] = [
    "Run",
    "Connections",
    "Latency Avg",
    "Latency Max",
    "Requests",
    "Duration",
    "Requests/sec",
];
const ERRORS: &str = "Errors";

pub(super) fn table(text: &str) -> Option<Table> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let begins = |line: &str| line.starts_with("Running ") && line.contains("test @");
    let starts: Vec<usize> = (0..lines.len()).filter(|at| begins(lines[*at])).collect();
    let rows: Vec<(usize, Vec<String>)> = starts
        .iter()
        .filter_map(|start| Some((start + 1, run(&lines, *start)?)))
        .collect();
    let headings: Vec<String> = HEADINGS
        .iter()
        .map(|it| (*it).to_owned())
        .chain([ERRORS.to_owned()])
        .collect();
    (!rows.is_empty()).then(|| Table::of("what wrk printed", &headings, rows))
}

/// One run: from `Running 10s test` to `Transfer/sec`.
fn run(lines: &[&str], start: usize) -> Option<Vec<String>> {
    let rest = &lines[start..];
    let end = rest.iter().position(|it| it.starts_with("Transfer/sec"))?;
    let body = &rest[..=end];
    let line = |start: &str| body.iter().find(|it| it.starts_with(start)).copied();
    // `5 threads and 1000 connections`
    let connections = body.iter().find_map(|it| {
        let (_, after) = it
            .strip_suffix(" connections")?
            .split_once(" threads and ")?;
        Some(after.to_owned())
    })?;
    // `Latency 17.51ms 61.46ms 1.04s 98.99%`: mean, deviation, maximum, share within a deviation.
    let latency: Vec<&str> = line("Latency ")?.split_whitespace().collect();
    // `672831 requests in 10.07s, 154.07MB read`
    let total = body.iter().find(|it| it.contains(" requests in "))?;
    let (requests, after) = total.split_once(" requests in ")?;
    let duration = after.split(',').next()?;
    let rate = line("Requests/sec:")?.split_whitespace().nth(1)?;
    Some(vec![
        name(lines, start),
        connections,
        (*latency.get(1)?).to_owned(),
        (*latency.get(3)?).to_owned(),
        requests.to_owned(),
        duration.to_owned(),
        rate.to_owned(),
        errors(line("Socket errors:")).to_string(),
    ])
}

/// Parses `Socket errors: connect 0, read 0, write 0, timeout 246` and sums the numbers.
fn errors(line: Option<&str>) -> u64 {
    let words = line.unwrap_or_default().split([' ', ',']);
    words.filter_map(|word| word.parse::<u64>().ok()).sum()
}

/// The heading before the run, or otherwise its URL.
fn name(lines: &[&str], start: usize) -> String {
    let before = lines[..start]
        .iter()
        .rev()
        .take(3)
        .find(|it| it.starts_with('#'));
    before
        .map_or(lines[start], |it| it.trim_start_matches('#').trim())
        .to_owned()
}
