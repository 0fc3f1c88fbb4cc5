//! The fixture's costs that grow with routes and idle connections: two gateways, three numbers.

use super::facts::*;
use gatebench_report::{TerminalOptions, html, markdown, terminal};
use gatebench_studies::Findings;

use super::fixture::findings;
use super::page::check;
use super::plain::golden;

pub fn found() -> MarginalCostFindings {
    let measure = |metric, unit| MarginalCostMeasure {
        metric,
        unit,
        phase: Some("steady".into()),
        load: Some("5,000 requests/s".into()),
    };
    let gateway = |name: &str, each: f64| GatewayMarginalCosts {
        variant: name.into(),
        points: [1, 100, 5_000].map(|count| point(count, each)).into(),
        each: vec![Some(difference(each)), Some(difference(3e3)), None],
    };
    MarginalCostFindings {
        name: "routes".into(),
        what: MarginalUnit::Routes,
        measures: vec![
            measure(Metric::GatewayRssAnonMax, Unit::Bytes),
            measure(Metric::GatewayStart, Unit::Nanoseconds),
            measure(Metric::AddedP50, Unit::Nanoseconds),
        ],
        gateways: vec![gateway("gatebench", 640.0), gateway("nginx", 2_300.0)],
    }
}

fn point(count: u32, each: f64) -> MarginalCostPoint {
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
    MarginalCostPoint {
        count,
        scenario: format!("routes-{count}"),
        phase: None,
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
fn each_number_and_the_marginal_cost_are_shown() {
    let findings = Findings {
        marginal_costs: vec![found()],
        ..findings()
    };
    let text = terminal::render(&findings, TerminalOptions::default());
    let section = text.split("The cost of unused routes").nth(1).unwrap();
    golden("scale.txt", section.split("\nFindings").next().unwrap());
    let markdown = markdown::render(&findings);
    assert!(
        markdown.contains("| gateway | 1, MiB | 100, MiB | 5,000, MiB | each route |"),
        "{markdown}"
    );
    assert!(markdown.contains("| +2.25 KiB (2.02–2.70) |"), "{markdown}");
    let page = html::render(&findings);
    check(&page);
    assert!(page.contains("id=\"scale\""));
    // The page is kept so that it can be viewed in a browser.
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/scale.html"), &page).unwrap();
}

#[test]
fn idle_connections_have_only_a_cost_in_memory() {
    let mut costs = found();
    costs.name = "proxy-json".into();
    costs.what = MarginalUnit::Connections;
    costs.measures.truncate(1);
    costs.measures[0].phase = None;
    for gateway in &mut costs.gateways {
        gateway.each.truncate(1);
        for point in &mut gateway.points {
            point.values.truncate(1);
            point.phase = Some(format!("idle-c{}", point.count));
        }
    }
    // The first gateway could not hold all connections, and the second failed.
    costs.gateways[0].points[2].values = vec![None];
    costs.gateways[1].points.iter_mut().for_each(|point| {
        point.status = RowStatus::Failed;
        point.values = vec![None];
    });
    let findings = Findings {
        marginal_costs: vec![costs],
        ..findings()
    };
    let text = terminal::render(&findings, TerminalOptions::default());
    let section = text.split("The cost of idle connections").nth(1).unwrap();
    golden("idle.txt", section.split("\nFindings").next().unwrap());
    let page = html::render(&findings);
    check(&page);
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/idle.html"), &page).unwrap();
}
