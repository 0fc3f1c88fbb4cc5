//! What was counted on the wire, as the fixture has it: nginx keeps answers back, the others do not.

use gatebench_analysis::findings::{WireFact, WireFindings, WireName};
use gatebench_report::html;

use crate::fixture::findings;

/// The facts of a variant.
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
        is_floor: variant == "floor",
        facts: vec![
            fact(WireName::Fields, 3.0, "3.00", false),
            fact(
                WireName::PassesAnswers,
                f64::from(!buffers),
                passes,
                buffers,
            ),
            fact(WireName::Routes, 1.0, "1 of 1", false),
        ],
    }
}

#[test]
fn what_differs_on_the_wire_is_marked() {
    let text = html::render(&findings());
    let title = WireName::PassesAnswers.title();
    let row = text.split(title).nth(1).unwrap();
    let row = row.split("</tr>").next().unwrap();
    assert_eq!(row.matches("chip limited\">no<").count(), 1, "{row}");
    assert_eq!(row.matches("<td>yes</td>").count(), 3, "{row}");
}
