//! The cost of policies. Each scenario with policies is compared with the plain proxy of the same
//! gateway, for the same requests in the same block.

pub(crate) mod chapter;
pub mod facts;
mod lines;
mod ranks;
pub mod records;

use gatebench_report::format::{counted, listed, percent, short, signed, split_quantity};
use gatebench_report::{Tone, Unit};
use gatebench_stats::comparison::CONFIDENCE;
use gatebench_stats::{Comparison, Direction, Pair, Spoiled, Verdict, difference};

use crate::common::comparisons::{Both, SMALLEST_EFFECT};
use crate::common::context::Context;
use crate::common::facts::{
    Metric, PhaseKind, PhaseLine, ScenarioFindings, Sentence, VariantRow, row_of,
};
use crate::common::spoiled;
use crate::common::spoiled::Side;
use facts::{Cost, CostFigure, CostFindings, CostLine, CostMeasure, CostRole, GatewayCosts};

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
    /// Arranges the lines and pairs the blocks; `None` if no policy has a plain proxy, or no
    /// gateway was planned.
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

    /// Returns the findings. `results` contains a result for each pair of [`Costing::members`]; the
    /// `scenarios` already contain their comparisons.
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

/// CPU time is measured at a fixed rate if there is one, and otherwise in a closed or paced load.
/// Added latency is measured only at a fixed rate, throughput per core in a closed load, and memory
/// in the last load.
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

/// The cost of policies in CPU time: an overview for each gateway, and a sentence for each policy.
pub(crate) fn sentences(costs: &CostFindings) -> Vec<Sentence> {
    let Some(measure) = costs.measures.first() else {
        return Vec::new();
    };
    let gateways = costs.gateways.iter();
    let overviews = gateways.filter_map(|gateway| {
        let (text, variant) = (overview(gateway, measure)?, Some(&*gateway.variant));
        Some(Sentence::new(Tone::Plain, text, None, variant))
    });
    let lines = costs.gateways.first().map_or(0, |it| it.lines.len());
    let policies = (0..lines).filter_map(|line| {
        let (scenario, text) = policy(costs, measure, line)?;
        Some(Sentence::new(Tone::Plain, text, Some(scenario), None))
    });
    overviews.chain(policies).collect()
}

/// An overview: `nginx takes 14.2 µs of CPU per plain request at 5,000 requests/s; 12 policy
/// scenarios add from +0.310 µs (rate-limit-never-reached) to +31.0 µs (pipeline).` Returns `None`
/// if fewer than three costs are known, because an overview would only repeat the sentences of
/// these costs.
fn overview(gateway: &GatewayCosts, measure: &CostMeasure) -> Option<String> {
    let known = |line| Some((line, cost_of(line)?.difference.effect));
    let mut known: Vec<(&CostLine, f64)> = gateway.lines.iter().filter_map(known).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(least, from), _, .., (most, to)] = known.as_slice() else {
        return None;
    };
    let mut lines = gateway.lines.iter();
    let plain = lines.find(|line| line.role == CostRole::Plain)?;
    let total = plain.figures.first()?.total.as_ref()?;
    Some(format!(
        "{} takes {} of CPU per plain request{}; {} add from {} ({}) to {} ({}).",
        gateway.variant,
        short(total.median, Unit::CpuNanosecondsPerRequest),
        at(measure),
        counted(known.len() as u64, "policy scenario"),
        signed_time(*from),
        least.scenario,
        signed_time(*to),
        most.scenario,
    ))
}

/// The cost of a policy: `api-key adds CPU time per request to proxy-json at 5,000 requests/s:
/// +1.24 µs (1.10–1.38) with reference and +0.110 µs (−0.020–0.240; no cost that matters, within ±2
/// %) with nginx.`
fn policy<'a>(
    costs: &'a CostFindings,
    measure: &CostMeasure,
    line: usize,
) -> Option<(&'a str, String)> {
    let first = costs.gateways.first()?.lines.get(line)?;
    let baseline = first.role.baseline()?;
    let costs_in_words: Vec<String> = costs
        .gateways
        .iter()
        .filter_map(|gateway| {
            let words = cost_words(cost_of(gateway.lines.get(line)?)?);
            Some(format!("{words} with {}", gateway.variant))
        })
        .collect();
    (!costs_in_words.is_empty()).then(|| {
        let text = format!(
            "{} adds CPU time per request to {baseline}{}: {}.",
            first.scenario,
            at(measure),
            listed(&costs_in_words)
        );
        (first.scenario.as_str(), text)
    })
}

fn cost_of(line: &CostLine) -> Option<&Cost> {
    line.figures.first()?.cost.as_ref()
}

fn at(measure: &CostMeasure) -> String {
    format!(" at {}", measure.load)
}

/// The cost with its interval, `+1.24 µs (1.10–1.38)`. Remarks follow if the cost does not matter,
/// if the verdict is inconclusive, or if the gateway spoiled blocks.
fn cost_words(cost: &Cost) -> String {
    let (effect, span) = signed(&cost.difference, |value| {
        split_quantity(value, Unit::CpuNanosecondsPerRequest).0
    });
    let verdict = cost.ratio.as_ref().map(|ratio| ratio.verdict);
    let within = percent(SMALLEST_EFFECT);
    let remark = match verdict {
        Some(Verdict::NoChange) => format!("; no cost that matters, within ±{within}"),
        Some(Verdict::Inconclusive { .. }) => "; inconclusive".into(),
        _ => String::new(),
    };
    let spoiled = spoiled_blocks(cost);
    let remark = match spoiled {
        0 => remark,
        count => {
            let total = counted((cost.blocks.len() + count) as u64, "block");
            format!("{remark}; the gateway spoiled {count} of {total}")
        }
    };
    let details = format!("{span}{remark}");
    match details.trim_start_matches("; ") {
        "" => format!("{effect} µs"),
        details => format!("{effect} µs ({details})"),
    }
}

/// The number of blocks that the gateway spoiled, with or without the policy.
fn spoiled_blocks(cost: &Cost) -> usize {
    let [with, plain] = [&cost.spoiled.candidate, &cost.spoiled.baseline].map(|it| &it.blocks);
    with.len() + plain.iter().filter(|it| !with.contains(it)).count()
}

fn signed_time(value_ns: f64) -> String {
    let sign = if value_ns < 0.0 { "−" } else { "+" };
    sign.to_owned() + &short(value_ns.abs(), Unit::CpuNanosecondsPerRequest)
}
