//! Runs with known numbers give exactly the expected findings.

use gatebench_model::{Culprit, Policy, Variant};
use gatebench_report::{Tone, Validity};
use gatebench_store::{Outcome, Run, Status};
use gatebench_studies::analyse;
use gatebench_studies::common::facts::{CurveMetric, Metric, PhaseKind, RowStatus, Sentence};
use gatebench_studies::run::proof::Fact;

use crate::common::{Made, analysed_run, as_recorded, manifest, row, three_blocks};

fn unchanged(_: &mut Made) {}

#[test]
fn medians_and_ranges_are_those_of_the_blocks() {
    let findings = three_blocks(unchanged);
    let nginx = row(&findings, "nginx");
    assert_eq!(nginx.validity, Some(Validity::Valid));
    for (kind, metric, median, min, max) in [
        (
            PhaseKind::Closed,
            Metric::Throughput,
            41_000.0,
            40_000.0,
            42_000.0,
        ),
        (
            PhaseKind::Closed,
            Metric::ThroughputOfDirect,
            0.41,
            0.40,
            0.42,
        ),
        (PhaseKind::Closed, Metric::GatewayCores, 0.99, 0.99, 0.99),
        (
            PhaseKind::Open,
            Metric::GatewayCpuPerRequest,
            24_200.0,
            24_100.0,
            24_300.0,
        ),
        (
            PhaseKind::Open,
            Metric::EngineCpuPerRequest,
            10_000.0,
            10_000.0,
            10_000.0,
        ),
        (PhaseKind::Open, Metric::AchievedRate, 1.0, 1.0, 1.0),
        (
            PhaseKind::Open,
            Metric::GatewayRssAnonMax,
            8_388_608.0,
            8_388_608.0,
            8_388_608.0,
        ),
        (PhaseKind::Closed, Metric::GatewayStart, 12e6, 12e6, 12e6),
    ] {
        let found = nginx.metric(kind, metric).unwrap();
        let estimate = found.estimate.as_ref().unwrap();
        for (value, expected) in [
            (estimate.median, median),
            (estimate.min, min),
            (estimate.max, max),
        ] {
            assert!(
                (value - expected).abs() < 1e-6 * expected,
                "{metric:?}: {estimate:?}"
            );
        }
        assert_eq!(
            found
                .blocks
                .iter()
                .map(|block| block.block)
                .collect::<Vec<_>>(),
            [1, 2, 3]
        );
    }
}

#[test]
fn percentiles_come_from_the_histograms() {
    let findings = three_blocks(unchanged);
    let nginx = row(&findings, "nginx");
    for (metric, value) in [
        (Metric::AddedP50, as_recorded(50_000)),
        (Metric::AddedP90, as_recorded(50_000)),
        (Metric::AddedP99, as_recorded(125_000)),
        (Metric::AddedP999, as_recorded(125_000)),
        (Metric::ResponseP50, as_recorded(140_000)),
        (Metric::ResponseP99, as_recorded(300_000)),
        (Metric::LatenessP99, as_recorded(5_000)),
        (
            Metric::ResponseP50OverDirect,
            as_recorded(140_000) - as_recorded(100_000),
        ),
        (
            Metric::ResponseP99OverDirect,
            as_recorded(300_000) - as_recorded(200_000),
        ),
    ] {
        let found = nginx.metric(PhaseKind::Open, metric).unwrap();
        assert_eq!(found.estimate.as_ref().unwrap().median, value, "{metric:?}");
    }
    assert!(
        row(&findings, "direct")
            .metric(PhaseKind::Open, Metric::ResponseP50OverDirect)
            .is_none()
    );
}

#[test]
fn a_percentile_without_ten_samples_beyond_it_is_absent() {
    let findings = three_blocks(|made| {
        if made.is("nginx") {
            made.record_values("steady", "added", &[(50_000, 9_999)]);
        }
    });
    let nginx = row(&findings, "nginx");
    assert!(nginx.metric(PhaseKind::Open, Metric::AddedP99).is_some());
    assert!(nginx.metric(PhaseKind::Open, Metric::AddedP999).is_none());
}

