//! Ranks among gateways, of the whole and of what a policy adds.

use gatebench_stats::{Direction, ranks};

use crate::findings::{CostFigure, CostMeasure, GatewayCosts, Validity};

/// Blocks below which a range is a point, and nothing overlaps anything.
const BLOCKS_MIN: usize = 2;

/// Adds the ranks. The lines of all gateways are the same scenarios in the same order.
pub(super) fn add(measures: &[CostMeasure], gateways: &mut [GatewayCosts]) {
    let lines = gateways.iter().map(|gateway| gateway.lines.len()).min();
    for line in 0..lines.unwrap_or(0) {
        for (index, measure) in measures.iter().enumerate() {
            let figures: Vec<&CostFigure> = gateways
                .iter()
                .map(|gateway| &gateway.lines[line].figures[index])
                .collect();
            let totals = ranked(figures.iter().map(|it| total(it)), measure.direction);
            let costs = ranked(figures.iter().map(|it| cost(it)), measure.direction);
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

fn total(figure: &CostFigure) -> Option<(f64, f64)> {
    let estimate = figure.total.as_ref()?;
    (estimate.blocks >= BLOCKS_MIN && figure.validity != Some(Validity::Invalid))
        .then_some((estimate.min, estimate.max))
}

fn cost(figure: &CostFigure) -> Option<(f64, f64)> {
    let difference = figure.cost.as_ref()?.difference;
    (difference.blocks >= BLOCKS_MIN).then(|| difference.span())
}

/// The rank of each span that is there; none where there is nothing to be ranked with.
fn ranked(
    spans: impl Iterator<Item = Option<(f64, f64)>>,
    direction: Direction,
) -> Vec<Option<usize>> {
    let spans: Vec<_> = spans.collect();
    let known: Vec<(f64, f64)> = spans
        .iter()
        .flatten()
        .map(|(low, high)| match direction {
            Direction::LowerIsBetter => (*low, *high),
            Direction::HigherIsBetter => (-high, -low),
        })
        .collect();
    if known.len() < 2 {
        return vec![None; spans.len()];
    }
    let mut found = ranks(&known).into_iter();
    let rank = |span: &Option<(f64, f64)>| span.and_then(|_| found.next());
    spans.iter().map(rank).collect()
}
