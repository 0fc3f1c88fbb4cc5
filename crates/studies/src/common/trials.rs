//! Lists the missing and failed trials of the plan, and builds the timelines of the trials on disk.

use std::collections::BTreeSet;

use gatebench_store::{Outcome, SeriesRow, SeriesUsage, TrialRecord};

use super::context::{Context, is_a_load, kind};
use super::facts::{Failure, MissingTrial, TimelinePhase, TimelineSecond};

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

pub(crate) fn failures(context: &Context) -> Vec<Failure> {
    context.records().filter_map(failure).collect()
}

pub(crate) fn tried_again(context: &Context) -> Vec<String> {
    let sentence = |record: &TrialRecord| {
        let of = &record.trial;
        let (first, ended) = (of.again?, outcome_words(&record.outcome));
        Some(format!(
            "Trial {first} ({}, {}) failed and was repeated as trial {} ({ended}).",
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

/// The number of the plan's blocks in which every trial ended without being interrupted.
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

/// The length of a trial by the wall clock; 0 if the clock went backward.
pub(crate) fn duration_ns(record: &TrialRecord) -> u64 {
    let elapsed = record.finished.duration_since(record.started);
    u64::try_from(elapsed.as_nanos()).unwrap_or(0)
}

pub(crate) fn outcome_words(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::NotSupported { .. } => "not supported",
        Outcome::Failed { .. } => "failed",
        Outcome::Interrupted => "interrupted",
    }
}

/// The timeline of a trial, phase by phase. The steps of a search and the loads at shares of
/// saturation are left out, because separate findings cover them.
pub(crate) fn timeline(record: &TrialRecord, series: &[SeriesRow]) -> Vec<TimelinePhase> {
    let loads = record.phases.iter().filter(|phase| is_a_load(phase));
    let phases = loads.map(|phase| TimelinePhase {
        phase: phase.name.clone(),
        kind: kind(phase),
        began_ns: phase.began_ns,
        seconds: series
            .iter()
            .filter(|row| row.phase == phase.name)
            .map(second)
            .collect(),
    });
    phases.collect()
}

fn second(row: &SeriesRow) -> TimelineSecond {
    let cores = |usage: Option<SeriesUsage>| usage.map(|usage| usage.cpu_ns as f64 / 1e9);
    TimelineSecond {
        second: row.second,
        completed: row.completed,
        failed: row.failed,
        response_p50_ns: row.response_p50_ns,
        response_p99_ns: row.response_p99_ns,
        gateway_cores: cores(row.gateway),
        gateway_rss_anon_bytes: row.gateway.map(|usage| usage.rss_anon_bytes),
        engine_cores: cores(row.engine),
        upstream_cores: cores(row.upstream),
    }
}
