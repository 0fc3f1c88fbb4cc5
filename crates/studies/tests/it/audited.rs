//! Impossible figures in gatebench's own runs are detected, just as in published tables.

use gatebench_report::{Tone, Validity};
use gatebench_studies::Findings;
use gatebench_studies::common::facts::{Gate, Reason};

use crate::common::gates::changed;
use crate::common::{Made, SECOND_NS, SECONDS, trial};

fn found(findings: &Findings) -> Option<&Reason> {
    let reasons = &trial(findings, "nginx").reasons;
    reasons.iter().find(|it| it.gate == Gate::CannotBeTrue)
}

fn assert_found(words: &str, change: impl Fn(&mut Made)) {
    let findings = changed(change);
    let reason = found(&findings).unwrap_or_else(|| panic!("{words}: nothing found"));
    assert!(reason.message.contains(words), "{}", reason.message);
    assert_eq!(reason.validity, Validity::Invalid);
    let alarm = |it: &&gatebench_studies::common::facts::Sentence| it.tone == Tone::Alarm;
    let said = findings.headlines.iter().filter(alarm);
    assert!(
        said.into_iter()
            .any(|it| it.text.contains("impossible figures")),
        "a headline reports it"
    );
}

#[test]
fn an_undisturbed_run_has_no_reasons() {
    let findings = changed(|_| ());
    assert!(found(&findings).is_none(), "{:?}", found(&findings));
}

#[test]
fn more_requests_in_flight_than_connections_are_impossible() {
    assert_found(
        "keep 80 in flight (Little's law), but there are only 64 connections",
        |made| {
            let requests = made.closed().counts.completed;
            made.record_values("saturate", "response", &[(2_000_000, requests)]);
            made.closed().counts.completed_in_window = requests;
        },
    );
}

#[test]
fn more_cpu_time_than_cores_is_impossible() {
    assert_found("keep 1.2 cores busy, more than the 1 available", |made| {
        made.used("saturate", "gateway").cpu_ns = 12 * SECONDS * SECOND_NS / 10;
    });
}
