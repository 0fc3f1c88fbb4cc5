//! Every value of every block: one record per scenario, variant, phase, metric and block.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{
    BlockValue, MetricFindings, PhaseKind, ScenarioFindings, VariantRow,
};

use crate::chapter::{Block, Chapter};
use crate::csv::{field, name_of, suffix};
use crate::problems::word;

const HEAD: [&str; 9] = [
    "scenario", "variant", "phase", "load", "metric", "block", "trial", "value", "validity",
];

/// The chapter.
pub fn chapter(findings: &Findings) -> Chapter {
    let mut records = Vec::new();
    for scenario in &findings.scenarios {
        for row in &scenario.rows {
            for metric in &row.metrics {
                for block in &metric.blocks {
                    records.push(record(scenario, row, metric, block).into());
                }
            }
        }
    }
    Chapter {
        blocks: vec![Block::records(&HEAD, records)],
        ..Chapter::default()
    }
}

fn record(
    scenario: &ScenarioFindings,
    row: &VariantRow,
    metric: &MetricFindings,
    block: &BlockValue,
) -> [String; HEAD.len()] {
    let load = match metric.kind {
        PhaseKind::Closed => "closed",
        PhaseKind::Paced => "paced",
        PhaseKind::Open => "open",
        PhaseKind::SideBySide => "side-by-side",
    };
    [
        field(&scenario.name),
        field(&row.variant),
        field(&metric.phase),
        load.into(),
        format!("{}_{}", name_of(&metric.metric), suffix(metric.unit)),
        block.block.to_string(),
        block.trial.to_string(),
        block.value.to_string(),
        word(block.validity).into(),
    ]
}
