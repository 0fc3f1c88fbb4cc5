//! Groups, their routes, and the figures of an external load generator: added up over the trials.

use std::collections::BTreeMap;

use gatebench_model::Shape;
use gatebench_model::load::{Closed, Open};
use gatebench_report::Validity;
use gatebench_store::{
    Counts, ExternalCheck, ExternalFigures, GroupRecord, RouteRecord, TimeFigures,
};
use gatebench_studies::Findings;
use gatebench_studies::common::facts::{
    ExternalCheckResult, ExternalThresholdResult, Gate, GroupFindings, ScenarioFindings, Slowness,
};

use crate::common::{Made, SECONDS, analysed_run, manifest, three_blocks, trial};

fn group(name: &str, connections: u32, completed: u64, p99_ns: u64) -> GroupRecord {
    let times = |p99_ns: u64| TimeFigures {
        count: completed,
        mean_ns: Some(p99_ns / 4),
        p50_ns: Some(p99_ns / 2),
        p99_ns: Some(p99_ns),
        ..TimeFigures::default()
    };
    let route = |name: &str, p99_ns| RouteRecord {
        name: name.into(),
        sent: completed / 2,
        completed: completed / 2,
        response: times(p99_ns),
        ..RouteRecord::default()
    };
    GroupRecord {
        name: name.into(),
        shape: Shape::Closed(Closed::new(connections)),
        counts: Counts {
            completed,
            completed_in_window: completed,
            ..Counts::default()
        },
        failing_checks: 0,
        sums: BTreeMap::new(),
        response: times(p99_ns),
        routes: vec![route("a", p99_ns), route("b", p99_ns * 2)],
    }
}

/// Adds two groups to the closed phase; the second group gets slower with each block.
fn with_groups(made: &mut Made) {
    let block = u64::from(made.record.trial.block);
    made.closed().groups = vec![
        group("good", 48, 30_000, 1_000),
        group("failing", 16, 10_000, 2_000 + block),
    ];
}

fn scenario(findings: &Findings) -> &ScenarioFindings {
    &findings.scenarios[0]
}

fn found<'a>(findings: &'a Findings, variant: &str, name: &str) -> &'a GroupFindings {
    let groups = &scenario(findings).groups;
    groups
        .iter()
        .find(|found| found.variant == variant && found.group == name)
        .unwrap()
}

#[test]
fn counts_are_added_and_times_estimated_over_blocks() {
    let findings = three_blocks(with_groups);
    assert_eq!(
        scenario(&findings).groups.len(),
        6,
        "two groups for each variant"
    );
    let failing = found(&findings, "nginx", "failing");
    assert_eq!((failing.phase.as_str(), failing.trials), ("saturate", 3));
    assert_eq!(failing.load, "16 connections");
    assert_eq!(failing.figures.requests, 30_000);
    let rate = failing.rate_per_second.estimate.as_ref().unwrap();
    assert_eq!(rate.median, 10_000.0 / SECONDS as f64);
    let p99 = failing.figures.response_p99_ns.estimate.as_ref().unwrap();
    assert_eq!((p99.min, p99.median, p99.max), (2_001.0, 2_002.0, 2_003.0));
}

#[test]
fn times_exclude_invalid_blocks() {
    let findings = three_blocks(|made| {
        with_groups(made);
        if made.is("nginx") && made.record.trial.block == 3 {
            made.closed().counts.checks_failed = BTreeMap::from([("status is 200".into(), 1)]);
            made.closed().groups[1].failing_checks = 1;
        }
    });
    let failing = found(&findings, "nginx", "failing");
    assert_eq!(failing.figures.requests, 30_000, "counts cover all trials");
    assert_eq!(failing.figures.checks_failed, 1);
    let p99 = &failing.figures.response_p99_ns;
    let estimate = p99.estimate.as_ref().unwrap();
    assert_eq!((estimate.blocks, estimate.max), (2, 2_002.0));
    assert_eq!(p99.validity, Validity::Valid);
}

