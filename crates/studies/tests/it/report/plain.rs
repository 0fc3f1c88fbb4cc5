//! Compares reports for the terminal, in Markdown and as CSV with golden files, and tests the JSON
//! report. `GATEBENCH_BLESS=1` rewrites the golden files.

use std::path::PathBuf;

use gatebench_model::Variant;
use gatebench_report::{TerminalOptions, Validity, csv, json, markdown, terminal};
use gatebench_studies::Findings;
use gatebench_studies::common::facts::{Metric, PhaseKind, RowStatus};

use super::{fixture, verdicts};

pub fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("GATEBENCH_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; bless with GATEBENCH_BLESS=1", path.display())
    });
    assert!(
        expected == text,
        "{name} differs; read it, then bless it with GATEBENCH_BLESS=1:\n{text}"
    );
}

/// Asserts that narrow and wide terminals show all these phrases, even if they are wrapped, and
/// that no line is too long.
pub fn assert_fits(findings: &Findings, phrases: &[&str]) {
    for columns in [60, 100] {
        let options = TerminalOptions {
            columns,
            ..TerminalOptions::default()
        };
        let text = terminal::render(findings, options);
        let words: Vec<&str> = text.split_whitespace().collect();
        let words = words.join(" ");
        for phrase in phrases {
            assert!(words.contains(phrase), "{phrase}: {text}");
        }
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest.unwrap() <= columns, "{text}");
    }
}

#[test]
fn the_terminal_shows_medians_ranges_sentences_and_limits() {
    let text = terminal::render(&fixture::findings(), TerminalOptions::default());
    golden("terminal.txt", &text);
}

#[test]
fn a_smoke_run_shows_no_speed() {
    let mut findings = fixture::findings();
    findings.run.is_smoke = true;
    // A smoke run has no findings about speed.
    findings.headlines.clear();
    findings.notes.clear();
    for row in findings.scenarios.iter_mut().flat_map(|it| &mut it.rows) {
        row.reasons.clear();
    }
    let rows = &mut findings.scenarios[1].rows;
    rows[2].status = RowStatus::Failed;
    rows[3].status = RowStatus::NotSupported {
        policies: vec!["api_key".into()],
    };
    let text = terminal::render(&findings, TerminalOptions::default());
    golden("smoke.txt", &text);
}

#[test]
fn a_terminal_of_80_columns_puts_the_phases_below_each_other() {
    let options = TerminalOptions {
        color: false,
        columns: 80,
        brief: false,
    };
    golden(
        "terminal-80.txt",
        &terminal::render(&fixture::findings(), options),
    );
}

#[test]
fn colors_change_only_colors() {
    let plain = terminal::render(&fixture::findings(), TerminalOptions::default());
    let options = TerminalOptions {
        color: true,
        ..TerminalOptions::default()
    };
    let colored = terminal::render(&fixture::findings(), options);
    assert!(!plain.contains('\u{1b}'));
    assert!(colored.contains("\u{1b}[1m"));
    let mut bare = colored;
    for code in ["0", "1", "2", "31", "32", "33"] {
        bare = bare.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(bare, plain);
}

#[test]
fn markdown_is_ready_for_a_pull_request() {
    golden("report.md", &markdown::render(&fixture::findings()));
}

#[test]
fn markdown_has_a_table_of_verdicts_if_there_are_any() {
    let text = markdown::render(&verdicts::with_verdicts());
    golden("verdicts.md", &text);
    assert!(!markdown::render(&fixture::findings()).contains("| verdict |"));
}

#[test]
fn csv_has_a_row_per_block() {
    golden("summary.csv", &csv::render(&fixture::findings()));
}

#[test]
fn json_contains_the_findings_and_a_schema() {
    let text = json::render(&fixture::findings());
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], json::SCHEMA);
    assert_eq!(value["scenarios"][0]["rows"][2]["variant"], "nginx");
    assert!(text.starts_with("{\n  \"schema\": 2,\n  \"run\""));
    assert_eq!(text, json::render(&fixture::findings()));
}

/// The findings of a run that includes the null gateway and whose open loads are all limited.
fn with_null() -> Findings {
    let mut findings = fixture::findings();
    for scenario in &mut findings.scenarios {
        for row in scenario.rows.iter_mut().skip(1) {
            let pairs = [
                (Metric::AddedP50, Metric::AddedP50OverNull),
                (Metric::AddedP99, Metric::AddedP99OverNull),
            ];
            for (of, over) in pairs {
                let mut found = row.metric(PhaseKind::Open, of).unwrap().clone();
                found.metric = over;
                row.metrics.push(found);
            }
            let open = row.metrics.iter_mut();
            let open = open.filter(|it| it.kind == PhaseKind::Open);
            open.for_each(|it| it.validity = Validity::Limited);
        }
        scenario.rows.last_mut().unwrap().variant = "haproxy@2.8.5".into();
        let mut null = scenario.rows[0].clone();
        null.variant = "null".into();
        null.kind = Variant::null();
        scenario.null = Some(null);
    }
    findings
}

#[test]
fn the_columns_over_the_null_gateway_are_next_to_the_others() {
    let text = terminal::render(&with_null(), TerminalOptions::default());
    let heads: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("over null"))
        .collect();
    assert_eq!(heads.len(), 2, "one for each scenario: {text}");
    for head in heads {
        let columns: Vec<&str> = head.split("  ").map(str::trim).collect();
        let columns: Vec<&str> = columns.into_iter().filter(|it| !it.is_empty()).collect();
        let expected = [
            "CPU/request",
            "response",
            "response",
            "added",
            "added",
            "over null",
            "over null",
        ];
        assert_eq!(columns, expected, "{text}");
    }
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest.unwrap() <= 100, "{text}");
}

#[test]
fn a_load_is_named_in_full_above_few_columns() {
    let options = TerminalOptions {
        columns: 60,
        ..TerminalOptions::default()
    };
    let text = terminal::render(&with_null(), options);
    let labels = text.lines().map(|line| line.trim_start_matches([' ', '─']));
    let labels: Vec<&str> = labels.filter(|it| it.starts_with("5,000 re")).collect();
    // In each of two scenarios, the seven columns are split into three tables, and the last one has
    // a single column.
    assert_eq!(labels, ["5,000 requests/s, 5s"; 6], "{text}");
}
