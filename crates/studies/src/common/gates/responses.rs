//! Gates for the responses.

use std::collections::BTreeMap;

use gatebench_model::load::FailingPart;
use gatebench_report::Validity;
use gatebench_report::format::{counted, listed_counts, percent};
use gatebench_store::PhaseRecord;

use super::thresholds::ERROR_SHARE_MAX;
use super::{EVERYTHING, SPEED, View};
use crate::common::changes::{Beforehand, is_called};
use crate::common::facts::{Aspect, Gate, PhaseKind, Reason};

/// A wrong response may have taken a different path through the gateway, so no figure of the phase
/// is valid. Wrong responses while the gateway was changed through its admin interface only limit
/// the figures.
pub(super) fn checks_failed(view: &View) -> Option<Reason> {
    let counts = &view.phase.counts;
    let total = counts.responses_failing_checks();
    (total > 0).then_some(())?;
    let message = format!(
        "{} failed the checks: {}.",
        counted(total, "response"),
        listed_counts(&counts.checks_failed)
    );
    Some(match is_called(view.phase) {
        true => lost(view, Gate::ChecksFailed, message),
        false => wrong(view, message),
    })
}

/// The reason against a phase that lost requests while the gateway was changed through its admin
/// interface. CPU time and memory remain valid.
fn lost(view: &View, gate: Gate, message: String) -> Reason {
    let remedy = "This happened while the gateway was changed through its admin interface. \
                  Compare this load with the same load without the changes.";
    let spoils = [Aspect::Throughput, Aspect::Latency];
    view.limited(gate, &spoils, message, remedy)
}

fn wrong(view: &View, message: String) -> Reason {
    let remedy = "Compare the response with the scenario's checks, and read the gateway's log for the cause.";
    view.invalid(Gate::ChecksFailed, &EVERYTHING, message, remedy)
}

/// Requests without a response have no latency, so percentiles over the other requests make the
/// gateway look faster than it was.
pub(super) fn errors(view: &View) -> Option<Reason> {
    let counts = &view.phase.counts;
    let total: u64 = counts.errors.values().sum();
    (total > 0).then_some(())?;
    let share = total as f64 / counts.sent.max(total) as f64;
    let message = format!(
        "{} got no response ({} of those sent): {}.",
        counted(total, "request"),
        percent(share),
        listed_counts(&counts.errors)
    );
    Some(match is_called(view.phase) {
        true => lost(view, Gate::RequestErrors, message),
        false => unanswered(view, share, message),
    })
}

fn unanswered(view: &View, share: f64, message: String) -> Reason {
    let remedy = "Read the gateway's log, and find the time of the errors in the timeline.";
    let (validity, spoils): (_, &[Aspect]) = if share > ERROR_SHARE_MAX {
        (Validity::Invalid, &EVERYTHING)
    } else {
        (Validity::Limited, &[Aspect::Throughput, Aspect::Latency])
    };
    view.reason(Gate::RequestErrors, validity, spoils, message, remedy)
}

/// Requests that failed before a change or failure count against the phase, because the change or
/// failure did not cause them to fail.
pub(super) fn failed_beforehand(view: &View) -> Vec<Reason> {
    let phase = view.phase;
    let seconds = view.digest.seconds(&phase.name);
    let Some(before) = Beforehand::of(phase, view.series, seconds) else {
        return Vec::new();
    };
    let what = match (&phase.failure, &phase.change) {
        (Some(failure), _) if failure.part == FailingPart::ControlPlane => {
            "the failure of the control plane"
        }
        (_, Some(_)) => "the change",
        (Some(_), None) => "the failure of the target",
        (None, None) => "the first change through the admin interface",
    };
    let mut reasons = Vec::new();
    if before.wrong > 0 {
        let responses = counted(before.wrong, "response");
        let message = format!("{responses} failed the checks before {what} began.");
        reasons.push(wrong(view, message));
    }
    if before.unanswered > 0 {
        let share = before.unanswered as f64 / before.ended.max(1) as f64;
        let message = format!(
            "{} got no response before {what} began ({} of all requests until then).",
            counted(before.unanswered, "request"),
            percent(share)
        );
        reasons.push(unanswered(view, share, message));
    }
    reasons
}

