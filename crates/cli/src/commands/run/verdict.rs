//! What a run means for the exit code.

use std::path::Path;

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{Gate, Validity};
use gatebench_store::{Outcome, Run, Status};

use crate::exit::Exit;
use crate::failure::Failure;

/// The exit code of the run in `dir`.
pub fn exit_of(dir: &Path, findings: &Findings) -> Result<Exit, Failure> {
    if findings.run.status == Status::Interrupted {
        return Ok(Exit::Interrupted);
    }
    let run = Run::open(dir)?;
    let failures = run
        .trials()
        .iter()
        .filter_map(|trial| match &trial.record.outcome {
            Outcome::Failed { culprit, .. } => Some(Exit::of(culprit)),
            _ => None,
        });
    // What somebody can correct in a gateway comes before what the machine could not do.
    let worst = failures.min_by_key(|exit| exit.code());
    Ok(match worst {
        Some(Exit::CheckFailed) => Exit::CheckFailed,
        _ if checks_failed(findings) => Exit::CheckFailed,
        Some(exit) => exit,
        None => Exit::Fine,
    })
}

/// Whether a gateway did not do what it should: as opposed to a trial that cannot be relied upon.
fn checks_failed(findings: &Findings) -> bool {
    let reasons = findings.trials.iter().flat_map(|trial| &trial.reasons);
    let lost = reasons
        .filter(|reason| reason.validity == Validity::Invalid)
        .any(|reason| {
            matches!(
                reason.gate,
                Gate::ChecksFailed
                    | Gate::RequestErrors
                    | Gate::ParityLost
                    | Gate::GatewayRestarted
            )
        });
    lost || findings
        .parity
        .iter()
        .any(|parity| parity.holds == Some(false))
}
