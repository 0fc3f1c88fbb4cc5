//! The costs of policies: one record per gateway, scenario and measure.

use gatebench_report::chapter::{Block, Chapter, Document, Forms, Report};
use gatebench_report::csv::{field, name_of, suffix};
use gatebench_report::{Validity, verdicts};
use gatebench_stats::{Estimate, Interval};

use super::facts::{Cost, CostFigure, CostFindings, CostLine, CostMeasure, GatewayCosts};

const HEAD: &str = "gateway,scenario,baseline,policies,phase,metric,total_median,total_min,total_max,\
     total_rank,cost,cost_low,cost_high,cost_rank,ratio,ratio_low,ratio_high,confidence,blocks,verdict,validity";

/// The costs of policies as records; empty if no policy has a plain proxy.
pub struct CostRecords<'a>(pub Option<&'a CostFindings>);

impl Report for CostRecords<'_> {
    fn document(&self, form: Forms) -> Document {
        let mut records = Vec::new();
        if let Some(costs) = self.0 {
            for gateway in &costs.gateways {
                for line in &gateway.lines {
                    let figures = costs.measures.iter().zip(&line.figures);
                    let record = |(measure, figure)| record(gateway, line, measure, figure);
                    records.extend(figures.map(record));
                }
            }
        }
        let chapter = Chapter::of(vec![Block::records(HEAD, records)]);
        Document {
            chapters: vec![chapter.only(form)],
            ..Document::default()
        }
    }
}

fn record(
    gateway: &GatewayCosts,
    line: &CostLine,
    measure: &CostMeasure,
    figure: &CostFigure,
) -> Vec<String> {
    let total = figure.total.as_ref();
    let total = |of: fn(&Estimate) -> f64| optional(total.map(of));
    let cost = figure.cost.as_ref();
    let mut record = vec![
        field(&gateway.variant),
        field(&line.scenario),
        field(line.role.baseline().unwrap_or_default()),
        field(&line.policies.join(" ")),
        field(&measure.phase),
        format!("{}_{}", name_of(&measure.metric), suffix(measure.unit)),
        total(|it| it.median),
        total(|it| it.min),
        total(|it| it.max),
        optional(figure.rank),
    ];
    record.extend(cost_fields(cost));
    let validity = cost.map(|it| it.validity).or(figure.validity);
    record.push(optional(validity.map(Validity::word)));
    record
}

fn cost_fields(cost: Option<&Cost>) -> [String; 10] {
    let Some(cost) = cost else {
        return Default::default();
    };
    let (low, high) = cost.difference.span();
    let ratio = cost.ratio.as_ref();
    let interval = ratio.and_then(|ratio| ratio.interval);
    let end = |of: fn(Interval) -> f64| optional(interval.map(of));
    [
        cost.difference.effect.to_string(),
        low.to_string(),
        high.to_string(),
        optional(cost.rank),
        optional(ratio.map(|ratio| ratio.ratio)),
        end(|it| it.low),
        end(|it| it.high),
        end(|it| it.confidence),
        cost.blocks.len().to_string(),
        optional(ratio.map(|ratio| verdicts::word(ratio.verdict))),
    ]
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