#[test]
fn curves_are_merged_by_addition_and_end_at_the_last_trustworthy_percentile() {
    // Only the slow block has a p50 of 1 ms; the average of the three medians would be 367 µs.
    let findings = three_blocks(|made| {
        if made.is("nginx") {
            let value = if made.record.trial.block == 3 {
                1_000_000
            } else {
                50_000
            };
            made.record_values("steady", "added", &[(value, 50_000)]);
        }
    });
    let curves = &findings.scenarios[0].curves;
    let of = |variant: &str, metric| {
        curves
            .iter()
            .find(|curve| {
                curve.variant == variant && curve.metric == metric && curve.phase == "steady"
            })
            .unwrap()
    };
    let curve = of("nginx", CurveMetric::Added);
    assert_eq!(
        (curve.samples, curve.blocks.as_slice()),
        (150_000, [1, 2, 3].as_slice())
    );
    assert_eq!(curve.trusted_percentile, 100.0 * (1.0 - 10.0 / 150_000.0));
    assert_eq!(
        curve.points.last().unwrap().percentile,
        curve.trusted_percentile
    );
    assert!(curve.points.is_sorted_by_key(|point| point.latency_ns));
    let at = |percentile: f64| {
        curve
            .points
            .iter()
            .rfind(|point| point.percentile <= percentile)
            .unwrap()
            .latency_ns as f64
    };
    assert_eq!(at(60.0), as_recorded(50_000));
    assert_eq!(at(75.0), as_recorded(1_000_000));
    let order: Vec<_> = curves
        .iter()
        .filter(|curve| curve.metric == CurveMetric::Added)
        .map(|curve| curve.variant.as_str())
        .collect();
    assert_eq!(order, ["direct", "nginx", "haproxy"]);
}

#[test]
fn sentences_state_the_findings() {
    let findings = three_blocks(unchanged);
    let texts: Vec<_> = findings.scenarios[0]
        .sentences
        .iter()
        .map(|sentence| sentence.text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "throughput: nginx 41.0k requests/s (40.0k–42.0k over 3 blocks) and haproxy 51.0k \
             requests/s (50.0k–52.0k over 3 blocks); a ranking needs 10 blocks.",
            "CPU per request at 5,000 requests/s: nginx 24.2 µs (24.1–24.3 over 3 blocks) and \
             haproxy 18.2 µs (18.1–18.3 over 3 blocks); a ranking needs 10 blocks.",
            "nginx: 41.0k requests/s (40.0k–42.0k over 3 blocks); at 5,000 requests/s 24.2 µs of CPU \
             per request and an added latency of 50.0 µs at p50 and 125 µs at p99 (direct: 12.0 µs \
             and 30.0 µs).",
            "haproxy: 51.0k requests/s (50.0k–52.0k over 3 blocks); at 5,000 requests/s 18.2 µs of \
             CPU per request and an added latency of 60.0 µs at p50 and 150 µs at p99 (direct: \
             12.0 µs and 30.0 µs).",
            "direct: 100k requests/s (100k–100k over 3 blocks); at 5,000 requests/s an added \
             latency of 12.0 µs at p50 and 30.0 µs at p99, caused by the measurement itself.",
        ]
    );
    let headlines: Vec<_> = findings
        .headlines
        .iter()
        .map(|sentence| sentence.text.as_str())
        .collect();
    assert_eq!(headlines.len(), 6);
    assert_eq!(headlines[1], format!("proxy-json: {}", texts[1]));
    assert_eq!(
        headlines[5],
        "Parity held in every test: all 12 cases got the responses that the scenarios require."
    );
}

#[test]
fn added_latency_is_reported_without_a_direct_variant() {
    let mut no_direct = manifest(3);
    no_direct.plan.variants.remove(0);
    no_direct
        .plan
        .trials
        .retain(|trial| trial.variant != "direct");
    let (_dir, findings) = analysed_run(no_direct, Some);
    let mut sentences = findings.scenarios[0].sentences.iter();
    let nginx = &sentences
        .find(|it| it.variant.as_deref() == Some("nginx"))
        .unwrap()
        .text;
    assert!(
        nginx.ends_with("an added latency of 50.0 µs at p50 and 125 µs at p99."),
        "{nginx}"
    );
}

