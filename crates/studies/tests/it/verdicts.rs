//! Runs of ten or more blocks have verdicts; shorter ones do not.

use gatebench_model::Culprit;
use gatebench_report::Validity;
use gatebench_stats::{Method, Verdict};
use gatebench_store::Outcome;
use gatebench_studies::Findings;
use gatebench_studies::common::facts::{ComparisonFindings, Metric};

use crate::common::{Made, RATE, SECONDS, analysed_run, manifest};

fn found(blocks: u32, change: impl Fn(&mut Made)) -> Findings {
    let changed = |mut made: Made| {
        change(&mut made);
        Some(made)
    };
    analysed_run(manifest(blocks), changed).1
}

fn comparison(findings: &Findings, metric: Metric) -> &ComparisonFindings {
    let comparisons = &findings.scenarios[0].comparisons;
    let mut of_metric = comparisons.iter().filter(|cell| cell.metric == metric);
    let found = of_metric.next().unwrap();
    assert!(of_metric.next().is_none(), "two gateways form one pair");
    found
}

/// Sets the CPU time of nginx to that of haproxy in the same block, multiplied by the block's
/// `ratio`.
fn nginx_uses(ratio: impl Fn(u32) -> f64) -> impl Fn(&mut Made) {
    move |made| {
        if made.is("nginx") {
            let block = made.record.trial.block;
            let haproxy_ns = f64::from(18_000 + 100 * block);
            let requests = (RATE * SECONDS) as f64;
            made.used("steady", "gateway").cpu_ns = (haproxy_ns * ratio(block) * requests) as u64;
        }
    }
}

#[test]
fn nine_blocks_compare_nothing() {
    let findings = found(9, |_| ());
    assert!(findings.scenarios[0].comparisons.is_empty());
    assert!(
        findings.notes[0].starts_with("9 blocks are too few for a verdict"),
        "{:?}",
        findings.notes
    );
}

#[test]
fn ten_blocks_compare_every_metric_of_every_pair() {
    let findings = found(10, |_| ());
    let comparisons = &findings.scenarios[0].comparisons;
    let verdicts: Vec<_> = comparisons
        .iter()
        .map(|cell| (cell.metric, cell.primary, cell.result.verdict))
        .collect();
    assert_eq!(
        verdicts,
        [
            (Metric::GatewayCpuPerRequest, true, Verdict::Worse),
            (Metric::Throughput, false, Verdict::Worse),
            (Metric::AddedP50, false, Verdict::Better),
            (Metric::AddedP99, false, Verdict::Better),
        ]
    );
    for cell in comparisons {
        assert_eq!(
            (cell.candidate.as_str(), cell.baseline.as_str()),
            ("nginx", "haproxy")
        );
        assert_eq!(cell.blocks, (1..=10).collect::<Vec<_>>());
        assert_eq!(cell.result.method, Some(Method::Student));
        // Other metrics do not widen the interval of the primary one.
        let confidence = cell.result.interval.unwrap().confidence;
        if cell.primary {
            assert!((confidence - 0.95).abs() < 1e-9, "{confidence}");
        } else if cell.metric != Metric::Throughput {
            assert!(confidence > 0.96, "{confidence}");
        }
    }
    let texts: Vec<_> = comparisons.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "nginx uses 1.324× the CPU of haproxy per request at 5,000 requests/s (1.320–1.327): worse.",
            "nginx reaches 0.816× the throughput of haproxy at 64 connections (0.809–0.823): worse.",
            "nginx has 0.833× the added latency p50 of haproxy at 5,000 requests/s (0.833–0.833): better.",
            "nginx has 0.834× the added latency p99 of haproxy at 5,000 requests/s (0.834–0.834): better.",
        ]
    );
    let headline = format!("proxy-json: {}", texts[0]);
    let headlines: Vec<_> = findings.headlines.iter().map(|said| &said.text).collect();
    assert!(headlines.contains(&&headline), "{headlines:#?}");
    assert!(
        !headlines
            .iter()
            .any(|text| text.contains("a ranking needs")),
        "{headlines:#?}"
    );
    assert_eq!(
        findings.notes[0],
        "Verdicts rest on 4 comparisons, paired by block, with intervals by Student's t, widened \
         (Holm) so that the verdicts on CPU per request (1) hold jointly with 95 % confidence, \
         and so do the others (3); a difference within ±2 % counts as no change."
    );
}

/// nginx uses about 0.9 times haproxy's CPU time, and `spoil` changes the trials of `who` up to
/// block number `first`.
fn spoiled_in(first: u32, blocks: u32, who: &str, spoil: impl Fn(&mut Made)) -> Findings {
    let less = nginx_uses(|block| 0.9 + 0.001 * f64::from(block % 3));
    found(blocks, |made| {
        less(made);
        if made.is(who) && made.record.trial.block <= first {
            spoil(made);
        }
    })
}

