//! The combined results of a specification in every form of the report.

use gatebench_report::{TerminalOptions, Validity, html, markdown, terminal};
use gatebench_stats::Estimate;
use gatebench_stats::doubling::Doubling;
use gatebench_studies::marginal_cost::facts::MarginalUnit;
use gatebench_studies::versions::facts::{
    CombinedFigures, CombinedFindings, RunFigures, SettledFindings, TrendPoint, VersionFindings,
    VersionTrend,
};
use gatebench_studies::{Findings, StudyResult};

use super::fixture::findings;
use super::page::check;
use super::plain::assert_fits;

fn run(number: u32, rate_per_second: f64) -> RunFigures {
    RunFigures {
        trial: 1,
        run: format!("run-{number}"),
        rate_per_second,
        responses: 100_000,
        failed: if number == 2 { 12 } else { 0 },
        mean_ns: Some(1.2e6),
        max_ns: Some(31_000_000),
        p90_ns: Some(4_100_000.0 + f64::from(number) * 50_000.0),
        p99_ns: (number != 3).then_some(9_000_000.0),
        validity: if number == 3 {
            Validity::Invalid
        } else {
            Validity::Valid
        },
        settled: Some(SettledFindings {
            load_per_core: 0.3,
            waited_ns: 90_000_000_000,
            settled: number != 1,
        }),
    }
}

fn middle(median: f64, min: f64, max: f64) -> Option<Estimate> {
    Some(Estimate {
        median,
        min,
        max,
        blocks: 3,
        interval: None,
    })
}

fn version(variant: &str, scenario: &str, count: u32, rate: f64) -> VersionFindings {
    VersionFindings {
        p90_ns: middle(4.2e6, 4.15e6, 4.25e6),
        p99_ns: middle(9e6, 9e6, 9e6),
        scenario: scenario.into(),
        variant: variant.into(),
        version: Some("1.22.1".into()),
        count: Some(count),
        runs: (1..=3)
            .map(|it| run(it, rate * (0.98 + f64::from(it) / 100.0)))
            .collect(),
        combined: Some(CombinedFigures {
            rate_mean_per_second: rate,
            rate_min_per_second: rate * 0.98,
            rate_max_per_second: rate * 1.02,
            mean_ns: Some(1.2e6),
            max_ns: Some(31_000_000),
        }),
        error_logs: vec![gatebench_store::ErrorLog {
            file: "trials/0001/gateway/gateway.stderr.log".into(),
            lines: 1,
        }],
    }
}

fn trend(variant: &str, what: MarginalUnit, points: [(u32, f64); 2]) -> VersionTrend {
    let counted = points.map(|(count, rate)| (f64::from(count), rate));
    let point = |(count, rate_per_second)| TrendPoint {
        count,
        rate_per_second,
    };
    VersionTrend {
        family: format!("{}s", what.noun()),
        variant: variant.into(),
        what,
        points: points.map(point).into(),
        line: Doubling::through(&counted).unwrap(),
    }
}

pub fn combined() -> CombinedFindings {
    CombinedFindings {
        specification: "upstreams".into(),
        tags: vec!["upstreams".into()],
        load: "1,000 connections, 10s, 3 runs in one process".into(),
        versions: vec![
            version("nginx", "upstreams-50", 50, 41_000.0),
            version("nginx<b>", "upstreams-5000", 5_000, 30_000.0),
        ],
        trends: vec![
            trend(
                "nginx",
                MarginalUnit::Upstreams,
                [(50, 41_000.0), (5_000, 30_000.0)],
            ),
            trend(
                "nginx<b>",
                MarginalUnit::Upstreams,
                [(50, 40_900.0), (5_000, 29_900.0)],
            ),
            trend("nginx", MarginalUnit::Routes, [(1, 500.0), (10, 490.0)]),
        ],
        tried_again: vec![
            "Trial 2 (nginx, upstreams-50) failed and was repeated as trial 5 (completed).".into(),
        ],
    }
}

#[test]
fn a_version_without_a_valid_run_is_reported() {
    let mut found = combined();
    found.versions[0].combined = None;
    let findings = Findings {
        study: StudyResult::new(found),
        ..findings()
    };
    let text = terminal::render(&findings, TerminalOptions::default());
    assert!(text.contains("upstreams-50  no valid run"), "{text}");
    assert!(!text.contains("()"), "{text}");
}

#[test]
fn every_form_has_versions_side_by_side() {
    let findings = Findings {
        study: StudyResult::new(combined()),
        ..findings()
    };
    let phrases = ["Combined results · upstreams", "was repeated as trial 5"];
    assert_fits(&findings, &phrases);
    let text = markdown::render(&findings);
    assert!(
        text.contains("| **nginx 1.22.1 · upstreams-50** | 41.0k/s |"),
        "{text}"
    );
    assert!(text.contains("9.00 / 9.00 / – ms"), "{text}");
    assert!(
        text.contains("invalid and not combined (run-3); see Validity"),
        "{text}"
    );
    assert!(
        text.contains("the machine was not quiet before run-1"),
        "{text}"
    );
    let page = html::render(&findings);
    check(&page);
    for id in [
        "combined-rates",
        "combined-boxes",
        "combined-trend-0",
        "combined-trend-1",
        "method-combined-results",
    ] {
        assert!(page.contains(id), "{id}");
    }
    assert!(
        !page.contains("combined-trend-2"),
        "families with the same unit share a plot"
    );
    assert!(!page.contains("nginx<b>"));
    assert!(
        page.contains("upstreams-50, p90: 4.15 ms, 4.20 ms."),
        "the third run is invalid and is not drawn"
    );
    // The page is kept so that it can be viewed in a browser.
    std::fs::write(
        concat!(env!("CARGO_TARGET_TMPDIR"), "/combined.html"),
        &page,
    )
    .unwrap();
}
