//! The findings as sentences: one fact each, with its range and its limits.

use std::collections::BTreeMap;

use gatebench_model::Variant;
use gatebench_report::format::{capitalized, counted, listed, quantity, range, short};
use gatebench_report::{Tone, Unit, Validity};
use gatebench_stats::{Estimate, MIN_BLOCKS};

use super::limitations;
use super::proof::ParityFindings;
use crate::common::context::Context;
use crate::common::facts::{
    Aspect, Failure, Gate, Metric, PhaseKind, PhaseLine, Reason, RowStatus, ScenarioFindings,
    Sentence, VariantRow,
};
use crate::common::{external_results, joined};
use crate::marginal_cost::facts::MarginalCostFindings;
use crate::policy_cost::facts::CostFindings;
use crate::{marginal_cost, policy_cost};

/// Gates that turn a throughput into a lower bound instead of making it doubtful.
const BOUNDS_FROM_BELOW: [Gate; 4] = [
    Gate::EngineSaturated,
    Gate::EngineWaited,
    Gate::UpstreamNearDirect,
    Gate::GatewayNotSaturated,
];

/// In a report with costs, all sentences of the scenarios are headlines only if there are at most
/// this many scenarios.
const SCENARIOS_AT_HEAD_MAX: usize = 4;

/// The costs of policies, routes and idle connections, the sentences of all scenarios with their
/// names, and those on the whole run; alarms come first. In a run that has costs and more than four
/// scenarios, only the alarms of the scenarios are headlines.
pub(crate) fn headlines(
    context: &Context,
    scenarios: &[ScenarioFindings],
    costs: Option<&CostFindings>,
    marginal_costs: &[MarginalCostFindings],
    parity: &[ParityFindings],
) -> Vec<Sentence> {
    let is_together = costs.is_some() || !marginal_costs.is_empty();
    let brief = is_together && scenarios.len() > SCENARIOS_AT_HEAD_MAX;
    let at_head = |sentence: &&Sentence| !brief || sentence.tone == Tone::Alarm;
    let mut found: Vec<_> = costs.map(policy_cost::sentences).unwrap_or_default();
    found.extend(marginal_costs.iter().flat_map(marginal_cost::sentences));
    found.extend(scenarios.iter().flat_map(|scenario| {
        let said = scenario.sentences.iter().filter(at_head);
        said.map(|sentence| Sentence {
            text: format!("{}: {}", scenario.name, sentence.text),
            ..sentence.clone()
        })
    }));
    found.extend(failures(context));
    found.extend(parity_sentence(parity));
    // The sort is stable, so sentences of one tone keep the order of the scenarios.
    found.sort_by_key(|sentence| sentence.tone != Tone::Alarm);
    found
}

pub(crate) fn of_scenario(scenario: &ScenarioFindings) -> Vec<Sentence> {
    let say = |text: String, tone, variant: Option<&str>| {
        Sentence::new(tone, text, Some(&scenario.name), variant)
    };
    let mut found = Vec::new();
    let compared = scenario.comparisons.iter().filter(|cell| cell.primary);
    found.extend(compared.map(|cell| say(cell.text.clone(), Tone::Plain, None)));
    // The verdicts' sentences, if there are any, already compare the gateways.
    if scenario.comparisons.is_empty() {
        let values = side_by_side(scenario).into_iter();
        found.extend(values.map(|text| say(text, Tone::Plain, None)));
    }
    // The direct variant is a reference for the others, so it comes last.
    let (direct, gateways): (Vec<_>, Vec<_>) = scenario
        .rows
        .iter()
        .partition(|row| row.kind == Variant::Direct);
    for row in gateways.into_iter().chain(direct) {
        let text = row_sentence(scenario, row);
        found.extend(text.map(|text| say(text, Tone::Plain, Some(&row.variant))));
    }
    for (tone, text, variant) in external_results::thresholds_in_words(&scenario.external_results) {
        found.push(say(text, tone, Some(variant)));
    }
    for (tone, text) in limitations::of_scenario(scenario) {
        found.push(say(text, tone, None));
    }
    found
}

fn row_sentence(scenario: &ScenarioFindings, row: &VariantRow) -> Option<String> {
    match &row.status {
        RowStatus::NotSupported { policies } => Some(format!(
            "{} does not support {}; it was not measured.",
            row.variant,
            listed(policies)
        )),
        RowStatus::Failed => {
            let variant = &row.variant;
            Some(format!("{variant} has no result: every trial failed."))
        }
        RowStatus::Missing => None,
        RowStatus::Measured => measured(scenario, row),
    }
}

