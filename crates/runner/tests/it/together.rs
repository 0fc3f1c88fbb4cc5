//! Tests gateways that are measured side by side.

use std::fs;

use crate::common::Bench;
use gatebench_runner::{Interrupt, Progress};
use gatebench_store::{Outcome, PhaseRecord, TrialRecord};

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
