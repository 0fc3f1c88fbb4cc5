//! All comparisons of a run, judged at once: Holm's correction counts them all, those between gateways
//! and those of a policy with the plain proxy.

use gatebench_stats::{Pair, Rule, compare_all};

use crate::comparisons::{SMALLEST_EFFECT, cells_of_run};
use crate::context::Context;
use crate::costs;
use crate::findings::{CostFindings, ScenarioFindings};

/// Adds the comparisons of gateways to each scenario, and answers with what policies cost.
pub(crate) fn add(context: &Context, scenarios: &mut [ScenarioFindings]) -> Option<CostFindings> {
    let compared = cells_of_run(context, scenarios);
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
        if let Some(result) = result {
            let found = cell.findings(&scenarios[index], result);
            scenarios[index].comparisons.push(found);
        }
    }
    costing.map(|costing| costing.findings(results, context.plan.seed))
}
