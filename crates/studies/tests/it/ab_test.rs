//! A/B tests of synthetic runs: the decision, its reason, and the caution.

use gatebench_model::{AbTest, Culprit, DecisiveMetric, Study, Variant};
use gatebench_report::Tone;
use gatebench_stats::{Method, Verdict};
use gatebench_store::{Manifest, Outcome, Run, UpstreamWire, WireFacts};
use gatebench_studies::Findings;
use gatebench_studies::ab::facts::AbTestFindings;
use gatebench_studies::common::facts::{Decision, Metric};
use gatebench_studies::{Next, after_block};
use tempfile::TempDir;

use crate::common::{Made, RATE, SECONDS, analysed_run, every_cell, manifest};

/// A plan with the candidate `mine`, and nginx twice.
fn ab_test_of(blocks: u32) -> Manifest {
    let mut manifest = manifest(blocks);
    let labels = ["mine", "nginx", "nginx-2"];
    manifest.plan.variants = labels.map(|it| Variant::gateway(it, "nginx")).into();
    manifest.plan.trials = every_cell(&manifest.plan, blocks);
    manifest.plan.study = Study::Ab(AbTest {
        candidate: "mine".into(),
        baseline: "nginx".into(),
        again: "nginx-2".into(),
        metric: DecisiveMetric::Cpu,
        blocks_max: 20,
        decides_first: false,
    });
    manifest
}

/// A run whose variants use this CPU time per request. Each trial deviates from it by up to a
/// thousandth.
fn run(blocks: u32, cpu_ns: impl Fn(&str) -> f64) -> (TempDir, Findings) {
    run_of(ab_test_of(blocks), cpu_ns)
}

fn run_of(manifest: Manifest, cpu_ns: impl Fn(&str) -> f64) -> (TempDir, Findings) {
    analysed_run(manifest, |mut made: Made| {
        let trial = made.record.trial.clone();
        if trial.variant == "direct" {
            return Some(made);
        }
        let wobble = f64::from((trial.block * 7 + trial.variant.len() as u32) % 5) - 2.0;
        let cpu_ns = cpu_ns(&trial.variant) * (1.0 + wobble / 2_000.0);
        made.used("steady", "gateway").cpu_ns = (cpu_ns * (RATE * SECONDS) as f64) as u64;
        Some(made)
    })
}

fn settled(dir: &TempDir) -> bool {
    let run = Run::open(dir.path()).unwrap();
    let blocks = run.manifest().plan.blocks;
    let next = after_block(&run.manifest().plan.study, dir.path(), blocks, blocks + 1);
    match next.unwrap() {
        Next::Continue => false,
        Next::Stop(why) => {
            assert_eq!(why, format!("Settled after {blocks} blocks."));
            true
        }
        Next::Load(load) => panic!("{:?}", load.phase),
    }
}

#[test]
fn five_percent_more_is_worse() {
    let (dir, findings) = run(
        10,
        |label| if label == "mine" { 21_000.0 } else { 20_000.0 },
    );
    let ab_test = findings.study.of::<AbTestFindings>().unwrap();
    assert_eq!(ab_test.decision, Decision::Worse);
    assert!(
        ab_test
            .text
            .starts_with("mine is worse than nginx: mine uses 1.050× the CPU of nginx per request"),
        "{}",
        ab_test.text
    );
    assert_eq!(
        findings.headlines[0].text, ab_test.text,
        "the decision comes first"
    );
    assert!(settled(&dir));
    let own: Vec<_> = findings.scenarios[0]
        .comparisons
        .iter()
        .filter(|it| it.primary)
        .map(|it| {
            (
                it.candidate.as_str(),
                it.baseline.as_str(),
                it.result.verdict,
                it.result.method,
            )
        })
        .collect();
    assert_eq!(
        own,
        [
            ("mine", "nginx", Verdict::Worse, Some(Method::Repeated)),
            (
                "nginx",
                "nginx-2",
                Verdict::NoChange,
                Some(Method::Repeated)
            ),
        ],
        "mine is not compared with the second nginx"
    );
    let metrics = findings.scenarios[0].comparisons.iter().map(|it| it.metric);
    assert!(metrics.clone().any(|it| it == Metric::AddedP90));
    assert!(metrics.clone().any(|it| it == Metric::GatewayRssAnonMax));
    let note = findings
        .notes
        .iter()
        .find(|it| it.contains("same gateway"))
        .unwrap();
    assert!(
        note.starts_with("nginx and nginx-2 are the same gateway"),
        "{note}"
    );
}

