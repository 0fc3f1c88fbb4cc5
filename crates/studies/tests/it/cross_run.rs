//! Comparisons between runs: two runs, one run with several others, and runs over time.

use gatebench_model::DecisiveMetric;
use gatebench_stats::Verdict;
use gatebench_store::Manifest;
use gatebench_store::history::RunEntry;
use gatebench_studies::across_runs::compare::facts::{
    CellFindings, CompareFindings, Control, Weight,
};
use gatebench_studies::across_runs::{RunSummary, compare, compare_with_baseline, entry, history};
use gatebench_studies::common::facts::{Decision, Metric};
use serde_json::json;
use tempfile::TempDir;

use crate::common::Made;
use crate::common::runs::{read_run, slower, write_run};

/// A run in which haproxy takes about `factor` times 18 µs of CPU time per request at the fixed
/// rate.
fn run(
    folder: &TempDir,
    name: &str,
    blocks: u32,
    factor: f64,
    describe: impl Fn(&mut Manifest),
) -> RunSummary {
    let dir = folder.path().join(name);
    write_run(&dir, blocks, describe, |made| {
        slower(made, "haproxy", factor)
    });
    read_run(&dir)
}

fn cell<'a>(found: &'a CompareFindings, gateway: &str, metric: Metric) -> &'a CellFindings {
    let mut cells = found.cells.iter();
    cells
        .find(|it| it.place.gateway == gateway && it.place.metric == metric)
        .unwrap()
}

#[test]
fn a_slower_gateway_is_worse_and_unchanged_gateways_are_controls() {
    let folder = TempDir::new().unwrap();
    let before = run(&folder, "before", 10, 1.0, |_| ());
    let after = run(&folder, "after", 10, 1.1, |_| ());
    let found = compare(&before, &after, DecisiveMetric::Cpu);
    assert_eq!(found.decision, Decision::Worse, "{}", found.text);
    assert!(
        found
            .text
            .starts_with("Worse: proxy-json, haproxy: gateway CPU per request"),
        "{}",
        found.text
    );
    let judged = cell(&found, "haproxy", Metric::GatewayCpuPerRequest);
    assert!((judged.result.ratio - 1.1).abs() < 0.001);
    assert_eq!(
        (judged.result.verdict, judged.place.control),
        (Verdict::Worse, None)
    );
    let nginx = cell(&found, "nginx", Metric::GatewayCpuPerRequest);
    assert_eq!(
        (nginx.result.verdict, nginx.place.control),
        (Verdict::NoChange, Some(Control::SameGateway))
    );
    let direct = cell(&found, "direct", Metric::UpstreamCpuPerRequest);
    assert_eq!(
        (direct.result.verdict, direct.place.control),
        (Verdict::NoChange, Some(Control::Direct))
    );
    assert!(
        found.notes[0]
            .text
            .starts_with("There is one run on each side")
    );
    assert!(found.differences.is_empty(), "{:?}", found.differences);
    // The synthetic throughput rises over the ten blocks by much more than the 2 % that matter.
    let throughput = compare(&before, &after, DecisiveMetric::Throughput);
    assert_eq!(throughput.decision, Decision::Open);
    assert!(
        throughput
            .text
            .starts_with("Not settled: proxy-json, haproxy"),
        "{}",
        throughput.text
    );
}

/// A run of twelve blocks in which haproxy takes a tenth less CPU time, and drops requests in the
/// blocks up to number `first`.
fn dropping(folder: &TempDir, name: &str, first: u32) -> RunSummary {
    let dir = folder.path().join(name);
    let spoil = |made: &mut Made| {
        slower(made, "haproxy", 0.9);
        if made.is("haproxy") && made.record.trial.block <= first {
            made.open().counts.dropped = 100;
        }
    };
    write_run(&dir, 12, |_| (), spoil);
    read_run(&dir)
}

