//! Marginal costs as text.

use gatebench_report::format::{capitalised, counted, grouped, listed, quantity};
use gatebench_report::{Tone, Unit};

use super::facts::{GatewayMarginalCosts, MarginalCostFindings};
use crate::common::facts::{Metric, Sentence};

/// A sentence for each gateway on the cost of each unit in memory and start time. No verdict
/// compares these costs, so they are not ranked.
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

/// The cost in a sentence: `Each route takes 1.20 KiB of memory in nginx (1.10 KiB to 1.30 KiB over
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
    Some(format!("{}.", capitalised(&text)))
}

/// Both ends of the range, `21.0 ms with 1 and 35.0 ms with 5,000`; none if there is no value.
fn at_each(gateway: &GatewayMarginalCosts, measure: usize, unit: Unit) -> Option<String> {
    let known = gateway.points.iter().filter_map(|point| {
        let median = point.values[measure].as_ref()?.median;
        let count = grouped(f64::from(point.count));
        Some(format!("{} with {count}", quantity(median, unit)))
    });
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| listed(&known))
}
