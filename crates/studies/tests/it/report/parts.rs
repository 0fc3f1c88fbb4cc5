//! Groups, routes and the figures of an external load generator, in every form.

use super::facts::*;
use gatebench_report::{TerminalOptions, html, markdown, terminal};
use gatebench_studies::Findings;
use unicode_width::UnicodeWidthStr;

use super::plain::golden;
use super::{fixture, page};

fn estimate(median: f64) -> PartEstimate {
    PartEstimate {
        estimate: Some(Estimate {
            median,
            min: median * 0.97,
            max: median * 1.04,
            blocks: 3,
            interval: None,
        }),
        validity: Validity::Valid,
    }
}

fn figures(requests: u64, slow: f64) -> PartFigures {
    PartFigures {
        requests,
        errors: 0,
        checks_failed: 0,
        response_mean_ns: estimate(110_000.0 * slow),
        response_p50_ns: estimate(104_000.0 * slow),
        response_p99_ns: estimate(310_000.0 * slow),
    }
}

fn group(phase: &str, variant: &str, name: &str, share: f64, slow: f64) -> GroupFindings {
    let requests = if phase == "saturate" {
        480_000.0
    } else {
        75_000.0
    } * share;
    GroupFindings {
        group: name.into(),
        phase: phase.into(),
        variant: variant.into(),
        load: String::new(),
        trials: 3,
        figures: figures(requests as u64, slow),
        dropped: 0,
        rate_per_second: estimate(requests / 15.0),
    }
}

/// A scenario with groups of these names and shares, measured with two gateways.
fn with_groups(names: &[(&str, f64)]) -> Findings {
    let mut findings = fixture::findings();
    findings.scenarios.truncate(1);
    let scenario = &mut findings.scenarios[0];
    for phase in ["saturate", "steady"] {
        for variant in ["gatebench", "nginx"] {
            for (place, (name, share)) in (1_u32..).zip(names) {
                let slow = 1.0 + f64::from(place) / 10.0;
                let found = group(phase, variant, name, *share, slow);
                scenario.groups.push(found);
            }
        }
    }
    findings
}

fn with_routes(findings: &mut Findings) {
    let scenario = &mut findings.scenarios[0];
    for variant in ["gatebench", "nginx"] {
        let route = |place: u32| RouteFindings {
            group: if place.is_multiple_of(3) {
                "failing"
            } else {
                "good"
            }
            .into(),
            route: format!("GET /resource/{place}"),
            figures: figures(1_000 - u64::from(place), 3.0 / (1.0 + f64::from(place))),
        };
        scenario.routes.push(SlowestRoutes {
            phase: "steady".into(),
            variant: variant.into(),
            by: Slowness::P99,
            total: 1_000,
            routes: (0..20).map(route).collect(),
        });
    }
}

pub fn with_external_results(findings: &mut Findings) {
    let check = |name: &str, failed| ExternalCheckResult {
        name: name.into(),
        passed: Some(21_310),
        failed,
    };
    let threshold = |name: &str, crossed| ExternalThresholdResult {
        name: name.into(),
        held: 3 - crossed,
        crossed,
    };
    let metric = |name: &str, statistic: &str, median| ExternalMetricResult {
        name: name.into(),
        statistic: statistic.into(),
        estimate: estimate(median).estimate.unwrap(),
    };
    let results = |variant: &str, crossed| ExternalResults {
        phase: "steady".into(),
        variant: variant.into(),
        engine: "k6".into(),
        trials: 3,
        checks: vec![
            check("login › status is 200", 0),
            check("basket › has a price", u64::from(crossed)),
        ],
        thresholds: vec![
            threshold("http_req_duration: p(99)<10", 0),
            threshold("basket_size: avg<3", crossed),
        ],
        groups: vec!["login".into(), "basket".into()],
        metrics: vec![
            metric("basket_size", "avg", 2.5),
            metric("basket_size", "p(95)", 4.0),
        ],
    };
    findings.scenarios[0].external_results = vec![results("gatebench", 0), results("nginx", 1)];
}

fn with_everything() -> Findings {
    let mut findings = with_groups(&[("good", 0.75), ("failing", 0.25)]);
    findings.scenarios[0].groups[1].figures.checks_failed = 12;
    with_routes(&mut findings);
    with_external_results(&mut findings);
    findings
}

#[test]
fn a_terminal_shows_groups_and_routes_below_the_table() {
    let text = terminal::render(&with_everything(), TerminalOptions::default());
    golden("groups.txt", &text);
}

#[test]
fn markdown_has_the_groups() {
    golden("groups.md", &markdown::render(&with_everything()));
}

#[test]
fn the_page_shows_groups_routes_and_external_results() {
    let text = html::render(&with_everything());
    page::check(&text);
    for words in [
        "good · nginx",
        "The slowest 20 of 1,000 routes of nginx, by p99",
        "failing: GET &#x2f;resource&#x2f;3",
        "reported by k6 · steady · 3 trials",
        "http_req_duration: p(99)&lt;10",
        "crossed in 1 of 3 trials",
        "basket › has a price",
        "basket_size <span class=\"absent\">p(95)",
    ] {
        assert!(text.contains(words), "{words}");
    }
    assert_eq!(
        text.matches(" open=\"open\"").count(),
        1,
        "only the results with a crossed threshold are unfolded"
    );
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/groups.html"), &text).unwrap();
}

#[test]
fn only_the_slowest_of_a_hundred_groups_are_shown() {
    let names: Vec<String> = (1..=100).map(|place| format!("team-{place}")).collect();
    let names: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 0.01)).collect();
    let findings = with_groups(&names);
    let page = html::render(&findings);
    page::check(&page);
    assert!(
        page.contains("<summary>Groups, 10 of 100: those with the most failures, then the slowest")
    );
    assert!(page.contains("team-91 ·") && !page.contains("team-90 ·"));
    let text = terminal::render(&findings, TerminalOptions::default());
    assert!(
        text.contains("groups, 3 of 100: those with the most failures"),
        "{text}"
    );
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/hundred.html"), &page).unwrap();
}

#[test]
fn a_percentile_that_no_group_has_gets_no_column() {
    let mut findings = with_everything();
    for found in &mut findings.scenarios[0].groups {
        found.figures.response_p99_ns.estimate = None;
    }
    findings.scenarios[0].routes.clear();
    let text = terminal::render(&findings, TerminalOptions::default());
    let groups = text.split("proxy-json · groups").nth(1).unwrap();
    let groups = groups.split("Findings").next().unwrap();
    assert!(
        groups.contains("p50") && !groups.contains("p99"),
        "{groups}"
    );
}

#[test]
fn hostile_names_of_groups_are_escaped() {
    const NAME: &str = "<script>|`x`\u{1b}[31m\u{202e}網關網關網關網關網關網關網關\"'&";
    let mut findings = with_everything();
    let scenario = &mut findings.scenarios[0];
    scenario
        .groups
        .iter_mut()
        .for_each(|found| found.group.push_str(NAME));
    scenario.routes[0].routes[0].route = NAME.into();
    scenario.external_results[1].checks[0].name = NAME.into();
    scenario.external_results[1].groups[0] = NAME.into();
    let text = html::render(&findings);
    page::check(&text);
    assert!(!text.contains("<script"));
    for columns in [60, 80, 100] {
        let color = false;
        let text = terminal::render(
            &findings,
            TerminalOptions {
                color,
                columns,
                brief: false,
            },
        );
        assert!(text.lines().all(|line| line.width() <= columns), "{text}");
        assert!(!text.contains('\u{1b}'));
    }
    assert!(!markdown::render(&findings).contains("<script"));
}
