//! Tests gateways that are measured side by side.

use std::fs;

use crate::common::{Bench, launcher};
use gatebench_model::Culprit;
use gatebench_runner::{Interrupt, Prepared, Progress, prepare_resume, run};
use gatebench_store::{Outcome, PhaseRecord, TrialRecord};
use gatebench_testbed::gateway::Catalogue;

const LOAD: &str = "profile: both\ntitle: t\nphases:\n\
    - {name: both, side_by_side: true, closed: {connections: 4}, warm_up: 50ms, measure: 300ms}\n\
    - {name: one, closed: {connections: 4}, warm_up: 50ms, measure: 200ms}\n\
    - {name: other, open: {rate_per_second: 500}, warm_up: 50ms, measure: 200ms}\n";

/// Returns the start and the end of a phase on a common clock, in nanoseconds.
fn window(record: &TrialRecord, phase: &PhaseRecord) -> (i128, i128) {
    let began = record.started.as_nanosecond() + i128::from(phase.began_ns);
    let warm_up = i128::from(phase.warm_up_ns);
    (began - warm_up, began + i128::from(phase.measure_ns))
}

#[test]
fn gateways_are_loaded_side_by_side_or_one_after_the_other() {
    let bench = Bench::new();
    fs::write(bench.path("load.yaml"), LOAD).unwrap();
    let refused = bench.gateway("refused", |file, text| match file {
        "gateway.json" => text + "}",
        _ => text,
    });
    let prepared = bench.prepare(&["proxy-json"], &["reference", "reference", &refused]);
    let summary = bench
        .run(prepared, &Interrupt::new(), &|_: Progress| {})
        .unwrap();
    assert_eq!(
        (summary.planned, summary.completed, summary.failed),
        (4, 3, 1)
    );
    let stored = bench.stored();
    let of = |variant: &str| {
        let mut records = stored.trials().iter().map(|trial| &trial.record);
        records.find(|it| it.trial.variant == variant).unwrap()
    };
    // The direct variant is measured alone, and the others do not wait for a gateway that cannot
    // start.
    assert!(of("direct").phases.iter().all(|phase| !phase.side_by_side));
    assert!(matches!(of("refused").outcome, Outcome::Failed { .. }));
    let both = ["reference", "reference-2"].map(of);
    for record in both {
        let side_by_side: Vec<bool> = record.phases.iter().map(|it| it.side_by_side).collect();
        assert_eq!(side_by_side, [true, false, false]);
        assert!(record.phases.iter().all(|it| it.counts.completed > 0));
    }
    // Gateways are loaded alone only after all have been loaded side by side, and then one at a
    // time.
    let windows = both.map(|it| {
        let phases = it.phases.iter();
        phases.map(|phase| window(it, phase)).collect::<Vec<_>>()
    });
    let alone: Vec<(i128, i128)> = windows.iter().flat_map(|all| &all[1..]).copied().collect();
    for (begin, end) in windows.iter().map(|all| all[0]) {
        assert!(
            alone.iter().all(|it| it.0 >= end),
            "{begin} to {end}: {windows:?}"
        );
    }
    for (index, one) in alone.iter().enumerate() {
        for other in &alone[index + 1..] {
            assert!(one.1 <= other.0 || other.1 <= one.0, "{windows:?}");
        }
    }
    // The seed determines the order.
    let plan = &stored.manifest().plan;
    let trials = plan.trials.iter().filter(|it| it.variant != "direct");
    let trials: Vec<_> = trials.collect();
    let turns = plan.turns(&trials).into_iter();
    let drawn: Vec<&str> = turns
        .map(|place| trials[place].variant.as_str())
        .filter(|variant| *variant != "refused")
        .collect();
    let mut had: Vec<(i128, &str)> = both
        .iter()
        .flat_map(|it| {
            let phases = it.phases[1..].iter();
            phases.map(move |phase| (window(it, phase).0, it.trial.variant.as_str()))
        })
        .collect();
    had.sort_unstable();
    let had: Vec<&str> = had.into_iter().map(|(_, variant)| variant).collect();
    assert_eq!(had, drawn);
}

fn side_by_side(bench: &Bench, gateways: &[&str]) -> Prepared {
    let load = "profile: both\ntitle: t\nphases:\n\
        - {name: both, side_by_side: true, closed: {connections: 4}, measure: 200ms}\n";
    fs::write(bench.path("load.yaml"), load).unwrap();
    let mut prepared = bench.prepare(&["proxy-json"], gateways);
    prepared.plan.trials.retain(|it| it.variant != "direct");
    prepared
}

#[test]
fn a_resumed_run_measures_the_whole_group_again() {
    let bench = Bench::new();
    let prepared = side_by_side(&bench, &["reference", "reference"]);
    bench
        .run(prepared, &Interrupt::new(), &|_: Progress| {})
        .unwrap();
    let before = bench.stored();
    fs::remove_dir_all(before.trials()[0].folder()).unwrap();

    let prepared = prepare_resume(&bench.out(), &Catalogue::default(), &launcher()).unwrap();
    let request = bench.request(prepared, true);
    let summary = run(&request, &Interrupt::new(), &|_: Progress| {}).unwrap();
    assert_eq!((summary.planned, summary.completed), (2, 2));
    let after = bench.stored();
    assert_eq!(after.trials().len(), 2);
    let at = |record: &TrialRecord| window(record, &record.phases[0]);
    let [one, two] = [0, 1].map(|index| at(&after.trials()[index].record));
    assert!(two.0 > at(&before.trials()[1].record).1);
    assert!(one.0 < two.1 && two.0 < one.1, "{one:?} {two:?}");
}

#[test]
fn an_error_that_ends_the_run_does_not_discard_the_rest_of_the_group() {
    let bench = Bench::new();
    let prepared = side_by_side(&bench, &["reference", "reference", "reference"]);
    let last = prepared.plan.trials[2].number;
    let trials = bench.out().join("trials");
    // The series of the first two trials cannot be written.
    let observer = |progress| {
        if matches!(progress, Progress::PhaseStarted { .. }) {
            let trials = fs::read_dir(&trials).unwrap();
            let mut trials: Vec<_> = trials.map(|it| it.unwrap().path()).collect();
            trials.sort();
            for trial in &trials[..2] {
                fs::create_dir_all(trial.join("series.csv")).unwrap();
            }
        }
    };
    let error = bench
        .run(prepared, &Interrupt::new(), &observer)
        .unwrap_err();
    assert_eq!(error.culprit(), Some(Culprit::Environment));
    let stored = bench.stored();
    let records = stored.trials().iter().map(|it| &it.record);
    let kept: Vec<_> = records.map(|it| (it.trial.number, &it.outcome)).collect();
    assert_eq!(kept, [(last, &Outcome::Completed)]);
}
