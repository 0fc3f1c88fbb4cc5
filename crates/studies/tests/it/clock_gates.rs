//! Gates for the clock source and the frequency of the cores.

use gatebench_report::Validity;
use gatebench_store::{ClockSource, CoreFrequency, FrequencyRange};
use gatebench_studies::common::facts::{Aspect, Gate, Metric, PhaseKind, Reason};

use crate::common::gates::{check, reasons};
use crate::common::{Made, analysed_run, manifest, row, three_blocks, trial};

fn clock(made: &mut Made, began: &str, ended: &str) {
    made.record.clock_source = Some(ClockSource {
        began: began.into(),
        ended: ended.into(),
    });
}

fn judged(found: &[Reason]) -> Vec<(Gate, Validity)> {
    found.iter().map(|it| (it.gate, it.validity)).collect()
}

#[test]
fn times_of_two_clock_sources_are_invalid() {
    let found = reasons(|made| clock(made, "tsc", "kvm-clock"));
    let changed = (Gate::ClockSourceChanged, Validity::Invalid);
    assert_eq!(judged(&found), [changed, changed], "one for each phase");
    let timings = [Aspect::Throughput, Aspect::Latency, Aspect::CpuPerRequest];
    assert_eq!(found[0].spoils, timings);
    assert!(
        found[0].message.contains("from tsc to kvm-clock"),
        "{}",
        found[0].message
    );
    assert!(reasons(|made| clock(made, "tsc", "tsc")).is_empty());
    let findings = three_blocks(|made| {
        if made.is("nginx") {
            clock(made, "tsc", "kvm-clock");
        }
    });
    let nginx = row(&findings, "nginx");
    assert!(nginx.spoiled.is_empty(), "the machine caused it");
    let memory = nginx.metric(PhaseKind::Open, Metric::GatewayRssAnonMax);
    assert_eq!(memory.unwrap().validity, Validity::Valid);
}

#[test]
fn a_slow_clock_source_limits_latencies() {
    for slow in ["acpi_pm", "hpet", "jiffies"] {
        let found = reasons(|made| clock(made, slow, slow));
        let limited = (Gate::ClockSourceSlow, Validity::Limited);
        assert_eq!(judged(&found), [limited, limited], "{slow}");
        assert_eq!(found[0].spoils, [Aspect::Latency]);
        assert!(found[0].message.contains(slow), "{}", found[0].message);
        assert!(found[0].remedy.contains("current_clocksource"));
    }
    let fast = [
        "tsc",
        "kvm-clock",
        "arch_sys_counter",
        "hyperv_clocksource_tsc_page",
    ];
    for fast in fast {
        assert!(reasons(|made| clock(made, fast, fast)).is_empty(), "{fast}");
    }
}

#[test]
fn a_trial_without_a_clock_source_is_judged_by_that_of_the_run() {
    let of_run = |source: &str| {
        let mut manifest = manifest(3);
        manifest.environment["kernel"]["clock_source"] = source.into();
        let findings = analysed_run(manifest, Some).1;
        judged(&trial(&findings, "nginx").reasons)
    };
    let limited = (Gate::ClockSourceSlow, Validity::Limited);
    assert_eq!(of_run("hpet"), [limited, limited]);
    assert_eq!(of_run("tsc"), []);
}

/// Sets the frequencies at which the gateway's only core runs in a phase, in MHz.
fn run_at(made: &mut Made, phase: &str, [min, max]: [u64; 2]) {
    let range = FrequencyRange {
        core: 1,
        min_khz: min * 1_000,
        max_khz: max * 1_000,
    };
    made.phase(phase).machine.gateway_frequency = Some(CoreFrequency {
        mean_khz: (min + max) * 500,
        cores: vec![range],
    });
}

#[test]
fn a_change_of_frequency_limits_cpu_time() {
    check(
        Gate::FrequencyChanged,
        Validity::Limited,
        &[Aspect::CpuPerRequest],
        |made| run_at(made, "steady", [2_900, 3_100]),
        |made| run_at(made, "steady", [2_900, 3_030]),
    );
    let found = reasons(|made| run_at(made, "steady", [2_000, 3_000]));
    assert!(
        found[0]
            .message
            .contains("core 1 ran at 2,000 to 3,000 MHz"),
        "{}",
        found[0].message
    );
    assert!(
        found[0].remedy.contains("performance"),
        "{}",
        found[0].remedy
    );
    // Gateways that are measured side by side share their cores, and so their frequency.
    let shared = reasons(|made| {
        run_at(made, "steady", [2_000, 3_000]);
        made.open().side_by_side = true;
    });
    assert!(shared.is_empty(), "{shared:#?}");
}

#[test]
fn gateways_at_different_frequencies_limit_cpu_time() {
    let found = |haproxy: u64| {
        let findings = three_blocks(|made| {
            let mhz = match made.record.trial.variant.as_str() {
                "nginx" => 3_000,
                "haproxy" => haproxy,
                _ => return,
            };
            run_at(made, "steady", [mhz, mhz]);
        });
        let of = |variant: &str| judged(&trial(&findings, variant).reasons);
        [of("nginx"), of("haproxy"), of("direct")]
    };
    let limited = vec![(Gate::FrequencyChanged, Validity::Limited)];
    assert_eq!(found(2_800), [limited.clone(), limited, vec![]]);
    assert_eq!(found(2_900), [vec![], vec![], vec![]]);
}
