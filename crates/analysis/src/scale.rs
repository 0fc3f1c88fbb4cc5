//! What each route and each consumer takes: scenarios that are the same but for how many there are.

use gatebench_model::{Plan, Scenario, Variant};
use gatebench_stats::comparison::CONFIDENCE;
use gatebench_stats::difference;

use crate::comparisons::paired;
use crate::context::Context;
use crate::findings::{
    GatewayScale, Metric, MetricFindings, PhaseKind, PhaseLine, ScaleFindings, ScaleMeasure,
    ScalePoint, Scaled, ScenarioFindings, Sentence, Tone, Unit, VariantRow,
};
use crate::metrics::unit;
use crate::words::{capitalised, counted, grouped, listed, quantity};

/// The families of the plan's scenarios, in the plan's order.
pub(crate) fn of_run(context: &Context, scenarios: &[ScenarioFindings]) -> Vec<ScaleFindings> {
    let families = families(context.plan).into_iter();
    families
        .filter_map(|family| of_family(context, scenarios, family))
        .collect()
}

/// Scenarios that differ in one number only.
struct Family {
    name: String,
    what: Scaled,
    /// How many there are, with the scenario's name; the smallest first.
    members: Vec<(u32, String)>,
}

/// A scenario is of a family where its name ends with how many routes or consumers it has, and the
/// others of that name have the same upstream and the same policies.
fn families(plan: &Plan) -> Vec<Family> {
    let mut families: Vec<(Family, &Scenario)> = Vec::new();
    for scenario in &plan.scenarios {
        let Some((name, what, count)) = scaled(scenario) else {
            continue;
        };
        let same = |(family, first): &&mut (Family, &Scenario)| {
            family.name == name
                && family.what == what
                && first.upstream == scenario.upstream
                && first.policies() == scenario.policies()
        };
        let member = (count, scenario.scenario.clone());
        match families.iter_mut().find(same) {
            Some((family, _)) => family.members.push(member),
            None => {
                let (name, members) = (name.to_owned(), vec![member]);
                families.push((
                    Family {
                        name,
                        what,
                        members,
                    },
                    scenario,
                ));
            }
        }
    }
    let several = families.into_iter().map(|(family, _)| family);
    let mut several: Vec<_> = several.filter(|it| it.members.len() > 1).collect();
    several.iter_mut().for_each(|family| family.members.sort());
    several
}

/// The family of a scenario, what there are different numbers of in it, and how many this one has.
pub(crate) fn scaled(scenario: &Scenario) -> Option<(&str, Scaled, u32)> {
    let (name, number) = scenario.scenario.rsplit_once('-')?;
    let count: u32 = number.parse().ok().filter(|count| *count > 0)?;
    let has = |length: usize| u32::try_from(length) == Ok(count);
    if has(scenario.consumers.len()) {
        Some((name, Scaled::Consumers, count))
    } else if has(scenario.routes.len()) {
        Some((name, Scaled::Routes, count))
    } else {
        None
    }
}

fn of_family(
    context: &Context,
    scenarios: &[ScenarioFindings],
    family: Family,
) -> Option<ScaleFindings> {
    let measures = measures(&scenarios.first()?.phases);
    let variants = context.plan.variants.iter();
    let gateways = variants.filter(|variant| **variant != Variant::Floor);
    Some(ScaleFindings {
        gateways: gateways
            .map(|variant| of_gateway(context, scenarios, &family, &measures, variant.label()))
            .collect(),
        name: family.name,
        what: family.what,
        measures,
    })
}

/// Memory and start of the process, then what a request takes at the fixed rate.
fn measures(phases: &[PhaseLine]) -> Vec<ScaleMeasure> {
    let first = |kind| phases.iter().find(|phase| phase.kind == kind);
    let open = first(PhaseKind::Open);
    let wanted = [
        (phases.last(), Metric::GatewayRssAnonMax),
        (phases.first(), Metric::GatewayStart),
        (
            open.or(first(PhaseKind::Closed)),
            Metric::GatewayCpuPerRequest,
        ),
        (open, Metric::AddedP50),
        (open, Metric::AddedP99),
    ];
    let measure = |(phase, metric): (Option<&PhaseLine>, _)| {
        let phase = phase?;
        Some(ScaleMeasure {
            metric,
            unit: unit(metric),
            phase: phase.name.clone(),
            load: phase.load().to_owned(),
        })
    };
    wanted.into_iter().filter_map(measure).collect()
}

