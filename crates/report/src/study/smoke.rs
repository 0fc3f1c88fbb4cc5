//! A run that was only to see that everything works: scenario by scenario whether it does, and no
//! speeds.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{Gate, RowStatus, ScenarioFindings, VariantRow};

use crate::chapter::{Chapter, Entry, Head, Line, Lines, Text};
use crate::text::distinct;

/// The chapter.
pub fn chapter(findings: &Findings) -> Chapter {
    let rows = findings.scenarios.iter().flat_map(|it| &it.rows);
    let variants = distinct(rows.map(|row| &*row.variant));
    let cell = |scenario: &ScenarioFindings, variant: &str| {
        let row = scenario.rows.iter().find(|row| row.variant == variant)?;
        let is_planned = row.status != RowStatus::Missing
            || (findings.missing.iter())
                .any(|it| it.scenario == scenario.name && it.variant == variant);
        is_planned.then(|| word(row))
    };
    let line = |scenario: &ScenarioFindings| {
        // A gateway that answers by itself has no direct variant, which was not to be run.
        let cell = |variant: &&str| cell(scenario, variant).unwrap_or_else(|| "–".into());
        Line {
            name: scenario.name.as_str().into(),
            cells: variants.iter().map(cell).map(Entry::from).collect(),
            ..Line::default()
        }
    };
    let lines = Lines {
        heads: Head::numbers("", variants.iter().copied()),
        lines: findings.scenarios.iter().map(line).collect(),
        ..Lines::default()
    };
    Chapter {
        blocks: vec![lines.into()],
        ..Chapter::default()
    }
}

fn word(row: &VariantRow) -> Text {
    let failing = [
        Gate::ChecksFailed,
        Gate::RequestErrors,
        Gate::NoAnswers,
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