#[test]
fn spoiled_blocks_do_not_make_a_run_better() {
    let folder = TempDir::new().unwrap();
    let before = run(&folder, "before", 12, 1.0, |_| ());
    let some = compare(&before, &dropping(&folder, "some", 2), DecisiveMetric::Cpu);
    assert_eq!(some.decision, Decision::Open, "{}", some.text);
    let judged = cell(&some, "haproxy", Metric::GatewayCpuPerRequest);
    let ending = "inconclusive. The gateway itself spoiled, or may have spoiled, 2 blocks of this run; \
                  a spoiled block counts against the side to which it belongs.";
    assert!(judged.text.ends_with(ending), "{}", judged.text);
    // A run whose gateway spoiled all blocks leaves nothing to compare, and must not pass as
    // unchanged.
    let all = compare(&before, &dropping(&folder, "all", 12), DecisiveMetric::Cpu);
    assert_eq!(all.decision, Decision::Open, "{}", all.text);
    let note = "haproxy itself spoiled, or may have spoiled, blocks of proxy-json in this run, and no \
                usable block is left to compare; the run's report states the reason.";
    assert!(
        all.notes.iter().any(|it| it.text == note),
        "{:?}",
        all.notes
    );
}

/// The index entry of a night with two blocks. In the first `spoiled` blocks, haproxy drops
/// requests. If there are such blocks, haproxy takes a fifth less CPU time in both blocks.
fn night(folder: &TempDir, at: usize, spoiled: u32) -> RunEntry {
    let dir = folder.path().join(format!("night-{at:02}"));
    let describe = |manifest: &mut Manifest| {
        manifest.created = format!("2026-01-{:02}T03:04:05Z", at + 1).parse().unwrap();
    };
    let wobble = 0.004 * (at % 3) as f64;
    let factor = if spoiled > 0 { 0.8 } else { 1.0 } + wobble;
    write_run(&dir, 2, describe, |made| {
        slower(made, "haproxy", factor);
        if made.is("haproxy") && made.record.trial.block <= spoiled {
            made.open().counts.dropped = 100;
        }
    });
    entry(&read_run(&dir), String::new())
}

#[test]
fn runs_with_spoiled_blocks_are_not_an_improvement() {
    let folder = TempDir::new().unwrap();
    let spoiled = |at: usize| match at {
        0..6 => 0,
        17 => 2,
        _ => 1,
    };
    let runs: Vec<RunEntry> = (0..18).map(|at| night(&folder, at, spoiled(at))).collect();
    let found = history(&runs);
    let of = |gateway: &str| {
        let mut series = found.series.iter();
        series
            .find(|it| it.gateway == gateway && it.metric == Metric::GatewayCpuPerRequest)
            .unwrap()
    };
    let haproxy = of("haproxy");
    assert!(haproxy.changes.is_empty(), "{:#?}", haproxy.changes);
    assert!(!haproxy.searched, "only six runs remain");
    let counts: Vec<u32> = haproxy.points.iter().map(|it| it.spoiled).collect();
    let last = 17;
    assert_eq!(counts.len(), last, "the last run has no value");
    assert_eq!(counts[5..7], [0, 1]);
    let nginx = of("nginx");
    assert!(nginx.searched && nginx.points.iter().all(|it| it.spoiled == 0));
    let expected = "proxy-json, haproxy: the gateway itself spoiled blocks of 12 runs, the last of \
                them night-17 (2 of 2 blocks).";
    let mut headlines = found.headlines.iter();
    assert!(
        headlines.any(|it| it.text.starts_with(expected)),
        "{:?}",
        found.headlines
    );
}

#[test]
fn a_changed_control_prevents_a_verdict() {
    let folder = TempDir::new().unwrap();
    let before = run(&folder, "before", 10, 1.0, |_| ());
    let dir = folder.path().join("after");
    write_run(
        &dir,
        10,
        |_| (),
        |made| {
            slower(made, "haproxy", 1.1);
            slower(made, "nginx", 1.5);
        },
    );
    let found = compare(&before, &read_run(&dir), DecisiveMetric::Cpu);
    assert_eq!(found.decision, Decision::Open);
    assert!(
        found
            .text
            .contains("nginx is the same in both runs, but a difference was found"),
        "{}",
        found.text
    );
}

