//! Gates for a trial as a whole.

use gatebench_report::Validity;
use gatebench_report::format::{capitalized, counted};
use gatebench_store::{Outcome, TrialRecord};

use super::thresholds::UNLOGGED_SHARE_MAX;
use super::{EVERYTHING, reason};
use crate::common::context::{Context, resumed_by};
use crate::common::facts::{Gate, Reason};

/// Judges a trial apart from its phases: its outcome, the parity before and after the load,
/// processes that ended outside the measurements, and a missing or incomplete access log.
pub(crate) fn judge_trial(context: &Context, record: &TrialRecord) -> Vec<Reason> {
    match &record.outcome {
        Outcome::Completed => parity(context, record)
            .into_iter()
            .chain(restarted(record))
            .chain(unlogged(context, record))
            .collect(),
        Outcome::NotSupported { .. } => Vec::new(),
        Outcome::Failed {
            culprit,
            reason,
            remedy,
            phase,
        } => {
            let message = format!("The trial failed ({culprit}): {}.", trimmed(reason));
            let remedy = format!("{}.", capitalized(trimmed(remedy)));
            let phase = phase.as_deref();
            vec![invalid(Gate::NotCompleted, message, &remedy, phase)]
        }
        Outcome::Interrupted => {
            let message = "The run was interrupted during this trial.";
            let command = resumed_by(&context.plan.study);
            let remedy = format!("Run `gatebench {command} --resume DIR` to measure it again.");
            vec![invalid(Gate::NotCompleted, message, &remedy, None)]
        }
    }
}

fn parity(context: &Context, record: &TrialRecord) -> Option<Reason> {
    // The direct variant has no policies to prove.
    if context.is_direct(record) {
        return None;
    }
    let scenario = context.plan.scenario(&record.trial.scenario);
    let expected = scenario.is_some_and(|it| !it.parity.is_empty());
    let gateway = record.gateway.as_ref();
    let was_cold = gateway.is_some_and(|facts| facts.first_correct.is_some());
    let message = match (&record.parity_before, &record.parity_after) {
        // Before a load that starts cold, the first correct response replaces the parity test.
        (None, Some(after)) if was_cold && after.holds() => return None,
        (None, Some(_)) if was_cold => "Parity did not hold after the load.",
        (Some(before), _) if !before.holds() => "Parity did not hold before the load.",
        (_, Some(after)) if !after.holds() => "Parity held before the load, but not after it.",
        (Some(_), Some(_)) => return None,
        // A soak or profile that was stopped has no parity test after the load.
        (Some(_), None) if context.plan.study.may_be_stopped() => return None,
        _ if expected => "The parity test before or after the load is missing.",
        _ => return None,
    };
    let remedy = "Compare the request, the response and the expected response in the parity section, and read \
                  the gateway's log.";
    Some(invalid(Gate::ParityLost, message, remedy, None))
}

/// Judges processes that ended outside the measurements; the others count against their phase.
fn restarted(record: &TrialRecord) -> Option<Reason> {
    // A replaced worker ends when its last connection ends.
    let changed = record.phases.iter().any(|phase| phase.change.is_some());
    (!changed).then_some(())?;
    let usages = record
        .phases
        .iter()
        .filter_map(|it| it.usage.get("gateway"));
    let measured: u32 = usages.map(|usage| usage.processes_ended).sum();
    let ended = record.gateway.as_ref()?.processes_ended;
    let unseen = ended.checked_sub(measured).filter(|count| *count > 0)?;
    let count = counted(u64::from(unseen), "process");
    let message =
        format!("{count} of the gateway ended during the trial, but outside the measurements.");
    let remedy = super::gateway::RESTARTED_REMEDY;
    Some(invalid(Gate::GatewayRestarted, message, remedy, None))
}

/// A gateway without a required log does less work. The last lines may still be in a buffer.
fn unlogged(context: &Context, record: &TrialRecord) -> Option<Reason> {
    let scenario = context.plan.scenario(&record.trial.scenario)?;
    let lines = record.gateway.as_ref()?.access_log_lines?;
    let wires = record.phases.iter().filter_map(|it| it.wire.as_ref());
    let responses: u64 = wires.map(|wire| wire.responses).sum();
    let is_short = (lines as f64) < (1.0 - UNLOGGED_SHARE_MAX) * responses as f64;
    (scenario.access_log && is_short).then_some(())?;
    let message = format!(
        "The scenario requires an access log, but the gateway wrote only {} for {}.",
        counted(lines, "line"),
        counted(responses, "response")
    );
    let remedy =
        "In the gateway's templates, turn the access log on if the input sets `access_log`.";
    Some(invalid(Gate::AccessLog, message, remedy, None))
}

fn invalid(gate: Gate, message: impl Into<String>, remedy: &str, phase: Option<&str>) -> Reason {
    reason(gate, Validity::Invalid, &EVERYTHING, phase, message, remedy)
}

fn trimmed(text: &str) -> &str {
    text.trim_end().trim_end_matches('.')
}