fn drop_requests(made: &mut Made) {
    made.open().counts.dropped = 400;
}

#[test]
fn a_gateway_that_drops_requests_in_some_blocks_is_not_better() {
    let cpu = Metric::GatewayCpuPerRequest;
    let findings = spoiled_in(3, 13, "nginx", drop_requests);
    for metric in [cpu, Metric::AddedP50, Metric::AddedP99] {
        let found = comparison(&findings, metric);
        let open = Verdict::Inconclusive {
            blocks_needed: None,
        };
        assert_eq!(found.result.verdict, open, "{}", found.text);
        assert_eq!(found.spoiled.candidate.alone, [1, 2, 3]);
        let ending = "inconclusive. nginx itself spoiled 3 of 13 blocks (arrivals dropped), which \
                      count against it.";
        assert!(found.text.ends_with(ending), "{}", found.text);
    }
    // The throughput of the other load remains valid, and haproxy's spoiled blocks do not count
    // against nginx.
    let throughput = comparison(&findings, Metric::Throughput);
    assert_eq!(throughput.result.verdict, Verdict::Worse);
    let other = spoiled_in(3, 13, "haproxy", drop_requests);
    assert_eq!(comparison(&other, cpu).result.verdict, Verdict::Better);
}

#[test]
fn blocks_that_one_gateway_alone_spoiled_are_lost() {
    let cpu = Metric::GatewayCpuPerRequest;
    let some = spoiled_in(8, 12, "nginx", drop_requests);
    assert_eq!(comparison(&some, cpu).result.verdict, Verdict::Worse);
    let all = spoiled_in(13, 13, "nginx", drop_requests);
    assert_eq!(comparison(&all, cpu).result.verdict, Verdict::Worse);
    assert_eq!(
        comparison(&all, cpu).text,
        "nginx and haproxy have no block in common that can be used for the gateway CPU per \
         request: worse. nginx itself spoiled 13 of 13 blocks (arrivals dropped), which count \
         against it."
    );
    assert!(
        serde_json::to_value(&all).unwrap()["scenarios"][0]["comparisons"][0]["result"]["ratio"]
            .is_null()
    );
}

#[test]
fn neither_gateway_is_better_if_both_spoiled_blocks() {
    let findings = found(16, |made| {
        nginx_uses(|_| 0.9)(made);
        let block = made.record.trial.block;
        if block == 1 || (made.is("nginx") && block <= 6) {
            drop_requests(made);
        }
    });
    let found = comparison(&findings, Metric::GatewayCpuPerRequest);
    assert!(matches!(found.result.verdict, Verdict::Inconclusive { .. }));
    assert_eq!(found.spoiled.candidate.alone, [2, 3, 4, 5, 6]);
    assert!(found.spoiled.baseline.alone.is_empty());
    assert_eq!(found.spoiled.baseline.blocks, [1]);
}