#[test]
fn titles_and_parity_cases_do_not_change_a_scenario() {
    let folder = TempDir::new().unwrap();
    let before = run(&folder, "before", 10, 1.0, |_| ());
    let after = run(&folder, "after", 10, 1.1, |manifest| {
        let scenario = &mut manifest.plan.scenarios[0];
        scenario.title = "In other words".into();
        scenario.parity.clear();
    });
    let found = compare(&before, &after, DecisiveMetric::Cpu);
    assert_eq!(found.decision, Decision::Worse, "{}", found.text);
}

#[test]
fn another_machine_forbids_a_comparison_and_another_load_is_left_out() {
    let folder = TempDir::new().unwrap();
    let before = run(&folder, "before", 2, 1.0, |_| ());
    let elsewhere = run(&folder, "elsewhere", 2, 1.0, |manifest| {
        manifest.environment["cpu"]["model"] = json!("another cpu");
    });
    let found = compare(&before, &elsewhere, DecisiveMetric::Cpu);
    assert_eq!(found.decision, Decision::Open);
    assert!(
        found.text.contains("cpu.model (a cpu and another cpu)"),
        "{}",
        found.text
    );
    assert!(found.cells.is_empty());
    let otherwise = run(&folder, "otherwise", 2, 1.0, |manifest| {
        manifest.plan.seed = 8;
        manifest.environment["kernel"] = json!({ "release": "7.0" });
        manifest.gateways.get_mut("nginx").unwrap().version = "1.26.0".into();
        let open = serde_json::from_value(json!({ "open": { "rate_per_second": 7000.0 } }));
        manifest.plan.load.phases[1].shape = open.unwrap();
    });
    let found = compare(&before, &otherwise, DecisiveMetric::Cpu);
    let expected: Vec<(Weight, &str)> = found
        .differences
        .iter()
        .map(|it| (it.weight, it.what.as_str()))
        .collect();
    assert_eq!(
        expected,
        [
            (Weight::LeavesOut, "load of steady"),
            (Weight::Caution, "kernel.release"),
            (Weight::Subject, "version of nginx"),
            (Weight::Noted, "seed"),
        ]
    );
    assert!(
        found.cells.iter().all(|it| it.place.phase == "saturate"),
        "only the load that both runs sent"
    );
}

#[test]
fn different_accounting_of_cpu_time_forbids_a_comparison() {
    let folder = TempDir::new().unwrap();
    let with = |name: &str, softirq: Option<&str>, paravirt: &str| {
        run(&folder, name, 2, 1.0, |manifest| {
            let accounting = softirq.map(|softirq| {
                json!({ "irq_time": "unknown", "paravirt_time": paravirt, "softirq": softirq })
            });
            if let Some(accounting) = accounting {
                manifest.environment["kernel"]["accounting"] = accounting;
            }
        })
    };
    let processes = with("processes", Some("processes"), "on");
    let nobody = with("nobody", Some("nobody"), "on");
    let found = compare(&processes, &nobody, DecisiveMetric::Cpu);
    assert!(found.cells.is_empty());
    let expected = "they differ in kernel.accounting.softirq (processes and nobody).";
    assert!(found.text.contains(expected), "{}", found.text);
    let stolen = with("stolen", Some("processes"), "off");
    let found = compare(&processes, &stolen, DecisiveMetric::Cpu);
    assert!(
        found.text.contains("paravirt_time (on and off)"),
        "{}",
        found.text
    );
    // Runs of earlier versions did not record the kernel's accounting of CPU time.
    let earlier = with("earlier", None, "");
    for known in [&processes, &nobody] {
        let found = compare(&earlier, known, DecisiveMetric::Cpu);
        assert!(!found.cells.is_empty());
        assert!(found.cells.iter().all(|it| !is_of_cpu(it)), "{found:#?}");
        let mut differences = found.differences.iter();
        let softirq = differences.find(|it| it.what == "kernel.accounting.softirq");
        let softirq = softirq.unwrap();
        assert_eq!(
            (softirq.weight, &softirq.baseline[..]),
            (Weight::LeavesOut, "unknown")
        );
        assert_eq!(found.decision, Decision::Open);
        let begins = "There is no verdict on CPU time: kernel.accounting.";
        assert!(found.text.starts_with(begins), "{}", found.text);
        assert!(found.notes.iter().any(|it| it.text == found.text));
        let other = compare(&earlier, known, DecisiveMetric::Throughput);
        assert!(!other.text.starts_with(begins), "{}", other.text);
    }
    let conditions = |run: &RunSummary| entry(run, String::new()).cells[0].conditions.clone();
    assert_eq!(conditions(&earlier), conditions(&processes));
    assert_ne!(conditions(&earlier), conditions(&nobody));
}

