//! All comparisons of a run, judged at once: Holm's correction counts them all, those between gateways
//! and those of a policy with the plain proxy. What a run was made to decide is judged by itself.

use gatebench_stats::{Pair, Rule, compare_all};

use crate::comparisons::{Cell, SMALLEST_EFFECT, cells_of_run};
use crate::context::Context;
use crate::costs;
use crate::duel;
use crate::findings::{Comparison, CostFindings, ScenarioFindings};

/// Adds the comparisons of gateways to each scenario, and answers with what policies cost.
pub(crate) fn add(context: &Context, scenarios: &mut [ScenarioFindings]) -> Option<CostFindings> {
    let duel = context.plan.duel.as_ref();
    let (deciding, compared): (Vec<_>, Vec<_>) = cells_of_run(context, scenarios)
        .into_iter()
        .partition(|(_, cell)| duel.is_some() && cell.decides());
    for (index, cell) in deciding {
        let found = duel.and_then(|duel| duel::look(duel, &cell));
        add_to(&mut scenarios[index], cell, found);
    }
    let costing = costs::Costing::of(context, scenarios);
    let costed = costing.iter().flat_map(costs::Costing::pairs);
    let pairs: Vec<Pair> = compared
        .iter()
        .map(|(_, cell)| cell.pair.clone())
        .chain(costed)
        .collect();
    let rule = Rule {
        smallest_effect: SMALLEST_EFFECT,
        seed: context.plan.seed,
    };
    let mut results = compare_all(&pairs, rule).into_iter();
    for ((index, cell), result) in compared.into_iter().zip(results.by_ref()) {
        add_to(&mut scenarios[index], cell, result);
    }
    costing.map(|costing| costing.findings(results, context.plan.seed))
}

fn add_to(scenario: &mut ScenarioFindings, cell: Cell, result: Option<Comparison>) {
    if let Some(result) = result {
        let found = cell.findings(scenario, result);
        scenario.comparisons.push(found);
    }
}
