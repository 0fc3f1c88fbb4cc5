//! Test results as JUnit XML for CI systems, in the format of Apache Ant's JUnit task.

use crate::chapter::{Block, Case, Cases, JUNIT, Outcome, Part, Report};
use crate::svg::escape;

/// Writes the test results of a report, with a test suite for each [`Part::Cases`].
pub fn render<R: Report + ?Sized>(report: &R) -> String {
    let document = report.document(JUNIT);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gatebench {}\">\n",
        escape(&document.brand)
    );
    let blocks = document.chapters.iter().flat_map(|it| &it.blocks);
    let suites = blocks.filter_map(|Block { part, .. }| match part {
        Part::Cases(cases) => Some(suite(cases)),
        _ => None,
    });
    out.extend(suites);
    out + "</testsuites>\n"
}

fn suite(found: &Cases) -> String {
    let count = |outcome: Outcome| {
        let cases = found.cases.iter();
        cases.filter(|it| it.outcome == outcome).count()
    };
    let cases: String = found.cases.iter().map(case).collect();
    let head = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
        escape(&found.suite),
        found.cases.len(),
        count(Outcome::Failed),
        count(Outcome::Skipped)
    );
    format!("{head}{cases}  </testsuite>\n")
}

fn case(case: &Case) -> String {
    let text = escape(&case.text);
    let outcome = match case.outcome {
        Outcome::Failed => format!("<failure message=\"{text}\"/>"),
        Outcome::Skipped => format!("<skipped message=\"{text}\"/>"),
        Outcome::Passed => format!("<system-out>{text}</system-out>"),
    };
    format!(
        "    <testcase classname=\"{}\" name=\"{}\">\n      {outcome}\n    </testcase>\n",
        escape(&case.class),
        escape(&case.name)
    )
}
