//! Parses siege output that a document quotes. Each run becomes a row.

use crate::table::Table;

/// The names that siege prints, each with the heading for its column. `Concurrency` is left out,
/// because siege measures it rather than repeating the configured number of users.
const FIGURES: [(&str, &str); 6] = [
    ("Transactions:", "Requests"),
    ("Elapsed time:", "Duration"),
    ("Response time:", "Response time"),
    ("Transaction rate:", "Transaction rate"),
    ("Failed transactions:", "Failed"),
    ("Longest transaction:", "Longest"),
];

pub(super) fn table(text: &str) -> Option<Table> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let starts = (0..lines.len()).filter(|at| lines[*at].starts_with("Transactions:"));
    let rows = starts.filter_map(|start| Some((start + 1, run(&lines, start)?)));
    let rows: Vec<(usize, Vec<String>)> = rows.collect();
    let headings = [&["Command", "Connections"][..], &FIGURES.map(|it| it.1)[..]].concat();
    (!rows.is_empty()).then(|| Table::of("what siege printed", &headings, rows))
}

fn run(lines: &[&str], start: usize) -> Option<Vec<String>> {
    let body = &lines[start..lines.len().min(start + 12)];
    let mut before = lines[..start].iter().rev().take(12);
    let command = before.find(|it| it.contains("siege -")).copied();
    let words: Vec<&str> = command.unwrap_or_default().split_whitespace().collect();
    let option = words.iter().position(|it| *it == "-c");
    let connections = option.and_then(|at| words.get(at + 1)).copied();
    let target = words.last().copied();
    let mut row = vec![
        target.unwrap_or("siege").to_owned(),
        connections.unwrap_or_default().to_owned(),
    ];
    for (name, _) in FIGURES {
        let text = body.iter().find_map(|it| it.strip_prefix(name))?.trim();
        // A longest time without a unit is in seconds.
        let is_bare = name.starts_with("Longest") && text.parse::<f64>().is_ok();
        row.push(format!("{text}{}", if is_bare { " secs" } else { "" }));
    }
    Some(row)
}
