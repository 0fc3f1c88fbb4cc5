//! Gates for the machine during the measurement: for each, a change that trips it and a slightly
//! smaller one that does not.

use gatebench_report::Validity;
use gatebench_studies::common::facts::{Aspect, Gate};

use crate::common::gates::{ALL, check};
use crate::common::{Made, analysed_run, manifest, trial};

#[test]
fn throttled() {
    let throttled = |ns| move |made: &mut Made| made.open().machine.throttled_ns = ns;
    check(
        Gate::Throttled,
        Validity::Invalid,
        &ALL,
        throttled(1_000_000),
        throttled(0),
    );
}

#[test]
fn steal() {
    // One percent of two cores over ten seconds is 200 ms.
    let stolen = |ms: u64| move |made: &mut Made| made.open().machine.steal_ns = ms * 1_000_000;
    let spoils = [Aspect::Throughput, Aspect::Latency];
    check(
        Gate::Steal,
        Validity::Limited,
        &spoils,
        stolen(210),
        stolen(190),
    );
}

#[test]
fn stolen_time_is_cpu_time_on_a_kernel_that_does_not_account_for_it() {
    let mut manifest = manifest(3);
    manifest.environment["kernel"]["accounting"]["paravirt_time"] = "off".into();
    let stolen = |mut made: Made| {
        made.open().machine.steal_ns = 210_000_000;
        Some(made)
    };
    let findings = analysed_run(manifest, stolen).1;
    let reasons = &trial(&findings, "nginx").reasons;
    let reason = reasons.iter().find(|it| it.gate == Gate::Steal);
    assert!(reason.unwrap().spoils.contains(&Aspect::CpuPerRequest));
}

#[test]
fn foreign_process() {
    let foreign = |ms: u64| {
        move |made: &mut Made| {
            made.open().machine.foreign_cpu_ns = ms * 1_000_000;
        }
    };
    let spoils = [Aspect::Throughput, Aspect::Latency, Aspect::CpuPerRequest];
    check(
        Gate::ForeignProcess,
        Validity::Limited,
        &spoils,
        foreign(510),
        foreign(490),
    );
}

#[test]
fn a_sibling_of_the_gateway_limits_every_figure() {
    let found = |siblings: &[Vec<usize>]| {
        let mut manifest = manifest(3);
        let placement = &mut manifest.plan.placement;
        assert_eq!((placement.gateway[0], placement.engine[0]), (1, 0));
        placement.siblings = siblings.to_vec();
        analysed_run(manifest, Some).1
    };
    let shared = found(&[vec![0, 1]]);
    let [closed, open] = trial(&shared, "nginx").reasons.as_slice() else {
        panic!("{:#?}", trial(&shared, "nginx").reasons)
    };
    for reason in [closed, open] {
        let judged = (reason.gate, reason.validity);
        assert_eq!(judged, (Gate::SharedCore, Validity::Limited));
        assert!(
            reason.remedy.contains("physical cores"),
            "{}",
            reason.remedy
        );
    }
    assert!(trial(&shared, "direct").reasons.is_empty());
    assert!(trial(&found(&[vec![1, 3]]), "nginx").reasons.is_empty());
}
