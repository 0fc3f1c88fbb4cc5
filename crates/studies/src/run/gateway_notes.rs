//! Notes about gateways: the effect of their resource limits, the metrics that they report about
//! themselves, and how well the distribution of requests matched the weights of their targets.

use std::collections::BTreeMap;

use gatebench_report::Unit;
use gatebench_report::format::{counted, distinct, grouped, listed, percent, quantity};
use gatebench_store::{GatewayFacts, OwnMetricsRecord, Throttling, TrialRecord, WeighedRecord};

use crate::common::context::Context;

/// The effects of resource limits: a sentence for each variant that had a limit or was throttled,
/// in the plan's order.
pub(crate) fn limits(context: &Context) -> Vec<String> {
    let variants = context.plan.variants.iter();
    variants
        .filter_map(|variant| {
            let label = variant.label();
            let records = context.records();
            let records: Vec<_> = records.filter(|it| it.trial.variant == label).collect();
            of_variant(context, label, &records)
        })
        .collect()
}

fn of_variant(context: &Context, label: &str, records: &[&TrialRecord]) -> Option<String> {
    let facts = records.iter().find_map(|record| record.gateway.as_ref());
    let names = distinct(context.plan.phases().map(|phase| phase.name.as_str()));
    let stopped = names.into_iter().filter_map(|name| {
        let sum = throttling(records, name)?;
        let share = percent(sum.throttled_periods as f64 / sum.periods as f64);
        let waited = quantity(sum.throttled_ns as f64, Unit::Nanoseconds);
        Some(format!(
            "{share} of the limit's periods in '{name}' ({waited} in total)"
        ))
    });
    let stopped: Vec<String> = stopped.collect();
    let held = facts.and_then(held);
    if stopped.is_empty() {
        return held.map(|held| format!("{label} {held}, and was never throttled."));
    }
    let held = held.unwrap_or_else(|| "has a CPU limit that the run did not set".into());
    let stopped = listed(&stopped);
    Some(format!(
        "{label} {held}; this limit throttled it in {stopped}."
    ))
}

/// The limit as text: `is limited to 0.5 CPU by cgroup v1`.
fn held(facts: &GatewayFacts) -> Option<String> {
    let by = facts.limited_by.as_ref()?;
    Some(format!("is limited to {} by {by}", facts.limits))
}

/// The throttling by a CPU limit in a phase, over all trials; `None` if there was none.
fn throttling(records: &[&TrialRecord], phase: &str) -> Option<Throttling> {
    let phases = records.iter().flat_map(|record| &record.phases);
    let each = phases
        .filter(|record| record.name == phase)
        .filter_map(|record| record.usage.get("gateway")?.throttling);
    let sum = each.fold(Throttling::default(), |sum, it| Throttling {
        periods: sum.periods + it.periods,
        throttled_periods: sum.throttled_periods + it.throttled_periods,
        throttled_ns: sum.throttled_ns + it.throttled_ns,
    });
    (sum.throttled_periods > 0).then_some(sum)
}

/// A sentence for each gateway and scenario whose metrics were fetched.
pub(crate) fn self_reported_metrics(context: &Context) -> Vec<String> {
    let mut found: BTreeMap<(&str, &str), OwnMetricsRecord> = BTreeMap::new();
    for record in context.records() {
        let of = &record.trial;
        for own in record
            .phases
            .iter()
            .filter_map(|it| it.own_metrics.as_ref())
        {
            let sum = found.entry((&of.variant, &of.scenario)).or_default();
            sum.scrapes += own.scrapes;
            sum.failed += own.failed;
            sum.requests += own.requests;
            sum.responses += own.responses;
            sum.bytes_max = sum.bytes_max.max(own.bytes_max);
            sum.took_ns_max = sum.took_ns_max.max(own.took_ns_max);
        }
    }
    let all = found.iter();
    all.map(|((gateway, scenario), own)| sentence(gateway, scenario, own))
        .collect()
}

