//! Tests runs of scenarios with several groups, many routes, and requests generated from data.

use crate::common::{Bench, launcher};
use gatebench_model::{Shape, load::Closed};
use gatebench_runner::{Interrupt, Library, Progress, RunnerError, Selection, prepare};
use gatebench_store::{Outcome, PhaseRecord, TrialRecord};
use gatebench_testbed::gateway::Catalogue;

fn ignore(_: Progress) {}

/// Runs one block of a scenario with the reference gateway and, if the scenario permits it, without
/// a gateway. Returns the records.
fn records(scenario: &str) -> Vec<TrialRecord> {
    records_of(&Bench::new(), scenario)
}

fn records_of(bench: &Bench, scenario: &str) -> Vec<TrialRecord> {
    let prepared = bench.prepare(&[scenario], &["reference"]);
    bench.run(prepared, &Interrupt::new(), &ignore).unwrap();
    let stored = bench.stored();
    let trials = stored.trials().iter();
    let records: Vec<_> = trials.map(|trial| trial.record.clone()).collect();
    for record in &records {
        assert_eq!(record.outcome, Outcome::Completed, "{record:?}");
    }
    records
}

fn adds_up(phase: &PhaseRecord) {
    let sum =
        |of: fn(&gatebench_store::GroupRecord) -> u64| phase.groups.iter().map(of).sum::<u64>();
    assert_eq!(sum(|it| it.counts.sent), phase.counts.sent);
    assert_eq!(sum(|it| it.counts.completed), phase.counts.completed);
    assert_eq!(
        sum(|it| it.counts.bytes_received),
        phase.counts.bytes_received
    );
    for group in &phase.groups {
        assert_eq!(group.response.count, group.counts.completed);
        let routes: u64 = group.routes.iter().map(|route| route.completed).sum();
        assert_eq!(routes, group.counts.completed);
        assert_eq!((group.failing_checks, group.counts.errors.len()), (0, 0));
    }
}

#[test]
fn a_refused_group_is_measured_next_to_an_accepted_one() {
    let records = records("good-and-failing");
    let [record] = records.as_slice() else {
        panic!("the direct variant cannot refuse requests: {records:?}")
    };
    assert_eq!(record.phases.len(), 2);
    for phase in &record.phases {
        adds_up(phase);
        let [good, failing] = phase.groups.as_slice() else {
            panic!("{:?}", phase.groups)
        };
        assert_eq!(
            (good.name.as_str(), failing.name.as_str()),
            ("good", "failing")
        );
        assert!(good.counts.by_class.keys().eq(["2xx"]));
        assert!(failing.counts.by_class.keys().eq(["4xx"]));
        assert_eq!(phase.trace.traced, good.counts.completed);
        assert_eq!(phase.trace.never_reached_upstream, failing.counts.completed);
        assert_eq!(phase.trace.meant_for_gateway, failing.counts.completed);
        assert_eq!(phase.trace.header_stripped, 0);
        assert!(phase.connects.is_some_and(|connects| connects.count >= 4));
    }
}

#[test]
fn requests_made_of_data_are_sent_with_and_without_a_gateway() {
    let records = records("shop");
    assert_eq!(records.len(), 2, "the direct variant has the same load");
    for record in &records {
        let before = record.parity_before.as_ref().unwrap();
        assert!(before.holds(), "{before:?}");
        for phase in &record.phases {
            adds_up(phase);
            let [group] = phase.groups.as_slice() else {
                panic!("{:?}", phase.groups)
            };
            let names = group.routes.iter().map(|route| route.name.as_str());
            assert!(names.eq(["read a product", "order a product"]));
            assert_eq!(phase.counts.checks_failed.len(), 0, "{:?}", phase.counts);
        }
    }
}

#[test]
fn a_hundred_groups_over_a_hundred_routes_are_distinguished() {
    let bench = Bench::new();
    let load = "profile: wide\ntitle: t\nphases:\n\
        - {name: closed, closed: {connections: 100}, measure: 300ms}\n";
    std::fs::write(bench.path("load.yaml"), load).unwrap();
    let records = records_of(&bench, "hundred-routes");
    assert_eq!(records.len(), 2, "the direct variant has the same load");
    for record in &records {
        let [phase] = record.phases.as_slice() else {
            panic!("{:?}", record.phases)
        };
        adds_up(phase);
        assert_eq!(phase.groups.len(), 100);
        for (index, group) in phase.groups.iter().enumerate() {
            assert_eq!(group.name, format!("team-{}", index + 1));
            assert_eq!(group.routes.len(), 1);
            assert_eq!(group.shape, Shape::Closed(Closed::new(1)));
        }
        assert_eq!(phase.trace.meant_for_gateway, 0);
    }
    let gateway = records.iter().find_map(|record| {
        let before = record.parity_before.as_ref()?;
        (record.trial.variant == "reference").then_some(before)
    });
    assert_eq!(gateway.unwrap().routes_answering, 100);
}

#[test]
fn a_missing_data_file_is_reported_before_anything_starts() {
    let bench = Bench::new();
    let scenario = "scenario: s\ntitle: t\nupstream: ping\nroutes: [{name: r, path: /}]\n\
        data: {ids: {csv: {file: absent.csv}}}\nrequests: [{path: '/{{ ids.id }}'}]\n";
    std::fs::write(bench.path("mine.yaml"), scenario).unwrap();
    let selection = Selection {
        words: vec![bench.path("mine.yaml").display().to_string()],
        gateways: vec!["reference".into()],
        load: Some(bench.path("load.yaml").display().to_string()),
        ..Selection::default()
    };
    let (library, catalogue) = (Library::default(), Catalogue::default());
    let error = prepare(&selection, &library, &catalogue, &launcher()).unwrap_err();
    let RunnerError::Mistakes(files) = &error else {
        panic!("{error}")
    };
    let mistake = &files[0].all()[0];
    assert!(mistake.file.ends_with("mine.yaml"), "{mistake:?}");
    assert_eq!(mistake.line, 5);
    assert!(mistake.message.contains("absent.csv"), "{mistake:?}");
}

#[test]
fn a_load_that_is_too_small_for_its_groups_is_refused_before_anything_starts() {
    let bench = Bench::new();
    let selection = Selection {
        words: vec!["hundred-routes".into()],
        gateways: vec!["reference".into()],
        load: Some(bench.path("load.yaml").display().to_string()),
        ..Selection::default()
    };
    let (library, catalogue) = (Library::default(), Catalogue::default());
    let error = prepare(&selection, &library, &catalogue, &launcher()).unwrap_err();
    let RunnerError::File {
        path,
        message,
        remedy,
    } = &error
    else {
        panic!("{error}")
    };
    assert!(path.ends_with("hundred-routes.yaml"), "{path:?}");
    assert_eq!(
        message,
        "the scenario's 100 groups need a connection each, but the phase 'closed' has only 4"
    );
    assert!(remedy.contains("at least 100 connections"), "{remedy}");
}
