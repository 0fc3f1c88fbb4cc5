//! Describes the progress of a run in words.

use std::time::Duration;

use gatebench_model::{Plan, Trial};
use gatebench_report::Unit;
use gatebench_report::format::{grouped, quantity};
use gatebench_report::text::clean_lines;
use gatebench_runner::{PhaseSummary, Step};
use gatebench_store::Outcome;
use gatebench_studies::common::loads;
use gatebench_studies::run::redact::Redaction;
use gatebench_studies::thresholds::REQUESTS_MIN;

use crate::failure::indented_reason;

/// Describes a trial: `nginx · api-key · block 2/3`.
pub fn trial_in_words(trial: &Trial, plan: &Plan) -> String {
    let (block, of) = (plan.blocks_until(trial.block), plan.blocks_kept());
    format!(
        "{} · {} · block {block}/{of}",
        trial.variant, trial.scenario
    )
}

/// Describes how the length of a run differs from that of its suite: `length   smoke: 1 block in
/// place of 10; ...`. Returns `None` for the full length.
pub fn length_in_words(plan: &Plan) -> Option<String> {
    let planned = plan.length.as_ref()?;
    let word = planned.length.as_str();
    Some(format!("length   {word}: {}", planned.changes.join("; ")))
}

/// Describes a load: `latency, 5,000 requests/s`.
pub fn phase_in_words(plan: &Plan, scenario: &str, name: &str) -> String {
    let mut phases = plan.load_of(scenario).phases.iter();
    let phase = phases.find(|phase| phase.name == name);
    phase.map_or_else(
        || name.to_owned(),
        |phase| format!("{name}, {}", loads::in_words(&phase.shape)),
    )
}

/// Describes a step of a trial outside its loads.
pub fn step_in_words(step: Step) -> &'static str {
    match step {
        Step::UpstreamUp => "starting the upstream",
        Step::GatewayUp => "starting the gateway",
        Step::ParityBefore => "checking parity",
        Step::Settling => "waiting for the machine to settle",
        Step::Admin => "calling the admin interface",
        Step::ParityAfter => "checking parity again",
        Step::Down => "stopping",
    }
}

pub fn outcome_masked(
    outcome: &Outcome,
    phases: &[PhaseSummary],
    redaction: Option<&Redaction>,
) -> String {
    let words = outcome_in_words(outcome, phases);
    match redaction {
        Some(redaction) => redaction.text(&words),
        None => words,
    }
}

/// Describes the end of a trial in one line; after a failure, the reason and the remedy follow.
fn outcome_in_words(outcome: &Outcome, phases: &[PhaseSummary]) -> String {
    match outcome {
        Outcome::Completed => Vec::from_iter(phases.iter().map(summary_in_words)).join("; "),
        Outcome::NotSupported { policies } => format!("not supported: {}", policies.join(", ")),
        Outcome::Interrupted => "interrupted".into(),
        Outcome::Failed {
            culprit,
            reason,
            remedy,
            phase,
        } => {
            let place: String = phase.iter().map(|phase| format!(" in {phase}")).collect();
            let culprit = culprit.to_string();
            let reason = indented_reason(reason, &culprit, 6);
            let (culprit, remedy) = (clean_lines(&culprit), clean_lines(remedy));
            format!("failed{place}\n    {culprit}: {reason}\n    → {remedy}")
        }
    }
}

fn summary_in_words(phase: &PhaseSummary) -> String {
    let (name, failed) = (&phase.name, grouped(phase.failed as f64));
    if phase.completed + phase.failed < REQUESTS_MIN {
        let completed = grouped(phase.completed as f64);
        return format!("{name} {completed} completed, {failed} failed");
    }
    let rate = quantity(phase.completed_per_second, Unit::RequestsPerSecond);
    let mut words = format!("{name} {rate}");
    if let Some(latency_ns) = phase.response_p50_ns {
        words += &format!(", p50 {}", quantity(latency_ns as f64, Unit::Nanoseconds));
    }
    if let Some(cpu_ns) = phase.gateway_cpu_ns_per_request {
        let cpu = quantity(cpu_ns, Unit::CpuNanosecondsPerRequest);
        words += &format!(", gateway {cpu}");
    }
    if phase.failed > 0 {
        words += &format!(", {failed} failed");
    }
    words
}

/// Formats a duration: `45s`, `3m20s`, `2h05m`.
pub fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use gatebench_model::Culprit;

    use super::*;

    #[test]
    fn output_of_a_gateway_cannot_control_the_terminal() {
        let outcome = Outcome::Failed {
            culprit: Culprit::Gateway("g".into()),
            reason: "ended: \u{1b}]0;t\u{7}\u{1b}[2J\u{1b}[31mbad\u{9b}2K\r\nline\u{202e}".into(),
            remedy: "read \u{1b}[8mit".into(),
            phase: None,
        };
        assert_eq!(
            outcome_in_words(&outcome, &[]),
            "failed\n    gateway g: ended: bad\n      line\n    → read it"
        );
    }

    #[test]
    fn durations_are_short() {
        let words =
            [0.4, 59.6, 200.0, 7500.0].map(|seconds| clock(Duration::from_secs_f64(seconds)));
        assert_eq!(words, ["0s", "1m00s", "3m20s", "2h05m"]);
    }
}
