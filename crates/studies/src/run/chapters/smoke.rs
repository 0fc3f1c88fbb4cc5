//! The report of a smoke run: whether each scenario works, without speed figures.

use gatebench_report::chapter::{Chapter, Entry, Head, Line, Lines, Text};
use gatebench_report::format::distinct;

use crate::Findings;
use crate::common::facts::{Gate, RowStatus, ScenarioFindings, VariantRow};

/// Shows a word for each scenario and variant, such as `works` or `failed`.
pub fn chapter(findings: &Findings) -> Chapter {
    let rows = findings.scenarios.iter().flat_map(|it| &it.rows);
    let variants = distinct(rows.map(|row| &*row.variant));
    let cell = |scenario: &ScenarioFindings, variant: &str| {
        let row = scenario.row(variant)?;
        let is_planned = row.status != RowStatus::Missing
            || (findings.missing.iter())
                .any(|it| it.scenario == scenario.name && it.variant == variant);
        is_planned.then(|| word(row))
    };
    let line = |scenario: &ScenarioFindings| {
        // The direct variant has no trials where the gateway itself serves some requests.
        let cell = |variant: &&str| cell(scenario, variant).unwrap_or_else(|| "–".into());
        let cells = variants.iter().map(cell).map(Entry::from).collect();
        Line::new(&*scenario.name, cells)
    };
    let heads = Head::numbers("", variants.iter().copied());
    let lines = Lines::new("", heads, findings.scenarios.iter().map(line));
    Chapter::of(vec![lines.into()])
}

fn word(row: &VariantRow) -> Text {
    let failing = [
        Gate::ChecksFailed,
        Gate::RequestErrors,
        Gate::NoResponses,
        Gate::ParityLost,
        Gate::GatewayRestarted,
        Gate::NotCompleted,
    ];
    match row.status {
        RowStatus::NotSupported { .. } => Text::chip("limited", "not supported"),
        RowStatus::Failed => Text::chip("failed", "failed"),
        RowStatus::Missing => Text::chip("failed", "missing"),
        RowStatus::Measured if row.reasons.iter().any(|it| failing.contains(&it.gate)) => {
            Text::chip("failed", "failed")
        }
        RowStatus::Measured => Text::chip("passed", "works"),
    }
}
