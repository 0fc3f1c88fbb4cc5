//! The first screen of a scenario: its figures, their meaning, and how far to trust them.

mod ranking;

use gatebench_model::Variant;
use gatebench_report::Validity;
use gatebench_report::format::{counted, listed};
use gatebench_stats::{Estimate, MIN_BLOCKS};

use crate::common::by_key;
use crate::common::context::Context;
use crate::common::facts::{
    Metric, PhaseKind, PhaseLine, Reason, RowStatus, ScenarioFindings, ScenarioSummary,
    SummaryColumn, VariantRow,
};
use crate::common::gates::is_smoke;
use crate::common::trials::blocks_complete;

/// The largest number of gateways with invalid figures that are named; more are only counted.
const INVALID_MAX: usize = 2;

/// The largest number of causes of limited figures that are named; more are only counted.
const LIMITS_MAX: usize = 1;

/// The summary of a scenario. None for a smoke run, if nothing was measured, and if the run has a
/// study other than measuring, whose result then comes first.
pub(crate) fn of_scenario(
    context: &Context,
    scenario: &ScenarioFindings,
) -> Option<ScenarioSummary> {
    if !context.plan.study.only_measures() || is_smoke(context.plan) {
        return None;
    }
    let columns = columns(scenario);
    let is_measured = |row: &VariantRow| row.status == RowStatus::Measured;
    if columns.is_empty() || !scenario.rows.iter().any(is_measured) {
        return None;
    }
    let of_metric = |metric| columns.iter().find(|it| it.metric == metric);
    let cost = of_metric(Metric::GatewayCpuPerRequest).or(of_metric(Metric::Throughput));
    let ranked = cost.map_or_else(Vec::new, |column| ranked(scenario, column));
    let order = order(scenario, &ranked);
    let (meaning, tone) = match cost {
        Some(column) => ranking::meaning(scenario, column, &ranked),
        None => ranking::unknown(),
    };
    Some(ScenarioSummary {
        meaning,
        tone,
        trust: trust(context, scenario, &columns),
        order,
        columns,
    })
}

/// The gateways with their estimates in the cost column: first the best gateway by verdicts, if
/// there is one, and then the others by median.
fn ranked<'f>(
    scenario: &'f ScenarioFindings,
    column: &SummaryColumn,
) -> Vec<(&'f str, &'f Estimate)> {
    let estimate = |row: &'f VariantRow| {
        let found = row.metric_in(&column.phase, column.metric)?;
        Some((row.variant.as_str(), found.estimate.as_ref()?))
    };
    let mut ranked: Vec<_> = gateways(scenario).filter_map(estimate).collect();
    let cost = |median: f64| match column.metric {
        Metric::Throughput => -median,
        _ => median,
    };
    ranked.sort_by(|(_, one), (_, other)| cost(one.median).total_cmp(&cost(other.median)));
    ranked.sort_by_key(|(name, _)| column.best.as_deref() != Some(name));
    ranked
}

/// All variants: first the ranked gateways, then other gateways, and finally the direct variant.
fn order(scenario: &ScenarioFindings, ranked: &[(&str, &Estimate)]) -> Vec<String> {
    let mut rows: Vec<&VariantRow> = scenario.rows.iter().collect();
    rows.sort_by_key(|row| {
        let rank = ranked.iter().position(|(name, _)| *name == row.variant);
        (row.kind == Variant::Direct, rank.unwrap_or(ranked.len()))
    });
    rows.iter().map(|row| row.variant.clone()).collect()
}

/// Throughput in a closed load, CPU time and latency at a fixed rate if there is one, and memory
/// after all loads.
fn columns(scenario: &ScenarioFindings) -> Vec<SummaryColumn> {
    use PhaseKind::{Closed, Open, Paced, SideBySide};
    let first = |kinds: &[PhaseKind]| kinds.iter().find_map(|kind| scenario.phase(*kind));
    let cpu = Metric::GatewayCpuPerRequest;
    let has_cpu = |kind: &PhaseKind| {
        let phase = scenario.phase(*kind)?;
        has(scenario, phase, cpu).then_some(phase)
    };
    let latency = first(&[Open, Paced, Closed]);
    let latencies = match scenario.phase(Open) {
        Some(_) => [Metric::AddedP99, Metric::AddedP50],
        None => [Metric::ResponseP99, Metric::ResponseP50],
    };
    // A short load has too few requests for a 99th percentile.
    let found = latencies
        .into_iter()
        .find(|it| latency.is_some_and(|phase| has(scenario, phase, *it)));
    let wanted = [
        (first(&[Closed]), Metric::Throughput),
        (
            [SideBySide, Open, Closed, Paced].iter().find_map(has_cpu),
            cpu,
        ),
        (latency, found.unwrap_or(latencies[0])),
        (scenario.phases.last(), Metric::GatewayRssAnonMax),
    ];
    let column = |(phase, metric): (Option<&PhaseLine>, Metric)| {
        let phase = phase.filter(|it| has(scenario, it, metric))?;
        Some(SummaryColumn {
            metric,
            phase: phase.name.clone(),
            best: best(scenario, &phase.name, metric),
        })
    };
    wanted.into_iter().filter_map(column).collect()
}

