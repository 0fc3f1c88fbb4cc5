//! The cost of policies is recovered from stored runs with known values.

use gatebench_model::{Scenario, Variant};
use gatebench_report::Validity;
use gatebench_stats::Verdict;
use gatebench_store::{Manifest, Outcome};
use gatebench_studies::Findings;
use gatebench_studies::common::facts::{Metric, RowStatus};
use gatebench_studies::policy_cost::facts::{Cost, CostFindings, CostRole};
use serde_json::json;

use crate::common::{Made, RATE, SECONDS, analysed_run, every_cell, manifest};

/// A plan with the plain proxy, an API key on the same requests, a mock, and an API key on other
/// requests.
fn planned(blocks: u32) -> Manifest {
    let mut manifest = manifest(blocks);
    let scenario = |name: &str, path: &str, policy: serde_json::Value| -> Scenario {
        serde_json::from_value(json!({
            "scenario": name, "title": name, "upstream": "go-bench",
            "routes": [{ "name": "r", "path": "/", "policies": [policy] }],
            "requests": [{ "path": path, "headers": { "X-Api-Key": "k" } }],
        }))
        .unwrap()
    };
    let mock = json!({ "mock": { "status": 200, "content_type": "text/plain", "body": "x" } });
    let key = json!({ "api_key": { "header": "X-Api-Key" } });
    manifest.plan.scenarios.extend([
        scenario("lonely", "/elsewhere", key.clone()),
        scenario("key", "/json", key),
        scenario("mock", "/mock", mock),
    ]);
    manifest.plan.trials = every_cell(&manifest.plan, blocks);
    manifest
}

/// The CPU time of the plain proxy grows by 100 ns per block. The key adds 5 µs on haproxy, and
/// 2.3 µs and 1.7 µs in alternate blocks on nginx. A mock takes half the CPU time of the plain
/// proxy.
fn truth(made: &mut Made) {
    let block = u64::from(made.record.trial.block);
    let (nginx, direct) = (made.is("nginx"), made.is("direct"));
    if direct {
        return;
    }
    let plain_ns = if nginx { 24_000 } else { 18_000 } + 100 * block;
    let cpu_ns = match made.record.trial.scenario.as_str() {
        "key" if nginx && block % 2 == 0 => plain_ns + 2_300,
        "key" if nginx => plain_ns + 1_700,
        "key" => plain_ns + 5_000,
        "mock" => plain_ns / 2,
        _ => plain_ns,
    };
    made.used("steady", "gateway").cpu_ns = cpu_ns * RATE * SECONDS;
    // In the closed load, the key takes about twice the CPU time of the plain proxy. To this end,
    // the time of all other scenarios is halved: doubling the key's would need more than one core.
    if made.record.trial.scenario != "key" {
        made.used("saturate", "gateway").cpu_ns /= 2;
    }
}

fn found(blocks: u32, change: impl Fn(&mut Made)) -> Findings {
    let changed = |mut made: Made| {
        truth(&mut made);
        change(&mut made);
        Some(made)
    };
    analysed_run(planned(blocks), changed).1
}

fn costs(findings: &Findings) -> &CostFindings {
    findings.costs.as_ref().unwrap()
}

fn key_at<'a>(costs: &'a CostFindings, gateway: &str, metric: Metric) -> &'a Cost {
    let mut measures = costs.measures.iter();
    let index = measures.position(|it| it.metric == metric).unwrap();
    let gateway = costs
        .gateways
        .iter()
        .find(|it| it.variant == gateway)
        .unwrap();
    let line = gateway
        .lines
        .iter()
        .find(|it| it.scenario == "key")
        .unwrap();
    line.figures[index].cost.as_ref().unwrap()
}

