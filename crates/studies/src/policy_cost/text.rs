//! Costs in sentences.

use gatebench_report::format::{counted, listed, percent, short, signed, split_quantity};
use gatebench_report::{Tone, Unit};
use gatebench_stats::Verdict;

use super::facts::{Cost, CostFindings, CostLine, CostMeasure, CostRole, GatewayCosts};
use crate::common::comparisons::SMALLEST_EFFECT;
use crate::common::facts::Sentence;

/// The cost of policies in CPU time: one sentence for each gateway, and one for each policy.
pub(crate) fn sentences(costs: &CostFindings) -> Vec<Sentence> {
    let Some(measure) = costs.measures.first() else {
        return Vec::new();
    };
    let gateways = costs.gateways.iter();
    let overviews = gateways.filter_map(|gateway| {
        let (text, variant) = (overview(gateway, measure)?, Some(&*gateway.variant));
        Some(Sentence::new(Tone::Plain, text, None, variant))
    });
    let lines = costs.gateways.first().map_or(0, |it| it.lines.len());
    let policies = (0..lines).filter_map(|line| {
        let (scenario, text) = policy(costs, measure, line)?;
        Some(Sentence::new(Tone::Plain, text, Some(scenario), None))
    });
    overviews.chain(policies).collect()
}

/// An overview: `nginx takes 14.2 µs of CPU per plain request at 5,000 requests/s; its policies add
/// from 0.310 µs (rate-limit-never-reached) to 31.0 µs (pipeline).` None if fewer than three costs
/// are known, because an overview would only repeat their sentences.
fn overview(gateway: &GatewayCosts, measure: &CostMeasure) -> Option<String> {
    let known = |line| Some((line, cost(line)?.difference.effect));
    let mut known: Vec<(&CostLine, f64)> = gateway.lines.iter().filter_map(known).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(least, from), _, .., (most, to)] = known.as_slice() else {
        return None;
    };
    let mut lines = gateway.lines.iter();
    let plain = lines.find(|line| line.role == CostRole::Plain)?;
    let total = plain.figures.first()?.total.as_ref()?;
    Some(format!(
        "{} takes {} of CPU per plain request{}; {} add from {} ({}) to {} ({}).",
        gateway.variant,
        short(total.median, Unit::CpuNanosecondsPerRequest),
        at(measure),
        counted(known.len() as u64, "policy scenario"),
        signed_time(*from),
        least.scenario,
        signed_time(*to),
        most.scenario,
    ))
}

/// The cost of a policy: `api-key adds to proxy-json at 5,000 requests/s, in CPU per request: +1.24
/// µs (1.10–1.38) at reference, and nothing that matters at nginx (within ±2 %).`
fn policy<'a>(
    costs: &'a CostFindings,
    measure: &CostMeasure,
    line: usize,
) -> Option<(&'a str, String)> {
    let first = costs.gateways.first()?.lines.get(line)?;
    let baseline = first.role.baseline()?;
    let costs_in_words: Vec<String> = costs
        .gateways
        .iter()
        .filter_map(|gateway| {
            let words = cost_words(cost(gateway.lines.get(line)?)?);
            Some(format!("{words} at {}", gateway.variant))
        })
        .collect();
    (!costs_in_words.is_empty()).then(|| {
        let text = format!(
            "{} adds to {baseline}{}, in CPU per request: {}.",
            first.scenario,
            at(measure),
            listed(&costs_in_words)
        );
        (first.scenario.as_str(), text)
    })
}

fn cost(line: &CostLine) -> Option<&Cost> {
    line.figures.first()?.cost.as_ref()
}

fn at(measure: &CostMeasure) -> String {
    format!(" at {}", measure.load)
}

/// The cost with its interval, `+1.24 µs (1.10–1.38)`, or the verdict if the cost is small.
fn cost_words(cost: &Cost) -> String {
    let (effect, span) = signed(&cost.difference, |value| {
        split_quantity(value, Unit::CpuNanosecondsPerRequest).0
    });
    let verdict = cost.ratio.as_ref().map(|ratio| ratio.verdict);
    let within = percent(SMALLEST_EFFECT);
    let remark = match verdict {
        Some(Verdict::NoChange) => format!("; nothing that matters, within ±{within}"),
        Some(Verdict::Inconclusive { .. }) => "; inconclusive".into(),
        _ => String::new(),
    };
    let spoiled = spoiled_blocks(cost);
    let remark = match spoiled {
        0 => remark,
        count => {
            let total = counted((cost.blocks.len() + count) as u64, "block");
            format!("{remark}; the gateway spoiled {count} of {total}")
        }
    };
    match (span.is_empty(), remark.is_empty()) {
        (true, true) => format!("{effect} µs"),
        _ => format!("{effect} µs ({span}{remark})"),
    }
}

/// The number of blocks that the gateway spoiled, with or without the policy.
fn spoiled_blocks(cost: &Cost) -> usize {
    let [with, plain] = [&cost.spoiled.candidate, &cost.spoiled.baseline].map(|it| &it.blocks);
    with.len() + plain.iter().filter(|it| !with.contains(it)).count()
}

fn signed_time(value_ns: f64) -> String {
    let sign = if value_ns < 0.0 { "−" } else { "+" };
    sign.to_owned() + &short(value_ns.abs(), Unit::CpuNanosecondsPerRequest)
}
