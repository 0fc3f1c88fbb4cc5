//! How a gateway distributed requests according to the weights of its targets.

use gatebench_report::format::counted;
use gatebench_store::WeighedRecord;

use crate::common::context::Context;

/// A sentence for each variant and scenario in which weights changed.
pub(crate) fn notes(context: &Context) -> Vec<String> {
    let cells = context.cells();
    cells
        .filter_map(|(scenario, variant)| note(context, &scenario.scenario, variant.label()))
        .collect()
}

fn note(context: &Context, scenario: &str, variant: &str) -> Option<String> {
    let records = context.completed_of(scenario, variant);
    let phases = records.flat_map(|record| &record.phases);
    let changes = phases.filter_map(|phase| phase.change.as_ref());
    let weighed: Vec<&WeighedRecord> = changes.flat_map(|change| &change.weighed).collect();
    let deviations = weighed.iter().filter_map(|it| deviation(it));
    let worst = deviations.reduce(f64::max)?;
    Some(format!(
        "In '{scenario}', {variant} distributed requests by {} of weights; no target's share differed by more than {:.1} \
         percentage points from its configured share.",
        counted(weighed.len() as u64, "list"),
        (worst * 1000.0).ceil() / 10.0
    ))
}

/// The largest difference between a target's share of the requests and its share of the weights;
/// none if no requests were sent or there are no weights.
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
    #![allow(clippy::unwrap_used)]
    use super::*;

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
