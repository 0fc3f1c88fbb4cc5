//! Every value of every block as comma-separated values (RFC 4180), one row per scenario, variant,
//! phase, metric and block. The name of a metric ends with its unit, so that a pivoted table has
//! the units in the names of its columns.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{
    BlockValue, MetricFindings, PhaseKind, ScenarioFindings, Unit, VariantRow,
};
use serde::Serialize;

use crate::problems::word;

const HEAD: &str = "scenario,variant,phase,load,metric,block,trial,value,validity\n";

/// Writes the table with its head.
pub fn render(findings: &Findings) -> String {
    let mut text = String::from(HEAD);
    for scenario in &findings.scenarios {
        for row in &scenario.rows {
            for metric in &row.metrics {
                for block in &metric.blocks {
                    text.push_str(&line(scenario, row, metric, block));
                }
            }
        }
    }
    text
}

fn line(
    scenario: &ScenarioFindings,
    row: &VariantRow,
    metric: &MetricFindings,
    block: &BlockValue,
) -> String {
    let load = match metric.kind {
        PhaseKind::Closed => "closed",
        PhaseKind::Paced => "paced",
        PhaseKind::Open => "open",
        PhaseKind::SideBySide => "side-by-side",
    };
    let fields = [
        field(&scenario.name),
        field(&row.variant),
        field(&metric.phase),
        load.into(),
        format!("{}_{}", name_of(&metric.metric), suffix(metric.unit)),
        block.block.to_string(),
        block.trial.to_string(),
        block.value.to_string(),
        word(block.validity).into(),
    ];
    format!("{}\n", fields.join(","))
}

/// The name that the value has in JSON.
pub(crate) fn name_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

pub(crate) fn suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds | Unit::CpuNanosecondsPerRequest => "ns",
        Unit::RequestsPerSecond => "per_second",
        Unit::Bytes => "bytes",
        Unit::BitsPerSecond => "bits_per_second",
        Unit::Cores => "cores",
        Unit::Ratio => "ratio",
        Unit::Count => "count",
    }
}

/// Quotes a field where it needs it. A name that a spreadsheet would take for a formula is set
/// behind an apostrophe.
pub(crate) fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula {
        format!("'{text}")
    } else {
        text.into()
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(field("nginx"), "nginx");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(field("=1+1"), "'=1+1");
    }
}
