//! Parses wrk output that a document quotes. Each run becomes a row.

use crate::table::Table;

const HEADINGS: [&str; 8] = [
    "Run",
    "Connections",
    "Latency Avg",
    "Latency Max",
    "Requests",
    "Duration",
    "Requests/sec",
    "Errors",
];

pub(super) fn table(text: &str) -> Option<Table> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let begins = |line: &str| line.starts_with("Running ") && line.contains("test @");
    let starts = (0..lines.len()).filter(|at| begins(lines[*at]));
    let rows = starts.filter_map(|start| Some((start + 1, run(&lines, start)?)));
    let rows: Vec<(usize, Vec<String>)> = rows.collect();
    (!rows.is_empty()).then(|| Table::of("what wrk printed", &HEADINGS, rows))
}

/// Parses one run, which extends from `Running 10s test` to `Transfer/sec`.
fn run(lines: &[&str], start: usize) -> Option<Vec<String>> {
    let rest = &lines[start..];
    let end = rest.iter().position(|it| it.starts_with("Transfer/sec"))?;
    let body = &rest[..=end];
    let line = |start: &str| body.iter().find(|it| it.starts_with(start)).copied();
    // For example, `5 threads and 1000 connections`.
    let threads = body.iter().find_map(|it| it.strip_suffix(" connections"))?;
    let (_, connections) = threads.split_once(" threads and ")?;
    // For example, `Latency 17.51ms 61.46ms 1.04s 98.99%`: the mean, the standard deviation, the
    // maximum, and the share within one standard deviation.
    let latency: Vec<&str> = line("Latency ")?.split_whitespace().collect();
    // For example, `672831 requests in 10.07s, 154.07MB read`.
    let total = body.iter().find(|it| it.contains(" requests in "))?;
    let (requests, after) = total.split_once(" requests in ")?;
    let duration = after.split(',').next()?;
    let rate = line("Requests/sec:")?.split_whitespace().nth(1)?;
    let [mean, max, duration] = [*latency.get(1)?, *latency.get(3)?, duration].map(time);
    let failed = ["Socket errors:", "Non-2xx or 3xx responses:"].map(line);
    let errors = failed.into_iter().map(errors).sum::<u64>().to_string();
    let name = name(lines, start);
    let row = [
        name,
        connections,
        &mean,
        &max,
        requests,
        &duration,
        rate,
        &errors,
    ];
    Some(row.map(str::to_owned).to_vec())
}

/// Returns a time with the unit `min` in place of `m`, which in other documents means millions. wrk
/// prints times from 51 s in minutes, as in `1.00m` (`src/units.c`).
fn time(text: &str) -> String {
    match text.strip_suffix('m') {
        Some(minutes) => format!("{minutes} min"),
        None => text.to_owned(),
    }
}

/// Adds up the numbers in `Socket errors: connect 0, read 0, write 0, timeout 246`, or in `Non-2xx
/// or 3xx responses: 12`.
fn errors(line: Option<&str>) -> u64 {
    let words = line.unwrap_or_default().split([' ', ',']);
    words.filter_map(|word| word.parse::<u64>().ok()).sum()
}

/// Returns the last heading in the three lines before the run, or the first line of the run if
/// there is none.
fn name<'l>(lines: &[&'l str], start: usize) -> &'l str {
    let mut before = lines[..start].iter().rev().take(3);
    let heading = before.find(|it| it.starts_with('#'));
    heading.map_or(lines[start], |it| it.trim_start_matches('#').trim())
}
