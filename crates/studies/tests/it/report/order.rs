//! The results of each study, with costs and other sections: every form of the report has all of
//! them, in the same order.

use gatebench_report::figures::{FigureCell, FigureColumn, FigureGroup, FigureRow, FigureTable};
use gatebench_report::flame::FlameGraph;
use gatebench_report::section::Section;
use gatebench_report::{TerminalOptions, Unit, Validity, html, markdown, terminal};
use gatebench_stats::Estimate;
use gatebench_studies::{Findings, StudyResult};

use super::plain::assert_fits;
use super::{capacity, combined, costs, fixture, marginal_cost, page, purposes};

fn section() -> Section {
    let cell = |median: f64| FigureCell {
        estimate: Some(Estimate {
            median,
            min: median * 0.98,
            max: median * 1.03,
            blocks: 3,
            interval: None,
        }),
        validity: Some(Validity::Limited),
        ..FigureCell::default()
    };
    Section {
        id: "admin",
        heading: "Admin calls",
        explanation: "How long calls to the admin interface take.",
        table: FigureTable {
            title: "routes <added> and removed".into(),
            first: "call",
            groups: vec![FigureGroup {
                title: "median".into(),
                label: "of 30 calls".into(),
                columns: vec![FigureColumn {
                    head: ["response".into(), "p50".into()],
                    unit: Unit::Nanoseconds,
                }],
            }],
            rows: vec![FigureRow {
                name: "add a route".into(),
                variant: "nginx".into(),
                validity: Some(Validity::Limited),
                absence: None,
                cells: vec![cell(1.2e6)],
            }],
        },
        graphs: vec![],
    }
}

fn graph() -> FlameGraph {
    FlameGraph {
        file: "nginx.svg".into(),
        title: "nginx <of> proxy-json".into(),
        text: "As wide as its CPU time per request.".into(),
        stacks: vec!["main;serve 1200".into()],
    }
}

fn everything(study: StudyResult) -> Findings {
    Findings {
        study,
        costs: costs::with_costs().costs,
        marginal_costs: vec![marginal_cost::found()],
        sections: vec![section()],
        ..fixture::findings()
    }
}

fn assert_order(text: &str, headings: &[&str]) {
    let mut rest = text;
    for heading in headings {
        let found = rest.split_once(heading);
        rest = found.unwrap_or_else(|| panic!("{heading}: {text}")).1;
    }
}

#[test]
fn every_form_has_every_study_in_the_same_order() {
    let studies = [
        (capacity::with_capacity().study, "Capacity", "capacity"),
        (StudyResult::new(purposes::soak()), "Endurance", "endurance"),
        (
            StudyResult::new(vec![purposes::isolation()]),
            "Isolation",
            "isolation",
        ),
        (
            StudyResult::new(combined::combined()),
            "Combined results",
            "combined",
        ),
    ];
    for (study, heading, id) in studies {
        has_all_in_order(&everything(study), heading, id);
    }
}

fn has_all_in_order(findings: &Findings, heading: &str, id: &str) {
    let text = terminal::render(findings, TerminalOptions::default());
    let first = format!("{heading} · ");
    let headings = [
        &*first,
        "\nWhat policies cost · ",
        "\nThe cost of unused routes",
        "\nAdmin calls · routes <added> and removed",
    ];
    assert_order(&text, &headings);
    assert_fits(findings, &[&first, "Admin calls · "]);
    let markdown = markdown::render(findings);
    let first = format!("### {heading}");
    let headings = [
        &*first,
        "### What policies cost",
        "### The cost of unused routes",
        "### Admin calls · routes &lt;added&gt; and removed",
        "### proxy-json",
    ];
    assert_order(&markdown, &headings);
    let page = html::render(findings);
    page::check(&page);
    let ids = [id, "costs", "scale", "admin", "results"];
    assert_order(
        &page,
        &ids.map(|id| format!("href=\"#{id}\""))
            .each_ref()
            .map(String::as_str),
    );
    assert_order(
        &page,
        &ids.map(|id| format!("<section id=\"{id}\""))
            .each_ref()
            .map(String::as_str),
    );
}

#[test]
fn a_graph_is_shown_with_its_file_name() {
    let mut findings = everything(StudyResult::default());
    findings.sections[0].graphs.push(graph());
    let text = terminal::render(&findings, TerminalOptions::default());
    assert!(text.contains("nginx <of> proxy-json: nginx.svg"), "{text}");
    let text = markdown::render(&findings);
    let link = "[nginx &lt;of&gt; proxy-json](nginx.svg): As wide as";
    assert!(text.contains(link), "{text}");
    let page = html::render(&findings);
    assert_eq!(page::files(&page), ["nginx.svg"]);
    let words = "Search and zoom</a> (nginx.svg in the run directory)";
    let picture = "<img class=\"flame\" src=\"data:image/svg+xml;base64,";
    assert!(page.contains(words) && page.contains(picture), "{page}");
    assert_eq!(html::render(&findings), page);
}
