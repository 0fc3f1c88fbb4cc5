//! The report of a run as test results for a CI system: the decision of its study, the thresholds
//! of the user's script, and the trials of the run.

use gatebench_report::Validity;
use gatebench_report::chapter::{Case, Cases, Chapter, Outcome, Part};
use gatebench_report::format::counted;
use gatebench_report::text::clean;

use crate::Findings;
use crate::common::facts::{
    Decision, ExternalResults, ExternalThresholdResult, Failure, MissingTrial, Reason,
    TrialFindings,
};

/// Returns the decision of the run's study as a test result: *worse* is a failure, and a test
/// without a verdict is skipped. `None` if the study decides nothing.
pub fn decision(run: &Findings) -> Option<Chapter> {
    let facts = run.study.facts()?;
    let outcome = match facts.decision()? {
        Decision::Fine => Outcome::Passed,
        Decision::Worse => Outcome::Failed,
        Decision::Open => Outcome::Skipped,
    };
    let mut sentences = facts.decided();
    if sentences.is_empty() {
        sentences.extend(run.headlines.iter().map(|it| it.text.clone()));
    }
    let case = Case {
        class: facts.key().to_owned(),
        name: "decision".to_owned(),
        outcome,
        text: sentences.join(" "),
    };
    Some(suite("decision", vec![case]))
}

/// Returns the thresholds of the user's script as test results, by scenario, variant and phase.
/// `None` if there are none.
pub fn thresholds(run: &Findings) -> Option<Chapter> {
    let mut cases = Vec::new();
    for scenario in &run.scenarios {
        for found in &scenario.external_results {
            let of_phase = found.thresholds.iter();
            cases.extend(of_phase.map(|it| threshold(&scenario.name, found, it)));
        }
    }
    (!cases.is_empty()).then(|| suite("thresholds", cases))
}

fn threshold(scenario: &str, found: &ExternalResults, of: &ExternalThresholdResult) -> Case {
    let trials = counted(u64::from(of.held + of.crossed), "trial");
    Case {
        class: format!("{scenario}.{}", found.variant),
        name: clean(&format!("{}, {}", found.phase, of.name)),
        outcome: match of.crossed {
            0 => Outcome::Passed,
            _ => Outcome::Failed,
        },
        text: format!("{}: crossed in {} of {trials}", found.engine, of.crossed),
    }
}

/// Returns the trials as test results: all trials if the study decides nothing, otherwise only
/// those that failed. `None` if there are none.
pub fn trials(run: &Findings) -> Option<Chapter> {
    let mut cases: Vec<Case> = run.trials.iter().map(|it| trial(run, it)).collect();
    cases.extend(run.missing.iter().map(missing));
    let facts = run.study.facts();
    if facts.is_some_and(|it| it.decision().is_some()) {
        cases.retain(|it| it.outcome == Outcome::Failed);
    }
    (!cases.is_empty()).then(|| suite("trials", cases))
}

fn suite(name: &str, cases: Vec<Case>) -> Chapter {
    let suite = name.to_owned();
    Chapter::of(vec![Part::Cases(Cases { suite, cases }).into()])
}

fn missing(trial: &MissingTrial) -> Case {
    Case {
        class: format!("{}.{}", trial.scenario, trial.variant),
        name: name(trial.number, trial.block),
        outcome: Outcome::Skipped,
        text: "The trial was not measured.".to_owned(),
    }
}

fn trial(run: &Findings, trial: &TrialFindings) -> Case {
    let (outcome, text) = match &*trial.outcome {
        "completed" => completed(trial),
        "failed" if trial.succeeded_later(&run.trials) => {
            let text = "The trial failed and was repeated.";
            (Outcome::Skipped, text.to_owned())
        }
        "failed" => {
            let failure = run.failures.iter().find(|it| it.trial == trial.number);
            (Outcome::Failed, failure.map(words).unwrap_or_default())
        }
        other => (Outcome::Skipped, other.to_owned()),
    };
    Case {
        class: format!("{}.{}", trial.scenario, trial.variant),
        name: name(trial.number, trial.block),
        outcome,
        text,
    }
}

fn name(number: u32, block: u32) -> String {
    format!("trial {number}, block {block}")
}

/// The result of a trial that was measured to its end. Invalid figures are a failure only if the
/// gateway or the upstream is at fault.
fn completed(trial: &TrialFindings) -> (Outcome, String) {
    let sentences = |reason: &Reason| format!("{} {}", reason.message, reason.remedy);
    let reasons = || trial.reasons.iter();
    if let Some(failure) = reasons().find(|it| it.is_failure()) {
        return (Outcome::Failed, sentences(failure));
    }
    if trial.validity == Validity::Invalid {
        let invalid = reasons().find(|it| it.validity == Validity::Invalid);
        return (Outcome::Skipped, invalid.map(sentences).unwrap_or_default());
    }
    (
        Outcome::Passed,
        format!("{}, {}", trial.outcome, trial.validity.word()),
    )
}

/// The failure as text, without the output of programs after the first line.
fn words(failure: &Failure) -> String {
    let reason = failure.reason.lines().next().unwrap_or_default();
    clean(&format!(
        "{}: {reason}; {}",
        failure.culprit, failure.remedy
    ))
}