#[test]
fn equal_gateways_are_no_different() {
    let (dir, findings) = run(12, |_| 20_000.0);
    let ab_test = findings.study.of::<AbTestFindings>().unwrap();
    assert_eq!(ab_test.decision, Decision::Fine);
    assert!(
        ab_test
            .text
            .starts_with("mine is no different from nginx: "),
        "{}",
        ab_test.text
    );
    assert!(settled(&dir));
}

#[test]
fn nine_blocks_settle_nothing() {
    let (dir, findings) = run(9, |_| 20_000.0);
    let ab_test = findings.study.of::<AbTestFindings>().unwrap();
    assert_eq!(ab_test.decision, Decision::Open);
    assert_eq!(
        ab_test.text,
        "mine cannot be distinguished from nginx: a verdict needs 10 blocks."
    );
    assert!(!settled(&dir));
    assert!(
        findings.notes[0].contains("gatebench ab --budget"),
        "{:?}",
        findings.notes
    );
}

#[test]
fn a_baseline_that_differs_from_itself_forbids_a_verdict() {
    let (_, findings) = run(10, |label| match label {
        "mine" => 22_000.0,
        "nginx" => 20_000.0,
        _ => 19_000.0,
    });
    let ab_test = findings.study.of::<AbTestFindings>().unwrap();
    assert_eq!(ab_test.decision, Decision::Open);
    assert!(
        ab_test
            .text
            .starts_with("There is no verdict: nginx and nginx-2 are the same gateway"),
        "{}",
        ab_test.text
    );
}

#[test]
fn a_run_that_only_measures_is_never_settled() {
    let (dir, findings) = analysed_run(manifest(10), Some);
    assert!(findings.study.facts().is_none());
    assert!(!settled(&dir));
}

/// The verdict at the end of twelve blocks on a machine whose trials differ by a few percent. The
/// CPU time of the candidate is higher by the share `effect`, and that of the upstream behind it by
/// the share `moved`.
fn ends(effect: f64, moved: f64) -> Verdict {
    let (_, findings) = analysed_run(ab_test_of(12), |mut made: Made| {
        let trial = made.record.trial.clone();
        let is_candidate = trial.variant == "mine";
        // Pseudo-random numbers: the middle digits of a square.
        let drawn = |salt: u64| {
            let number = u64::from(trial.number) * 7_919 + salt;
            ((number * number / 100) % 1_000) as f64 / 500.0 - 1.0
        };
        let machine = 1.0 + 0.02 * drawn(3);
        let own = |share: f64| if is_candidate { 1.0 + share } else { 1.0 };
        let requests = RATE * SECONDS;
        let total = |ns: f64| (ns * requests as f64) as u64;
        let gateway = 20_000.0 * own(effect) * machine * (1.0 + 0.01 * drawn(17));
        let upstream = 5_000.0 * own(moved) * machine;
        made.used("steady", "gateway").cpu_ns = total(gateway);
        made.used("steady", "upstream").cpu_ns = total(upstream);
        made.open().wire = Some(WireFacts {
            responses: requests,
            client_connections: 64,
            upstream: Some(UpstreamWire {
                requests,
                connections: 64,
                fields: 3 * requests,
                head_bytes: 100 * requests,
                ..UpstreamWire::default()
            }),
            gateway: None,
        });
        Some(made)
    });
    let mut compared = findings.scenarios[0].comparisons.iter();
    let decisive = compared.find(|it| it.primary && it.candidate == "mine");
    decisive.unwrap().result.verdict
}

