//! The gates for steady state in bins of 100 ms.

use gatebench_report::Validity;
use gatebench_store::{BinsRecord, WarmUpRecord};
use gatebench_studies::common::facts::{Aspect, Gate};

use crate::common::gates::{check, reasons};
use crate::common::{Made, analysed_run, manifest};

/// Sets the bins of both loads by bin number: responses, and the CPU time per response, which is
/// the same for the gateway and the upstream.
fn in_bins(made: &mut Made, count: u64, responses: fn(u64) -> u64, cpu_ns: fn(u64) -> u64) {
    for phase in ["saturate", "steady"] {
        let costs: Vec<u64> = (0..count).map(|bin| cpu_ns(bin) * responses(bin)).collect();
        made.phase(phase).bins = Some(BinsRecord {
            ends_ns: (1..=count).map(|bin| bin * 100_000_000).collect(),
            responses: (0..count).map(responses).collect(),
            gateway_cpu_ns: costs.clone(),
            upstream_cpu_ns: costs,
        });
    }
}

/// Adds reproducible noise of up to two percent.
fn around(value: u64, bin: u64) -> u64 {
    value + bin * 7_919 % 21 * value / 1_000
}

#[test]
fn bins_that_drift_are_not_steady() {
    let falling = |made: &mut Made| {
        in_bins(
            made,
            30,
            |bin| around(1_000, bin),
            |bin| around(20_000 - bin * 100, bin),
        );
        made.phase("steady").bins = None;
    };
    let flat = |made: &mut Made| {
        in_bins(
            made,
            30,
            |bin| around(1_000, bin),
            |bin| around(20_000, bin),
        );
    };
    let spoils = [Aspect::CpuPerRequest];
    check(Gate::NotSteady, Validity::Limited, &spoils, falling, flat);
    let rising = |made: &mut Made| {
        in_bins(made, 30, |bin| around(1_000 + bin * 5, bin), |_| 20_000);
        made.phase("steady").bins = None;
    };
    let spoils = [Aspect::Throughput];
    check(Gate::NotSteady, Validity::Limited, &spoils, rising, flat);
}

#[test]
fn cpu_time_without_bins_is_tested_in_seconds() {
    // The cost rises by 1 ÷ `parts` of its first value each second, and varies by up to a percent.
    let rising = |parts: u64| {
        move |made: &mut Made| {
            for row in made.rows.iter_mut().filter(|row| row.phase == "saturate") {
                let second = u64::from(row.second);
                let cost_ns = 20_000 + second * 20_000 / parts + second * 7_919 % 11 * 20;
                if let Some(gateway) = &mut row.gateway {
                    gateway.cpu_ns = row.completed * cost_ns;
                }
            }
        }
    };
    let spoils = [Aspect::CpuPerRequest];
    let (drifting, flat) = (rising(125), rising(300));
    check(Gate::NotSteady, Validity::Limited, &spoils, drifting, flat);
    // A second without a sample does not prevent the test.
    let with_gaps = |made: &mut Made| {
        rising(80)(made);
        let mut rows = made.rows.iter_mut().filter(|row| row.phase == "saturate");
        if let Some(row) = rows.nth(3) {
            row.gateway = None;
        }
    };
    check(Gate::NotSteady, Validity::Limited, &spoils, with_gaps, flat);
}

#[test]
fn an_untested_load_is_not_valid() {
    let short = |made: &mut Made| {
        in_bins(made, 9, |bin| around(1_000, bin), |_| 20_000);
        made.phase("steady").bins = None;
    };
    let long = |made: &mut Made| in_bins(made, 20, |bin| around(1_000, bin), |_| 20_000);
    let spoils = [Aspect::Throughput, Aspect::CpuPerRequest];
    check(
        Gate::SteadinessUntested,
        Validity::Limited,
        &spoils,
        short,
        long,
    );
}

#[test]
fn cpu_time_of_a_closed_load_with_few_responses_is_untested() {
    // One response in each bin: bins are merged in groups of ten, which leaves three.
    let few = |made: &mut Made| {
        in_bins(made, 30, |_| 1, |_| 20_000);
        made.phase("steady").bins = None;
    };
    let enough = |made: &mut Made| {
        in_bins(made, 30, |_| 10, |_| 20_000);
        made.phase("steady").bins = None;
    };
    let spoils = [Aspect::CpuPerRequest];
    let gate = Gate::SteadinessUntested;
    check(gate, Validity::Limited, &spoils, few, enough);
}

#[test]
fn merged_bins_are_described_by_their_length() {
    let found = reasons(|made| {
        in_bins(made, 30, |_| 5, |bin| 20_000 - bin * 300);
        made.phase("steady").bins = None;
    });
    let [reason] = found.as_slice() else {
        panic!("{found:#?}")
    };
    assert_eq!(reason.gate, Gate::NotSteady);
    assert!(
        reason.message.contains("over 15 bins of 200 ms"),
        "{}",
        reason.message
    );
}

#[test]
fn warm_up_of_a_gateway_on_another_host_names_the_watched_component() {
    let note = |is_elsewhere: bool| {
        let mut manifest = manifest(1);
        manifest.plan.placement.gateway_is_elsewhere = is_elsewhere;
        let findings = analysed_run(manifest, |mut made| {
            made.open().adaptive_warm_up = Some(WarmUpRecord {
                min_ns: 500_000_000,
                max_ns: 2_000_000_000,
                settled: true,
            });
            Some(made)
        });
        let mut notes = findings.1.notes.into_iter();
        notes.find(|it| it.starts_with("Warm-ups lasted")).unwrap()
    };
    let (here, there) = (note(false), note(true));
    assert!(here.contains("until the CPU time per request"), "{here}");
    assert!(there.contains("until the upstream's CPU time"), "{there}");
}
