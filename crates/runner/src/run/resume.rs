//! The trials and settings that a resumed run keeps, and the changes since its start.

use std::collections::BTreeSet;

use gatebench_model::{Plan, Trial, Variant};
use gatebench_net::{Backend, choose};
use gatebench_store::{Manifest, TrialRecord, is_replaced};
use gatebench_testbed::probe::EnvironmentFacts;

use crate::warning::Warning;

/// Returns those of the plan's finished trials that the resumed run keeps. A value from a
/// side-by-side load is comparable only with the other values from the same load. If one trial of a
/// side-by-side group is missing, the whole group is therefore measured again.
pub(crate) fn kept(finished: Vec<TrialRecord>, plan: &Plan) -> Vec<TrialRecord> {
    let done: BTreeSet<u32> = finished.iter().map(|it| it.trial.number).collect();
    let missing = plan.trials.iter().filter(|it| !done.contains(&it.number));
    let missing = missing.filter(|it| is_loaded_side_by_side(plan, it));
    let groups: BTreeSet<(u32, &str)> = missing.map(|it| (it.block, &*it.scenario)).collect();
    let is_kept = |record: &TrialRecord| {
        let trial = &record.trial;
        let is_planned = plan.trials.iter().any(|it| it.number == trial.number);
        let is_incomplete = groups.contains(&(trial.block, &*trial.scenario));
        is_planned && !(is_incomplete && is_loaded_side_by_side(plan, trial))
    };
    finished.into_iter().filter(is_kept).collect()
}

/// Reports whether a trial's gateway is loaded at the same time as the others of its block. An
/// attempt that a later one replaces is no longer part of the group.
fn is_loaded_side_by_side(plan: &Plan, trial: &Trial) -> bool {
    let is_gateway = matches!(plan.variant(&trial.variant), Some(Variant::Gateway { .. }));
    is_gateway && plan.phases_of(trial).any(|it| it.side_by_side) && !is_replaced(plan, trial)
}

/// Returns the backend for a resumed run: the requested backend, or otherwise the backend that the
/// run began with, if this version of gatebench supports it.
pub(crate) fn backend(wanted: Option<Backend>, manifest: &Manifest) -> Option<Backend> {
    let began_with = [Backend::Uring, Backend::Epoll]
        .into_iter()
        .find(|backend| backend.as_str() == manifest.engine_backend);
    wanted.or(began_with)
}

/// Returns a warning for each of these that has changed since the run began: the backend, the
/// version of gatebench, and the kernel release.
pub(crate) fn changes(manifest: &Manifest, backend: Option<Backend>) -> Vec<Warning> {
    let kernel = EnvironmentFacts::read().kernel.release;
    let began_with = manifest.environment["kernel"]["release"].as_str();
    let kernel = began_with.zip(kernel.as_deref());
    let version = env!("CARGO_PKG_VERSION");
    let differences = [
        difference(
            "backend",
            &manifest.engine_backend,
            choose(backend).as_str(),
        ),
        difference("gatebench", &manifest.gatebench, version),
        kernel.and_then(|(before, now)| difference("kernel", before, now)),
    ];
    let differences = differences.into_iter().flatten();
    differences
        .map(|what| Warning::InstrumentChanged { what })
        .collect()
}

fn difference(name: &str, before: &str, now: &str) -> Option<String> {
    (before != now).then(|| format!("{name} {now} instead of {before}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A plan of these trials, each with its number, its block, its variant and the trial that it
    /// repeats.
    fn plan(side_by_side: bool, trials: &[(u32, u32, &str, Option<u32>)]) -> Plan {
        let trial = |(number, block, variant, again): &(u32, u32, &str, Option<u32>)| {
            json!({
                "number": number, "block": block, "scenario": "s", "variant": variant,
                "again": again
            })
        };
        let gateway = |name: &str| json!({ "kind": "gateway", "name": name, "folder": name });
        serde_json::from_value(json!({
            "suite": "s", "title": "t", "seed": 7, "blocks": 2, "scenarios": [],
            "load": { "profile": "l", "title": "t", "phases": [{
                "name": "p", "closed": { "connections": 1 }, "measure": "1s",
                "side_by_side": side_by_side
            }] },
            "variants": [{ "kind": "direct" }, gateway("a"), gateway("b")],
            "placement": { "gateway": [1], "engine": [0], "upstream": [0], "note": "shared" },
            "trials": trials.iter().map(trial).collect::<Vec<_>>()
        }))
        .unwrap()
    }

    fn records(plan: &Plan, numbers: &[u32]) -> Vec<TrialRecord> {
        let trials = plan.trials.iter();
        let trials = trials.filter(|it| numbers.contains(&it.number));
        let record = |trial: &Trial| -> TrialRecord {
            serde_json::from_value(json!({
                "schema": 1, "trial": trial, "outcome": { "kind": "completed" },
                "started": "2026-01-02T03:04:06Z", "finished": "2026-01-02T03:04:16Z"
            }))
            .unwrap()
        };
        trials.map(record).collect()
    }

    fn kept_of(plan: &Plan, finished: &[u32]) -> Vec<u32> {
        let kept = kept(records(plan, finished), plan);
        kept.iter().map(|it| it.trial.number).collect()
    }

    #[test]
    fn a_group_side_by_side_is_kept_or_measured_again_as_a_whole() {
        let trials = [
            (1, 1, "direct", None),
            (2, 1, "a", None),
            (3, 1, "b", None),
            (4, 2, "b", None),
            (5, 2, "direct", None),
            (6, 2, "a", None),
        ];
        let plan_of = |side_by_side| plan(side_by_side, &trials);
        assert_eq!(kept_of(&plan_of(true), &[1, 2, 4, 6]), [1, 4, 6]);
        assert_eq!(kept_of(&plan_of(true), &[2, 3]), [2, 3]);
        assert_eq!(kept_of(&plan_of(false), &[1, 2, 4, 6]), [1, 2, 4, 6]);
    }

    #[test]
    fn a_replaced_attempt_is_not_measured_again() {
        let trials = [(1, 1, "a", None), (2, 1, "b", None), (3, 1, "a", Some(1))];
        assert_eq!(kept_of(&plan(true, &trials), &[1, 2]), [1]);
        assert_eq!(kept_of(&plan(true, &trials), &[1, 2, 3]), [1, 2, 3]);
        // The plan of a resumed soak does not contain the first of these trials.
        let records = records(&plan(true, &trials), &[1, 3]);
        let kept = kept(records, &plan(true, &trials[2..]));
        assert_eq!(kept.len(), 1);
    }

    #[test]
    fn differences_are_named() {
        assert_eq!(difference("backend", "epoll", "epoll"), None);
        assert_eq!(
            difference("backend", "io_uring", "epoll").as_deref(),
            Some("backend epoll instead of io_uring")
        );
    }
}
