//! A comparison of runs on a terminal.

use gatebench_analysis::findings::{CompareFindings, Decision, Weight};

use super::{explanation, role, row, scenarios, shown, title, weight};
use crate::TerminalOptions;
use crate::terminal::sheet::Sheet;
use crate::terminal::style::Style;

/// Writes the comparison, with a line break at the end.
pub fn render(found: &CompareFindings, options: TerminalOptions) -> String {
    let mut sheet = Sheet::new(options);
    sheet.heading(&format!("gatebench compare · {}", title(found)));
    let style = match found.decision {
        Decision::Fine => Style::Good,
        Decision::Worse => Style::Bad,
        Decision::Open => Style::Fair,
    };
    sheet.item("  ● ", style, &found.text);
    for note in &found.notes {
        sheet.item("  ! ", Style::Fair, &note.text);
    }
    differences(&mut sheet, found);
    for scenario in scenarios(found) {
        sheet.blank();
        sheet.heading(scenario);
        let cells: Vec<Vec<String>> = found
            .cells
            .iter()
            .filter(|cell| cell.scenario == scenario)
            .map(|cell| {
                let words = row(cell, found.mode);
                let role = match role(cell.control) {
                    "" => words.gateway,
                    role => format!("{} ({role})", words.gateway),
                };
                let ratio = match words.interval.as_str() {
                    "" => words.ratio,
                    interval => format!("{} ({interval})", words.ratio),
                };
                let verdict = words.verdict.to_owned();
                vec![
                    role,
                    words.metric,
                    words.baseline,
                    words.candidate,
                    ratio,
                    verdict,
                ]
            })
            .collect();
        let heads = [
            "gateway",
            "metric",
            "baseline",
            "candidate",
            "ratio",
            "verdict",
        ];
        sheet.table(&heads, &cells);
    }
    if !found.cells.is_empty() {
        sheet.blank();
        sheet.soft(explanation(found.mode));
    }
    sheet.finish()
}

fn differences(sheet: &mut Sheet, found: &CompareFindings) {
    if found.differences.is_empty() {
        return;
    }
    sheet.blank();
    sheet.heading("What differs besides the figures");
    for it in &found.differences {
        let (lead, style) = match it.weight {
            Weight::Forbids => ("  ✗ ", Style::Bad),
            Weight::LeavesOut | Weight::Caution => ("  ! ", Style::Fair),
            Weight::Subject => ("  ● ", Style::Strong),
            Weight::Told => ("  · ", Style::Soft),
        };
        let words = format!(
            "{}: {} → {} ({})",
            it.what,
            shown(&it.baseline),
            shown(&it.candidate),
            weight(it.weight)
        );
        sheet.item(lead, style, &words);
    }
}
