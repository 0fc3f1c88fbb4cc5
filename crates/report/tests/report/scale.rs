//! What grows with routes, as the fixture has it: two gateways, three numbers.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::*;
use gatebench_report::{TerminalOptions, html, markdown, terminal};

use crate::fixture::findings;
use crate::page::check;
use crate::plain::golden;

fn found() -> ScaleFindings {
    let measure = |metric, unit| ScaleMeasure {
        metric,
        unit,
        phase: "steady".into(),
        load: "5,000 requests/s".into(),
    };
    let gateway = |name: &str, each: f64| GatewayScale {
        variant: name.into(),
        points: [1, 100, 5_000].map(|count| point(count, each)).into(),
        each: vec![Some(difference(each)), Some(difference(3e3)), None],
    };
    ScaleFindings {
        name: "routes".into(),
        what: Scaled::Routes,
        measures: vec![
            measure(Metric::GatewayRssAnonMax, Unit::Bytes),
            measure(Metric::GatewayStart, Unit::Nanoseconds),
            measure(Metric::AddedP50, Unit::Nanoseconds),
        ],
        gateways: vec![gateway("gatebench", 640.0), gateway("nginx", 2_300.0)],
    }
}

fn point(count: u32, each: f64) -> ScalePoint {
    let of = |value: f64| {
        Some(Estimate {
            median: value,
            min: value * 0.98,
            max: value * 1.03,
            blocks: 3,
            interval: None,
        })
    };
    let many = f64::from(count);
    ScalePoint {
        count,
        scenario: format!("routes-{count}"),
        status: RowStatus::Measured,
        values: vec![
            of(6e6 + each * many),
            of(2e7 + 3e3 * many),
            of(74_000.0).filter(|_| count < 5_000),
        ],
    }
}

fn difference(each: f64) -> Difference {
    Difference {
        effect: each,
        min: each * 0.9,
        max: each * 1.2,
        blocks: 3,
        interval: None,
    }
}

#[test]
fn each_number_and_what_one_takes_are_told() {
    let findings = Findings {
        scale: vec![found()],
        ..findings()
    };
    let text = terminal::render(&findings, TerminalOptions::default());
    let section = text.split("What routes cost").nth(1).unwrap();
    golden("scale.txt", section.split("\nFindings").next().unwrap());
    assert!(markdown::render(&findings).contains("| **nginx · each route** | +2.25 KiB"));
    let page = html::render(&findings);
    check(&page);
    assert!(page.contains("id=\"scale\""));
    // To be looked at in a browser.
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/scale.html"), &page).unwrap();
}
