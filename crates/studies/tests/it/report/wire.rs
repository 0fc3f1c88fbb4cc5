//! The counts on the wire in the fixture: nginx buffers responses; the others do not.

use gatebench_report::html;
use gatebench_studies::common::facts::{Metric, MetricFindings, WireFact, WireFindings, WireName};

use super::fixture::findings;

pub fn found(variant: &str) -> WireFindings {
    let fact = |name, value, text: &str, differs| WireFact {
        name,
        value: Some(value),
        text: text.into(),
        differs,
    };
    let buffers = variant == "nginx";
    let passes = if buffers { "no" } else { "yes" };
    WireFindings {
        variant: variant.into(),
        is_direct: variant == "direct",
        facts: vec![
            fact(WireName::Fields, 3.0, "3.00", false),
            fact(
                WireName::PassesResponses,
                f64::from(!buffers),
                passes,
                buffers,
            ),
            fact(WireName::Routes, 1.0, "1 of 1", false),
        ],
    }
}

#[test]
fn differences_on_the_wire_are_marked() {
    let text = html::render(&findings());
    let title = WireName::PassesResponses.title();
    let row = text.split(title).nth(1).unwrap();
    let row = row.split("</tr>").next().unwrap();
    assert_eq!(row.matches("chip limited\">no<").count(), 1, "{row}");
    assert_eq!(row.matches("<td>yes</td>").count(), 3, "{row}");
}

#[test]
fn busy_time_of_cores_is_shown_next_to_cpu_time_of_processes() {
    let mut findings = findings();
    let has_none = html::render(&findings);
    assert!(!has_none.contains("busy time of the gateway&#x27;s cores"));
    let rows = &mut findings.scenarios[0].rows;
    for row in rows.iter_mut().filter(|row| row.variant == "nginx") {
        let mut metrics = row.metrics.iter();
        let is_cpu = |it: &&MetricFindings| it.metric == Metric::GatewayCpuPerRequest;
        let cpu = metrics.find(is_cpu).unwrap().clone();
        for (metric, ns) in [
            (Metric::GatewayCoreBusyPerRequest, 9_410.0),
            (Metric::GatewayCoreSoftirqPerRequest, 620.0),
        ] {
            let mut found = cpu.clone();
            found.metric = metric;
            found.estimate.as_mut().unwrap().median = ns;
            row.metrics.push(found);
        }
    }
    let text = html::render(&findings);
    let rows = text
        .split("busy time of the gateway&#x27;s cores, per request")
        .nth(1);
    let rows = rows.unwrap().split("</table>").next().unwrap();
    let cell = "<td>9.41\u{a0}µs, 0.620\u{a0}µs of it softirq; processes ";
    assert_eq!(rows.matches(cell).count(), 1, "{rows}");
    assert!(rows.contains("<td>–</td>"), "others have none: {rows}");
}
