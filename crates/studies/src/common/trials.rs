//! The trials of the plan: finished, missing and failed.

use std::collections::BTreeSet;

use gatebench_store::{Outcome, TrialRecord};

use super::context::Context;
use super::facts::{Failure, MissingTrial};

/// The trials of the plan that are not on disk.
pub(crate) fn missing(context: &Context) -> Vec<MissingTrial> {
    let on_disk = |number| {
        context
            .trials()
            .iter()
            .any(|trial| trial.record.trial.number == number)
    };
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

/// Trials that failed.
pub(crate) fn failures(context: &Context) -> Vec<Failure> {
    context
        .trials()
        .iter()
        .filter_map(|trial| failure(&trial.record))
        .collect()
}

/// A sentence for each trial that failed and was repeated.
pub(crate) fn tried_again(context: &Context) -> Vec<String> {
    let records = context.trials().iter().map(|trial| &trial.record);
    let again = records.filter_map(|record| Some((record, record.trial.again?)));
    let sentence = |(record, first): (&TrialRecord, u32)| {
        let of = &record.trial;
        let ended = outcome_words(&record.outcome);
        format!(
            "Trial {first} ({}, {}) failed and was tried again as trial {}, which is {ended}.",
            of.variant, of.scenario, of.number
        )
    };
    again.map(sentence).collect()
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

/// The number of the plan's blocks of which every trial was run to its end.
pub(crate) fn blocks_complete(context: &Context) -> u32 {
    let ended = |number| {
        let mut trials = context.trials().iter().map(|trial| &trial.record);
        trials.any(|record| record.trial.number == number && record.outcome != Outcome::Interrupted)
    };
    let complete = |block: &u32| {
        let mut trials = context
            .plan
            .trials
            .iter()
            .filter(|trial| trial.block == *block)
            .peekable();
        trials.peek().is_some() && trials.all(|trial| ended(trial.number))
    };
    let blocks: BTreeSet<u32> = context.plan.trials.iter().map(|it| it.block).collect();
    blocks.iter().filter(|block| complete(block)).count() as u32
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
