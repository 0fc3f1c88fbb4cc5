//! The metrics that gateways report about themselves, next to the counts of gatebench.

use std::collections::BTreeMap;

use gatebench_report::Unit;
use gatebench_report::format::{counted, grouped, quantity};
use gatebench_store::OwnMetricsRecord;

use crate::common::context::Context;

/// A sentence for each gateway and scenario whose metrics were fetched.
pub(crate) fn notes(context: &Context) -> Vec<String> {
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

/// The counts in a sentence: `In 'metrics-scraped', haproxy itself counted 14,998 requests and
/// gatebench 15,002 responses; 6 fetches of its metrics returned up to 12.0 KiB each and took up to
/// 4.10 ms.`
fn sentence(gateway: &str, scenario: &str, own: &OwnMetricsRecord) -> String {
    let failed = match own.failed {
        0 => String::new(),
        failed => format!(" ({failed} without a response)"),
    };
    let fetches = match own.scrapes {
        1 => "1 fetch".to_owned(),
        count => format!("{} fetches", grouped(count as f64)),
    };
    // Counts are differences between two fetches; a single fetch gives none.
    let theirs = match own.responses {
        0 => String::new(),
        responses => format!(
            "{gateway} itself counted {} and gatebench {}; ",
            counted(own.requests, "request"),
            counted(responses, "response")
        ),
    };
    let whose = match theirs.is_empty() {
        true => format!("{gateway}'s"),
        false => "its".to_owned(),
    };
    format!(
        "In '{scenario}', {theirs}{fetches} of {whose} metrics{failed} returned up to {} each and took up to {}.",
        quantity(own.bytes_max as f64, Unit::Bytes),
        quantity(own.took_ns_max as f64, Unit::Nanoseconds),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_counts_and_the_fetches_are_described() {
        let own = OwnMetricsRecord {
            scrapes: 6,
            failed: 1,
            bytes_max: 12 * 1024,
            took_ns_max: 4_100_000,
            requests: 14_998,
            responses: 15_002,
        };
        let expected = "In 's', haproxy itself counted 14,998 requests and gatebench 15,002 responses; 6 fetches \
                        of its metrics (1 without a response) returned up to 12.0 KiB each and took up to 4.10 ms.";
        assert_eq!(sentence("haproxy", "s", &own), expected);
    }
}
