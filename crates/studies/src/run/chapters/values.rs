//! Every value of every block, except those of the null gateway: a record for each scenario,
//! variant, phase, metric and block.

use gatebench_report::chapter::{Block, Chapter};
use gatebench_report::csv::{field, name_of, suffix};

use crate::Findings;

const HEAD: &str = "scenario,variant,phase,load,metric,block,trial,value,validity";

pub fn chapter(findings: &Findings) -> Chapter {
    let mut records = Vec::new();
    for scenario in &findings.scenarios {
        for row in &scenario.rows {
            for metric in &row.metrics {
                for block in &metric.blocks {
                    records.push(vec![
                        field(&scenario.name),
                        field(&row.variant),
                        field(&metric.phase),
                        name_of(&metric.kind).replace('_', "-"),
                        format!("{}_{}", name_of(&metric.metric), suffix(metric.unit)),
                        block.block.to_string(),
                        block.trial.to_string(),
                        block.value.to_string(),
                        block.validity.word().to_owned(),
                    ]);
                }
            }
        }
    }
    Chapter::of(vec![Block::records(HEAD, records)])
}
