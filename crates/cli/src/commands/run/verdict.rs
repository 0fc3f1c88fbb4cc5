//! The exit code of a run, and the failures to report.

use std::collections::BTreeSet;
use std::path::Path;

use gatebench_model::{Culprit, Plan, Variant};
use gatebench_report::Validity;
use gatebench_report::format::counted;
use gatebench_store::{Outcome, Run, Status};
use gatebench_studies::Findings;
use gatebench_studies::common::facts::{Reason, TrialFindings};

use crate::exit::Exit;
use crate::failure::Failure;

/// Returns the exit code of the run in `dir`, and the failures to print: those of gateways and
/// upstreams in completed trials, and missed thresholds of the user's script. Failed trials are not
/// among them, because they were reported when they ended.
pub fn of(dir: &Path, findings: &Findings) -> Result<(Exit, Vec<Failure>), Failure> {
    let run = Run::open(dir)?;
    let mut complaints = complaints(findings, &run.manifest().plan);
    complaints.extend(thresholds(findings));
    let trials = &findings.trials;
    let succeeded_later: BTreeSet<u32> = trials
        .iter()
        .filter(|trial| trial.succeeded_later(trials))
        .map(|trial| trial.number)
        .collect();
    let failed = run
        .trials()
        .iter()
        .filter(|trial| !succeeded_later.contains(&trial.record.trial.number))
        .filter_map(|trial| match &trial.record.outcome {
            Outcome::Failed { culprit, .. } => Some(Exit::of(culprit)),
            _ => None,
        });
    // A fault of a gateway, which can be corrected, takes precedence over a fault of the machine.
    let worst = failed
        .chain(complaints.iter().map(Failure::exit))
        .min_by_key(|exit| exit.code());
    let exit = match findings.run.status {
        Status::Interrupted => Exit::Interrupted,
        // A trial that could not be written is missing from the run.
        Status::Failed => worst.unwrap_or(Exit::Environment),
        _ => worst.unwrap_or_else(|| without_failure(findings, &run.manifest().plan)),
    };
    Ok((exit, complaints))
}

/// Returns the exit code of a run without a failure: success, unless there are completed trials of
/// gateways and all of them are invalid.
fn without_failure(findings: &Findings, plan: &Plan) -> Exit {
    let measured = findings.trials.iter().filter(|trial| {
        trial.outcome == "completed" && plan.variant(&trial.variant) != Some(&Variant::Direct)
    });
    match measured.map(|trial| trial.validity).min() {
        Some(Validity::Invalid) => Exit::Inconclusive,
        _ => Exit::Fine,
    }
}

/// Returns one failure for each scenario, variant and gate, which describes the first affected
/// trial.
fn complaints(findings: &Findings, plan: &Plan) -> Vec<Failure> {
    let mut seen = BTreeSet::new();
    let trials = findings.trials.iter();
    let completed = trials.filter(|trial| trial.outcome == "completed");
    completed
        .flat_map(|trial| trial.reasons.iter().map(move |reason| (trial, reason)))
        .filter(|(_, reason)| reason.is_failure())
        .filter(|(trial, reason)| seen.insert((&trial.scenario, &trial.variant, reason.gate)))
        .map(|(trial, reason)| complaint(trial, reason, plan))
        .collect()
}

/// Returns one failure for each threshold of a user's script that was missed, by scenario, variant
/// and phase.
fn thresholds(findings: &Findings) -> Vec<Failure> {
    let mut complaints = Vec::new();
    for scenario in &findings.scenarios {
        for found in &scenario.external_results {
            for missed in found.thresholds.iter().filter(|it| it.crossed > 0) {
                let trials = counted(u64::from(missed.held + missed.crossed), "trial");
                let what = format!(
                    "the threshold '{}' failed for {} in {} of {trials} ({}, {})",
                    missed.name, found.variant, missed.crossed, scenario.name, found.phase
                );
                let remedy = "read the figures in the trials' trial.json";
                let complaint = Failure::said(Exit::CheckFailed, "the script", what, remedy);
                complaints.push(complaint);
            }
        }
    }
    complaints
}

fn complaint(trial: &TrialFindings, reason: &Reason, plan: &Plan) -> Failure {
    let culprit = match plan.variant(&trial.variant) {
        Some(Variant::Direct) => Culprit::Upstream,
        _ => Culprit::Gateway(trial.variant.clone()),
    };
    let what = format!(
        "{} (trial {}, {})",
        reason.message.trim_end_matches('.'),
        trial.number,
        trial.scenario
    );
    Failure::of(&culprit, what, reason.remedy.trim_end_matches('.'))
}