#[test]
fn lines_are_ordered_mock_plain_proxy_policies_others() {
    let findings = found(3, |_| ());
    let costs = costs(&findings);
    let gateways: Vec<_> = costs
        .gateways
        .iter()
        .map(|it| it.variant.as_str())
        .collect();
    assert_eq!(
        gateways,
        ["nginx", "haproxy"],
        "the direct variant has no policies"
    );
    let lines: Vec<_> = costs.gateways[0]
        .lines
        .iter()
        .map(|line| (line.scenario.as_str(), line.role.clone()))
        .collect();
    let baseline = "proxy-json".to_owned();
    assert_eq!(
        lines,
        [
            ("mock", CostRole::Responses),
            ("proxy-json", CostRole::Plain),
            ("key", CostRole::Policy { baseline }),
            ("lonely", CostRole::Alone),
        ]
    );
    let measures: Vec<_> = costs
        .measures
        .iter()
        .map(|it| (it.metric, it.load.as_str()))
        .collect();
    assert_eq!(
        measures,
        [
            (Metric::GatewayCpuPerRequest, "5,000 requests/s"),
            (Metric::AddedP50, "5,000 requests/s"),
            (Metric::AddedP99, "5,000 requests/s"),
            (Metric::ThroughputPerCore, "64 connections"),
            (Metric::GatewayRssAnonMax, "5,000 requests/s"),
        ]
    );
}

#[test]
fn ten_blocks_give_the_cost_and_its_interval() {
    let findings = found(10, |_| ());
    let cost = key_at(costs(&findings), "nginx", Metric::GatewayCpuPerRequest);
    // ±300 ns in ten blocks: a standard deviation of 300 × √(10 ÷ 9) = 316 ns.
    let interval = cost.difference.interval.unwrap();
    assert!((cost.difference.effect - 2_000.0).abs() < 1.0, "{cost:?}");
    let (low, high) = (2_000.0 - interval.low, interval.high - 2_000.0);
    assert!((low - high).abs() < 1.0 && low > 316.0 * 2.26 / 10f64.sqrt());
    // Holm's correction for all comparisons of the same family widens the interval.
    assert!(interval.confidence > 0.95 && low < 316.0 * 6.0 / 10f64.sqrt());
    let ratio = cost.ratio.as_ref().unwrap();
    assert_eq!(ratio.verdict, Verdict::Worse);
    assert_eq!(ratio.interval.unwrap().confidence, interval.confidence);
    let per_core = key_at(costs(&findings), "nginx", Metric::ThroughputPerCore);
    let ratio = per_core.ratio.as_ref().unwrap();
    assert!(
        (ratio.ratio - 0.5).abs() < 1e-9,
        "twice the CPU time, half the throughput per core"
    );
    let added = key_at(costs(&findings), "haproxy", Metric::AddedP50);
    assert_eq!(added.ratio.as_ref().unwrap().verdict, Verdict::NoChange);
    assert_eq!(added.difference.effect, 0.0);
    let mut said = findings.headlines.iter().map(|it| it.text.as_str());
    let expected = "key adds CPU time per request to proxy-json at 5,000 requests/s: +2.00 µs (";
    assert!(said.any(|text| text.starts_with(expected)));
}

#[test]
fn three_blocks_give_median_and_range_and_no_verdict() {
    let findings = found(3, |_| ());
    let cost = key_at(costs(&findings), "nginx", Metric::GatewayCpuPerRequest);
    assert_eq!(cost.difference.interval, None);
    assert!((cost.difference.effect - 1_700.0).abs() < 1e-6);
    assert!((cost.difference.max - 2_300.0).abs() < 1e-6);
    assert_eq!(
        cost.ratio.as_ref().unwrap().verdict,
        Verdict::TooFewBlocks { blocks: 3 }
    );
    assert!(findings.notes[0].starts_with("3 blocks are too few for a verdict"));
}

/// Ranks of nginx and haproxy by the cost that the key adds in a metric.
fn ranks(findings: &Findings, metric: Metric) -> [Option<usize>; 2] {
    ["nginx", "haproxy"].map(|gateway| key_at(costs(findings), gateway, metric).rank)
}

/// Ranks of nginx and haproxy by the plain proxy's total in the measure with this index.
fn whole_ranks(findings: &Findings, measure: usize) -> [Option<usize>; 2] {
    [0, 1].map(|gateway| costs(findings).gateways[gateway].lines[1].figures[measure].rank)
}

#[test]
fn ten_blocks_are_ranked_by_intervals_and_verdicts() {
    let findings = found(10, |_| ());
    let cpu = Metric::GatewayCpuPerRequest;
    assert_eq!(ranks(&findings, cpu), [Some(1), Some(2)]);
    let memory = ranks(&findings, Metric::GatewayRssAnonMax);
    assert_eq!(memory, [Some(1), Some(1)], "no interval separates them");
    // The total is ranked separately: haproxy takes less in total, but adds more at p50.
    assert_eq!(whole_ranks(&findings, 0), [Some(2), Some(1)]);
    assert_eq!(whole_ranks(&findings, 1), [Some(1), Some(2)]);
    // No verdict compares the memory of gateways.
    assert_eq!(whole_ranks(&findings, 4), [None, None]);
}