#[test]
fn one_group_is_not_listed_but_its_routes_are() {
    let findings = three_blocks(|made| {
        with_groups(made);
        made.closed().groups.truncate(1);
        made.closed().groups[0].shape = Shape::Closed(Closed::new(64));
    });
    assert!(scenario(&findings).groups.is_empty());
    let slowest = &scenario(&findings).routes;
    assert_eq!(slowest.len(), 3, "one for each variant");
    assert_eq!((slowest[0].by, slowest[0].total), (Slowness::P99, 2));
    let names = slowest[0].routes.iter().map(|route| route.route.as_str());
    assert!(names.eq(["b", "a"]));
}

#[test]
fn routes_are_ranked_by_the_first_figure_that_all_have() {
    let findings = three_blocks(|made| {
        with_groups(made);
        for group in &mut made.closed().groups {
            group.routes[0].response.p99_ns = None;
            group.routes[0].response.p50_ns = Some(1_000_000);
        }
    });
    let slowest = &scenario(&findings).routes[0];
    assert_eq!((slowest.by, slowest.total), (Slowness::P50, 4));
    assert_eq!(slowest.routes[0].route, "a");
}

#[test]
fn the_worst_groups_are_shown_if_not_all_fit() {
    let findings = three_blocks(|made| {
        let groups = (0..100).map(|index| group(&format!("g{index}"), 1, 400, 1_000 + index));
        made.closed().groups = groups.collect();
        made.closed().groups[5].counts.errors = BTreeMap::from([("timeout".into(), 1)]);
    });
    let scenario = scenario(&findings);
    assert_eq!(scenario.foremost_groups(3), ["g5", "g98", "g99"]);
    assert_eq!(scenario.foremost_groups(100).len(), 100);
}

#[test]
fn littles_law_counts_the_connections_of_all_groups() {
    let inconsistent = |change: fn(&mut Made)| {
        let findings = three_blocks(change);
        let reasons = &trial(&findings, "nginx").reasons;
        reasons
            .iter()
            .any(|reason| reason.gate == Gate::Inconsistent)
    };
    assert!(
        !inconsistent(with_groups),
        "48 and 16 add up to the phase's 64"
    );
    assert!(inconsistent(|made| {
        with_groups(made);
        made.closed().groups[1].shape = Shape::Closed(Closed::new(64));
    }));
    assert!(!inconsistent(|made| {
        with_groups(made);
        made.closed().groups[1].shape = Shape::Open(Open::new(5.0));
    }));
}

#[test]
fn results_of_a_users_script_are_added_up() {
    let (_dir, findings) = analysed_run(manifest(3), |mut made| {
        let block = made.record.trial.block;
        let check = ExternalCheck {
            passed: Some(10),
            failed: 1,
        };
        let statistics = BTreeMap::from([("avg".to_owned(), f64::from(block))]);
        made.open().external = Some(ExternalFigures {
            engine: "k6".into(),
            checks: BTreeMap::from([("login › ok".into(), check)]),
            thresholds: BTreeMap::from([("basket: avg<3".into(), block < 3)]),
            groups: vec!["login".into()],
            metrics: BTreeMap::from([("basket".into(), statistics)]),
            ..ExternalFigures::default()
        });
        Some(made)
    });
    let results = &scenario(&findings).external_results;
    assert_eq!(results.len(), 3, "one for each variant");
    assert_eq!(
        (results[1].phase.as_str(), results[1].trials),
        ("steady", 3)
    );
    let check = ExternalCheckResult {
        name: "login › ok".into(),
        passed: Some(30),
        failed: 3,
    };
    assert_eq!(results[1].checks, [check]);
    let threshold = ExternalThresholdResult {
        name: "basket: avg<3".into(),
        held: 2,
        crossed: 1,
    };
    assert_eq!(results[1].thresholds, [threshold]);
    assert_eq!(results[1].metrics[0].estimate.median, 2.0);
}
