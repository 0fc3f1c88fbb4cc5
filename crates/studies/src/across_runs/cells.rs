//! Finds the metrics that can be compared between runs, and their values.

use gatebench_model::{DecisiveMetric, Variant};
use gatebench_report::Validity;
use gatebench_stats::Estimate;

use super::RunSummary;
use super::compare::facts::{Control, Place};
use super::differences::{is_same_gateway, is_same_phase, is_same_scenario};
use crate::common::comparisons::{Subject, all_subjects};
use crate::common::facts::{Metric, MetricFindings, ScenarioFindings, VariantRow, row_of};
use crate::common::metrics::decided_by;
use crate::common::spoiled;

/// The usable blocks of one side of a comparison.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) values: Vec<f64>,
    pub(super) estimate: Estimate,
    pub(super) validity: Validity,
    /// The number of blocks that the gateway spoiled or may have spoiled.
    pub(super) spoiled: usize,
}

pub(super) struct Candidate {
    pub(super) place: Place,
    pub(super) side: Side,
}

/// Returns the candidate's usable metrics in each scenario and load that the baseline's plan also
/// has, the deciding ones first.
pub(super) fn of(
    candidate: &RunSummary,
    baseline: &RunSummary,
    decisive: DecisiveMetric,
) -> Vec<Candidate> {
    let metric = decided_by(decisive);
    let same = |it: &&ScenarioFindings| is_same_scenario(candidate, baseline, &it.name);
    let mut found = Vec::new();
    for scenario in candidate.findings.scenarios.iter().filter(same) {
        for subject in all_subjects(scenario, metric) {
            for row in &scenario.rows {
                let (control, metric) = match row.kind {
                    Variant::Direct => (Some(Control::Direct), of_direct(subject.metric)),
                    _ => {
                        let same = is_same_gateway(candidate, baseline, &row.variant);
                        (same.then_some(Control::SameGateway), Some(subject.metric))
                    }
                };
                let own = metric.and_then(|metric| row.metric(subject.kind, metric));
                found.extend(own.and_then(|own| {
                    let side = side_of(row, own, control)?;
                    let place = place(scenario, row, &own.phase, subject, own.metric);
                    let place = Place { control, ..place };
                    Some(Candidate { place, side })
                }));
            }
        }
    }
    found.retain(|it| is_same_phase(candidate, baseline, &it.place.scenario, &it.place.phase));
    found.sort_by_key(|it| !it.place.primary);
    found
}

/// Finds places where the baseline has values of the deciding metric, but the candidate has none
/// and its gateway spoiled blocks.
pub(super) fn lost(
    candidate: &RunSummary,
    baseline: &RunSummary,
    decisive: DecisiveMetric,
) -> Vec<Place> {
    let scenarios = &candidate.findings.scenarios;
    let is_lost = |place: &Place| {
        let row = row_of(scenarios, &place.scenario, &place.gateway);
        let spoiled = row.is_some_and(|row| !row.spoiled.is_empty());
        place.primary && spoiled && side(candidate, place).is_none()
    };
    let places = of(baseline, candidate, decisive).into_iter();
    places.map(|it| it.place).filter(is_lost).collect()
}

/// Returns the places that have no usable value and where the gateway spoiled blocks, each with the
/// number of spoiled blocks.
pub(super) fn wholly_spoiled(run: &RunSummary, decisive: DecisiveMetric) -> Vec<(Place, usize)> {
    let mut found = Vec::new();
    for scenario in &run.findings.scenarios {
        for subject in all_subjects(scenario, decided_by(decisive)) {
            let phase = scenario.phase(subject.kind);
            let (Some(phase), Some(aspect)) = (phase, subject.metric.aspect()) else {
                continue;
            };
            for row in scenario.rows.iter().filter(|it| it.kind != Variant::Direct) {
                let values = row.metric(subject.kind, subject.metric);
                let own = spoiled::Side { row, values };
                let blocks = own.blocks_spoiled(&phase.name, aspect).len();
                if blocks == 0 || values.is_some_and(|it| it.estimate.is_some()) {
                    continue;
                }
                let place = place(scenario, row, &phase.name, subject, subject.metric);
                found.push((place, blocks));
            }
        }
    }
    found
}

/// The place of a metric in a row; [`Place::control`] is `None`.
fn place(
    scenario: &ScenarioFindings,
    row: &VariantRow,
    phase: &str,
    subject: Subject,
    metric: Metric,
) -> Place {
    Place {
        scenario: scenario.name.clone(),
        gateway: row.variant.clone(),
        control: None,
        phase: phase.to_owned(),
        load: scenario.load(phase).unwrap_or(phase).to_owned(),
        kind: subject.kind,
        metric,
        unit: metric.unit(),
        direction: subject.direction,
        primary: subject.primary,
    }
}

/// The metric of the direct variant that varies with the machine in the same way as this metric of
/// a gateway.
pub(super) fn of_direct(metric: Metric) -> Option<Metric> {
    match metric {
        Metric::GatewayCpuPerRequest => Some(Metric::UpstreamCpuPerRequest),
        Metric::GatewayRssAnonMax => None,
        other => Some(other),
    }
}

/// The usable blocks of a run at a place; `None` if the run did not measure the place, or if
/// [`side_of`] returns `None`.
pub(super) fn side(run: &RunSummary, place: &Place) -> Option<Side> {
    let row = row_of(&run.findings.scenarios, &place.scenario, &place.gateway)?;
    let found = row.metric(place.kind, place.metric)?;
    (found.phase == place.phase).then(|| side_of(row, found, place.control))?
}

/// Returns the usable blocks of a metric in a row. Returns `None` if no block is usable, or if a
/// usable value is not positive. Also returns `None` for a gateway's limited throughput, because it
/// may not be the gateway's capacity.
fn side_of(row: &VariantRow, found: &MetricFindings, control: Option<Control>) -> Option<Side> {
    let limited = found.metric == Metric::Throughput && found.validity == Validity::Limited;
    if limited && control != Some(Control::Direct) {
        return None;
    }
    let blocks = found.blocks.iter();
    let usable = blocks.filter(|it| it.validity != Validity::Invalid);
    let values: Vec<f64> = usable.map(|it| it.value).collect();
    values.iter().all(|value| *value > 0.0).then_some(())?;
    let own = spoiled::Side {
        row,
        values: Some(found),
    };
    let spoiled = |aspect| own.blocks_spoiled(&found.phase, aspect).len();
    Some(Side {
        spoiled: found.metric.aspect().map_or(0, spoiled),
        estimate: found.estimate.clone()?,
        validity: found.validity,
        values,
    })
}

/// The geometric mean of positive values.
pub(super) fn geometric_mean(values: &[f64]) -> f64 {
    let logs: f64 = values.iter().map(|value| value.ln()).sum();
    (logs / values.len() as f64).exp()
}