fn is_of_cpu(cell: &CellFindings) -> bool {
    let metrics = [Metric::GatewayCpuPerRequest, Metric::UpstreamCpuPerRequest];
    metrics.contains(&cell.place.metric)
}

#[test]
fn runs_without_accounting_are_compared_on_the_same_kernel_only() {
    let folder = TempDir::new().unwrap();
    let of_kernel = |name: &str, release: Option<&str>| {
        run(&folder, name, 10, 1.0, |manifest| {
            if let Some(release) = release {
                manifest.environment["kernel"] = json!({ "release": release });
            }
        })
    };
    let old = of_kernel("old", Some("6.1"));
    let again = of_kernel("again", Some("6.1"));
    let new = of_kernel("new", Some("6.18"));
    let silent = of_kernel("silent", None);
    let found = compare(&old, &again, DecisiveMetric::Cpu);
    assert!(found.cells.iter().any(is_of_cpu));
    assert_eq!(found.decision, Decision::Fine, "{}", found.text);
    let caution = "The runs do not record kernel.accounting.softirq: ";
    assert!(
        found.notes.iter().any(|it| it.text.starts_with(caution)),
        "{:?}",
        found.notes
    );
    for other in [&new, &silent] {
        let found = compare(&old, other, DecisiveMetric::Cpu);
        assert!(!found.cells.iter().any(is_of_cpu), "{}", other.name);
        let begins = "There is no verdict on CPU time: kernel.release is 6.1 in the baseline";
        assert!(found.text.starts_with(begins), "{}", found.text);
    }
}

#[test]
fn baseline_runs_with_different_accounting_are_not_used_for_cpu_time() {
    let folder = TempDir::new().unwrap();
    let with = |name: &str, softirq: &str, factor: f64| {
        run(&folder, name, 2, factor, |manifest| {
            let accounting = json!({ "paravirt_time": "on", "softirq": softirq });
            manifest.environment["kernel"]["accounting"] = accounting;
        })
    };
    let mut baseline: Vec<RunSummary> = [1.0, 1.01, 0.99]
        .into_iter()
        .enumerate()
        .map(|(at, factor)| with(&format!("known-{at}"), "processes", factor))
        .collect();
    // In the latest run, the accounting is unknown, and haproxy took twice the CPU time.
    baseline.push(with("unknown", "unknown", 2.0));
    let candidate = with("candidate", "processes", 1.5);
    let found = compare_with_baseline(&baseline, &candidate, DecisiveMetric::Cpu);
    assert_eq!(found.decision, Decision::Worse, "{}", found.text);
    let judged = cell(&found, "haproxy", Metric::GatewayCpuPerRequest);
    assert_eq!(judged.baseline.blocks, 3, "three of four runs");
    let expected = "unknown is left out of the baseline for CPU time: kernel.accounting.softirq is \
                unknown in that run and processes in the candidate.";
    assert!(
        found.notes.iter().any(|it| it.text == expected),
        "{:?}",
        found.notes
    );
}

