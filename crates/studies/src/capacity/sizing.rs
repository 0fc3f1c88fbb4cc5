//! Computes the number of cores that a rate requires from the capacities measured with one or more
//! numbers of cores.

use gatebench_model::{Capacity, Setup, Variant};
use gatebench_report::Validity;
use gatebench_stats::Scalability;
use gatebench_stats::capacity::Outcome;
use gatebench_stats::scalability::{Point, Sizing};

use super::facts::{GatewayCapacity, SizingFindings};
use super::gateway::rate_of;
use super::text;
use crate::common::context::Context;

/// Returns a sizing for each gateway and scenario; empty if the user requested no rate.
pub(super) fn of_run(
    context: &Context,
    capacity: &Capacity,
    gateways: &[GatewayCapacity],
) -> Vec<SizingFindings> {
    let Some(rate_per_second) = capacity.size_for_per_second else {
        return Vec::new();
    };
    let mut sizings = Vec::new();
    for scenario in &context.plan.scenarios {
        for (index, variant) in context.plan.variants.iter().enumerate() {
            // A gateway that was measured with several numbers of cores gets only one sizing.
            let mut earlier = context.plan.variants[..index].iter();
            let is_known = earlier.any(|it| is_same(it, variant));
            let of_gateway = |found: &&GatewayCapacity| {
                let own = context.plan.variant(&found.variant);
                found.scenario == scenario.scenario && own.is_some_and(|own| is_same(own, variant))
            };
            let sizes: Vec<&GatewayCapacity> = gateways.iter().filter(of_gateway).collect();
            if !is_known && !sizes.is_empty() {
                sizings.push(of_gateway_in(context, &sizes, rate_per_second));
            }
        }
    }
    sizings
}

/// Reports whether two variants differ at most in their number of cores.
fn is_same(one: &Variant, other: &Variant) -> bool {
    let without_size = |variant: &Variant| match variant.clone() {
        Variant::Gateway { folder, setup, .. } => {
            let cores = None;
            Some((folder, Setup { cores, ..setup }))
        }
        Variant::Direct | Variant::Attached { .. } => None,
    };
    let both = [one, other].map(without_size);
    both[0] == both[1] && (both[0].is_some() || one == other)
}

fn of_gateway_in(
    context: &Context,
    sizes: &[&GatewayCapacity],
    rate_per_second: f64,
) -> SizingFindings {
    let points: Vec<Point> = sizes.iter().flat_map(|found| points(found)).collect();
    let cores_measured = ascending(points.iter().map(|point| point.cores));
    let has_none = |it: &&&GatewayCapacity| it.outcome.as_ref().and_then(rate_of).is_none();
    let without = sizes.iter().filter(has_none).map(|it| size(context, it));
    let sustains = |it: &&&GatewayCapacity| {
        let rate = it.outcome.as_ref().and_then(rate_of);
        rate.is_some_and(|rate| rate >= rate_per_second)
    };
    let cores_sustaining = sizes.iter().filter(sustains).map(|it| it.cores);
    let cores_sustaining = cores_sustaining.min_by(f64::total_cmp);
    let scalability = Scalability::fit(&points, context.plan.seed);
    let sizing = scalability
        .as_ref()
        .and_then(|it| it.cores_for(rate_per_second))
        .map(|it| corrected(it, sizes, cores_sustaining, &cores_measured));
    // If a gateway met the objective even at the highest rate that was tried, its capacity is only
    // a lower bound, as is a limited capacity.
    let is_whole = |it: &&GatewayCapacity| {
        it.validity == Validity::Valid && matches!(it.outcome, Some(Outcome::Found(_)))
    };
    let validity = match (&sizing, sizes.iter().all(is_whole)) {
        (None, _) => Validity::Invalid,
        (Some(_), true) => Validity::Valid,
        (Some(_), false) => Validity::Limited,
    };
    let mut found = SizingFindings {
        scenario: sizes[0].scenario.clone(),
        gateway: name(context, &sizes[0].variant),
        rate_per_second,
        cores_without_capacity: ascending(without),
        cores_sustaining,
        cores_measured,
        law: scalability.map(|it| it.law),
        sizing,
        validity,
        text: String::new(),
    };
    found.text = text::sizing(&found);
    found
}

fn ascending(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers
}

/// Returns the number of cores of a gateway. Only a completed repeat shows how many cores it could
/// use, so without a result, the number is that of the plan, if the plan has one.
fn size(context: &Context, found: &GatewayCapacity) -> f64 {
    let setup = context
        .plan
        .variant(&found.variant)
        .and_then(Variant::setup);
    match setup.and_then(|setup| setup.cores) {
        Some(planned) if found.outcome.is_none() => planned as f64,
        _ => found.cores,
    }
}

/// Corrects a sizing if no capacity was found with some numbers of cores, because the law was
/// fitted without them. The result is then the smallest measured number of cores that sustains the
/// requested rate. If there is none, the sizing is raised above every number of cores that sustains
/// no rate.
fn corrected(
    sizing: Sizing,
    sizes: &[&GatewayCapacity],
    sustaining: Option<f64>,
    measured: &[f64],
) -> Sizing {
    let has_rate = |it: &GatewayCapacity| it.outcome.as_ref().map(|it| rate_of(it).is_some());
    if sizes.iter().all(|it| has_rate(it) == Some(true)) {
        return sizing;
    }
    if let Some(enough) = sustaining {
        return Sizing {
            cores: enough.ceil() as u32,
            cores_low: None,
            cores_high: None,
            extrapolated: false,
        };
    }
    let failing = sizes.iter().filter(|it| has_rate(it) == Some(false));
    let failing = failing.map(|it| it.cores);
    let fewest = failing.fold(0.0, f64::max).floor() as u32 + 1;
    let cores = sizing.cores.max(fewest);
    let (at, ends) = (f64::from(cores), [measured.first(), measured.last()]);
    Sizing {
        cores,
        cores_low: sizing.cores_low.map(|it| it.max(fewest)),
        cores_high: sizing.cores_high.map(|it| it.max(fewest)),
        extrapolated: Some(&at) < ends[0] || Some(&at) > ends[1],
    }
}

/// Returns a point for each repeat, or a single point if the result is only a lower bound.
fn points(found: &GatewayCapacity) -> Vec<Point> {
    let rates = match &found.outcome {
        // The ratio of the sustained rate to the rate at which half of the steps meet the objective
        // is assumed to be the same in all processes.
        Some(Outcome::Found(found)) => {
            let share = found.rate.rate_per_second / found.half.rate_per_second;
            found.knees_per_second.iter().map(|it| it * share).collect()
        }
        Some(Outcome::AtLeast {
            rate_per_second, ..
        }) => vec![*rate_per_second],
        _ => Vec::new(),
    };
    let point = |throughput_per_second| Point {
        cores: found.cores,
        throughput_per_second,
    };
    rates.into_iter().map(point).collect()
}

/// The label of the variant without its number of cores.
fn name(context: &Context, label: &str) -> String {
    let setup = context.plan.variant(label).and_then(Variant::setup);
    let cores = setup.and_then(|setup| setup.cores);
    let end = cores.map(|cores| format!("-{cores}core"));
    let short = end.and_then(|end| label.strip_suffix(end.as_str()));
    short.unwrap_or(label).to_owned()
}
