//! The first screen of every form of the report.

use gatebench_report::{TerminalOptions, Tone, html, markdown, terminal};
use gatebench_store::Status;
use gatebench_studies::Findings;
use gatebench_studies::common::facts::Sentence;

use super::fixture;
use super::plain::golden;
use crate::common::three_blocks;
use crate::summary::ten_blocks;

/// The only sentence of a scenario in the fixture.
pub fn parity_held(scenario: &str) -> Sentence {
    Sentence {
        text: "Parity held before and after the load on every gateway.".into(),
        tone: Tone::Plain,
        scenario: Some(scenario.into()),
        variant: None,
    }
}

fn brief(findings: &Findings, columns: usize) -> String {
    let options = TerminalOptions {
        brief: true,
        columns,
        ..TerminalOptions::default()
    };
    terminal::render(findings, options)
}

/// The part of a comment that is not folded.
fn shown(findings: &Findings) -> String {
    let text = markdown::render(findings);
    text.split_once("<details>").unwrap().0.to_owned()
}

#[test]
fn every_form_begins_with_the_summary() {
    let findings = ten_blocks(1.1);
    golden("first-screen.txt", &brief(&findings, 80));
    golden("first-screen.md", &shown(&findings));
    let page = html::render(&findings);
    let sections: Vec<&str> = page.split_inclusive("</section>\n").collect();
    let (_, first) = sections[0].split_once("<main class=\"wrap\">\n").unwrap();
    golden("first-screen.html", first);
    let summary = serde_json::to_string_pretty(&findings.scenarios[0].summary).unwrap();
    golden("first-screen.json", &(summary + "\n"));
}

#[test]
fn a_few_blocks_have_a_summary_without_a_verdict() {
    let findings = three_blocks(|_| ());
    golden("first-screen-3-blocks.txt", &brief(&findings, 80));
}

#[test]
fn a_narrow_terminal_shows_whole_ranges_below_medians() {
    let text = brief(&ten_blocks(1.1), 60);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(60) && !text.contains('…'), "{text}");
    let wide = brief(&ten_blocks(1.1), 80);
    let ranges = |text: &str| text.matches('–').count();
    assert_eq!(ranges(&text), ranges(&wide), "{text}{wide}");
}

#[test]
fn a_brief_terminal_shows_failures() {
    let mut findings = ten_blocks(1.1);
    findings.headlines.push(Sentence {
        text: "haproxy failed.".into(),
        tone: Tone::Alarm,
        scenario: None,
        variant: None,
    });
    assert!(brief(&findings, 80).contains("haproxy failed."));
    findings.run.status = Status::Interrupted;
    let first = brief(&findings, 80);
    assert!(first.starts_with("Interrupted: "), "{first}");
    assert!(
        first.contains(" trials ended, 10 blocks complete"),
        "{first}"
    );
    let whole = terminal::render(&findings, TerminalOptions::default());
    assert!(whole.lines().count() > 25, "{whole}");
}

#[test]
fn a_run_without_a_summary_is_never_brief() {
    let findings = fixture::findings();
    let whole = terminal::render(&findings, TerminalOptions::default());
    assert_eq!(brief(&findings, 100), whole);
}

#[test]
fn a_comment_has_at_most_65_lines_and_folds_further_scenarios() {
    let mut findings = ten_blocks(1.1);
    for _ in 0..9 {
        findings.scenarios.push(findings.scenarios[0].clone());
    }
    let text = markdown::render(&findings);
    assert!(text.contains("<summary>6 more scenarios</summary>"));
    assert!(shown(&findings).lines().count() <= 65, "{text}");
}