#[test]
fn a_load_with_a_failing_target_is_another_load() {
    let folder = TempDir::new().unwrap();
    let well = run(&folder, "well", 2, 1.0, |_| ());
    let ill = run(&folder, "ill", 2, 1.0, |manifest| {
        let failure = json!({ "how": "slow", "by": "200ms", "from": "3s", "until": "6s" });
        manifest.plan.load.phases[1].failure = serde_json::from_value(failure).unwrap();
    });
    let found = compare(&well, &ill, DecisiveMetric::Cpu);
    let load = found
        .differences
        .iter()
        .find(|it| it.what == "load of steady")
        .unwrap();
    assert_eq!(load.weight, Weight::LeavesOut);
    assert!(
        load.candidate
            .ends_with(", a target slow by 200ms from 3s until 6s"),
        "{load:?}"
    );
    assert!(found.cells.iter().all(|it| it.place.phase != "steady"));
    let conditions = |run| {
        let cells = entry(run, String::new()).cells;
        let steady = cells.into_iter().find(|it| it.load.contains("requests/s"));
        steady.unwrap().conditions
    };
    assert_ne!(conditions(&well), conditions(&ill));
}

#[test]
fn a_run_is_compared_with_the_variation_of_the_baseline() {
    let folder = TempDir::new().unwrap();
    let factors = [1.0, 1.06, 0.97, 1.03, 0.95];
    let runs: Vec<RunSummary> = (0..5)
        .map(|at| run(&folder, &format!("night-{at}"), 2, factors[at], |_| ()))
        .collect();
    let within = run(&folder, "within", 2, 1.05, |_| ());
    let found = compare_with_baseline(&runs, &within, DecisiveMetric::Cpu);
    assert_eq!(found.decision, Decision::Open, "{}", found.text);
    assert!(
        found
            .text
            .contains("within the variation among the baseline's runs"),
        "{}",
        found.text
    );
    let beyond = run(&folder, "beyond", 2, 1.3, |_| ());
    let found = compare_with_baseline(&runs, &beyond, DecisiveMetric::Cpu);
    assert_eq!(found.decision, Decision::Worse, "{}", found.text);
    let few = compare_with_baseline(&runs[..2], &beyond, DecisiveMetric::Cpu);
    assert_eq!(few.decision, Decision::Open);
    assert!(
        few.notes[0]
            .text
            .contains("2 runs that can be compared; 3 are needed"),
        "{:?}",
        few.notes
    );
}

#[test]
fn a_history_names_the_run_of_a_change() {
    let folder = TempDir::new().unwrap();
    let runs: Vec<_> = (0..18)
        .map(|at| {
            let factor = if at < 6 { 1.0 } else { 1.2 } + 0.004 * f64::from(at % 3);
            let describe = |manifest: &mut Manifest| {
                manifest.created = format!("2026-01-{:02}T03:04:05Z", at + 1).parse().unwrap();
            };
            entry(
                &run(&folder, &format!("night-{at:02}"), 1, factor, describe),
                String::new(),
            )
        })
        .collect();
    let found = history(&runs);
    let of = |gateway: &str| {
        let mut series = found.series.iter();
        series
            .find(|it| it.gateway == gateway && it.metric == Metric::GatewayCpuPerRequest)
            .unwrap()
    };
    let [change] = of("haproxy").changes.as_slice() else {
        panic!("{:#?}", of("haproxy"))
    };
    assert_eq!(
        (change.at, change.run.as_str(), change.after_run.as_str()),
        (6, "night-06", "night-05")
    );
    assert!(
        change.worse && (change.after / change.before - 1.2).abs() < 0.01,
        "{change:?}"
    );
    assert!((change.net - 1.2).abs() < 0.01, "{change:?}");
    // The change is found with the run that reported it, but not with one run fewer.
    let expected = runs
        .iter()
        .position(|it| it.dir == change.told_with)
        .unwrap();
    assert!((9..18).contains(&expected), "{change:?}");
    let earlier = history(&runs[..expected]);
    assert!(earlier.series.iter().all(|it| it.changes.is_empty()));
    assert!(of("nginx").searched && of("nginx").changes.is_empty());
    assert!(
        found.headlines[0].text.contains("in night-06"),
        "{:?}",
        found.headlines
    );
    assert!(found.series.iter().all(|it| it.gateway != "direct"));
    let short = history(&runs[..12]);
    assert!(short.series.iter().all(|it| !it.searched));
    assert!(
        short.headlines[0]
            .text
            .contains("13 runs under the same conditions are needed")
    );
}
