//! The distribution of response times, as bars over a logarithmic scale.

use gatebench_report::Unit;
use gatebench_report::chapter::{Block, Chapter, Head, Line, Lines, TERMINAL};
use gatebench_report::format::{grouped, quantity};

use super::headed;
use crate::commands::load::figures::Times;
use crate::commands::load::judged::percent;
use crate::commands::load::results::Results;

const ROWS: u32 = 12;
/// The minimum ratio of the upper to the lower edge of a row, so that similar times take few rows.
const STEP_MIN: f64 = 1.1;
/// The shortest time on the scale. Times below it come from connections that were found closed, not
/// from responses.
const LOWEST_NS: u64 = 1_000;
/// A bar of zero to seven eighths of a column.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/// The length of the longest bar, in columns.
const BAR: usize = 20;

/// The requests that took at most `to_ns`, but longer than the previous row's `to_ns`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    to_ns: f64,
    count: u64,
}

pub fn chapter(results: &Results<'_>) -> Chapter {
    let times = &results.figures.response;
    let rows = rows(times);
    if rows.len() < 2 {
        return Chapter::default();
    }
    let greatest = rows.iter().map(|row| row.count).max().unwrap_or(0);
    let cells = |row: &Row| {
        [
            quantity(row.to_ns, Unit::Nanoseconds),
            bar(row.count as f64 / greatest as f64, row.count > 0),
            grouped(row.count as f64),
            percent(row.count as f64 / times.count() as f64),
        ]
    };
    let rows: Vec<[String; 4]> = rows.iter().map(cells).collect();
    let count = format!("{}s", results.unit());
    let heads = ["up to", "", &count, "share"].map(str::to_owned);
    let lines = std::iter::once(&heads).chain(&rows).map(brief);
    let brief = Lines::new("Distribution", Vec::new(), lines);
    let heads = Head::row(&format!("up to |> {count} |> share |"));
    let lines = Lines::new("Distribution", heads, rows.iter().map(line));
    let blocks = vec![
        Block::from(brief).on(TERMINAL),
        Block::from(lines).on(!TERMINAL),
    ];
    headed("Distribution", "distribution", blocks)
}

/// Builds a line for the terminal, with the numbers after the bar.
fn brief(row: &[String; 4]) -> Line {
    let [up_to, bar, count, share] = row;
    let cells = vec![
        format!("{bar:BAR$}").into(),
        format!("{count:>12}").into(),
        format!("{share:>9}").into(),
    ];
    Line::brief(format!("{up_to:>10}"), cells)
}

fn line(row: &[String; 4]) -> Line {
    let [up_to, bar, count, share] = row.clone();
    Line::new(up_to, vec![count.into(), share.into(), bar.into()])
}

fn rows(times: &Times) -> Vec<Row> {
    let Some(recording) = times.recording() else {
        return Vec::new();
    };
    let [min, max] = [recording.min_ns, recording.max_ns].map(|ns| ns.max(LOWEST_NS) as f64);
    let count = ((max / min).ln() / STEP_MIN.ln()).floor();
    let count = count.clamp(1.0, f64::from(ROWS));
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

/// Draws a bar whose length is a share of the columns. A count above zero always has a visible bar.
fn bar(share: f64, is_there: bool) -> String {
    let eighths = (share * BAR as f64 * 8.0).round() as usize;
    let eighths = eighths.max(usize::from(is_there));
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(1.0, true), "█".repeat(BAR));
        assert_eq!(bar(0.525, true), format!("{}▌", "█".repeat(10)));
        assert_eq!(bar(0.0001, true), "▏");
        assert_eq!(bar(0.0, false), "");
    }
}
