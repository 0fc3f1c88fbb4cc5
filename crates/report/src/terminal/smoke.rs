//! A run that was only to see that everything works: scenario by scenario whether it does, and no speeds.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{Gate, RowStatus, VariantRow};

use super::style::{Paint, Style};
use crate::text;

const GAP: usize = 2;

/// What was not to be run: a gateway that answers by itself has no floor.
const NONE: (&str, Style) = ("–", Style::Soft);

/// The lines: a head of variants, and one for each scenario.
pub fn lines(findings: &Findings, columns: usize, paint: Paint) -> Vec<String> {
    let all = || findings.scenarios.iter().flat_map(|it| &it.rows);
    let mut variants: Vec<&str> = Vec::new();
    for row in all() {
        if !variants.contains(&row.variant.as_str()) {
            variants.push(&row.variant);
        }
    }
    let words = all().map(|row| text::width(word(row).0));
    let names = variants.iter().map(|name| text::width(name));
    let width = words.chain(names).max().unwrap_or(0) + GAP;
    let scenarios = findings.scenarios.iter().map(|it| text::width(&it.name));
    let room = columns.saturating_sub(width * variants.len());
    let name_width = scenarios.max().unwrap_or(0).min(room);
    let head: String = variants
        .iter()
        .map(|name| text::pad_start(name, width))
        .collect();
    let head = format!("{}{head}", " ".repeat(name_width));
    let mut lines = vec![String::new(), paint.with(Style::Soft, &head)];
    for scenario in &findings.scenarios {
        let name = text::truncate(&scenario.name, name_width);
        let mut line = text::pad_end(&name, name_width);
        for variant in &variants {
            let row = scenario.rows.iter().find(|row| row.variant == *variant);
            let is_planned = |row: &&VariantRow| {
                row.status != RowStatus::Missing
                    || (findings.missing.iter())
                        .any(|it| it.scenario == scenario.name && it.variant == row.variant)
            };
            let (word, style) = row.filter(is_planned).map_or(NONE, word);
            line += &paint.with(style, &text::pad_start(word, width));
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

fn word(row: &VariantRow) -> (&'static str, Style) {
    let failing = [
        Gate::ChecksFailed,
        Gate::RequestErrors,
        Gate::NoAnswers,
        Gate::ParityLost,
        Gate::GatewayRestarted,
        Gate::NotCompleted,
    ];
    match row.status {
        RowStatus::NotSupported { .. } => ("not supported", Style::Fair),
        RowStatus::Failed => ("failed", Style::Bad),
        RowStatus::Missing => ("missing", Style::Bad),
        RowStatus::Measured if row.reasons.iter().any(|it| failing.contains(&it.gate)) => {
            ("failed", Style::Bad)
        }
        RowStatus::Measured => ("works", Style::Good),
    }
}
