//! The table of a scenario: one row per variant, with medians and ranges over the blocks.

use gatebench_model::load::FailingPart;
use gatebench_model::{Phase, Scenario, Variant};
use gatebench_report::Validity;
use gatebench_report::validity::estimate_of;
use gatebench_store::Outcome;

use super::collect::{Collected, PhaseValues};
use super::context::{Context, kind_of};
use super::facts::{
    BlockValue, Metric, MetricFindings, PhaseLine, Reason, RowStatus, ScenarioFindings, VariantRow,
};
use super::gates::worst;
use super::{Names, by_key, external_results, loads, wire};

pub(crate) fn of_run(context: &Context, collected: &Collected) -> Vec<ScenarioFindings> {
    let scenarios = context.plan.scenarios.iter();
    scenarios
        .map(|scenario| of_scenario(context, collected, scenario))
        .collect()
}

fn of_scenario(context: &Context, collected: &Collected, scenario: &Scenario) -> ScenarioFindings {
    // The null gateway is a reference for the others and takes no part in comparisons.
    let (nulls, variants): (Vec<&Variant>, Vec<_>) =
        context.plan.variants.iter().partition(|it| it.is_null());
    let load = context.plan.load_of(&scenario.scenario);
    let names = Names {
        scenario: &scenario.scenario,
        phases: load.phases.iter().map(|it| &*it.name).collect(),
        variants: variants.iter().map(|it| it.label()).collect(),
    };
    let row = |variant: &&Variant| row(context, collected, scenario, variant);
    ScenarioFindings {
        groups: collected.groups.of_scenario(&names),
        routes: collected.groups.routes_of_scenario(&names),
        external_results: external_results::of_scenario(context, &names),
        name: scenario.scenario.clone(),
        title: scenario.title.clone(),
        phases: distinct(load.phases.iter().map(line).collect()),
        rows: variants.iter().map(row).collect(),
        null: (nulls.first().map(row)).filter(|row| row.status != RowStatus::Missing),
        wire: wire::of_scenario(context, scenario),
        curves: collected.curves.of_scenario(&names),
        // These fields are filled in later, from the rows of all scenarios.
        comparisons: Vec::new(),
        sentences: Vec::new(),
        summary: None,
    }
}

const SIDE_BY_SIDE: &str = " each, side by side";
const KEPT_AWAKE: &str = ", core kept awake";

fn line(phase: &Phase) -> PhaseLine {
    PhaseLine {
        name: phase.name.clone(),
        kind: kind_of(&phase.shape, phase.side_by_side),
        label: [
            &*loads::in_words(&phase.shape),
            if phase.side_by_side { SIDE_BY_SIDE } else { "" },
            &change_words(phase),
            if phase.keep_awake { KEPT_AWAKE } else { "" },
            &format!(", {}", phase.measure),
        ]
        .concat(),
    }
}

/// Adds the phase's name to each label that occurs more than once: `16 connections, 2s (run-1)`.
fn distinct(mut lines: Vec<PhaseLine>) -> Vec<PhaseLine> {
    let labels: Vec<String> = lines.iter().map(|line| line.label.clone()).collect();
    for line in &mut lines {
        if labels.iter().filter(|label| **label == line.label).count() > 1 {
            line.label = format!("{} ({})", line.label, line.name);
        }
    }
    lines
}

/// Describes the changes and failures of a phase: `, reload at 3s`, `, a target slow by 200ms from
/// 3s until 6s`; empty if there are none.
pub(crate) fn change_words(phase: &Phase) -> String {
    let failure = phase.failure.as_ref().map(|it| {
        let by = it.by.map_or(String::new(), |by| format!(" by {by}"));
        let what = match it.part {
            FailingPart::Target => format!("a target {}", it.how.as_str()),
            FailingPart::ControlPlane => "the control plane down".into(),
        };
        format!(", {what}{by} from {} until {}", it.from, it.until)
    });
    let change = phase.change.as_ref().map(|change| {
        let every = change
            .every
            .map_or_else(String::new, |every| format!(" and every {every}"));
        format!(", {} at {}{every}", change.action, change.at)
    });
    [failure, change].into_iter().flatten().collect()
}