/// The figures of a variant as a sentence: `nginx: 41.2k requests/s (39.8k–42.0k over 3 blocks); at
/// 5,000 requests/s 24.1 µs of CPU per request and an added latency of 38 µs at p50 and 95 µs at
/// p99 (direct: 12 µs and 30 µs).`
fn measured(scenario: &ScenarioFindings, row: &VariantRow) -> Option<String> {
    let each = blocks_differ(row);
    let parts = [
        throughput(row, each),
        paced(scenario, row, each),
        at_fixed_rate(scenario, row, each),
        changed(row),
    ];
    let parts = joined(parts.into_iter().flatten(), "; ");
    (!parts.is_empty()).then(|| format!("{}: {parts}.", row.variant))
}

/// The number of blocks, ` over 10 blocks`; empty if `each` is false, because all figures cover the
/// same number of blocks.
fn over(each: bool, of: &Estimate) -> String {
    match each {
        true => format!(" over {}", counted(of.blocks as u64, "block")),
        false => String::new(),
    }
}

/// Reports whether the figures in a row's sentence cover different numbers of blocks, for example
/// because only one of the loads is invalid in a block.
fn blocks_differ(row: &VariantRow) -> bool {
    let figures = [
        (PhaseKind::Closed, Metric::Throughput),
        (PhaseKind::Closed, Metric::GatewayCpuPerRequest),
        (PhaseKind::Paced, Metric::Throughput),
        (PhaseKind::Paced, Metric::ResponseP50),
        (PhaseKind::Paced, Metric::ResponseP99),
        (PhaseKind::Open, Metric::GatewayCpuPerRequest),
        (PhaseKind::Open, Metric::AddedP50),
        (PhaseKind::Open, Metric::AddedP99),
    ];
    let blocks = |(kind, metric)| Some(row.estimate(kind, metric)?.blocks);
    let mut counts = figures.into_iter().filter_map(blocks);
    let first = counts.next();
    counts.any(|count| Some(count) != first)
}

fn throughput(row: &VariantRow, each: bool) -> Option<String> {
    let estimate = row.estimate(PhaseKind::Closed, Metric::Throughput)?;
    let least = if is_lower_bound(row) { "at least " } else { "" };
    let cpu = match row.metric(PhaseKind::Open, Metric::GatewayCpuPerRequest) {
        // The CPU time at the fixed rate follows later in the sentence.
        Some(_) => None,
        None => cpu_per_request(row, PhaseKind::Closed, each),
    };
    Some(format!(
        "{least}{} ({}){}",
        quantity(estimate.median, Unit::RequestsPerSecond),
        range(estimate, Unit::RequestsPerSecond),
        cpu.map_or(String::new(), |cpu| format!(", {cpu}"))
    ))
}

fn cpu_per_request(row: &VariantRow, kind: PhaseKind, each: bool) -> Option<String> {
    let cpu = row.estimate(kind, Metric::GatewayCpuPerRequest)?;
    let (time, over) = (cpu_time(cpu.median), over(each, cpu));
    Some(format!("{time} of CPU per request{over}"))
}

/// The figures of users who think: `302 requests/s from 200 connections (think time 650ms), with
/// response times of 210 µs at p50 and 1.20 ms at p99`. Returns `None` unless the scenario has
/// exactly one such load.
fn paced(scenario: &ScenarioFindings, row: &VariantRow, each: bool) -> Option<String> {
    let of_kind = |phase: &&PhaseLine| phase.kind == PhaseKind::Paced;
    let mut phases = scenario.phases.iter().filter(of_kind);
    let (phase, None) = (phases.next()?, phases.next()) else {
        return None;
    };
    let value = |metric, unit| {
        let estimate = row.estimate(PhaseKind::Paced, metric)?;
        Some((quantity(estimate.median, unit), over(each, estimate)))
    };
    let (rate, over_blocks) = value(Metric::Throughput, Unit::RequestsPerSecond)?;
    let within = [(Metric::ResponseP50, "p50"), (Metric::ResponseP99, "p99")];
    let within: Vec<String> = within
        .into_iter()
        .filter_map(|(metric, name)| {
            let (time, over) = value(metric, Unit::Nanoseconds)?;
            Some(format!("{time} at {name}{over}"))
        })
        .collect();
    let answered = match within.is_empty() {
        true => String::new(),
        false => format!(", with response times of {}", listed(&within)),
    };
    let load = phase.load();
    Some(format!("{rate} from {load}{over_blocks}{answered}"))
}

