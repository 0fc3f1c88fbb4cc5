//! What each route, each consumer and each idle connection takes: scenarios, or loads, that are the same
//! but for how many there are.

mod families;
mod text;

use gatebench_model::Variant;
use gatebench_stats::comparison::CONFIDENCE;
use gatebench_stats::{Difference, difference};

use crate::comparisons::paired;
use crate::context::Context;
use crate::findings::{
    GatewayMarginalCosts, MarginalCostFindings, MarginalCostMeasure, MarginalCostPoint,
    MetricFindings, ScenarioFindings, VariantRow,
};
use families::{Family, Member};

pub(crate) use families::marginal_unit;
pub(crate) use text::sentences;

/// The families of the plan's scenarios and loads, in the plan's order.
pub(crate) fn of_run(
    context: &Context,
    scenarios: &[ScenarioFindings],
) -> Vec<MarginalCostFindings> {
    let families = families::of_plan(context.plan, scenarios).into_iter();
    let variants = &context.plan.variants;
    let labels: Vec<&str> = variants
        .iter()
        .filter(|variant| !variant.is_control())
        .map(Variant::label)
        .collect();
    let of_family = |family: Family| MarginalCostFindings {
        gateways: labels
            .iter()
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
    let row = |name: &str| -> Option<&VariantRow> {
        let scenario = scenarios.iter().find(|it| it.name == name)?;
        scenario.rows.iter().find(|row| row.variant == label)
    };
    let rows: Vec<(&Member, &VariantRow)> = family
        .members
        .iter()
        .filter_map(|member| Some((member, row(&member.scenario)?)))
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
            found.estimate.as_ref().map(|_| (member.count, found))
        });
        let (least, most) = (known.next()?, known.next_back()?);
        per_item(least, most, seed)
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
    let mut metrics = row.metrics.iter();
    metrics.find(|found| found.metric == measure.metric && found.phase == *phase)
}

/// What lies between the two, divided by how many lie between them.
fn per_item(
    (few, least): (u32, &MetricFindings),
    (many, most): (u32, &MetricFindings),
    seed: u64,
) -> Option<Difference> {
    let more = f64::from(many - few);
    let both = paired(most, least);
    let (candidate, baseline): (Vec<f64>, Vec<f64>) = both
        .iter()
        .map(|(most, least)| (most.value / more, least.value / more))
        .unzip();
    difference(&baseline, &candidate, CONFIDENCE, seed)
}
