//! The audit of a run directory.

use std::path::Path;

use gatebench_report::Validity;
use gatebench_report::format::counted;
use gatebench_studies::Findings;
use gatebench_studies::common::facts::{Gate, Reason, TrialFindings};
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::{reports, terminal};

pub fn run(dir: &Path, as_json: bool) -> Result<Exit, Failure> {
    let findings = reports::findings(dir)?;
    let defects: Vec<(&TrialFindings, &Reason)> = defects(&findings).collect();
    let printed = if as_json {
        let entries: Vec<_> = defects
            .iter()
            .map(|(trial, reason)| json!({ "trial": trial.number, "folder": trial.folder, "reason": reason }))
            .collect();
        terminal::say_json(&json!({ "trials": findings.trials.len(), "findings": entries }))
    } else {
        terminal::say(&summary(&findings, &defects))
    };
    terminal::unless_closed(printed)?;
    Ok(if defects.is_empty() {
        Exit::Fine
    } else {
        Exit::CheckFailed
    })
}

/// Returns the reasons that mark figures as impossible or contradictory, each with its trial.
fn defects<'f>(findings: &'f Findings) -> impl Iterator<Item = (&'f TrialFindings, &'f Reason)> {
    let of_trial = |trial: &'f TrialFindings| trial.reasons.iter().map(move |it| (trial, it));
    let is_defect = |(_, it): &(&TrialFindings, &Reason)| {
        it.validity == Validity::Invalid
            && matches!(it.gate, Gate::CannotBeTrue | Gate::Inconsistent)
    };
    findings.trials.iter().flat_map(of_trial).filter(is_defect)
}

fn summary(findings: &Findings, defects: &[(&TrialFindings, &Reason)]) -> String {
    let trials = counted(findings.trials.len() as u64, "trial");
    if defects.is_empty() {
        return format!("no findings in the figures of {trials}");
    }
    let lines = defects.iter().map(|(trial, reason)| {
        let phase = reason.phase.iter().map(|it| format!(", {it}"));
        let phase = phase.collect::<String>();
        let words = format!(
            "{} of {} ({}{phase}): {}",
            trial.variant, trial.scenario, trial.folder, reason.message
        );
        format!("✗ {}\n", terminal::wrapped(&words, terminal::WIDTH - 2, 2))
    });
    let lines: String = lines.collect();
    format!("{lines}\nimpossible figures in {trials}: {}", defects.len())
}