#[test]
fn no_sentence_ranks_gateways_with_fewer_than_ten_blocks() {
    for blocks in [1, 9] {
        let (_dir, findings) = analysed_run(manifest(blocks), Some);
        let texts = findings.headlines.iter().map(|it| it.text.to_lowercase());
        for text in texts.chain(findings.notes.iter().map(|it| it.to_lowercase())) {
            for word in [
                "least cpu",
                "highest",
                "fastest",
                "best",
                "times",
                "better",
                "worse",
            ] {
                assert!(!text.contains(word), "{word}: {text}");
            }
        }
        assert!(
            findings.headlines[1]
                .text
                .ends_with("a ranking needs 10 blocks.")
        );
    }
}

#[test]
fn notes_state_that_three_blocks_give_no_verdict() {
    let findings = three_blocks(unchanged);
    assert_eq!(
        findings.notes,
        [
            "3 blocks are too few for a verdict, which needs at least 10 (gatebench run --blocks 10).",
            "The load generator and the upstream share core 0.",
            "A note of the run.",
        ]
    );
    let (_dir, ten) = analysed_run(manifest(10), Some);
    assert!(
        !ten.notes
            .iter()
            .any(|note| note.contains("too few for a verdict")),
        "{:?}",
        ten.notes
    );
}

#[test]
fn the_null_gateway_is_subtracted_and_not_compared() {
    let mut with_null = manifest(10);
    with_null.plan.variants.push(Variant::null());
    with_null.plan.trials = crate::common::every_cell(&with_null.plan, 10);
    let (_dir, findings) = analysed_run(with_null, |mut made| {
        if made.is("null") {
            made.record_values("steady", "added", &[(30_000, 50_000)]);
        }
        Some(made)
    });
    let nginx = row(&findings, "nginx");
    let found = nginx.metric(PhaseKind::Open, Metric::AddedP50OverNull);
    let median = found.unwrap().estimate.as_ref().unwrap().median;
    assert_eq!(median, as_recorded(50_000) - as_recorded(30_000));
    let scenario = &findings.scenarios[0];
    assert!(scenario.null.is_some());
    assert!(scenario.rows.iter().all(|row| row.variant != "null"));
    let direct = row(&findings, "direct").metric(PhaseKind::Open, Metric::AddedP50OverNull);
    assert!(direct.is_none());
    let text = serde_json::to_string(&scenario.comparisons).unwrap();
    assert!(!text.contains("null\""), "{text}");
}

#[test]
fn phases_too_short_to_be_tested_are_named() {
    let (_dir, findings) = analysed_run(manifest(1), |mut made| {
        made.open().measure_ns = 4_000_000_000;
        Some(made)
    });
    let expected = "Steady state was not tested in steady: without bins of 100 ms, the test needs at least 5 s.";
    assert!(
        findings.notes.iter().any(|note| note == expected),
        "{:?}",
        findings.notes
    );
}

#[test]
fn an_interrupted_run_lists_missing_trials() {
    let mut interrupted = manifest(3);
    interrupted.status = Status::Interrupted;
    let (_dir, findings) = analysed_run(interrupted, |mut made| {
        if made.record.trial.number == 7 {
            made.record.outcome = Outcome::Interrupted;
        }
        (made.record.trial.number < 8).then_some(made)
    });
    assert_eq!(
        findings.notes[0],
        "The run was interrupted: 2 of 9 trials are missing; `gatebench run --resume DIR` measures the rest."
    );
    assert_eq!(
        findings
            .missing
            .iter()
            .map(|trial| trial.number)
            .collect::<Vec<_>>(),
        [8, 9]
    );
    assert_eq!(
        (findings.run.blocks_complete, findings.run.trials_finished),
        (2, 7)
    );
    assert_eq!(findings.trials[6].validity, Validity::Invalid);
    let direct = row(&findings, "direct");
    assert_eq!(
        direct
            .metric(PhaseKind::Closed, Metric::Throughput)
            .unwrap()
            .blocks
            .len(),
        2
    );
}

#[test]
fn a_run_without_trials_is_reported() {
    let (_dir, findings) = analysed_run(manifest(3), |_| None);
    assert_eq!(findings.missing.len(), 9);
    assert!(
        findings.scenarios[0]
            .rows
            .iter()
            .all(|row| row.status == RowStatus::Missing)
    );
    assert!(findings.headlines.is_empty());
}

