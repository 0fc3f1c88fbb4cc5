//! The distribution of response times in bars over a logarithmic scale.

use gatebench_report::Unit;
use gatebench_report::format::{grouped, quantity};
use gatebench_report::load::WordTable;

use crate::commands::load::figures::Times;
use crate::commands::load::judged::percent;
use crate::commands::load::results::Results;

/// Bars at the most.
const ROWS: u32 = 12;
/// A row is at least this many times its lower edge wide, so that equal times do not fill the
/// screen.
const STEP_MIN: f64 = 1.1;
/// Shorter times are not responses, but connections that were found closed.
const LOWEST_NS: u64 = 1_000;
/// Eighths of a column.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/// Columns before and after the bar.
const BESIDES: usize = 40;

/// Requests whose response took up to `to_ns`, and longer than the row before.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    to_ns: f64,
    count: u64,
}

/// The bars.
pub fn table(results: &Results<'_>, width: usize) -> WordTable {
    let times = &results.figures.response;
    let rows = rows(times);
    let greatest = rows.iter().map(|row| row.count).max().unwrap_or(0);
    if rows.len() < 2 {
        return WordTable::default();
    }
    let all = times.count() as f64;
    let room = width.saturating_sub(BESIDES);
    let line = |row: &Row| {
        let bar = bar(row.count as f64 / greatest as f64, room, row.count > 0);
        vec![
            format!("{:>10}", quantity(row.to_ns, Unit::Nanoseconds)),
            format!("{bar:room$}"),
            format!("{:>12}", grouped(row.count as f64)),
            format!("{:>10}", percent(row.count as f64 / all)),
        ]
    };
    let head = vec![
        format!("{:>10}", "up to"),
        String::new(),
        format!("{:>12}", format!("{}s", results.unit())),
        format!("{:>10}", "share"),
    ];
    WordTable {
        title: "Distribution",
        rows: std::iter::once(head).chain(rows.iter().map(line)).collect(),
        ..WordTable::default()
    }
}

fn rows(times: &Times) -> Vec<Row> {
    let Some(recording) = times.recording() else {
        return Vec::new();
    };
    let (min, max) = (
        recording.min_ns.max(LOWEST_NS) as f64,
        recording.max_ns.max(LOWEST_NS) as f64,
    );
    let count = ((max / min).ln() / STEP_MIN.ln())
        .floor()
        .clamp(1.0, f64::from(ROWS));
    let step = (max / min).powf(1.0 / count);
    let edges = (1..=count as i32).map(|row| min * step.powi(row));
    let mut rows: Vec<Row> = edges.map(|to_ns| Row { to_ns, count: 0 }).collect();
    for bucket in recording.histogram.iter_recorded() {
        let value = bucket.value_iterated_to() as f64;
        let last = rows.len() - 1;
        let at = rows.partition_point(|row| row.to_ns < value).min(last);
        rows[at].count += bucket.count_since_last_iteration();
    }
    rows
}

/// A bar over a share of the columns; a count above zero always has one.
fn bar(share: f64, columns: usize, is_there: bool) -> String {
    let eighths = (share * columns as f64 * 8.0).round() as usize;
    let eighths = eighths.max(usize::from(is_there));
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(1.0, 3, true), "███");
        assert_eq!(bar(0.5, 3, true), "█▌");
        assert_eq!(bar(0.0001, 3, true), "▏");
        assert_eq!(bar(0.0, 3, false), "");
    }
}