fn row(
    context: &Context,
    collected: &Collected,
    scenario: &Scenario,
    variant: &Variant,
) -> VariantRow {
    let cell = (scenario.scenario.clone(), variant.label().to_owned());
    let reasons = collected.reasons.get(&cell);
    let phases = collected.values.get(&cell).into_iter().flatten();
    let metrics = phases.flat_map(|of| of.metrics.iter().map(move |metric| (of, metric)));
    VariantRow {
        variant: variant.label().to_owned(),
        kind: variant.clone(),
        status: status(context, scenario, variant),
        validity: reasons.map(|reasons| worst(reasons, None)),
        reasons: reasons.map_or_else(Vec::new, |it| once_each(it)),
        spoiled: collected.spoiled.get(&cell).cloned().unwrap_or_default(),
        metrics: metrics
            .map(|(of, (metric, blocks))| metric_findings(of, *metric, blocks))
            .collect(),
    }
}

fn status(context: &Context, scenario: &Scenario, variant: &Variant) -> RowStatus {
    let trials = context.trials_of(&scenario.scenario, variant.label());
    let mut status = RowStatus::Missing;
    for trial in trials {
        match (&trial.record.outcome, &status) {
            (Outcome::Completed, _) => return RowStatus::Measured,
            (Outcome::NotSupported { policies }, RowStatus::Missing | RowStatus::Failed) => {
                let policies = policies.clone();
                status = RowStatus::NotSupported { policies };
            }
            (Outcome::Failed { .. }, RowStatus::Missing) => status = RowStatus::Failed,
            _ => {}
        }
    }
    status
}

/// The worst reason for each gate and phase, with the number of reasons that share both.
pub(super) fn worst_of_each(reasons: &[Reason]) -> impl Iterator<Item = (Reason, usize)> {
    let groups = by_key(reasons.iter().map(|it| ((it.gate, &it.phase), it))).into_iter();
    groups.filter_map(|(_, seen)| {
        // `max_by_key` returns the last of several maxima, so the order is reversed.
        let worst = seen.iter().rev().max_by_key(|it| it.validity)?;
        Some(((*worst).clone(), seen.len()))
    })
}

/// Returns the worst reason for each gate and phase, the most severe first. The message of a reason
/// that occurred in several blocks states their number. `reasons` contains at most one reason per
/// gate, phase and block.
fn once_each(reasons: &[Reason]) -> Vec<Reason> {
    let worst = worst_of_each(reasons).map(|(mut reason, blocks)| {
        if blocks > 1 {
            reason.message += &format!(" This was observed in {blocks} blocks.");
        }
        reason
    });
    let mut once = Vec::from_iter(worst);
    once.sort_by_key(|reason| std::cmp::Reverse(reason.validity));
    once
}

/// Invalid blocks are shown, but not included in the estimate.
fn metric_findings(values: &PhaseValues, metric: Metric, blocks: &[BlockValue]) -> MetricFindings {
    let (estimate, validity) = estimate_of(blocks.iter().map(|it| (it.validity, it.value)));
    MetricFindings {
        phase: values.phase.clone(),
        kind: values.kind,
        metric,
        unit: metric.unit(),
        estimate,
        validity: validity.unwrap_or(Validity::Invalid),
        blocks: blocks.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::facts::PhaseKind;

    #[test]
    fn equal_loads_are_distinguished_by_their_names() {
        let line = |name: &str, label: &str| PhaseLine {
            name: name.into(),
            kind: PhaseKind::Closed,
            label: label.into(),
        };
        let lines = distinct(vec![
            line("run-1", "16 connections, 2s"),
            line("run-2", "16 connections, 2s"),
            line("more", "32 connections, 2s"),
        ]);
        let labels: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
        let expected = [
            "16 connections, 2s (run-1)",
            "16 connections, 2s (run-2)",
            "32 connections, 2s",
        ];
        assert_eq!(labels, expected);
        assert_eq!(lines[0].load(), "16 connections");
    }
}
