//! A history on a terminal.

use gatebench_analysis::findings::{HistoryFindings, SeriesFindings, Tone};
use gatebench_analysis::words::metric_title;

use super::EXPLANATION;
use crate::TerminalOptions;
use crate::number::Scale;
use crate::terminal::sheet::Sheet;
use crate::terminal::style::Style;

/// Runs that a line of bars shows: the latest.
const BARS_MAX: usize = 12;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Writes the history, with a line break at the end.
pub fn render(found: &HistoryFindings, options: TerminalOptions) -> String {
    let mut sheet = Sheet::new(options);
    sheet.heading(&format!("gatebench history · {} runs", found.runs.len()));
    for sentence in &found.headlines {
        let (lead, style) = match sentence.tone {
            Tone::Plain => ("  • ", Style::Good),
            Tone::Caution => ("  ! ", Style::Fair),
            Tone::Alarm => ("  ✗ ", Style::Bad),
        };
        sheet.item(lead, style, &sentence.text);
    }
    for run in &found.runs {
        if let Some(why) = &run.left_out {
            sheet.item(
                "  · ",
                Style::Soft,
                &format!("{} is left out: {why}.", run.dir),
            );
        }
    }
    let mut scenario = None;
    let mut rows = Vec::new();
    for series in &found.series {
        if scenario != Some(&series.scenario) {
            table(&mut sheet, scenario, &mut rows);
            scenario = Some(&series.scenario);
        }
        rows.push(row(series));
    }
    table(&mut sheet, scenario, &mut rows);
    sheet.blank();
    sheet.soft(EXPLANATION);
    sheet.finish()
}

fn table(sheet: &mut Sheet, scenario: Option<&String>, rows: &mut Vec<Vec<String>>) {
    let Some(scenario) = scenario else { return };
    sheet.blank();
    sheet.heading(scenario);
    let heads = [
        "gateway", "metric", "load", "runs", "first", "last", "", "changes",
    ];
    sheet.table(&heads, rows);
    rows.clear();
}

fn row(series: &SeriesFindings) -> Vec<String> {
    let value = |point: Option<&gatebench_analysis::findings::SeriesPoint>| {
        point.map_or_else(String::new, |it| {
            Scale::of(it.value, series.unit).full(it.value)
        })
    };
    vec![
        series.gateway.clone(),
        metric_title(series.metric).to_owned(),
        series.load.clone(),
        series.points.len().to_string(),
        value(series.points.first()),
        value(series.points.last()),
        bars(series),
        if series.searched {
            series.changes.len().to_string()
        } else {
            "–".into()
        },
    ]
}

/// The latest runs as bars between the smallest and the largest of them.
fn bars(series: &SeriesFindings) -> String {
    let begin = series.points.len().saturating_sub(BARS_MAX);
    let values: Vec<f64> = series.points[begin..].iter().map(|it| it.value).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = |value: &f64| {
        let share = if high > low {
            (value - low) / (high - low)
        } else {
            0.0
        };
        BARS[(share * (BARS.len() - 1) as f64).round() as usize]
    };
    values.iter().map(height).collect()
}