/// The counts as a sentence: `In 'metrics-scraped', haproxy itself counted 14,998 requests and
/// gatebench 15,002 responses between the first and the last fetch of each load; 6 fetches of its
/// metrics returned up to 12.0 KiB each and took up to 4.10 ms.`
fn sentence(gateway: &str, scenario: &str, own: &OwnMetricsRecord) -> String {
    let failed = match own.failed {
        0 => String::new(),
        failed => format!(" ({failed} without a response)"),
    };
    let (fetches, [each, up_to]) = match own.scrapes {
        1 => ("1 fetch".to_owned(), ["", ""]),
        count => (
            format!("{} fetches", grouped(count as f64)),
            [" each", "up to "],
        ),
    };
    // Counts are differences between two fetches; a single fetch yields no counts.
    let theirs = match own.responses {
        0 => String::new(),
        responses => format!(
            "{gateway} itself counted {} and gatebench {} between the first and the last fetch of \
             each load; ",
            counted(own.requests, "request"),
            counted(responses, "response")
        ),
    };
    let whose = match theirs.is_empty() {
        true => format!("{gateway}'s"),
        false => "its".to_owned(),
    };
    format!(
        "In '{scenario}', {theirs}{fetches} of {whose} metrics{failed} returned {up_to}{}{each} and took {up_to}{}.",
        quantity(own.bytes_max as f64, Unit::Bytes),
        quantity(own.took_ns_max as f64, Unit::Nanoseconds),
    )
}

/// A sentence for each variant and scenario in which weights changed.
pub(crate) fn weights(context: &Context) -> Vec<String> {
    let cells = context.cells();
    cells
        .filter_map(|(scenario, variant)| of_weights(context, &scenario.scenario, variant.label()))
        .collect()
}

fn of_weights(context: &Context, scenario: &str, variant: &str) -> Option<String> {
    let records = context.completed_of(scenario, variant);
    let phases = records.flat_map(|record| &record.phases);
    let changes = phases.filter_map(|phase| phase.change.as_ref());
    let weighed: Vec<&WeighedRecord> = changes.flat_map(|change| &change.weighed).collect();
    let deviations = weighed.iter().filter_map(|it| deviation(it));
    let worst = deviations.reduce(f64::max)?;
    Some(format!(
        "In '{scenario}', {variant} distributed requests according to {} of weights; no target's \
         share differed by more than {:.1} percentage points from its configured share.",
        counted(weighed.len() as u64, "list"),
        (worst * 1000.0).ceil() / 10.0
    ))
}

/// The largest difference between a target's share of the requests and its share of the weights;
/// `None` if no requests were sent or there are no weights.
fn deviation(weighed: &WeighedRecord) -> Option<f64> {
    let requests: u64 = weighed.requests.iter().sum();
    let weights: u64 = weighed.weights.iter().map(|it| u64::from(*it)).sum();
    if requests == 0 || weights == 0 {
        return None;
    }
    let pairs = weighed.requests.iter().zip(&weighed.weights);
    let deviations = pairs.map(|(had, weight)| {
        let had = *had as f64 / requests as f64;
        (had - f64::from(*weight) / weights as f64).abs()
    });
    deviations.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use gatebench_model::Limits;

    use super::*;

    #[test]
    fn limits_are_described() {
        let facts = GatewayFacts {
            limits: Limits {
                cpu_millis: Some(500),
                memory_bytes: None,
            },
            limited_by: Some("cgroup v2".into()),
            ..GatewayFacts::default()
        };
        assert_eq!(held(&facts).unwrap(), "is limited to 0.5 CPU by cgroup v2");
        assert_eq!(held(&GatewayFacts::default()), None);
    }

    #[test]
    fn both_counts_and_the_fetches_are_described() {
        let own = OwnMetricsRecord {
            scrapes: 6,
            failed: 1,
            bytes_max: 12 * 1024,
            took_ns_max: 4_100_000,
            requests: 14_998,
            responses: 15_002,
            audit: None,
        };
        let expected = "In 's', haproxy itself counted 14,998 requests and gatebench 15,002 responses between \
                        the first and the last fetch of each load; 6 fetches of its metrics (1 without a response) returned up to 12.0 KiB each and took up to 4.10 ms.";
        assert_eq!(sentence("haproxy", "s", &own), expected);
    }

    #[test]
    fn shares_are_compared_with_the_weights() {
        let weighed = |weights: &[u32], requests: &[u64]| WeighedRecord {
            weights: weights.into(),
            requests: requests.into(),
        };
        assert_eq!(deviation(&weighed(&[1, 3], &[250, 750])), Some(0.0));
        let off = deviation(&weighed(&[1, 3], &[500, 500])).unwrap();
        assert_eq!(off, 0.25);
        assert_eq!(deviation(&weighed(&[1, 3], &[0, 0])), None);
    }
}
