//! Costs of every kind, added to the fixture's findings.

use super::facts::*;
use gatebench_report::{TerminalOptions, csv, html, markdown, terminal};
use gatebench_studies::Findings;
use gatebench_studies::policy_cost::records::CostRecords;

use super::fixture::findings;
use super::page::check;
use super::plain::golden;

const CONFIDENCE: f64 = 0.99;

/// The findings with costs, as a run of ten blocks would have them.
pub fn with_costs() -> Findings {
    let mut findings = findings();
    let (open, closed) = (PhaseKind::Open, PhaseKind::Closed);
    let measure = |metric, unit, kind| CostMeasure {
        metric,
        unit,
        phase: if kind == open { "steady" } else { "saturate" }.into(),
        kind,
        load: if kind == open {
            "5,000 requests/s"
        } else {
            "64 connections"
        }
        .into(),
        direction: if metric == Metric::ThroughputPerCore {
            Direction::HigherIsBetter
        } else {
            Direction::LowerIsBetter
        },
    };
    let costs = CostFindings {
        measures: vec![
            measure(
                Metric::GatewayCpuPerRequest,
                Unit::CpuNanosecondsPerRequest,
                open,
            ),
            measure(Metric::AddedP50, Unit::Nanoseconds, open),
            measure(Metric::ThroughputPerCore, Unit::RequestsPerSecond, closed),
        ],
        gateways: [("gatebench", 1.0), ("nginx", 1.6), ("haproxy", 1.8)]
            .iter()
            .zip(1..)
            .map(|((name, slow), rank)| gateway(name, *slow, rank))
            .collect(),
    };
    findings.costs = Some(costs);
    findings
}

fn gateway(name: &str, slow: f64, rank: usize) -> GatewayCosts {
    let policy = |baseline: &str| CostRole::Policy {
        baseline: baseline.into(),
    };
    let lines = [
        ("mock", CostRole::Responses, 5_200.0),
        ("proxy-json", CostRole::Plain, 11_900.0),
        ("api-key", policy("proxy-json"), 640.0),
        ("rate-limit-never-reached", policy("proxy-json"), 35.0),
        ("rate-limit-enforced", policy("proxy-json"), -6_100.0),
        ("proxy-order", CostRole::Plain, 14_400.0),
        ("pipeline", policy("proxy-order"), 8_700.0),
        ("soap", CostRole::Alone, 52_000.0),
    ];
    let lines = lines.into_iter().map(|(scenario, role, cpu_ns)| {
        let lacking = scenario == "soap" && name != "gatebench";
        CostLine {
            scenario: scenario.into(),
            policies: if role == CostRole::Plain {
                vec![]
            } else {
                vec!["api_key".into()]
            },
            status: if lacking {
                let policies = vec!["soap".into()];
                RowStatus::NotSupported { policies }
            } else {
                RowStatus::Measured
            },
            figures: if lacking {
                vec![absent(), absent(), absent()]
            } else {
                figures(&role, cpu_ns * slow, rank)
            },
            role,
        }
    });
    GatewayCosts {
        variant: name.into(),
        lines: lines.collect(),
    }
}

fn absent() -> CostFigure {
    CostFigure {
        total: None,
        validity: None,
        rank: None,
        cost: None,
    }
}

/// CPU time, added latency, and throughput per core; the enforced rate limit and the mock have no
/// added latency.
fn figures(role: &CostRole, cpu_ns: f64, rank: usize) -> Vec<CostFigure> {
    let per_core = 1e9 / cpu_ns.abs();
    let no_latency = cpu_ns < 0.0 || *role == CostRole::Responses;
    vec![
        figure(role, cpu_ns, 300.0, rank),
        if no_latency {
            absent()
        } else {
            figure(role, cpu_ns * 4.0, 2_000.0, rank)
        },
        figure(role, per_core, per_core / 40.0, rank),
    ]
}

fn figure(role: &CostRole, value: f64, spread: f64, rank: usize) -> CostFigure {
    let is_policy = matches!(role, CostRole::Policy { .. });
    let (low, high) = (value - spread, value + spread);
    let interval = Some(Interval {
        low,
        high,
        confidence: CONFIDENCE,
    });
    CostFigure {
        total: Some(Estimate {
            median: value.abs(),
            min: value.abs() - spread,
            max: value.abs() + spread,
            blocks: 10,
            interval: None,
        }),
        validity: Some(Validity::Valid),
        rank: Some(rank),
        cost: is_policy.then(|| Cost {
            difference: Difference {
                effect: value,
                min: value - 2.0 * spread,
                max: value + 2.0 * spread,
                blocks: 10,
                interval,
            },
            ratio: Some(Comparison {
                ratio: 1.07,
                interval: Some(Interval {
                    low: 1.05,
                    high: 1.09,
                    confidence: CONFIDENCE,
                }),
                method: Some(Method::Student),
                sign_flip_p: Some(0.002),
                verdict: Verdict::Worse,
            }),
            blocks: (1..=10).collect(),
            spoiled: SpoiledBlocks::default(),
            validity: if rank == 3 {
                Validity::Limited
            } else {
                Validity::Valid
            },
            rank: Some(rank),
        }),
    }
}

#[test]
fn costs_are_tables_of_policies_and_gateways() {
    let findings = with_costs();
    let section = |text: &str, from: &str, to: &str| {
        let text = text.split(from).nth(1).unwrap();
        format!("{from}{}", text.split(to).next().unwrap())
    };
    let page = terminal::render(&findings, TerminalOptions::default());
    golden(
        "costs.txt",
        &section(&page, "What policies cost", "\nFindings"),
    );
    let page = markdown::render(&findings);
    golden(
        "costs.md",
        &section(&page, "### What policies cost", "### proxy-json"),
    );
    let mut one = findings.costs.clone().unwrap();
    one.gateways.truncate(1);
    let one = Findings {
        costs: Some(one),
        ..findings
    };
    golden("costs.csv", &csv::render(&CostRecords(one.costs.as_ref())));
}

#[test]
fn the_page_draws_a_waterfall_for_each_gateway() {
    let text = html::render(&with_costs());
    check(&text);
    // Waterfalls of three gateways, for CPU time and for added latency.
    assert_eq!(text.matches("class=\"guide\"").count(), 2 * 2 * 3);
    assert_eq!(text.matches("\"bar less\"").count(), 3);
    assert!(text.contains("not supported"));
    let written = markdown::render(&with_costs());
    let mut lines = written.lines();
    let explained = lines.find(|line| line.starts_with("Each policy is listed"));
    assert!(text.contains(explained.unwrap()), "one explanation");
    assert!(!html::render(&findings()).contains("id=\"costs\""));
    // The page is kept so that it can be viewed in a browser.
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/costs.html"), &text).unwrap();
}