#[test]
fn a_sentence_states_the_blocks_of_each_figure_if_they_differ() {
    let sentence = |findings: &Findings| {
        let mut sentences = findings.scenarios[0].sentences.iter();
        let own = sentences.find(|it| it.text.starts_with("nginx: "));
        own.unwrap().text.clone()
    };
    let text = sentence(&spoiled_in(3, 13, "nginx", drop_requests));
    for expected in [
        "k over 13 blocks); at 5,000 requests/s ",
        " of CPU per request over 10 blocks and an added latency of ",
        " at p50 and 125 µs at p99 over 10 blocks (direct: ",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let text = sentence(&spoiled_in(0, 13, "nginx", drop_requests));
    assert_eq!(text.matches("blocks").count(), 1, "{text}");
}

fn fail(made: &mut Made, culprit: Culprit) {
    made.record.outcome = Outcome::Failed {
        culprit,
        reason: "it ended".into(),
        remedy: "read its log".into(),
        phase: Some("saturate".into()),
    };
    made.record.phases.clear();
    made.intervals.clear();
    made.rows.clear();
}

#[test]
fn blocks_spoiled_by_the_machine_count_against_no_gateway() {
    let cpu = Metric::GatewayCpuPerRequest;
    let disturbed = spoiled_in(2, 12, "nginx", |made| match made.record.trial.block {
        1 => fail(made, Culprit::Engine),
        _ => made.open().machine.throttled_ns = 1,
    });
    let found = comparison(&disturbed, cpu);
    assert_eq!(
        (found.blocks.len(), found.result.verdict),
        (10, Verdict::Better)
    );
    assert!(found.spoiled.is_empty());
    // Arrivals that were dropped while time was stolen may or may not be the gateway's fault, so
    // they favor no gateway.
    let stolen = spoiled_in(7, 17, "nginx", |made| {
        drop_requests(made);
        made.open().machine.steal_ns = SECONDS * 1_000_000_000 / 10;
    });
    let found = comparison(&stolen, cpu);
    assert!(matches!(found.result.verdict, Verdict::Inconclusive { .. }));
    assert_eq!(found.spoiled.candidate.uncertain.len(), 7);
    let expected = "itself spoiled, or may have spoiled, 7 of 17 blocks";
    assert!(found.text.contains(expected), "{}", found.text);
}

#[test]
fn a_trial_that_failed_because_of_its_gateway_is_a_spoiled_block() {
    let failed = spoiled_in(2, 12, "nginx", |made| {
        fail(made, Culprit::Gateway("nginx".into()))
    });
    let found = comparison(&failed, Metric::GatewayCpuPerRequest);
    assert!(matches!(found.result.verdict, Verdict::Inconclusive { .. }));
    let expected = "2 of 12 blocks (not completed)";
    assert!(found.text.contains(expected), "{}", found.text);
}

#[test]
fn a_difference_too_small_to_matter_is_no_change() {
    let findings = found(
        10,
        nginx_uses(|block| if block % 2 == 0 { 1.004 } else { 1.008 }),
    );
    let cell = comparison(&findings, Metric::GatewayCpuPerRequest);
    assert_eq!(cell.result.verdict, Verdict::NoChange);
    assert!(cell.text.ends_with("): no change."), "{}", cell.text);
}

#[test]
fn an_inconclusive_verdict_states_the_blocks_needed() {
    let findings = found(
        10,
        nginx_uses(|block| if block % 2 == 0 { 0.95 } else { 1.12 }),
    );
    let cell = comparison(&findings, Metric::GatewayCpuPerRequest);
    let Verdict::Inconclusive {
        blocks_needed: Some(needed),
    } = cell.result.verdict
    else {
        panic!("{:?}", cell.result.verdict)
    };
    let ending = format!(
        "inconclusive; about {} more blocks would settle it.",
        needed - 10
    );
    assert!(cell.text.ends_with(&ending), "{}", cell.text);
}

#[test]
fn only_blocks_in_which_neither_side_is_invalid_are_paired() {
    let findings = found(12, |made| {
        let block = made.record.trial.block;
        if (made.is("nginx") && block <= 2) || (made.is("haproxy") && block == 12) {
            made.open().counts.dropped = 1;
        }
    });
    let added = comparison(&findings, Metric::AddedP50);
    assert_eq!(added.blocks, (3..=11).collect::<Vec<_>>());
    assert_eq!(added.result.verdict, Verdict::TooFewBlocks { blocks: 9 });
    assert_eq!(
        added.text,
        "nginx and haproxy have 9 blocks in common that can be used for the added latency p50; a \
         verdict needs 10. nginx itself spoiled 2 of 12 blocks (arrivals dropped) and haproxy itself \
         spoiled 1 of 12 blocks (arrivals dropped), which count against the gateway that spoiled them."
    );
    // CPU per request is compared at an equal rate; throughput comes from the other load.
    let cpu = comparison(&findings, Metric::GatewayCpuPerRequest);
    assert_eq!(cpu.blocks, added.blocks);
    let throughput = comparison(&findings, Metric::Throughput);
    assert_eq!(
        (throughput.blocks.len(), throughput.result.verdict),
        (12, Verdict::Worse)
    );
}

#[test]
fn a_limited_throughput_is_not_compared_and_a_limited_latency_is_marked() {
    let findings = found(10, |made| {
        if made.is("nginx") && made.record.trial.block == 4 {
            made.used("saturate", "engine").cpu_ns = 9_900_000_000;
            made.used("steady", "engine").cpu_ns = 9_900_000_000;
        }
    });
    let comparisons = &findings.scenarios[0].comparisons;
    assert!(
        comparisons
            .iter()
            .all(|cell| cell.metric != Metric::Throughput)
    );
    let added = comparison(&findings, Metric::AddedP50);
    assert_eq!(added.validity, Validity::Limited);
    assert!(added.text.contains(", limited): "), "{}", added.text);
    let cpu = comparison(&findings, Metric::GatewayCpuPerRequest);
    assert_eq!(cpu.validity, Validity::Valid);
}

#[test]
fn twenty_blocks_are_resampled_with_the_runs_seed() {
    let uneven = || nginx_uses(|block| 1.1 + 0.01 * f64::from(block * block % 7));
    let interval = |seed| {
        let mut seeded = manifest(20);
        seeded.plan.seed = seed;
        let change = uneven();
        let changed = |mut made: Made| {
            change(&mut made);
            Some(made)
        };
        let findings = analysed_run(seeded, changed).1;
        let result = &comparison(&findings, Metric::GatewayCpuPerRequest).result;
        assert_eq!(result.method, Some(Method::Bootstrap));
        let interval = result.interval.unwrap();
        (interval.low, interval.high)
    };
    assert_ne!(interval(7), interval(8));
}