#[test]
fn nine_blocks_are_not_ranked() {
    let findings = found(9, |_| ());
    for metric in [Metric::GatewayCpuPerRequest, Metric::GatewayRssAnonMax] {
        assert_eq!(ranks(&findings, metric), [None, None]);
    }
    assert_eq!(whole_ranks(&findings, 0), [None, None]);
}

#[test]
fn a_cost_with_spoiled_blocks_is_not_ranked() {
    let findings = found(13, |made| {
        let trial = &made.record.trial;
        if made.is("nginx") && trial.scenario == "key" && trial.block <= 2 {
            made.open().counts.dropped = 1;
        }
    });
    let added = key_at(costs(&findings), "nginx", Metric::AddedP50);
    assert_eq!(added.spoiled.candidate.blocks, [1, 2]);
    let verdict = added.ratio.as_ref().unwrap().verdict;
    assert!(
        matches!(verdict, Verdict::Inconclusive { .. }),
        "{verdict:?}"
    );
    let cpu = key_at(costs(&findings), "nginx", Metric::GatewayCpuPerRequest);
    assert_eq!(cpu.ratio.as_ref().unwrap().verdict, Verdict::Worse);
    assert_eq!(ranks(&findings, Metric::GatewayCpuPerRequest), [None, None]);
    let mut said = findings.headlines.iter().map(|it| it.text.as_str());
    assert!(said.any(|text| text.contains("the gateway spoiled 2 of 13 blocks) with nginx")));
}

#[test]
fn costs_exclude_blocks_in_which_either_side_is_invalid() {
    let findings = found(3, |made| {
        let trial = &made.record.trial;
        let plain = trial.scenario == "proxy-json" && trial.block == 1;
        let policy = trial.scenario == "key" && trial.block == 2;
        if made.is("nginx") && (plain || policy) {
            made.open().counts.dropped = 1;
            made.open()
                .counts
                .checks_failed
                .insert("status is 200".into(), 1);
        }
    });
    let cost = key_at(costs(&findings), "nginx", Metric::GatewayCpuPerRequest);
    assert_eq!(
        (cost.blocks.as_slice(), cost.validity),
        (&[3][..], Validity::Valid)
    );
    assert_eq!(cost.rank, None, "one block has no range");
}

#[test]
fn an_unsupported_policy_has_no_cost() {
    let findings = found(3, |made| {
        if made.is("nginx") && made.record.trial.scenario == "key" {
            let policies = vec!["api_key".into()];
            made.record.outcome = Outcome::NotSupported { policies };
            made.record.phases.clear();
            made.intervals.clear();
            made.rows.clear();
        }
    });
    let line = &costs(&findings).gateways[0].lines[2];
    let policies = vec!["api_key".into()];
    assert_eq!(line.status, RowStatus::NotSupported { policies });
    assert!(
        line.figures
            .iter()
            .all(|it| it.cost.is_none() && it.total.is_none())
    );
}

#[test]
fn a_run_without_a_plain_proxy_has_no_costs() {
    let keep = |mut made: Made| {
        truth(&mut made);
        Some(made)
    };
    let mut planned = planned(3);
    planned
        .plan
        .scenarios
        .retain(|it| it.scenario != "proxy-json");
    planned.plan.trials.retain(|it| it.scenario != "proxy-json");
    assert!(analysed_run(planned, keep).1.costs.is_none());
}

#[test]
fn the_null_gateway_has_no_policy_costs() {
    let mut manifest = planned(3);
    manifest.plan.variants.push(Variant::null());
    manifest.plan.trials = every_cell(&manifest.plan, 3);
    let findings = analysed_run(manifest, |mut made| {
        truth(&mut made);
        Some(made)
    });
    let costs = costs(&findings.1);
    let labels: Vec<&str> = costs
        .gateways
        .iter()
        .map(|it| it.variant.as_str())
        .collect();
    assert_eq!(labels, ["nginx", "haproxy"]);
}
