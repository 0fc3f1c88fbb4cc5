//! Soaks and isolation tests of synthetic runs with known growth and known harm.

use std::collections::BTreeMap;

use gatebench_model::load::Open;
use gatebench_model::{Culprit, HumanDuration, Isolation, Shape, Soak, Study, Trial};
use gatebench_report::Unit;
use gatebench_stats::leak::LeakVerdict;
use gatebench_store::{
    Counts, GroupRecord, Manifest, Outcome, SeriesRow, SeriesUsage, Status, TimeFigures,
};
use gatebench_studies::Findings;
use gatebench_studies::common::facts::Decision;
use gatebench_studies::isolation::facts::IsolationFindings;
use gatebench_studies::soak::facts::{SoakFindings, SoakQuantity, SoakWhat};

use crate::common::{Made, SECOND_NS, analysed_run, manifest};

const SECONDS: u32 = 300;

/// A soak of one process for this many seconds, with this acceptable growth of memory per hour.
fn soak(seconds: u32, growth_bytes_per_hour: u64) -> Manifest {
    let mut manifest = manifest(1);
    manifest.plan.study = Study::Soak(Soak {
        duration: HumanDuration::from_millis(1_000 * u64::from(seconds)),
        growth_bytes_per_hour,
    });
    manifest.plan.variants.retain(|it| it.label() == "nginx");
    manifest.plan.trials = vec![Trial {
        number: 1,
        block: 1,
        scenario: "proxy-json".into(),
        variant: "nginx".into(),
        again: None,
    }];
    manifest
}

