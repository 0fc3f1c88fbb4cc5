//! All comparisons of a run, in two families, each with its own Holm correction. The first contains
//! the primary metric of gateways in every scenario, so that no other metric widens its intervals.
//! The second contains everything else, between gateways and between a policy and the plain proxy.
//! The deciding metric of an A/B test has a separate error rate.

use gatebench_stats::{Comparison, Pair, Spoiled, compare_all_weighed};

use crate::ab;
use crate::common::comparisons::{Cell, cells_of_run, rule};
use crate::common::context::Context;
use crate::common::facts::ScenarioFindings;
use crate::policy_cost::Costing;
use crate::policy_cost::facts::CostFindings;

/// Adds the comparisons of gateways to each scenario, and returns the costs of policies.
pub(crate) fn add(context: &Context, scenarios: &mut [ScenarioFindings]) -> Option<CostFindings> {
    let (deciding, compared): (Vec<_>, Vec<_>) = cells_of_run(context, scenarios)
        .into_iter()
        .partition(|(_, cell)| cell.found.primary);
    let seed = context.plan.seed;
    let found: Vec<Option<Comparison>> = match context.plan.study.ab() {
        Some(ab_test) => deciding
            .iter()
            .map(|(_, cell)| ab::look(context.plan, ab_test, cell))
            .collect(),
        None => judged(deciding.iter().map(|(_, cell)| member(cell)), seed),
    };
    let costing = Costing::of(context, scenarios);
    let costed = costing.iter().flat_map(Costing::members);
    let others = compared.iter().map(|(_, cell)| member(cell)).chain(costed);
    // The two families use independent resamples.
    let mut results = judged(others, seed.wrapping_add(1 << 32)).into_iter();
    for ((index, cell), result) in deciding.into_iter().zip(found) {
        add_to(&mut scenarios[index], cell, result);
    }
    for ((index, cell), result) in compared.into_iter().zip(results.by_ref()) {
        add_to(&mut scenarios[index], cell, result);
    }
    costing.map(|costing| costing.findings(results, seed, scenarios))
}

fn member(cell: &Cell) -> (Pair, Spoiled) {
    (cell.pair.clone(), cell.spoiled())
}

fn judged(family: impl Iterator<Item = (Pair, Spoiled)>, seed: u64) -> Vec<Option<Comparison>> {
    let (pairs, spoiled): (Vec<Pair>, Vec<Spoiled>) = family.unzip();
    compare_all_weighed(&pairs, &spoiled, rule(seed))
}

fn add_to(scenario: &mut ScenarioFindings, cell: Cell, result: Option<Comparison>) {
    if let Some(result) = result {
        let found = cell.findings(scenario, result);
        scenario.comparisons.push(found);
    }
}