/// The effect of a change: `the change affected 12 requests (10–14 over 3 blocks), of which 0
/// failed; the longest took 14.0 ms`.
fn changed(row: &VariantRow) -> Option<String> {
    let affected = estimate(row, Metric::ChangeAffected)?;
    let failed = estimate(row, Metric::ChangeErrors)?.median;
    let worst = estimate(row, Metric::ChangeWorst)?.median;
    let recovery = match estimate(row, Metric::ChangeRecovery).map(|it| it.median) {
        None => "; the service did not recover".to_owned(),
        Some(0.0) => String::new(),
        Some(time) => format!(
            "; the service recovered after {}",
            quantity(time, Unit::Nanoseconds)
        ),
    };
    let again = estimate(row, Metric::FailureSentAgain).map(|it| it.median);
    let is_outage = estimate(row, Metric::ControlPlaneOutage).is_some();
    let what = match (again.is_some(), is_outage) {
        (true, _) => "failure",
        (false, true) => "outage of the control plane",
        (false, false) => "change",
    };
    let effect = estimate(row, Metric::ChangeEffective).map_or(String::new(), |it| {
        let after = quantity(it.median, Unit::Nanoseconds);
        format!("; the change took effect after {after}")
    });
    let again = again
        .filter(|count| *count > 0.0)
        .map_or(String::new(), |count| {
            let requests = counted(count as u64, "request");
            format!("; the gateway sent {requests} again")
        });
    Some(format!(
        "the {what} affected {} ({}), of which {} failed; the longest took {}{recovery}{effect}{again}",
        counted(affected.median as u64, "request"),
        range(affected, Unit::Count),
        quantity(failed, Unit::Count),
        quantity(worst, Unit::Nanoseconds),
    ))
}

fn cpu_time(ns: f64) -> String {
    short(ns, Unit::CpuNanosecondsPerRequest)
}

fn is_lower_bound(row: &VariantRow) -> bool {
    let bounds = |reason: &Reason| {
        reason.spoils.contains(&Aspect::Throughput) && BOUNDS_FROM_BELOW.contains(&reason.gate)
    };
    row.reasons.iter().any(bounds)
}

fn at_fixed_rate(scenario: &ScenarioFindings, row: &VariantRow, each: bool) -> Option<String> {
    let rate = open_load(scenario)?;
    let cpu = cpu_per_request(row, PhaseKind::Open, each);
    let added = added(scenario, row, each);
    let said = joined([cpu, added].into_iter().flatten(), " and ");
    (!said.is_empty()).then(|| format!("at {rate} {said}"))
}

/// The load of the open phase, without its duration.
fn open_load(scenario: &ScenarioFindings) -> Option<&str> {
    scenario.load(&scenario.phase(PhaseKind::Open)?.name)
}

fn added(scenario: &ScenarioFindings, row: &VariantRow, each: bool) -> Option<String> {
    let p50 = estimate(row, Metric::AddedP50)?;
    let p99 = estimate(row, Metric::AddedP99);
    let time = |value| quantity(value, Unit::Nanoseconds);
    let median = format!("an added latency of {} at p50", time(p50.median));
    let own = match p99 {
        Some(p99) => {
            let first = over(each && p50.blocks != p99.blocks, p50);
            let (p99_ns, last) = (time(p99.median), over(each, p99));
            format!("{median}{first} and {p99_ns} at p99{last}")
        }
        None => median + &over(each, p50),
    };
    let mut rows = scenario.rows.iter();
    let Some(direct) = rows.find(|row| row.kind == Variant::Direct) else {
        return Some(own);
    };
    if direct.variant == row.variant {
        return Some(format!("{own}, caused by the measurement itself"));
    }
    let direct: Vec<_> = [Some(Metric::AddedP50), p99.map(|_| Metric::AddedP99)]
        .into_iter()
        .flatten()
        .filter_map(|metric| Some(time(estimate(direct, metric)?.median)))
        .collect();
    Some(match direct.is_empty() {
        true => own,
        false => format!("{own} (direct: {})", listed(&direct)),
    })
}

fn estimate(row: &VariantRow, metric: Metric) -> Option<&Estimate> {
    row.estimate(PhaseKind::Open, metric)
}

/// A sentence on the gateways' throughput, and one on their CPU per request.
fn side_by_side(scenario: &ScenarioFindings) -> Vec<String> {
    let entries = |kind, metric, worst: Validity| -> Vec<(&str, &Estimate)> {
        let rows = scenario.rows.iter();
        let gateways = rows.filter(|row| row.kind != Variant::Direct);
        let entries = gateways.filter_map(|row| {
            let found = row.metric(kind, metric)?;
            let estimate = found.estimate.as_ref().filter(|_| found.validity <= worst);
            Some((&*row.variant, estimate?))
        });
        entries.collect()
    };
    // A limited throughput does not describe the gateway.
    let throughput = entries(PhaseKind::Closed, Metric::Throughput, Validity::Valid);
    let unit = Unit::RequestsPerSecond;
    let throughput = unranked(&throughput, unit, |value| quantity(value, unit));
    let (kind, at) = match open_load(scenario) {
        Some(load) => (PhaseKind::Open, format!(" at {load}")),
        None => (PhaseKind::Closed, String::new()),
    };
    let cpu = entries(kind, Metric::GatewayCpuPerRequest, Validity::Limited);
    let cpu = unranked(&cpu, Unit::CpuNanosecondsPerRequest, cpu_time);
    let throughput = throughput.map(|text| format!("throughput: {text}"));
    let cpu = cpu.map(|text| format!("CPU per request{at}: {text}"));
    throughput.into_iter().chain(cpu).collect()
}

