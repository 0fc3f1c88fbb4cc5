//! Ranks gateways by the total cost of a scenario, and by the cost that a policy adds. Ranks depend
//! on the intervals of verdicts, so they need ten blocks.

use gatebench_report::Validity;
use gatebench_stats::{Direction, Verdict, ranks, ranks_by};

use super::facts::{CostFigure, CostMeasure, GatewayCosts};
use crate::common::facts::ScenarioFindings;

pub(super) fn add(
    measures: &[CostMeasure],
    gateways: &mut [GatewayCosts],
    scenarios: &[ScenarioFindings],
) {
    let lines = gateways.iter().map(|gateway| gateway.lines.len()).min();
    for line in 0..lines.unwrap_or(0) {
        for (index, measure) in measures.iter().enumerate() {
            let totals = totals(gateways, line, index, measure, scenarios);
            let costs = gateways
                .iter()
                .map(|it| cost(&it.lines[line].figures[index]));
            let costs = by_intervals(costs.collect(), measure.direction);
            for (gateway, (total, cost)) in gateways.iter_mut().zip(totals.into_iter().zip(costs)) {
                let figure = &mut gateway.lines[line].figures[index];
                figure.rank = total;
                if let Some(own) = &mut figure.cost {
                    own.rank = cost;
                }
            }
        }
    }
}

/// The rank of each total, by the verdicts between gateways; `None` for a gateway without a usable
/// total or a comparison, and if fewer than two gateways have both.
fn totals(
    gateways: &[GatewayCosts],
    line: usize,
    index: usize,
    measure: &CostMeasure,
    scenarios: &[ScenarioFindings],
) -> Vec<Option<usize>> {
    let own = gateways.first().map(|it| &it.lines[line].scenario);
    let scenario = scenarios.iter().find(|it| Some(&it.name) == own);
    let verdicts: Vec<(&str, &str, Verdict)> = scenario
        .into_iter()
        .flat_map(|scenario| &scenario.comparisons)
        .filter(|it| it.metric == measure.metric && it.phase == measure.phase)
        .map(|it| (&*it.candidate, &*it.baseline, it.result.verdict))
        .collect();
    let is_compared = |at: &usize| {
        let gateway = &gateways[*at];
        let figure = &gateway.lines[line].figures[index];
        let mut pairs = verdicts.iter().map(|(own, other, _)| [own, other]);
        figure.total.is_some()
            && figure.validity != Some(Validity::Invalid)
            && pairs.any(|pair| pair.contains(&&gateway.variant.as_str()))
    };
    let known: Vec<usize> = (0..gateways.len()).filter(is_compared).collect();
    let is_ahead = |a: usize, b: usize| {
        let [a, b] = [a, b].map(|at| gateways[known[at]].variant.as_str());
        verdicts.contains(&(a, b, Verdict::Better)) || verdicts.contains(&(b, a, Verdict::Worse))
    };
    let mut ranks = vec![None; gateways.len()];
    if known.len() > 1 {
        for (at, rank) in known.iter().zip(ranks_by(known.len(), is_ahead)) {
            ranks[*at] = Some(rank);
        }
    }
    ranks
}

/// The interval of a cost; `None` if the cost has no interval, or if the gateway spoiled a block.
fn cost(figure: &CostFigure) -> Option<(f64, f64)> {
    let cost = figure.cost.as_ref().filter(|it| it.spoiled.is_empty())?;
    let interval = cost.difference.interval?;
    Some((interval.low, interval.high))
}

/// The rank of each interval; `None` if fewer than two gateways have one.
fn by_intervals(intervals: Vec<Option<(f64, f64)>>, direction: Direction) -> Vec<Option<usize>> {
    let known: Vec<(f64, f64)> = intervals
        .iter()
        .flatten()
        .map(|(low, high)| match direction {
            Direction::LowerIsBetter => (*low, *high),
            Direction::HigherIsBetter => (-high, -low),
        })
        .collect();
    if known.len() < 2 {
        return vec![None; intervals.len()];
    }
    let mut found = ranks(&known).into_iter();
    let rank = |interval: &Option<(f64, f64)>| interval.and_then(|_| found.next());
    intervals.iter().map(rank).collect()
}
