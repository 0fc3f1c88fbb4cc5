//! The cost of each route, consumer and idle connection, from scenarios or loads that differ only
//! in their number.

pub(crate) mod chapter;
pub mod facts;
mod families;
mod text;

use gatebench_stats::comparison::CONFIDENCE;
use gatebench_stats::{Difference, difference};

use crate::common::comparisons::paired;
use crate::common::context::Context;
use crate::common::facts::{MetricFindings, ScenarioFindings, VariantRow, row_of};
use facts::{GatewayMarginalCosts, MarginalCostFindings, MarginalCostMeasure, MarginalCostPoint};
use families::{Family, Member};

pub(crate) use families::marginal_unit;
pub(crate) use text::sentences;

/// The families of the plan's scenarios and loads, in the plan's order.
pub(crate) fn of_run(
    context: &Context,
    scenarios: &[ScenarioFindings],
) -> Vec<MarginalCostFindings> {
    let families = families::of_plan(context.plan, scenarios).into_iter();
    let of_family = |family: Family| MarginalCostFindings {
        gateways: context
            .gateways()
            .map(|label| of_gateway(scenarios, &family, label, context.plan.seed))
            .collect(),
        name: family.name,
        what: family.what,
        measures: family.measures,
    };
    families.map(of_family).collect()
}

fn of_gateway(
    scenarios: &[ScenarioFindings],
    family: &Family,
    label: &str,
    seed: u64,
) -> GatewayMarginalCosts {
    let rows: Vec<(&Member, &VariantRow)> = family
        .members
        .iter()
        .filter_map(|member| Some((member, row_of(scenarios, &member.scenario, label)?)))
        .collect();
    let point = |(member, row): &(&Member, &VariantRow)| MarginalCostPoint {
        count: member.count,
        scenario: member.scenario.clone(),
        phase: member.phase.clone(),
        status: row.status.clone(),
        values: family
            .measures
            .iter()
            .map(|measure| measured(row, member, measure)?.estimate.clone())
            .collect(),
    };
    let each = |measure: &MarginalCostMeasure| {
        let mut known = rows.iter().filter_map(|(member, row)| {
            let found = measured(row, member, measure)?;
            let count = member.count;
            found.estimate.as_ref().map(|_| AtCount { count, found })
        });
        per_item(&known.next()?, &known.next_back()?, seed)
    };
    GatewayMarginalCosts {
        variant: label.to_owned(),
        points: rows.iter().map(point).collect(),
        each: family.measures.iter().map(each).collect(),
    }
}

fn measured<'a>(
    row: &'a VariantRow,
    member: &Member,
    measure: &MarginalCostMeasure,
) -> Option<&'a MetricFindings> {
    let phase = member.phase.as_ref().or(measure.phase.as_ref())?;
    row.metric_in(phase, measure.metric)
}

/// The values of a metric with this number of items.
struct AtCount<'a> {
    count: u32,
    found: &'a MetricFindings,
}

/// The difference between two values divided by the difference between the two numbers.
fn per_item(least: &AtCount<'_>, most: &AtCount<'_>, seed: u64) -> Option<Difference> {
    let more = f64::from(most.count - least.count);
    let both = paired(most.found, least.found);
    let (candidate, baseline): (Vec<f64>, Vec<f64>) = both
        .iter()
        .map(|(most, least)| (most.value / more, least.value / more))
        .unzip();
    difference(&baseline, &candidate, CONFIDENCE, seed)
}