/// Without responses, there are no figures. A load generator that never gets its core sends
/// nothing.
pub(super) fn no_responses(view: &View) -> Option<Reason> {
    let counts = &view.phase.counts;
    let is_asked = view.kind() == PhaseKind::Closed || counts.intended > 0;
    (is_asked && counts.completed == 0 && counts.errors.is_empty()).then_some(())?;
    let (message, remedy) = if counts.sent == 0 {
        (
            "The load generator sent no request.".to_owned(),
            "Give the load generator its own core, and stop other programs on that core.",
        )
    } else {
        (
            format!(
                "None of {} got a response.",
                counted(counts.sent, "request")
            ),
            "Measure for longer than a response takes, or read the gateway's log.",
        )
    };
    Some(view.invalid(Gate::NoResponses, &EVERYTHING, message, remedy))
}

/// A gateway that responds from a cache, or refuses requests, does not do the measured work.
/// Refusals that the scenario requires are part of that work, and wrong responses have a separate
/// reason.
pub(super) fn never_reached_upstream(view: &View) -> Option<Reason> {
    let trace = &view.phase.trace;
    let expected = trace.meant_for_gateway + view.phase.counts.responses_failing_checks();
    let missing = trace.never_reached_upstream.saturating_sub(expected) + trace.foreign;
    let (context, record) = view.run?;
    if missing == 0 || context.is_mocked(&record.trial.scenario) {
        return None;
    }
    let requests = counted(missing, "request");
    let errors = error_statuses(view.phase);
    let (message, remedy) = match errors.values().sum::<u64>() >= missing + trace.meant_for_gateway
    {
        true => (
            format!(
                "{requests} never reached the upstream; the gateway refused them ({}).",
                listed_counts(&errors)
            ),
            "Correct the scenario's requests, for example their credentials, or read the gateway's log.",
        ),
        false => (
            format!("{requests} never reached the upstream."),
            "If the gateway has a cache, turn it off, or measure it in a scenario that tests caching; otherwise, read the \
             gateway's log.",
        ),
    };
    Some(view.invalid(Gate::NeverReachedUpstream, &EVERYTHING, message, remedy))
}

fn error_statuses(phase: &PhaseRecord) -> BTreeMap<String, u64> {
    let classes = phase.counts.by_class.iter();
    let errors = classes.filter(|(class, count)| **count > 0 && class.starts_with(['4', '5']));
    errors
        .map(|(class, count)| (class.clone(), *count))
        .collect()
}

/// Without the upstream's times, the added latency of a request is unknown.
pub(super) fn header_stripped(view: &View) -> Option<Reason> {
    let stripped = view.phase.trace.header_stripped;
    (stripped > 0).then_some(())?;
    let message = format!(
        "{} came without the upstream's times, so added latency covers only the other responses.",
        counted(stripped, "response")
    );
    let remedy = "Let the gateway pass the upstream's timing header through.";
    Some(view.limited(Gate::HeaderStripped, &[Aspect::Latency], message, remedy))
}

/// A retry makes one request cost as much as two, and hides a failure.
pub(super) fn retries(view: &View) -> Option<Reason> {
    let phase = view.phase;
    let repeated = phase.trace.repeated_at_upstream.max(phase.ledger.repeated);
    (repeated > 0).then_some(())?;
    let message = format!("The gateway retried {}.", counted(repeated, "request"));
    let remedy = "Turn off retries in the gateway, or find out why it loses upstream connections.";
    Some(view.limited(Gate::Retries, &SPEED, message, remedy))
}
