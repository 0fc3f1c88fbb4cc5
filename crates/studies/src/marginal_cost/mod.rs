//! Computes the cost of each route, consumer, upstream and idle connection from scenarios or loads
//! that differ only in the number of these.

pub(crate) mod chapter;
pub mod facts;
mod families;

use gatebench_report::format::{capitalized, counted, grouped, listed, quantity};
use gatebench_report::{Tone, Unit};
use gatebench_stats::comparison::CONFIDENCE;
use gatebench_stats::{Difference, difference};

use crate::common::comparisons::paired;
use crate::common::context::Context;
use crate::common::facts::{
    Metric, MetricFindings, ScenarioFindings, Sentence, VariantRow, row_of,
};
use facts::{GatewayMarginalCosts, MarginalCostFindings, MarginalCostMeasure, MarginalCostPoint};
use families::{Family, Member};

pub(crate) use families::marginal_unit;

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
            found.estimate.as_ref().map(|_| (member.count, found))
        });
        per_item(known.next()?, known.next_back()?, seed)
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

/// The cost of each additional item: the difference between the values at the two numbers, paired
/// by block, divided by the difference between these numbers.
fn per_item(
    fewest: (u32, &MetricFindings),
    most: (u32, &MetricFindings),
    seed: u64,
) -> Option<Difference> {
    let more = f64::from(most.0 - fewest.0);
    let both = paired(most.1, fewest.1);
    let (candidate, baseline): (Vec<f64>, Vec<f64>) = both
        .iter()
        .map(|(most, least)| (most.value / more, least.value / more))
        .unzip();
    difference(&baseline, &candidate, CONFIDENCE, seed)
}

/// A sentence for each gateway on the memory that each unit costs, and on the start times. No
/// verdict compares these costs, so they are not ranked.
pub(crate) fn sentences(costs: &MarginalCostFindings) -> Vec<Sentence> {
    let gateways = costs.gateways.iter().filter_map(|gateway| {
        let (text, variant) = (sentence(costs, gateway)?, Some(&*gateway.variant));
        Some(Sentence::new(Tone::Plain, text, None, variant))
    });
    gateways.collect()
}

fn place(costs: &MarginalCostFindings, metric: Metric) -> Option<usize> {
    costs.measures.iter().position(|it| it.metric == metric)
}

/// The cost as a sentence: `Each route takes 1.20 KiB of memory in nginx (1.10 KiB to 1.30 KiB over
/// 10 blocks): 6.10 MiB with 1 and 12.0 MiB with 5,000; nginx is ready after 21.0 ms with 1 and
/// 35.0 ms with 5,000.`
fn sentence(costs: &MarginalCostFindings, gateway: &GatewayMarginalCosts) -> Option<String> {
    let memory = place(costs, Metric::GatewayRssAnonMax)?;
    let each = gateway.each[memory].as_ref()?;
    let bytes = |value| quantity(value, Unit::Bytes);
    let takes = if each.effect > 0.0 {
        bytes(each.effect)
    } else {
        "no measurable amount".into()
    };
    let mut text = format!(
        "each {} takes {takes} of memory in {}",
        costs.what.noun(),
        gateway.variant
    );
    if each.blocks > 1 {
        let (low, high) = each.span();
        let (low, high) = (bytes(low), bytes(high));
        let blocks = counted(each.blocks as u64, "block");
        text.push_str(&format!(" ({low} to {high} over {blocks})"));
    }
    text.push_str(&format!(": {}", at_each(gateway, memory, Unit::Bytes)?));
    let start = place(costs, Metric::GatewayStart);
    let start = start.and_then(|start| at_each(gateway, start, Unit::Nanoseconds));
    if let Some(start) = start {
        text.push_str(&format!("; {} is ready after {start}", gateway.variant));
    }
    Some(format!("{}.", capitalized(&text)))
}

/// The value at each number, such as `21.0 ms with 1 and 35.0 ms with 5,000`; `None` if there is no
/// value.
fn at_each(gateway: &GatewayMarginalCosts, measure: usize, unit: Unit) -> Option<String> {
    let known = gateway.points.iter().filter_map(|point| {
        let median = point.values[measure].as_ref()?.median;
        let count = grouped(f64::from(point.count));
        Some(format!("{} with {count}", quantity(median, unit)))
    });
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| listed(&known))
}