#[test]
fn failed_trials_have_culprit_and_remedy() {
    let findings = three_blocks(|made| {
        if made.is("haproxy") {
            made.record.outcome = Outcome::Failed {
                culprit: Culprit::Gateway("haproxy".into()),
                reason: "the process ended with signal 9\nlast words".into(),
                remedy: "look for the out-of-memory killer in dmesg".into(),
                phase: Some("steady".into()),
            };
        }
    });
    let haproxy = row(&findings, "haproxy");
    assert_eq!(haproxy.status, RowStatus::Failed);
    assert!(haproxy.metrics.is_empty());
    assert_eq!(findings.failures.len(), 3);
    assert_eq!(findings.headlines[0].tone, Tone::Alarm);
    assert_eq!(
        findings.headlines[0].text,
        "proxy-json: haproxy failed in 3 trials (gateway haproxy): the process ended with signal 9. \
         Look for the out-of-memory killer in dmesg."
    );
}

#[test]
fn unsupported_policies_are_neither_failed_nor_measured() {
    let findings = three_blocks(|made| {
        if made.is("haproxy") {
            made.record.outcome = Outcome::NotSupported {
                policies: vec!["api_key".into()],
            };
            made.record.phases.clear();
            made.intervals.clear();
        }
    });
    let policies = vec!["api_key".to_owned()];
    assert_eq!(
        row(&findings, "haproxy").status,
        RowStatus::NotSupported { policies }
    );
    assert!(findings.failures.is_empty());
    assert_eq!(findings.run.blocks_complete, 3);
    let texts: Vec<_> = findings
        .headlines
        .iter()
        .map(|sentence| sentence.text.as_str())
        .collect();
    assert!(texts.contains(&"proxy-json: haproxy does not support api_key; it was not measured."));
}

#[test]
fn an_invalid_block_is_shown_and_left_out_of_the_estimate() {
    let findings = three_blocks(|made| {
        if made.is("nginx") && made.record.trial.block == 3 {
            made.open().counts.dropped = 1;
        }
    });
    let nginx = row(&findings, "nginx");
    let added = nginx.metric(PhaseKind::Open, Metric::AddedP50).unwrap();
    assert_eq!(added.estimate.as_ref().unwrap().blocks, 2);
    assert_eq!(added.blocks[2].validity, Validity::Invalid);
    let cpu = nginx
        .metric(PhaseKind::Open, Metric::GatewayCpuPerRequest)
        .unwrap();
    // CPU time is compared at an equal rate, which this block did not reach.
    assert_eq!(cpu.estimate.as_ref().unwrap().blocks, 2);
    assert_eq!(cpu.blocks[2].validity, Validity::Invalid);
    let curve = findings.scenarios[0]
        .curves
        .iter()
        .find(|curve| curve.variant == "nginx" && curve.metric == CurveMetric::Added)
        .unwrap();
    assert_eq!(curve.blocks, [1, 2]);
}

#[test]
fn a_missed_rate_prevents_a_comparison_of_cpu_per_request() {
    let findings = three_blocks(|made| {
        if made.is("nginx") {
            made.open().counts.dropped = 1;
        }
    });
    let nginx = row(&findings, "nginx");
    let cpu = nginx
        .metric(PhaseKind::Open, Metric::GatewayCpuPerRequest)
        .unwrap();
    assert_eq!((cpu.validity, &cpu.estimate), (Validity::Invalid, &None));
    let said = |sentence: &Sentence| sentence.text.contains(": CPU per request at");
    assert!(!findings.headlines.iter().any(said), "one gateway remains");
}

#[test]
fn a_limited_throughput_is_a_lower_bound_and_not_compared() {
    let findings = three_blocks(|made| {
        if made.is("haproxy") {
            made.used("saturate", "engine").cpu_ns = 6_500_000_000;
            made.used("saturate", "gateway").cpu_ns = 9_000_000_000;
        }
    });
    let texts: Vec<_> = findings
        .headlines
        .iter()
        .map(|sentence| sentence.text.as_str())
        .collect();
    assert!(
        texts[2].starts_with("proxy-json: haproxy: at least 51.0k requests/s"),
        "{texts:#?}"
    );
    assert!(
        !texts.iter().any(|text| text.contains("throughput: ")),
        "{texts:#?}"
    );
    let caution = "proxy-json: limited in saturate: haproxy (load generator at its limit).";
    assert!(texts.contains(&caution), "{texts:#?}");
}