/// Reports whether any variant has a value of a metric in a phase.
fn has(scenario: &ScenarioFindings, phase: &PhaseLine, metric: Metric) -> bool {
    let mut rows = scenario.rows.iter();
    rows.any(|row| row.median_in(&phase.name, metric).is_some())
}

fn gateways(scenario: &ScenarioFindings) -> impl Iterator<Item = &VariantRow> {
    let rows = scenario.rows.iter();
    rows.filter(|row| row.kind != Variant::Direct && row.status == RowStatus::Measured)
}

fn best(scenario: &ScenarioFindings, phase: &str, metric: Metric) -> Option<String> {
    let names: Vec<&str> = gateways(scenario).map(|row| row.variant.as_str()).collect();
    let leads = |leader: &&str| {
        let mut others = names.iter().filter(|other| *other != leader);
        others.all(|other| ranking::lead(scenario, phase, metric, leader, other).is_some())
    };
    let leader = names.iter().copied().find(leads)?;
    (names.len() > 1).then(|| leader.to_owned())
}

/// States the number of blocks behind the figures, whether they permit verdicts, and what limits
/// them.
fn trust(context: &Context, scenario: &ScenarioFindings, columns: &[SummaryColumn]) -> String {
    let blocks = blocks_complete(context) as usize;
    let compared = gateways(scenario).count() > 1;
    let counted_blocks = counted(blocks as u64, "block");
    let figures = match blocks {
        0 | 1 => format!("figures of {counted_blocks}"),
        _ => format!("median and range of {counted_blocks}"),
    };
    let invalid: Vec<String> = gateways(scenario)
        .filter(|row| has_reason(row, Validity::Invalid))
        .map(|row| row.variant.clone())
        .collect();
    let mut parts = vec![match (compared, blocks >= MIN_BLOCKS) {
        (false, _) => figures,
        (true, true) if scenario.comparisons.is_empty() => {
            format!("{figures}; limited figures are not compared")
        }
        (true, true) if columns.iter().any(|it| it.best.is_some()) => {
            format!("{figures}; ✓ is best by verdicts")
        }
        (true, true) => format!("{figures}; verdicts name no best gateway"),
        (true, false) if invalid.is_empty() => {
            format!("{figures}, too few for a verdict (it needs {MIN_BLOCKS})")
        }
        (true, false) => format!("{figures}, too few for a verdict"),
    }];
    match invalid.len() {
        0 => {}
        1..=INVALID_MAX => {
            let gateways = listed(&invalid);
            parts.push(format!("invalid blocks of {gateways} are left out"));
        }
        many => parts.push(format!("invalid blocks of {many} gateways are left out")),
    }
    let limits = limits(scenario, columns);
    if !limits.is_empty() {
        let (named, more) = limits.split_at(limits.len().min(LIMITS_MAX));
        let mut named: Vec<String> = named.iter().map(|it| (*it).to_owned()).collect();
        if !more.is_empty() {
            named.push(counted(more.len() as u64, "more cause"));
        }
        let named = listed(&named);
        parts.push(format!("* also limited by: {named}"));
    }
    format!("Trust: {}.", parts.join("; "))
}

fn has_reason(row: &VariantRow, validity: Validity) -> bool {
    row.reasons.iter().any(|reason| reason.validity == validity)
}

/// Reports whether a reason limits the figure of a gateway in a column.
fn does_limit(reason: &Reason, row: &VariantRow, column: &SummaryColumn) -> bool {
    let found = row.metric_in(&column.phase, column.metric);
    let is_of_phase = reason.phase.as_ref().is_none_or(|it| *it == column.phase);
    let aspect = column.metric.aspect();
    found.is_some_and(|it| it.validity == Validity::Limited)
        && is_of_phase
        && aspect.is_some_and(|it| reason.spoils.contains(&it))
}

/// The reasons that limit figures of the columns; reasons that affect most gateways come first.
fn limits(scenario: &ScenarioFindings, columns: &[SummaryColumn]) -> Vec<&'static str> {
    let reasons = gateways(scenario).flat_map(|row| {
        let limits_a_column = move |reason: &&Reason| {
            reason.validity == Validity::Limited
                && columns.iter().any(|it| does_limit(reason, row, it))
        };
        row.reasons.iter().filter(limits_a_column)
    });
    let mut found = by_key(reasons.map(|reason| (reason.gate.in_short(), ())));
    // The sort is stable, so equal counts keep the order of the gateways.
    found.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.len()));
    found.into_iter().map(|(why, _)| why).collect()
}
