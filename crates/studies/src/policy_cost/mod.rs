//! The cost of policies. Each scenario with policies is compared with the same gateway's plain
//! proxy of the same requests, in the same block.

pub(crate) mod chapter;
pub mod facts;
mod lines;
mod ranks;
pub mod records;
mod text;

use gatebench_stats::comparison::CONFIDENCE;
use gatebench_stats::{Comparison, Direction, Pair, Spoiled, difference};

use crate::common::comparisons::Both;
use crate::common::context::Context;
use crate::common::facts::{Metric, PhaseKind, PhaseLine, ScenarioFindings, VariantRow, row_of};
use crate::common::spoiled;
use crate::common::spoiled::Side;
use facts::{Cost, CostFigure, CostFindings, CostLine, CostMeasure, GatewayCosts};

pub(crate) use text::sentences;

/// The costs of a run before they are judged.
pub(crate) struct Costing {
    measures: Vec<CostMeasure>,
    gateways: Vec<GatewayCosts>,
    cells: Vec<Cell>,
}

/// A policy and its plain proxy on one gateway, in one measure.
struct Cell {
    /// The indexes of gateway, line and measure.
    place: (usize, usize, usize),
    both: Both,
}

impl Costing {
    /// Arranges the lines and pairs the blocks; none if no policy has a plain proxy, or no gateway
    /// was planned.
    pub(crate) fn of(context: &Context, scenarios: &[ScenarioFindings]) -> Option<Self> {
        let placed = lines::of_plan(context.plan)?;
        let measures = measures(&scenarios.first()?.phases);
        let mut costing = Self {
            measures,
            gateways: Vec::new(),
            cells: Vec::new(),
        };
        for label in context.gateways() {
            costing.add_gateway(label, &placed, scenarios);
        }
        (!costing.gateways.is_empty()).then_some(costing)
    }

    fn add_gateway(&mut self, label: &str, placed: &[CostLine], scenarios: &[ScenarioFindings]) {
        let row = |name: &str| row_of(scenarios, name, label);
        let mut lines = Vec::new();
        for line in placed {
            let Some(own) = row(&line.scenario) else {
                continue;
            };
            if let Some(base) = line.role.baseline().and_then(row) {
                self.add_cells(self.gateways.len(), lines.len(), own, base);
            }
            lines.push(CostLine {
                status: own.status.clone(),
                figures: self.measures.iter().map(|it| total(own, it)).collect(),
                ..line.clone()
            });
        }
        self.gateways.push(GatewayCosts {
            variant: label.to_owned(),
            lines,
        });
    }

    fn add_cells(&mut self, gateway: usize, line: usize, own: &VariantRow, base: &VariantRow) {
        for (index, measure) in self.measures.iter().enumerate() {
            let [with, plain] = [own, base].map(|row| Side {
                row,
                values: row.metric_in(&measure.phase, measure.metric),
            });
            let (phase, metric) = (&measure.phase, measure.metric);
            let both = Both::of(with, plain, phase, metric, measure.direction);
            if !both.blocks.is_empty() {
                let place = (gateway, line, index);
                self.cells.push(Cell { place, both });
            }
        }
    }

    /// The pairs to judge, in the order in which [`Costing::findings`] expects the results.
    pub(crate) fn members(&self) -> impl Iterator<Item = (Pair, Spoiled)> {
        let all = self.cells.iter().map(|cell| &cell.both);
        all.map(|both| (both.pair.clone(), spoiled::counts(&both.spoiled)))
    }

    /// The findings, from a result for each of the pairs and from the compared `scenarios`.
    pub(crate) fn findings(
        mut self,
        results: impl Iterator<Item = Option<Comparison>>,
        seed: u64,
        scenarios: &[ScenarioFindings],
    ) -> CostFindings {
        for (number, (cell, ratio)) in (1..).zip(self.cells.into_iter().zip(results)) {
            let (gateway, line, measure) = cell.place;
            let figure = &mut self.gateways[gateway].lines[line].figures[measure];
            figure.cost = cost(cell.both, ratio, seed.wrapping_add(number));
        }
        ranks::add(&self.measures, &mut self.gateways, scenarios);
        CostFindings {
            measures: self.measures,
            gateways: self.gateways,
        }
    }
}

fn cost(both: Both, ratio: Option<Comparison>, seed: u64) -> Option<Cost> {
    let interval = ratio.as_ref().and_then(|ratio| ratio.interval);
    // Ratio and difference describe the same comparison, so they share its confidence.
    let confidence = interval.map_or(CONFIDENCE, |interval| interval.confidence);
    Some(Cost {
        difference: difference(&both.pair.baseline, &both.pair.candidate, confidence, seed)?,
        ratio,
        blocks: both.blocks,
        validity: both.validity,
        spoiled: both.spoiled,
        rank: None,
    })
}

/// CPU time and latencies are measured at a fixed rate, if there is one; memory is measured in the
/// last load, after all others.
fn measures(phases: &[PhaseLine]) -> Vec<CostMeasure> {
    use Direction::{HigherIsBetter, LowerIsBetter};
    let first = |kind| phases.iter().find(|phase| phase.kind == kind);
    let (open, closed) = (first(PhaseKind::Open), first(PhaseKind::Closed));
    let wanted = [
        (
            open.or(closed).or(first(PhaseKind::Paced)),
            Metric::GatewayCpuPerRequest,
            LowerIsBetter,
        ),
        (open, Metric::AddedP50, LowerIsBetter),
        (open, Metric::AddedP99, LowerIsBetter),
        (closed, Metric::ThroughputPerCore, HigherIsBetter),
        (phases.last(), Metric::GatewayRssAnonMax, LowerIsBetter),
    ];
    let measure = |(phase, metric, direction): (Option<&PhaseLine>, _, _)| {
        let phase = phase?;
        Some(CostMeasure {
            metric,
            unit: metric.unit(),
            phase: phase.name.clone(),
            kind: phase.kind,
            load: phase.load().to_owned(),
            direction,
        })
    };
    wanted.into_iter().filter_map(measure).collect()
}

fn total(row: &VariantRow, measure: &CostMeasure) -> CostFigure {
    let found = row.metric_in(&measure.phase, measure.metric);
    CostFigure {
        total: found.and_then(|found| found.estimate.clone()),
        validity: found.map(|found| found.validity),
        rank: None,
        cost: None,
    }
}
