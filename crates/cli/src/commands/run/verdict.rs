//! The exit code of a run, and the failures to report.

use std::collections::BTreeSet;
use std::path::Path;

use gatebench_model::{Culprit, Plan, Trial, Variant};
use gatebench_report::Validity;
use gatebench_store::{Outcome, Run, Status};
use gatebench_studies::Findings;
use gatebench_studies::common::facts::{Gate, Reason, TrialFindings};

use crate::exit::Exit;
use crate::failure::Failure;

/// Returns the exit code of the run in `dir`, and the failures to print: those of gateways and
/// upstreams in completed trials, and missed thresholds of the user's script. Failed trials are not
/// among them, because they were reported when they ended.
pub fn of(dir: &Path, findings: &Findings) -> Result<(Exit, Vec<Failure>), Failure> {
    let run = Run::open(dir)?;
    let mut complaints = complaints(findings, &run.manifest().plan);
    complaints.extend(thresholds(&run));
    let failed = run
        .trials()
        .iter()
        .filter(|trial| !succeeded_later(&run, &trial.record.trial))
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

/// Reports whether a failed trial was repeated and then completed.
fn succeeded_later(run: &Run, failed: &Trial) -> bool {
    let first = failed.again.unwrap_or(failed.number);
    let records = run.trials().iter().map(|trial| &trial.record);
    records
        .filter(|record| record.trial.again == Some(first))
        .any(|record| record.outcome == Outcome::Completed)
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
        .filter(|(_, reason)| is_a_failure(reason))
        .filter(|(trial, reason)| seen.insert((&trial.scenario, &trial.variant, reason.gate)))
        .map(|(trial, reason)| complaint(trial, reason, plan))
        .collect()
}

/// Returns one failure for each threshold of a user's script that was missed, by scenario, variant
/// and phase.
fn thresholds(run: &Run) -> Vec<Failure> {
    let mut seen = BTreeSet::new();
    let mut complaints = Vec::new();
    for record in run.trials().iter().map(|trial| &trial.record) {
        let trial = &record.trial;
        for phase in &record.phases {
            let thresholds = phase.external.iter().flat_map(|it| &it.thresholds);
            for (threshold, _) in thresholds.filter(|(_, held)| !**held) {
                if seen.insert((&trial.scenario, &trial.variant, &phase.name, threshold)) {
                    let what = format!(
                        "the threshold '{threshold}' failed for {} (trial {}, {})",
                        trial.variant, trial.number, trial.scenario
                    );
                    let remedy = "read the figures in the trial's trial.json";
                    let complaint = Failure::said(Exit::CheckFailed, "the script", what, remedy);
                    complaints.push(complaint);
                }
            }
        }
    }
    complaints
}

/// Reports whether the reason is a fault of a gateway or of the upstream. Any other reason only
/// makes the trial unreliable.
fn is_a_failure(reason: &Reason) -> bool {
    reason.validity == Validity::Invalid
        && matches!(
            reason.gate,
            Gate::ChecksFailed | Gate::RequestErrors | Gate::ParityLost | Gate::GatewayRestarted
        )
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
