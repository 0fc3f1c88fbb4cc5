//! Names, messages and files that try to break out of their place in a report.

use super::facts::*;
use gatebench_report::{TerminalOptions, csv, html, markdown, terminal};
use gatebench_studies::Findings;
use unicode_width::UnicodeWidthStr;

use super::{fixture, page};

const NAME: &str =
    "<script>alert(1)</script>|`x`\u{1b}[31m\u{202e}網關網關網關網關網關網關網關網關\"'&\u{1}";

fn findings() -> Findings {
    let mut findings = fixture::findings();
    for scenario in &mut findings.scenarios {
        scenario.title = NAME.repeat(4);
        scenario.phases[0].label = NAME.into();
        let rows = &mut scenario.rows;
        rows[1].variant = NAME.into();
        rows[2].status = RowStatus::NotSupported {
            policies: vec![NAME.into(); 5],
        };
        rows[3].metrics[0].estimate = None;
        rows[3].metrics[0].blocks[1].value = f64::NAN;
        for curve in scenario
            .curves
            .iter_mut()
            .filter(|c| c.variant == "gatebench")
        {
            curve.variant = NAME.into();
        }
    }
    findings.scenarios[1].rows.iter_mut().for_each(|row| {
        row.metrics.clear();
        row.status = RowStatus::Failed;
    });
    findings.scenarios[1].curves.clear();
    findings.run.status = Status::Interrupted;
    findings.run.title = NAME.into();
    findings.run.command = NAME.into();
    findings.headlines[0].text = "unbroken".repeat(60);
    findings.headlines[1].tone = Tone::Alarm;
    findings.notes.push(NAME.into());
    findings.failures.push(Failure {
        trial: 7,
        block: 1,
        scenario: "proxy-json".into(),
        variant: NAME.into(),
        culprit: "gateway".into(),
        reason: format!("it ended with status 1:\n{NAME}\n\tline 2"),
        remedy: NAME.into(),
        phase: Some("steady".into()),
    });
    findings.parity[0].cases[0].failure = Some(ParityMismatch {
        trial: 1,
        after_load: true,
        sent: NAME.into(),
        received: NAME.into(),
        expected: NAME.into(),
    });
    findings.trials[0].timeline[0].seconds[1].response_p99_ns = None;
    findings.trials[1].timeline.clear();
    let file = ConfigurationFile {
        sha256: String::new(),
        text: Some(format!("</pre>{NAME}")),
    };
    findings.configurations[0].files.insert(NAME.into(), file);
    findings.missing.push(MissingTrial {
        number: 24,
        block: 3,
        scenario: NAME.into(),
        variant: NAME.into(),
    });
    findings
}

#[test]
fn terminal_lines_fit_the_width() {
    for columns in [0, 60, 80, 100, 400] {
        let options = TerminalOptions {
            color: false,
            columns,
            brief: false,
        };
        let text = terminal::render(&findings(), options);
        let limit = columns.clamp(60, 100);
        for line in text.lines() {
            assert!(line.width() <= limit, "{} columns: {line}", line.width());
            assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}

#[test]
fn the_page_stays_well_formed() {
    let text = html::render(&findings());
    page::check(&text);
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/hostile.html"), &text).unwrap();
    assert!(!text.contains("<script"));
    assert!(!text.contains(['\u{1}', '\u{202e}']));
}

#[test]
fn markdown_and_csv_keep_their_shape() {
    let text = markdown::render(&findings());
    assert!(!text.contains("<script"), "{text}");
    let widths: Vec<usize> = text
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.replace("\\|", "").matches('|').count())
        .collect();
    assert_eq!(widths[..6], [9; 6], "{text}");
    assert!(csv::render(&findings()).contains("\"\"'&"));
}

#[test]
fn a_run_without_any_trial_has_a_report() {
    let mut empty = fixture::findings();
    empty.headlines.clear();
    empty.trials.clear();
    empty.parity.clear();
    empty.configurations.clear();
    for scenario in &mut empty.scenarios {
        scenario.curves.clear();
        for row in &mut scenario.rows {
            row.metrics.clear();
            row.status = RowStatus::Missing;
            row.validity = None;
        }
    }
    page::check(&html::render(&empty));
    assert!(terminal::render(&empty, TerminalOptions::default()).contains("not measured"));
    empty.scenarios.clear();
    page::check(&html::render(&empty));
    markdown::render(&empty);
}