/// The values as a sentence: `a 18.0 µs (17.9–18.2 over 3 blocks) and b 24.1 µs (24.0–24.3 over 3
/// blocks); a ranking needs 10 blocks.` Returns `None` for a single gateway, or if there are enough
/// blocks for a verdict. The values keep the plan's order and are not ranked: over three blocks,
/// the ranges of two equal gateways fail to overlap in one of ten cases.
fn unranked(
    entries: &[(&str, &Estimate)],
    unit: Unit,
    write: impl Fn(f64) -> String,
) -> Option<String> {
    let too_few = entries.iter().all(|(_, it)| it.blocks < MIN_BLOCKS);
    (entries.len() > 1 && too_few).then_some(())?;
    let values = entries.iter().map(|(variant, estimate)| {
        let median = write(estimate.median);
        format!("{variant} {median} ({})", range(estimate, unit))
    });
    let values = listed(&values.collect::<Vec<_>>());
    Some(format!("{values}; a ranking needs {MIN_BLOCKS} blocks."))
}

/// One sentence for each scenario and variant with failed trials.
fn failures(context: &Context) -> Vec<Sentence> {
    let all = crate::trials::failures(context);
    let mut failed: BTreeMap<(&str, &str), Vec<&Failure>> = BTreeMap::new();
    for failure in &all {
        let cell = (failure.scenario.as_str(), failure.variant.as_str());
        failed.entry(cell).or_default().push(failure);
    }
    failed
        .into_iter()
        .filter_map(|((scenario, variant), failures)| {
            let cause = |it: &Failure| {
                let reason = it.reason.lines().next().unwrap_or_default();
                format!("({}): {}", it.culprit, reason.trim_end_matches('.'))
            };
            let first = failures.first()?;
            let of = |it: &Failure| (cause(it), it.remedy.clone());
            let are_alike = failures.iter().all(|it| of(it) == of(first));
            let text = format!(
                "{scenario}: {variant} failed in {}{} {}. {}.",
                counted(failures.len() as u64, "trial"),
                if are_alike { "" } else { ", first" },
                cause(first),
                capitalized(first.remedy.trim_end_matches('.'))
            );
            let (scenario, variant) = (Some(scenario), Some(variant));
            Some(Sentence::new(Tone::Alarm, text, scenario, variant))
        })
        .collect()
}

fn parity_sentence(parity: &[ParityFindings]) -> Option<Sentence> {
    let held = !parity.is_empty() && parity.iter().all(|found| found.holds == Some(true));
    held.then(|| {
        let cases = parity.iter().flat_map(|found| &found.cases);
        let tried: u32 = cases.map(|case| case.tried).sum();
        let text = format!(
            "Parity held in every test: all {} got the responses that the scenarios require.",
            counted(u64::from(tried), "case")
        );
        Sentence::new(Tone::Plain, text, None, None)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(values: &[(&str, &[f64])]) -> Option<String> {
        let estimates: Vec<_> = values
            .iter()
            .map(|(variant, blocks)| (*variant, Estimate::of_blocks(blocks).unwrap()))
            .collect();
        let entries = estimates.iter().map(|(variant, it)| (*variant, it));
        let entries: Vec<(&str, &Estimate)> = entries.collect();
        unranked(&entries, Unit::Count, |value| format!("{value}"))
    }

    #[test]
    fn values_keep_the_given_order() {
        let apart: [(&str, &[f64]); 2] = [("b", &[20.0, 21.0, 22.0]), ("a", &[9.0, 10.0, 11.0])];
        let expected =
            "b 21 (20–22 over 3 blocks) and a 10 (9–11 over 3 blocks); a ranking needs 10 blocks.";
        assert_eq!(words(&apart).unwrap(), expected);
        assert_eq!(
            words(&[("a", &[1.0]), ("b", &[2.0])]).unwrap(),
            "a 1 (1 block) and b 2 (1 block); a ranking needs 10 blocks."
        );
    }

    #[test]
    fn one_gateway_or_ten_blocks_give_no_sentence() {
        assert_eq!(words(&[("a", &[1.0, 2.0, 3.0])]), None);
        assert_eq!(words(&[("a", &[1.0; 10]), ("b", &[2.0; 10])]), None);
    }
}