fn of_gateway(
    context: &Context,
    scenarios: &[ScenarioFindings],
    family: &Family,
    measures: &[ScaleMeasure],
    label: &str,
) -> GatewayScale {
    let row = |name: &str| -> Option<&VariantRow> {
        let scenario = scenarios.iter().find(|it| it.name == name)?;
        scenario.rows.iter().find(|row| row.variant == label)
    };
    let rows: Vec<(u32, &VariantRow, &str)> = family
        .members
        .iter()
        .filter_map(|(count, name)| Some((*count, row(name)?, name.as_str())))
        .collect();
    let point = |(count, row, scenario): &(u32, &VariantRow, &str)| ScalePoint {
        count: *count,
        scenario: (*scenario).to_owned(),
        status: row.status.clone(),
        values: measures
            .iter()
            .map(|measure| measured(row, measure)?.estimate.clone())
            .collect(),
    };
    let each = |measure: &ScaleMeasure| {
        let mut known = rows.iter().filter_map(|(count, row, _)| {
            let found = measured(row, measure)?;
            found.estimate.as_ref().map(|_| (*count, found))
        });
        let (least, most) = (known.next()?, known.next_back()?);
        per_item(least, most, context.plan.seed)
    };
    GatewayScale {
        variant: label.to_owned(),
        points: rows.iter().map(point).collect(),
        each: measures.iter().map(each).collect(),
    }
}

fn measured<'a>(row: &'a VariantRow, measure: &ScaleMeasure) -> Option<&'a MetricFindings> {
    let mut metrics = row.metrics.iter();
    metrics.find(|found| found.metric == measure.metric && found.phase == measure.phase)
}

/// What lies between the two, divided by how many lie between them.
fn per_item(
    (few, least): (u32, &MetricFindings),
    (many, most): (u32, &MetricFindings),
    seed: u64,
) -> Option<gatebench_stats::Difference> {
    let more = f64::from(many - few);
    let both = paired(most, least);
    let (candidate, baseline): (Vec<f64>, Vec<f64>) = both
        .iter()
        .map(|(most, least)| (most.value / more, least.value / more))
        .unzip();
    difference(&baseline, &candidate, CONFIDENCE, seed)
}

/// What each one takes in memory and until the gateway is ready: a sentence for each gateway.
pub(crate) fn sentences(scale: &ScaleFindings) -> Vec<Sentence> {
    let gateways = scale.gateways.iter();
    let told = gateways.filter_map(|gateway| Some((gateway, sentence(scale, gateway)?)));
    told.map(|(gateway, text)| Sentence {
        text,
        tone: Tone::Plain,
        scenario: None,
        variant: Some(gateway.variant.clone()),
    })
    .collect()
}

/// `Each route takes 1.20 KiB of memory at nginx (1.10 KiB to 1.30 KiB over 10 blocks); with 5,000 it is
/// ready after 35.0 ms, with 1 after 21.0 ms.`
fn sentence(scale: &ScaleFindings, gateway: &GatewayScale) -> Option<String> {
    let index = |metric| scale.measures.iter().position(|it| it.metric == metric);
    let each = gateway.each[index(Metric::GatewayRssAnonMax)?].as_ref()?;
    let (low, high) = each.span();
    let bytes = |value| quantity(value, Unit::Bytes);
    let mut text = format!(
        "each {} takes {} of memory at {}",
        scale.what.noun(),
        bytes(each.effect),
        gateway.variant
    );
    if each.blocks > 1 {
        let blocks = counted(each.blocks as u64, "block");
        text.push_str(&format!(
            " ({} to {} over {blocks})",
            bytes(low),
            bytes(high)
        ));
    }
    let starts: Vec<String> = index(Metric::GatewayStart)
        .map(|start| {
            let points = gateway.points.iter().rev();
            let known = points.filter_map(|it| Some((it.count, it.values[start].as_ref()?)));
            let told = known.map(|(count, start)| {
                let time = quantity(start.median, Unit::Nanoseconds);
                format!("{time} with {}", grouped(f64::from(count)))
            });
            told.collect()
        })
        .unwrap_or_default();
    if !starts.is_empty() {
        text.push_str(&format!("; it is ready after {}", listed(&starts)));
    }
    Some(format!("{}.", capitalised(&text)))
}
