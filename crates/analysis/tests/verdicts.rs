//! Runs of ten blocks and more give verdicts; shorter ones do not.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Made, RATE, SECONDS, analysed_run, manifest};
use gatebench_analysis::findings::{
    ComparisonFindings, Findings, Method, Metric, Validity, Verdict,
};

/// The findings of a run of `blocks` blocks, each trial changed in place.
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
    assert!(of_metric.next().is_none(), "two gateways are one pair");
    found
}

/// Sets the CPU time of nginx to that of haproxy in the same block times `ratio` of the block.
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
        findings.notes[0].starts_with("9 blocks carry no verdict"),
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
    }
    let texts: Vec<_> = comparisons.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "nginx uses 1.324× the CPU of haproxy per request at 5,000 requests/s (1.319–1.328): worse.",
            "nginx reaches 0.816× the throughput of haproxy at 64 connections (0.809–0.823): worse.",
            "nginx has 0.833× the added latency p50 of haproxy at 5,000 requests/s (0.833–0.833): better.",
            "nginx has 0.834× the added latency p99 of haproxy at 5,000 requests/s (0.834–0.834): better.",
        ]
    );
    let headline = format!("proxy-json: {}", texts[0]);
    let headlines: Vec<_> = findings.headlines.iter().map(|said| &said.text).collect();
    assert!(headlines.contains(&&headline), "{headlines:#?}");
    assert!(
        !headlines.iter().any(|text| text.contains("least CPU")),
        "{headlines:#?}"
    );
    assert_eq!(
        findings.notes[0],
        "Verdicts rest on 4 comparisons, paired by block, with intervals by Student's t, widened \
         (Holm) so that all hold together with 95 %; what lies within ±2 % is no change."
    );
}

#[test]
fn what_is_too_small_to_matter_is_no_change() {
    let findings = found(
        10,
        nginx_uses(|block| if block % 2 == 0 { 1.004 } else { 1.008 }),
    );
    let cell = comparison(&findings, Metric::GatewayCpuPerRequest);
    assert_eq!(cell.result.verdict, Verdict::NoChange);
    assert!(cell.text.ends_with("): no change."), "{}", cell.text);
}

#[test]
fn an_open_question_says_how_many_blocks_would_settle_it() {
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
         verdict needs 10."
    );
    // CPU per request is compared at an equal rate, the throughput is the other load's.
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
fn twenty_blocks_are_resampled_with_the_seed_of_the_run() {
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
