//! The effect of gateways' resource limits, in a sentence for each variant.

use gatebench_report::Unit;
use gatebench_report::format::{distinct, listed, percent, quantity};
use gatebench_store::{GatewayFacts, Throttling, TrialRecord};

use crate::common::context::Context;

/// The sentences, in the plan's order of variants.
pub(crate) fn of(context: &Context) -> Vec<String> {
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
            "{share} of the periods of {name} ({waited} in all)"
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

/// The limit in text: `is held to 0.5 CPU by cgroup v1`.
fn held(facts: &GatewayFacts) -> Option<String> {
    let by = facts.limited_by.as_ref()?;
    Some(format!("is held to {} by {by}", facts.limits))
}

/// The throttling by a CPU limit in a phase, over all trials; none if there was none.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
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
        assert_eq!(held(&facts).unwrap(), "is held to 0.5 CPU by cgroup v2");
        assert_eq!(held(&GatewayFacts::default()), None);
    }
}
