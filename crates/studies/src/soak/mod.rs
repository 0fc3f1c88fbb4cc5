//! Judges the quantities that should not grow during a soak, process by process.

mod chapter;
pub mod facts;
mod own_series;
pub mod plan;
mod quantity;
mod text;

use gatebench_model::{Culprit, Plan, Shape, Soak};
use gatebench_stats::LeakVerdict;
use gatebench_stats::leak::Because;
use gatebench_store::{Outcome, PhaseRecord, StoreError, StoredTrial, TrialRecord};

use crate::common::context::Context;
use crate::common::facts::{Decision, Sentence};
use crate::common::loads;
use crate::common::trials::outcome_words;
use crate::kind::{Analysed, StudyFindings, StudyKind};
use facts::{SoakFindings, SoakQuantity, SoakSegment, SoakWhat};

impl StudyKind for Soak {
    fn resume(&self, plan: &mut Plan, records: &[&TrialRecord]) {
        plan::resume(self, plan, records);
    }

    /// Returns empty findings if nothing has been measured yet.
    fn findings(&self, of: &Analysed<'_>) -> Result<StudyFindings, StoreError> {
        let (context, mut segments, mut load) = (of.context, Vec::new(), None);
        for trial in context.trials() {
            if let Some(phase) = trial.record.phases.first() {
                segments.push(segment(context, self, trial, phase)?);
                load.get_or_insert_with(|| loads::in_words(&phase.shape));
            }
        }
        let (Some(load), Some(first)) = (load, context.trials().first()) else {
            return Ok(StudyFindings::default());
        };
        let mut found = SoakFindings {
            variant: first.record.trial.variant.clone(),
            scenario: first.record.trial.scenario.clone(),
            load,
            planned_seconds: self.duration.as_secs_f64(),
            measured_seconds: segments.iter().map(|it| it.measured_seconds).sum(),
            decision: decide(&segments),
            text: String::new(),
            segments,
        };
        found.text = text::summary(&found);
        let tone = found.decision.tone();
        let headline = Sentence::new(tone, &found.text, None, Some(&found.variant));
        Ok(StudyFindings::new(found, vec![headline]))
    }
}

fn segment(
    context: &Context,
    soak: &Soak,
    trial: &StoredTrial,
    phase: &PhaseRecord,
) -> Result<SoakSegment, StoreError> {
    let record = &trial.record;
    let usage = phase.usage.get("gateway");
    let series = trial.series()?;
    let watched = quantity::Watched {
        variant: &record.trial.variant,
        rows: series
            .iter()
            .filter(|row| row.phase == phase.name)
            .collect(),
        responses: phase.counts.completed_in_window,
        measured_seconds: phase.measure_ns as f64 / 1e9,
        is_closed: matches!(phase.shape, Shape::Closed(_)),
        growth_bytes_per_hour: soak.growth_bytes_per_hour as f64,
        seed: context.plan.seed,
    };
    Ok(SoakSegment {
        trial: record.trial.number,
        started: record.started,
        measured_seconds: watched.measured_seconds,
        outcome: outcome_words(&record.outcome).to_owned(),
        culprit: culprit_besides_gateway(&record.outcome),
        responses: phase.counts.completed,
        errors: phase.counts.errors.values().sum(),
        checks_failed: phase.counts.responses_failing_checks(),
        dropped: phase.counts.dropped,
        processes_ended: usage.map_or(0, |usage| usage.processes_ended),
        pss_before_bytes: usage.and_then(|usage| usage.pss_before_bytes),
        pss_after_bytes: usage.and_then(|usage| usage.pss_after_bytes),
        quantities: watched.quantities(),
        own_series: own_series::figures(&watched.rows),
    })
}

/// The culprit of a segment that ended because a file could not be used.
const A_FILE: &str = "a file";

fn culprit_besides_gateway(outcome: &Outcome) -> Option<&'static str> {
    let Outcome::Failed { culprit, .. } = outcome else {
        return None;
    };
    match culprit {
        Culprit::Gateway(_) => None,
        Culprit::Upstream => Some("the upstream"),
        Culprit::Engine => Some("the load generator"),
        Culprit::Environment => Some("the environment"),
        Culprit::File { .. } => Some(A_FILE),
    }
}

/// A leak or a failure of the gateway (see [`has_failed`]) in any segment makes the decision
/// [`Decision::Worse`]. If there is neither, growth at the end of any segment, or the failure of
/// something other than the gateway, leaves it open. Otherwise, the verdict on memory in the
/// longest segment decides.
fn decide(segments: &[SoakSegment]) -> Decision {
    if segments.iter().any(|it| has_failed(it) || has_leak(it)) {
        return Decision::Worse;
    }
    if segments
        .iter()
        .any(|it| grows_lately(it) || it.culprit.is_some())
    {
        return Decision::Open;
    }
    let memory = longest(segments).and_then(|it| {
        let mut quantities = it.quantities.iter();
        quantities.find(|quantity| quantity.what == SoakWhat::Memory)
    });
    match memory.map(|quantity| quantity.growth.verdict) {
        Some(LeakVerdict::NoLeak) => Decision::Fine,
        _ => Decision::Open,
    }
}

fn longest(segments: &[SoakSegment]) -> Option<&SoakSegment> {
    let all = segments.iter();
    all.max_by(|a, b| a.measured_seconds.total_cmp(&b.measured_seconds))
}

/// Reports whether the gateway failed. If something other than the gateway ended the trial, the
/// earlier failures may have the same cause.
fn has_failed(segment: &SoakSegment) -> bool {
    let has_failures = segment.errors + segment.checks_failed + segment.dropped > 0
        || segment.processes_ended > 0
        || segment.outcome == "failed";
    has_failures && segment.culprit.is_none()
}

/// Reports whether a quantity other than latency grows at the end of a segment.
fn grows_lately(segment: &SoakSegment) -> bool {
    segment.quantities.iter().any(is_growing_lately)
}

fn is_growing_lately(found: &SoakQuantity) -> bool {
    let verdict = found.growth.verdict;
    let grows = matches!(verdict, LeakVerdict::Undetermined { because, .. } if because == Because::GrowingLately);
    grows && found.what != SoakWhat::ResponseP50
}

/// Reports whether any quantity other than latency leaks. Growing latency is reported but does not
/// affect the decision, because the machine contributes to it.
fn has_leak(segment: &SoakSegment) -> bool {
    let leaks = |it: &SoakQuantity| {
        it.what != SoakWhat::ResponseP50 && it.growth.verdict == LeakVerdict::Leak
    };
    segment.quantities.iter().any(leaks)
}