#[test]
fn findings_contain_parity_configuration_and_environment() {
    let findings = three_blocks(|made| {
        if let (true, Some(after)) = (made.is("nginx"), &mut made.record.parity_after) {
            after.cases[0].passed = false;
            after.cases[0].received = "HTTP/1.1 500".into();
        }
    });
    let nginx = &findings.parity[0];
    assert_eq!(
        (nginx.variant.as_str(), nginx.holds, nginx.trials),
        ("nginx", Some(false), 3)
    );
    assert_eq!((nginx.cases[0].passed, nginx.cases[0].tried), (3, 6));
    let failure = nginx.cases[0].failure.as_ref().unwrap();
    assert_eq!((failure.trial, failure.after_load), (2, true));
    assert_eq!(failure.received, "HTTP/1.1 500");
    assert_eq!(findings.parity[1].holds, Some(true));

    let configuration = &findings.configurations[0];
    assert_eq!(configuration.commands, ["nginx -g 'daemon off;'"]);
    assert_eq!(
        configuration.files["nginx.conf"].text.as_deref(),
        Some("events {}")
    );
    assert_eq!(findings.run.command, "gatebench run --out 'my run'");
    let fact = |name: &str, value: &str| Fact {
        name: name.into(),
        value: value.into(),
    };
    assert_eq!(
        findings.environment,
        [
            fact("cpu.model", "a cpu"),
            fact("cpu.cores", "2"),
            fact("cpu.flags", "a, b"),
            fact("disks.0.name", "x"),
        ]
    );
}

#[test]
fn cases_with_the_same_name_are_counted_together() {
    let findings = three_blocks(|made| {
        let proofs = [
            &mut made.record.parity_before,
            &mut made.record.parity_after,
        ];
        for proof in proofs.into_iter().flatten() {
            let again = proof.cases[0].clone();
            proof.cases.push(again);
        }
    });
    let cases = &findings.parity[0].cases;
    assert_eq!((cases.len(), cases[0].passed, cases[0].tried), (1, 12, 12));
}

#[test]
fn the_timeline_is_in_cores_without_missing_samples() {
    let findings = three_blocks(unchanged);
    let timeline = &crate::common::trial(&findings, "nginx").timeline;
    assert_eq!(
        timeline
            .iter()
            .map(|phase| phase.phase.as_str())
            .collect::<Vec<_>>(),
        ["saturate", "steady"]
    );
    let second = &timeline[1].seconds[9];
    assert_eq!((second.second, second.completed), (9, 5_000));
    assert_eq!(
        (second.gateway_cores, second.engine_cores),
        (Some(0.5), Some(0.25))
    );
    assert_eq!(second.upstream_cores, None);
}

#[test]
fn the_same_directory_gives_the_same_findings() {
    let (dir, first) = analysed_run(manifest(3), Some);
    let again = analyse(&Run::open(dir.path()).unwrap()).unwrap();
    let json = |findings| serde_json::to_string(findings).unwrap();
    assert_eq!(json(&first), json(&again));
}

#[test]
fn a_damaged_histogram_file_is_named() {
    let (dir, findings) = analysed_run(manifest(1), Some);
    let log = dir
        .path()
        .join(&findings.trials[0].folder)
        .join("histograms.hlog");
    std::fs::write(&log, "Tag=steady.response.2xx,0.0,1.0,1.0,HISTFnonsense\n").unwrap();
    let error = analyse(&Run::open(dir.path()).unwrap()).unwrap_err();
    assert!(error.to_string().contains("histograms.hlog"), "{error}");
}

#[test]
fn a_mocked_response_need_not_reach_the_upstream() {
    let mut mocked = manifest(1);
    let policy: Policy = serde_json::from_value(serde_json::json!({
        "mock": { "status": 200, "content_type": "text/plain", "body": "ok" }
    }))
    .unwrap();
    mocked.plan.scenarios[0].routes[0].policies.push(policy);
    let (_dir, findings) = analysed_run(mocked, |mut made: Made| {
        made.open().trace.never_reached_upstream = 50_000;
        Some(made)
    });
    assert!(
        findings.trials.iter().all(|trial| trial.reasons.is_empty()),
        "{:?}",
        findings.trials
    );
}
