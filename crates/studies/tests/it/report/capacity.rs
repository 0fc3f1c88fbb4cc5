//! A search for capacity in every form of the report.

use gatebench_report::{TerminalOptions, Validity, html, markdown, terminal};
use gatebench_stats::Interval;
use gatebench_stats::capacity::{Lapses, Outcome, Rate, Sustained};
use gatebench_studies::capacity::facts::{
    Bottleneck, CapacityFindings, CapacityPoint, CurveKnee, GatewayCapacity, ObjectiveBound,
    SizingFindings,
};
use gatebench_studies::{Findings, StudyResult};

use super::fixture::findings;

fn point(offered: f64, p99_ns: f64, missed: u32) -> CapacityPoint {
    CapacityPoint {
        offered_per_second: offered,
        achieved_per_second: offered,
        p50_ns: Some(p99_ns / 10.0),
        p99_ns: Some(p99_ns),
        p999_ns: (offered > 5_000.0).then_some(p99_ns * 2.0),
        mean_ns: Some(p99_ns / 8.0),
        error_share: 0.0,
        gateway_cores: Some(offered / 22_000.0),
        engine_cores: Some(offered / 60_000.0),
        upstream_cores: Some(offered / 80_000.0),
        seconds: 4.0,
        held: 1,
        missed,
    }
}

fn gateway(variant: &str, outcome: Option<Outcome>, validity: Validity) -> GatewayCapacity {
    GatewayCapacity {
        scenario: "proxy-json".into(),
        variant: variant.into(),
        cores: 1.0,
        outcome,
        validity,
        limits: Vec::new(),
        bottleneck: Some(Bottleneck::Gateway),
        repeats_planned: 5,
        per_core_per_second: Some(20_000.0),
        cpu_ns_per_request: Some(42_000.0),
        memory_bytes: Some(9_000_000.0),
        saturation_per_second: Some(22_000.0),
        direct_per_second: Some(80_000.0),
        knee: Some(CurveKnee {
            rate_per_second: 11_000.0,
            mean_ns: 90_000.0,
        }),
        curve: vec![
            point(2_200.0, 300_000.0, 0),
            point(11_000.0, 700_000.0, 0),
            point(19_800.0, 8_000_000.0, 0),
            point(20_200.0, 14_000_000.0, 2),
            point(44_000.0, 900_000_000.0, 1),
        ],
        text: format!("{variant} meets <p99> up to 20.0k requests/s."),
    }
}

pub fn with_capacity() -> Findings {
    let mut findings = findings();
    let rate = |rate_per_second: f64| Rate {
        rate_per_second,
        interval: Some(Interval {
            low: rate_per_second - 300.0,
            high: rate_per_second + 300.0,
            confidence: 0.95,
        }),
    };
    let found = |rate_per_second: f64| {
        Outcome::Found(Sustained {
            rate: rate(rate_per_second),
            probability: 0.95,
            half: rate(rate_per_second + 1_000.0),
            knees_per_second: vec![rate_per_second; 5],
            deviating: Vec::new(),
            lapses: Lapses {
                share: 0.001,
                interval: Interval {
                    low: 0.0,
                    high: 0.022,
                    confidence: 0.95,
                },
            },
        })
    };
    let at_least = Outcome::AtLeast {
        rate_per_second: 30_000.0,
        held: 60,
        tried: 60,
    };
    findings.study = StudyResult::new(CapacityFindings {
        objective: "p99<10ms, errors<0.1%".into(),
        bounds: vec![ObjectiveBound {
            percentile: 99.0,
            sign: "<",
            below_ns: 10_000_000,
        }],
        method: "Each repeat runs in a fresh process.".into(),
        gateways: vec![
            gateway("nginx", Some(found(20_000.0)), Validity::Valid),
            gateway("envoy", Some(found(10_300.0)), Validity::Limited),
            gateway("haproxy", Some(at_least), Validity::Limited),
            gateway("gatebench", None, Validity::Invalid),
        ],
        sizings: vec![SizingFindings {
            scenario: "proxy-json".into(),
            gateway: "nginx".into(),
            rate_per_second: 50_000.0,
            cores_measured: vec![1.0],
            cores_without_capacity: Vec::new(),
            cores_sustaining: None,
            law: None,
            sizing: None,
            validity: Validity::Invalid,
            text: "nginx needs 3 cores & more.".into(),
        }],
    });
    findings
}

#[test]
fn the_terminal_has_capacities_and_curves() {
    let text = terminal::render(&with_capacity(), TerminalOptions::default());
    for wanted in [
        "Capacity · p99<10ms, errors<0.1%",
        "19.7–20.3k",
        "20.7–21.3k",
        "≥ 10.0k*",
        "≥ 30.0k*",
        "no result",
        "Curve · nginx",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

#[test]
fn markdown_folds_the_curves() {
    let text = markdown::render(&with_capacity());
    assert!(text.contains("### Capacity"), "{text}");
    assert_eq!(text.matches("<details>").count(), 4);
    assert_eq!(text.matches("</details>").count(), 4);
}

#[test]
fn the_page_draws_a_curve_for_each_gateway() {
    let page = html::render(&with_capacity());
    assert_eq!(page.matches("<figure class=\"capacity\">").count(), 4);
    assert!(page.contains("p99 &lt; 10 ms"), "the objective is drawn");
    assert!(page.contains("nginx meets &lt;p99&gt; up to"));
    assert!(page.contains("href=\"#method-capacity\"") && page.contains("id=\"method-capacity\""));
    assert_eq!(
        page.matches("44.0k/s offered").count(),
        1,
        "rates far above the result are only in the table"
    );
    let none = html::render(&findings());
    assert!(!none.contains("capacity-h"), "no curve without a search");
}