#[test]
fn a_candidate_is_not_judged_by_the_upstreams_cpu_time() {
    let found = ends(0.0, 0.05);
    let differs = matches!(found, Verdict::Better | Verdict::Worse);
    assert!(!differs, "{found:?}");
    assert_eq!(ends(0.05, 0.05), Verdict::Worse);
}

#[test]
fn the_candidate_is_compared_with_the_mean_of_both_processes_of_the_baseline() {
    let (_, findings) = run(10, |label| match label {
        "mine" => 20_000.0,
        "nginx" => 20_100.0,
        _ => 19_900.0,
    });
    let mut compared = findings.scenarios[0].comparisons.iter();
    let decisive = compared.find(|it| it.primary && it.candidate == "mine");
    let ratio = decisive.unwrap().result.ratio;
    assert!((ratio - 1.0).abs() < 2e-4, "{ratio}");
}

fn of_two_scenarios(blocks: u32) -> Manifest {
    let mut manifest = ab_test_of(blocks);
    let mut second = manifest.plan.scenarios[0].clone();
    second.scenario = "second".into();
    manifest.plan.scenarios.push(second);
    manifest.plan.trials = every_cell(&manifest.plan, blocks);
    manifest
}

#[test]
fn a_scenario_without_the_candidate_is_named_as_the_reason() {
    let excluded = |outcome: Outcome| {
        let (_, findings) = analysed_run(of_two_scenarios(12), |mut made: Made| {
            let trial = made.record.trial.clone();
            let wobble = f64::from((trial.block * 7 + trial.variant.len() as u32) % 5) - 2.0;
            let cpu_ns = 20_000.0 * (1.0 + wobble / 2_000.0);
            made.used("steady", "gateway").cpu_ns = (cpu_ns * (RATE * SECONDS) as f64) as u64;
            if trial.variant == "mine" && trial.scenario == "second" {
                made.record.outcome = outcome.clone();
                made.record.phases.clear();
                made.intervals.clear();
                made.rows.clear();
            }
            Some(made)
        });
        let ab_test = findings.study.of::<AbTestFindings>().unwrap();
        assert_eq!(ab_test.decision, Decision::Open);
        ab_test.text.clone()
    };
    let policies = vec!["api-key".to_owned()];
    assert_eq!(
        excluded(Outcome::NotSupported { policies }),
        "mine cannot be distinguished from nginx: in second, mine does not support api-key."
    );
    let failed = Outcome::Failed {
        culprit: Culprit::Engine,
        reason: "it ended".into(),
        remedy: "read its log".into(),
        phase: None,
    };
    assert_eq!(
        excluded(failed),
        "mine cannot be distinguished from nginx: in second, every trial of mine failed."
    );
}

#[test]
fn the_deciding_scenario_is_named() {
    let (_, findings) = analysed_run(of_two_scenarios(20), |mut made: Made| {
        let trial = made.record.trial.clone();
        let wobble = f64::from((trial.block * 7 + trial.variant.len() as u32) % 5) - 2.0;
        let is_slower = trial.variant == "mine" && trial.scenario == "second";
        let cpu_ns = if is_slower { 22_000.0 } else { 20_000.0 } * (1.0 + wobble / 2_000.0);
        made.used("steady", "gateway").cpu_ns = (cpu_ns * (RATE * SECONDS) as f64) as u64;
        Some(made)
    });
    let found = findings.study.of::<AbTestFindings>().unwrap();
    assert_eq!(found.decision, Decision::Worse, "{}", found.text);
    let begins = "mine is worse than nginx: in second, mine uses 1.1";
    assert!(found.text.starts_with(begins), "{}", found.text);
}

