//! A run in a document's columns, in every form, with hostile names.

use super::facts::*;
use gatebench_report::{TerminalOptions, csv, html, json, markdown, terminal};

use super::page;

const NAME: &str = "<b>row</b>|`x`\u{1b}[31m\u{202e}\"'&";

fn cell(median: f64, blocks: usize) -> FigureCell {
    FigureCell {
        estimate: Some(Estimate {
            median,
            min: 0.9 * median,
            max: 1.1 * median,
            blocks,
            interval: None,
        }),
        validity: Some(Validity::Limited),
        words: None,
    }
}

fn column(head: &str, unit: Unit) -> FigureColumn {
    FigureColumn {
        head: [head.into(), String::new()],
        unit,
    }
}

fn found() -> DocumentFindings {
    let words = FigureCell {
        words: Some("100 %".into()),
        ..FigureCell::default()
    };
    let row = |name: &str, absence: Option<&str>| FigureRow {
        name: name.into(),
        variant: "nginx".into(),
        absence: absence.map(str::to_owned),
        validity: Some(Validity::Limited),
        cells: vec![
            cell(12_908.0, 3),
            words.clone(),
            FigureCell::default(),
            cell(0.7, 1),
        ],
    };
    DocumentFindings {
        document: "soap".into(),
        title: "A document".into(),
        setting: "Published for one machine.".into(),
        suite: "soap".into(),
        command: format!("gatebench run '{NAME}'"),
        gatebench: "0.1.0".into(),
        tables: vec![FigureTable {
            title: NAME.into(),
            first: "scenario",
            groups: vec![
                FigureGroup {
                    title: "document".into(),
                    label: "64 connections, 3 s".into(),
                    columns: vec![
                        column("requests", Unit::RequestsPerSecond),
                        column("checks", Unit::Count),
                        column("p95", Unit::Nanoseconds),
                    ],
                },
                FigureGroup {
                    title: "ratio".into(),
                    label: String::new(),
                    columns: vec![column("here", Unit::Ratio)],
                },
            ],
            rows: vec![row(NAME, None), row("other", Some("not in this run"))],
        }],
        notes: vec![NAME.into()],
        doubts: vec![DocumentDoubt {
            validity: Validity::Limited,
            rows: ["a", "b", "c", "d"].map(str::to_owned).into(),
            message: NAME.into(),
            remedy: "Do this.".into(),
        }],
        corrections: vec![
            Correction {
                title: "A bucket".into(),
                published: NAME.into(),
                here: "Otherwise.".into(),
                heads: ["their way".into(), "measured".into()],
                unit: Unit::Nanoseconds,
                rows: vec![CorrectionRow {
                    name: NAME.into(),
                    their_way: 950_000.0,
                    measured: 38_000.0,
                    ratio: Some(25.0),
                }],
                untold: None,
            },
            Correction {
                title: "A ramp".into(),
                published: "It has one.".into(),
                here: "None.".into(),
                heads: ["a".into(), "b".into()],
                unit: Unit::RequestsPerSecond,
                rows: Vec::new(),
                untold: Some("Nothing to show.".into()),
            },
        ],
    }
}

#[test]
fn every_form_shows_a_documents_table_and_corrections() {
    let found = found();
    let text = terminal::render(&found, TerminalOptions::default());
    let hostile = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(hostile), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    for part in [
        "12.9k*",
        "100 %",
        "not in this run",
        "25.0×",
        "950",
        "Nothing to show.",
        "a; b; c; and 1 more",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let markdown = markdown::render(&found);
    assert!(
        markdown.contains("| 12.9k\\* (11.6–14.2k) | 100 % | – | 0.700×\\* |"),
        "{markdown}"
    );
    assert!(!markdown.contains("<b>"), "{markdown}");
    page::check(&html::render(&found));
    assert_eq!(html::render(&found), html::render(&found));
    assert!(json::render(&found).contains("\"document\": \"soap\""));
    let csv = csv::render(&found);
    assert_eq!(csv.lines().count(), 7, "{csv}");
    let columns = |line: &str| line.matches(',').count();
    let counts = csv.lines().skip(1).map(columns).max();
    assert_eq!(counts, csv.lines().next().map(columns), "{csv}");
    assert!(
        csv.contains(",nginx,document,checks,count,,,,,,,,100 %\n"),
        "{csv}"
    );
    assert!(
        csv.contains(",nginx,document,requests,per_second,12908,"),
        "{csv}"
    );
}