/// A number that is independent of its neighbors (SplitMix64).
fn random(of: u32) -> u64 {
    let mut bits = u64::from(of + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Memory that varies by up to 20 KiB from second to second, and grows by this number of bytes per
/// second.
fn with_memory(mut made: Made, seconds: u32, grows_by: f64) -> Made {
    made.record.phases.retain(|phase| phase.name == "steady");
    made.intervals
        .retain(|interval| interval.tag.starts_with("steady"));
    made.open().measure_ns = u64::from(seconds) * SECOND_NS;
    made.open().counts.completed_in_window = 5_000 * u64::from(seconds);
    let usage = |rss_anon_bytes, descriptors| SeriesUsage {
        rss_anon_bytes,
        descriptors,
        ..SeriesUsage::default()
    };
    made.rows = (0..seconds)
        .map(|second| {
            let noise = random(second) % 20_480;
            let held = (20 << 20) + noise + (grows_by * f64::from(second)) as u64;
            SeriesRow {
                phase: "steady".into(),
                second,
                completed: 5_000,
                response_p50_ns: Some(80_000 + noise % 900),
                gateway: Some(usage(held, 140)),
                upstream: Some(usage(0, 70)),
                ..SeriesRow::default()
            }
        })
        .collect();
    made
}

fn soaked(grows_by: f64, change: impl Fn(&mut Made)) -> Findings {
    let changed = |made| {
        let mut made = with_memory(made, SECONDS, grows_by);
        change(&mut made);
        Some(made)
    };
    analysed_run(soak(SECONDS, 4 << 20), changed).1
}

fn quantity(found: &SoakFindings, what: SoakWhat) -> &SoakQuantity {
    let mut quantities = found.segments[0].quantities.iter();
    quantities.find(|it| it.what == what).unwrap()
}

#[test]
fn a_leak_is_reported_with_its_size() {
    // 1 KiB per 1,000 requests, at 5,000 requests per second.
    let findings = soaked(5.0 * 1_024.0, |_| {});
    let found = findings.study.of::<SoakFindings>().unwrap();
    assert_eq!(found.decision, Decision::Worse, "{}", found.text);
    let memory = quantity(found, SoakWhat::Memory);
    assert_eq!(memory.growth.verdict, LeakVerdict::Leak);
    let each = memory.per_thousand_responses.unwrap();
    assert!((950.0..1_100.0).contains(&each), "{each}");
    assert!(
        found.text.starts_with("nginx leaks memory"),
        "{}",
        found.text
    );
    assert_eq!(
        findings.headlines[0].text, found.text,
        "the decision comes first"
    );
    assert!(memory.line.unwrap()[1].1 > memory.line.unwrap()[0].1);
    assert!(memory.stretches.len() <= 240);
}

#[test]
fn a_growing_pool_is_a_leak_even_if_memory_does_not_grow() {
    let held = |made: &mut Made| {
        for row in made.rows.iter_mut().step_by(10) {
            let second = u64::from(row.second);
            row.pools = [
                (
                    "heap_bytes".to_owned(),
                    (8 << 20) + random(row.second) % 4_096,
                ),
                ("threads_count".to_owned(), 20 + second / 10),
            ]
            .into();
        }
    };
    let findings = soaked(0.0, held);
    let found = findings.study.of::<SoakFindings>().unwrap();
    assert_eq!(found.decision, Decision::Worse, "{}", found.text);
    let pools = found.segments[0].quantities.iter();
    let pools: Vec<_> = pools.filter(|it| it.what == SoakWhat::Pool).collect();
    let expected = |at: usize| {
        (
            pools[at].title.as_str(),
            pools[at].unit,
            pools[at].growth.verdict,
        )
    };
    assert_eq!(
        expected(0),
        ("its pool 'heap'", Unit::Bytes, LeakVerdict::NoLeak)
    );
    assert_eq!(
        expected(1),
        ("its pool 'threads'", Unit::Count, LeakVerdict::Leak)
    );
    let text = "nginx leaks its pool 'threads'";
    assert!(found.text.contains(text), "{}", found.text);
}

#[test]
fn constant_quantities_do_not_leak() {
    // Over 15 minutes, a huge page corresponds to 8 MiB/h and a file descriptor to 4/h.
    let seconds = 3 * SECONDS;
    let watched = |made| Some(with_memory(made, seconds, 0.0));
    let findings = analysed_run(soak(seconds, 512 << 20), watched).1;
    let found = findings.study.of::<SoakFindings>().unwrap();
    assert_eq!(found.decision, Decision::Fine, "{}", found.text);
    for what in [SoakWhat::Descriptors, SoakWhat::UpstreamConnections] {
        let verdict = quantity(found, what).growth.verdict;
        assert_eq!(verdict, LeakVerdict::NoLeak, "{what:?}");
    }
    assert!(
        found.text.contains("no leak of memory above 512 MiB/h"),
        "{}",
        found.text
    );
}

#[test]
fn five_minutes_do_not_exclude_a_leak_hidden_by_a_huge_page() {
    let findings = soaked(0.0, |_| {});
    let found = findings.study.of::<SoakFindings>().unwrap();
    assert_eq!(found.decision, Decision::Open, "{}", found.text);
    let memory = &quantity(found, SoakWhat::Memory).growth;
    let LeakVerdict::Undetermined {
        seconds_needed: Some(needed),
        ..
    } = memory.verdict
    else {
        panic!("{memory:?}")
    };
    // At 4 MiB/h, memory grows by a huge page (2 MiB) in half an hour.
    assert!((0.45..0.6).contains(&(needed / 3_600.0)), "{needed}");
    assert!(memory.resolution_per_hour > 20.0 * f64::from(1 << 20));
    for expected in [
        "until the next step, the values may hide growth of",
        " would decide it",
    ] {
        assert!(found.text.contains(expected), "{expected}: {}", found.text);
    }
    let descriptors = quantity(found, SoakWhat::Descriptors).growth.verdict;
    assert_ne!(
        descriptors,
        LeakVerdict::NoLeak,
        "one descriptor in five minutes is 12/h"
    );
}

#[test]
fn an_ended_process_fails_the_soak() {
    let findings = soaked(0.0, |made| {
        made.used("steady", "gateway").processes_ended = 2
    });
    let found = findings.study.of::<SoakFindings>().unwrap();
    assert_eq!(found.decision, Decision::Worse);
    assert!(
        found
            .text
            .starts_with("nginx failed the soak: 2 processes ended."),
        "{}",
        found.text
    );
}

#[test]
fn a_soak_that_was_stopped_at_once_is_undetermined() {
    let findings = soaked(0.0, |made| {
        made.open().measure_ns = 3 * SECOND_NS;
        made.rows.truncate(3);
    });
    let found = findings.study.of::<SoakFindings>().unwrap();
    assert_eq!(found.decision, Decision::Open, "{}", found.text);
    assert!(found.text.contains("3 s of 5 min"), "{}", found.text);
}

#[test]
fn descriptors_that_grow_at_the_end_leave_a_soak_undetermined() {
    let leaks_lately = |made: &mut Made| {
        let last = made.rows.len() as u32 * 19 / 20;
        for row in &mut made.rows {
            let leaked = u64::from(row.second.saturating_sub(last)) * 50;
            row.gateway.as_mut().unwrap().descriptors = 40 + leaked;
        }
    };
    let findings = soaked(0.0, leaks_lately);
    let found = findings.study.of::<SoakFindings>().unwrap();
    assert_eq!(found.decision, Decision::Open, "{}", found.text);
    assert!(found.text.contains("descriptors"), "{}", found.text);
}

#[test]
fn dropped_arrivals_fail_the_soak() {
    let findings = soaked(0.0, |made| made.open().counts.dropped = 100_000);
    let found = findings.study.of::<SoakFindings>().unwrap();
    assert_eq!(found.decision, Decision::Worse, "{}", found.text);
    assert!(
        found.text.contains("100,000 arrivals were dropped"),
        "{}",
        found.text
    );
}

fn failed(culprit: Culprit) -> Outcome {
    Outcome::Failed {
        culprit,
        reason: "it died".into(),
        remedy: "repeat the trial".into(),
        phase: Some("steady".into()),
    }
}

/// A soak whose trial `culprit` ended, after requests without a response.
fn ended_by(culprit: Culprit, grows_by: f64) -> SoakFindings {
    let findings = soaked(grows_by, |made| {
        made.open()
            .counts
            .errors
            .insert("connection reset".into(), 3_214);
        made.record.outcome = failed(culprit.clone());
    });
    findings.study.of::<SoakFindings>().unwrap().clone()
}

#[test]
fn a_soak_that_something_else_ended_has_no_verdict_on_failures() {
    for (culprit, name) in [
        (Culprit::Upstream, "the upstream"),
        (Culprit::Engine, "the load generator"),
        (Culprit::Environment, "the environment"),
    ] {
        let found = ended_by(culprit, 0.0);
        assert_eq!(found.decision, Decision::Open, "{}", found.text);
        let begins = format!("There is no verdict: {name} failed after 5 min.");
        assert!(found.text.starts_with(&begins), "{}", found.text);
        assert!(!found.text.contains("3,214"), "{}", found.text);
        assert_eq!(found.segments[0].culprit, Some(name));
    }
    let found = ended_by(Culprit::Gateway("nginx".into()), 0.0);
    assert_eq!(found.decision, Decision::Worse, "{}", found.text);
    let begins = "nginx failed the soak: 3,214 requests got no response.";
    assert!(found.text.starts_with(begins), "{}", found.text);
}

#[test]
fn the_ends_of_several_processes_are_one_sentence() {
    let mut manifest = soak(SECONDS, 4 << 20);
    let first = manifest.plan.trials[0].clone();
    manifest.plan.trials.push(Trial {
        number: 2,
        block: 2,
        ..first
    });
    manifest.plan.blocks = 2;
    let ended = |made| {
        let mut made = with_memory(made, SECONDS, 0.0);
        made.record.outcome = failed(match made.record.trial.number {
            1 => Culprit::Upstream,
            _ => Culprit::File {
                path: "nginx.conf".into(),
                line: None,
            },
        });
        Some(made)
    };
    let findings = analysed_run(manifest, ended).1;
    let text = &findings.study.of::<SoakFindings>().unwrap().text;
    let begins = "There is no verdict: the upstream failed after 5 min and a file could not be used \
                  after 5 min. ";
    assert!(text.starts_with(begins), "{text}");
    assert_eq!(text.matches("There is no verdict").count(), 1, "{text}");
}

#[test]
fn an_interrupted_soak_names_the_command_that_resumes_it() {
    let mut manifest = soak(SECONDS, 4 << 20);
    manifest.status = Status::Interrupted;
    let interrupted = |made| {
        let mut made = with_memory(made, SECONDS, 0.0);
        made.record.outcome = Outcome::Interrupted;
        Some(made)
    };
    let findings = analysed_run(manifest, interrupted).1;
    let note = "`gatebench soak --resume DIR` measures the rest.";
    assert!(findings.notes[0].ends_with(note), "{:?}", findings.notes);
    let remedy = "Run `gatebench soak --resume DIR` to measure it again.";
    assert_eq!(findings.trials[0].reasons[0].remedy, remedy);
}

#[test]
fn a_leak_counts_even_if_something_else_ended_the_soak() {
    let found = ended_by(Culprit::Upstream, 5.0 * 1_024.0);
    assert_eq!(found.decision, Decision::Worse, "{}", found.text);
    let begins = "The upstream failed after 5 min. nginx leaks memory";
    assert!(found.text.starts_with(begins), "{}", found.text);
}

const SCENARIOS: [&str; 3] = ["errors", "errors-healthy", "errors-healthy-again"];

/// A plan whose blocks have three scenarios: one with failing requests, and two that are identical
/// and healthy.
fn isolation(blocks: u32) -> Manifest {
    let mut manifest = manifest(blocks);
    let scenario = manifest.plan.scenarios[0].clone();
    manifest.plan.scenarios = SCENARIOS
        .map(|name| {
            let mut scenario = scenario.clone();
            scenario.scenario = name.into();
            scenario
        })
        .into();
    manifest.plan.variants.retain(|it| it.label() == "nginx");
    manifest.plan.trials = (1..=blocks)
        .flat_map(|block| SCENARIOS.map(|scenario| (block, scenario)))
        .zip(1..)
        .map(|((block, scenario), number)| Trial {
            number,
            block,
            scenario: scenario.into(),
            variant: "nginx".into(),
            again: None,
        })
        .collect();
    manifest.plan.study = Study::Isolation(vec![Isolation {
        failing: SCENARIOS[0].into(),
        healthy: SCENARIOS[1].into(),
        again: SCENARIOS[2].into(),
        group: "good".into(),
    }]);
    manifest
}

/// Runs an isolation test in which `good` returns, for each scenario, the good group's median in
/// nanoseconds and its number of failed checks.
fn isolated(blocks: u32, good: impl Fn(&str) -> (u64, u64)) -> IsolationFindings {
    let findings = isolated_until(blocks, u32::MAX, good);
    isolation_of(&findings).clone()
}

fn isolation_of(findings: &Findings) -> &IsolationFindings {
    &findings.study.of::<Vec<IsolationFindings>>().unwrap()[0]
}

/// Like [`isolated`], for a run that ends with trial number `last`.
fn isolated_until(blocks: u32, last: u32, good: impl Fn(&str) -> (u64, u64)) -> Findings {
    isolated_with(blocks, last, good, |_| ())
}

/// Like [`isolated`], with a change to each trial of the failing scenario.
fn isolated_but(blocks: u32, change: impl Fn(&mut Made)) -> IsolationFindings {
    let of_failing = |made: &mut Made| {
        if made.record.trial.scenario == SCENARIOS[0] {
            change(made);
        }
    };
    let findings = isolated_with(blocks, u32::MAX, |_| (80_000, 0), of_failing);
    isolation_of(&findings).clone()
}

fn isolated_with(
    blocks: u32,
    last: u32,
    good: impl Fn(&str) -> (u64, u64),
    change: impl Fn(&mut Made),
) -> Findings {
    let group = |name: &str, p50_ns: u64, failing_checks: u64| GroupRecord {
        name: name.into(),
        shape: Shape::Open(Open::new(2_500.0)),
        counts: Counts {
            intended: 25_000,
            sent: 25_000,
            completed: 25_000,
            completed_in_window: 25_000,
            ..Counts::default()
        },
        failing_checks,
        sums: BTreeMap::new(),
        response: TimeFigures {
            count: 25_000,
            p50_ns: Some(p50_ns),
            p99_ns: Some(3 * p50_ns),
            ..TimeFigures::default()
        },
        routes: Vec::new(),
    };
    let changed = |mut made: Made| {
        if made.record.trial.number > last {
            return None;
        }
        made.record.phases.retain(|phase| phase.name == "steady");
        made.intervals
            .retain(|interval| interval.tag.starts_with("steady"));
        made.rows.retain(|row| row.phase == "steady");
        let (p50_ns, failing) = good(&made.record.trial.scenario);
        // Trials differ by up to two thousandths.
        let number = u64::from(made.record.trial.number);
        let wobble = p50_ns / 1_000 * ((number * 7) % 3);
        made.open().groups = vec![
            group("good", p50_ns + wobble, failing),
            group("failing", 50_000, 0),
        ];
        change(&mut made);
        Some(made)
    };
    analysed_run(isolation(blocks), changed).1
}

#[test]
fn an_interrupted_block_is_not_counted() {
    // In the fourth block, only the second healthy run is missing.
    let findings = isolated_until(10, 11, |_| (80_000, 0));
    let found = isolation_of(&findings);
    assert!(
        found
            .text
            .contains("a verdict needs 10 usable blocks; this run has 3"),
        "{}",
        found.text
    );
    assert_eq!(findings.run.blocks_complete, 3);
    assert!(found.measures.iter().all(|it| it.blocks.len() == 3));
}

#[test]
fn a_good_group_unaffected_by_failing_ones_is_isolated() {
    let found = isolated(10, |_| (80_000, 0));
    assert_eq!(found.decision, Decision::Fine, "{}", found.text);
    let titles: Vec<_> = found
        .measures
        .iter()
        .map(|it| (it.title, it.decides))
        .collect();
    assert_eq!(
        titles,
        [
            ("median response time", true),
            ("rate", true),
            ("response time p99", false)
        ]
    );
    assert_eq!(found.measures[0].blocks.len(), 10);
    assert!(
        found
            .text
            .contains("all 250,000 requests of 'good' got correct responses")
    );
}

#[test]
fn one_wrong_response_breaks_isolation() {
    let found = isolated(10, |scenario| (80_000, u64::from(scenario == "errors")));
    assert_eq!(found.decision, Decision::Worse);
    assert!(
        found
            .text
            .contains("10 of 250,000 requests of 'good' failed"),
        "{}",
        found.text
    );
    let both = isolated(10, |_| (80_000, 1));
    assert_eq!(
        both.decision,
        Decision::Open,
        "the good group also fails next to healthy groups: {}",
        both.text
    );
}

#[test]
fn failures_in_the_second_healthy_run_prevent_a_verdict() {
    let found = isolated(10, |scenario| (80_000, u64::from(scenario != SCENARIOS[1])));
    assert_eq!(found.decision, Decision::Open, "{}", found.text);
    assert!(
        found
            .text
            .contains("10 of 500,000 requests of 'good' failed"),
        "{}",
        found.text
    );
}

#[test]
fn blocks_that_the_gateway_spoiled_next_to_failing_requests_prevent_a_verdict() {
    for (last, blocks) in [(12, "12 blocks"), (1, "1 block")] {
        let found = isolated_but(12, |made| {
            if made.record.trial.block <= last {
                let values = [(1_000, 49_000), (900_000_000, 1_000)];
                made.record_values("steady", "lateness", &values);
                made.open().counts.queued_max = 4_961;
            }
        });
        assert_eq!(found.decision, Decision::Open, "{}", found.text);
        let expected = format!(
            "no verdict on their median response time: nginx itself spoiled, or may have spoiled, {blocks} next to"
        );
        assert!(found.text.contains(&expected), "{}", found.text);
    }
}

#[test]
fn isolation_needs_a_verdict_on_every_deciding_figure() {
    let found = isolated_but(10, |made| made.open().groups[0].response.p50_ns = None);
    assert_eq!(found.decision, Decision::Open, "{}", found.text);
    let expected = "a verdict on their median response time needs 10 valid blocks.";
    assert!(found.text.ends_with(expected), "{}", found.text);
}

#[test]
fn failing_requests_that_slow_others_down_are_found() {
    let slower = |scenario: &str| {
        if scenario == "errors" {
            (88_000, 0)
        } else {
            (80_000, 0)
        }
    };
    let found = isolated(10, slower);
    assert_eq!(found.decision, Decision::Worse, "{}", found.text);
    assert!(found.text.contains("slow others down"), "{}", found.text);
    let noisy = isolated(10, |scenario| {
        if scenario == "errors-healthy-again" {
            (88_000, 0)
        } else {
            (80_000, 0)
        }
    });
    assert_eq!(noisy.decision, Decision::Open, "{}", noisy.text);
    let few = isolated(3, slower);
    assert_eq!(few.decision, Decision::Open, "{}", few.text);
}
