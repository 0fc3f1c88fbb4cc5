//! The trials of the plan: finished, missing and failed.

use std::collections::BTreeSet;

use gatebench_store::{Outcome, TrialRecord};

use super::context::Context;
use super::facts::{Failure, MissingTrial};

/// The trials of the plan that are not on disk.
pub(crate) fn missing(context: &Context) -> Vec<MissingTrial> {
    let on_disk = |number| context.records().any(|it| it.trial.number == number);
    let planned = context.plan.trials.iter();
    planned
        .filter(|trial| !on_disk(trial.number))
        .map(|trial| MissingTrial {
            number: trial.number,
            block: trial.block,
            scenario: trial.scenario.clone(),
            variant: trial.variant.clone(),
        })
        .collect()
}

/// The trials that failed.
pub(crate) fn failures(context: &Context) -> Vec<Failure> {
    context.records().filter_map(failure).collect()
}

/// A sentence for each trial that failed and was repeated.
pub(crate) fn tried_again(context: &Context) -> Vec<String> {
    let sentence = |record: &TrialRecord| {
        let of = &record.trial;
        let (first, ended) = (of.again?, outcome_words(&record.outcome));
        Some(format!(
            "Trial {first} ({}, {}) failed and was tried again as trial {}, which is {ended}.",
            of.variant, of.scenario, of.number
        ))
    };
    context.records().filter_map(sentence).collect()
}

fn failure(record: &TrialRecord) -> Option<Failure> {
    let Outcome::Failed {
        culprit,
        reason,
        remedy,
        phase,
    } = &record.outcome
    else {
        return None;
    };
    Some(Failure {
        trial: record.trial.number,
        block: record.trial.block,
        scenario: record.trial.scenario.clone(),
        variant: record.trial.variant.clone(),
        culprit: culprit.to_string(),
        reason: reason.clone(),
        remedy: remedy.clone(),
        phase: phase.clone(),
    })
}

/// The number of the plan's blocks in which every trial ran to its end.
pub(crate) fn blocks_complete(context: &Context) -> u32 {
    let trials = || context.plan.trials.iter();
    let ended = context
        .records()
        .filter(|it| it.outcome != Outcome::Interrupted);
    let ended: BTreeSet<u32> = ended.map(|it| it.trial.number).collect();
    let left = trials().filter(|it| !ended.contains(&it.number));
    let incomplete: BTreeSet<u32> = left.map(|it| it.block).collect();
    let blocks: BTreeSet<u32> = trials().map(|it| it.block).collect();
    blocks.difference(&incomplete).count() as u32
}

/// The duration of a trial, from the clock times of its record.
pub(crate) fn duration_ns(record: &TrialRecord) -> u64 {
    let elapsed = record.finished.duration_since(record.started);
    u64::try_from(elapsed.as_nanos()).unwrap_or(0)
}

/// The short name of an outcome.
pub(crate) fn outcome_words(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::NotSupported { .. } => "not supported",
        Outcome::Failed { .. } => "failed",
        Outcome::Interrupted => "interrupted",
    }
}