/// The decision and the caution if the candidate needs `factor` times as much CPU time and memory,
/// and the two programs have these digests.
fn caution(programs: [&str; 2], metric: DecisiveMetric, factor: f64) -> (Decision, Option<String>) {
    let mut manifest = ab_test_of(10);
    if let Study::Ab(ab_test) = &mut manifest.plan.study {
        ab_test.metric = metric;
    }
    for (label, sha256) in ["mine", "nginx"].into_iter().zip(programs) {
        let mut identity = manifest.gateways["nginx"].clone();
        identity.sha256 = sha256.into();
        manifest.gateways.insert(label.into(), identity);
    }
    let findings = analysed_run(manifest, |mut made: Made| {
        let trial = made.record.trial.clone();
        let wobble = f64::from((trial.block * 7 + trial.variant.len() as u32) % 5) - 2.0;
        let factor = if trial.variant == "mine" { factor } else { 1.0 } * (1.0 + wobble / 2_000.0);
        for phase in ["saturate", "steady"] {
            made.used(phase, "gateway").rss_anon_bytes_max = (8e6 * factor) as u64;
        }
        let cpu_ns = 20_000.0 * factor * (RATE * SECONDS) as f64;
        made.used("steady", "gateway").cpu_ns = cpu_ns as u64;
        Some(made)
    });
    let ab_test = findings.1.study.of::<AbTestFindings>().unwrap();
    if let Some(caution) = &ab_test.caution {
        let second = &findings.1.headlines[1];
        assert_eq!((&second.text, second.tone), (caution, Tone::Caution));
    }
    (ab_test.decision, ab_test.caution.clone())
}

#[test]
fn a_small_difference_between_two_binaries_may_be_due_to_their_layout() {
    let (cpu, two) = (DecisiveMetric::Cpu, ["aa", "bb"]);
    let (decision, said) = caution(two, cpu, 1.025);
    assert_eq!(decision, Decision::Worse);
    let said = said.unwrap();
    assert!(
        said.starts_with("The difference is below 3 %, and mine and nginx are two binaries"),
        "{said}"
    );
    let better = caution(two, cpu, 0.975);
    assert!(better.0 == Decision::Fine && better.1.is_some());
    assert_eq!(caution(two, cpu, 1.035), (Decision::Worse, None));
    assert_eq!(caution(["aa"; 2], cpu, 1.025), (Decision::Worse, None));
    assert_eq!(caution(two, cpu, 1.0), (Decision::Fine, None));
    let memory = caution(two, DecisiveMetric::Memory, 1.025);
    assert_eq!(
        memory,
        (Decision::Worse, None),
        "layout does not affect memory"
    );
}

#[test]
fn a_gateway_that_differs_from_itself_makes_the_verdicts_of_a_run_doubtful() {
    let found = |again_ns: f64| {
        let mut manifest = manifest(10);
        manifest.plan.variants = vec![
            Variant::Direct,
            Variant::gateway("nginx", "nginx"),
            Variant::gateway("haproxy", "haproxy"),
            Variant::gateway("haproxy-2", "haproxy"),
        ];
        manifest.plan.trials = every_cell(&manifest.plan, 10);
        let of = |label: &str| match label {
            "nginx" => 24_000.0,
            "haproxy" => 20_000.0,
            _ => again_ns,
        };
        let findings = run_of(manifest, of).1;
        let scenario = &findings.scenarios[0];
        let alarms = scenario.sentences.iter();
        let alarms = alarms.filter(|it| it.tone == Tone::Alarm);
        let alarms: Vec<String> = alarms.map(|it| it.text.clone()).collect();
        (alarms, findings)
    };
    let (none, findings) = found(20_000.0);
    assert!(none.is_empty(), "{none:?}");
    let mut pairs = findings.scenarios[0].comparisons.iter();
    let itself = pairs.find(|it| it.primary && it.candidate == "haproxy");
    assert_eq!(itself.unwrap().result.verdict, Verdict::NoChange);
    let (alarms, findings) = found(22_000.0);
    let [alarm] = alarms.as_slice() else {
        panic!("{alarms:?}")
    };
    let begins = "haproxy and haproxy-2 are the same gateway, but a difference was found: haproxy uses 0.909×";
    assert!(alarm.starts_with(begins), "{alarm}");
    assert!(
        alarm.contains("do not use this scenario's other verdicts on the gateway CPU per request"),
        "{alarm}"
    );
    assert_eq!(findings.headlines[0].text, format!("proxy-json: {alarm}"));
}
