//! Comparisons between runs and histories in every form, with hostile names.

use super::facts::*;
use gatebench_report::{TerminalOptions, html, json, markdown, terminal};

use super::page;

const NAME: &str = "<b>night</b>|`x`\u{1b}[31m\u{202e}\"'&";

fn run(name: &str) -> RunLine {
    RunLine {
        name: name.into(),
        suite: NAME.into(),
        created: "2026-01-02T03:04:05Z".parse().unwrap(),
        gatebench: "0.1.0".into(),
        blocks: 10,
    }
}

fn estimate(median: f64) -> Estimate {
    Estimate {
        median,
        min: 0.9 * median,
        max: 1.1 * median,
        blocks: 10,
        interval: None,
    }
}

fn cell(gateway: &str, control: Option<Control>, verdict: Verdict, settled: bool) -> CellFindings {
    let interval = Interval {
        low: 1.06,
        high: 1.12,
        confidence: 0.95,
    };
    CellFindings {
        place: Place {
            scenario: "proxy-json".into(),
            gateway: gateway.into(),
            control,
            phase: "steady".into(),
            load: "5,000 requests/s".into(),
            kind: PhaseKind::Open,
            metric: Metric::GatewayCpuPerRequest,
            unit: Unit::CpuNanosecondsPerRequest,
            direction: Direction::LowerIsBetter,
            primary: true,
        },
        smallest_effect: 0.02,
        candidate: estimate(26_100.0),
        baseline: estimate(24_000.0),
        validity: Validity::Valid,
        result: Comparison {
            ratio: 1.09,
            interval: settled.then_some(interval),
            method: settled.then_some(Method::Welch),
            sign_flip_p: None,
            verdict,
        },
        text: format!("{gateway} changed."),
    }
}

fn compared() -> CompareFindings {
    let sentence = Sentence {
        text: NAME.into(),
        tone: Tone::Caution,
        scenario: None,
        variant: None,
    };
    let difference = |weight, what: &str| RunDifference {
        weight,
        what: what.into(),
        baseline: String::new(),
        candidate: NAME.into(),
    };
    CompareFindings {
        candidate: run(NAME),
        baseline: vec![run("before")],
        mode: CompareMode::Blocks,
        metric: Metric::GatewayCpuPerRequest,
        decision: Decision::Worse,
        text: "Worse: mine changed.".into(),
        notes: vec![sentence],
        differences: vec![
            difference(Weight::Subject, "version of mine"),
            difference(Weight::Noted, "seed"),
        ],
        cells: vec![
            cell("mine", None, Verdict::Worse, true),
            cell(NAME, Some(Control::SameGateway), Verdict::NoChange, true),
            cell(
                "direct",
                Some(Control::Direct),
                Verdict::TooFewBlocks { blocks: 3 },
                false,
            ),
        ],
    }
}

fn over_time() -> HistoryFindings {
    let runs = (0..3).map(|at| HistoryRun {
        dir: format!("{NAME}-{at}"),
        created: "2026-01-02T03:04:05Z".parse().unwrap(),
        suite: "tour".into(),
        gatebench: "0.1.0".into(),
        blocks: 3,
        left_out: (at == 2).then(|| NAME.to_owned()),
    });
    let point = |run| SeriesPoint {
        run,
        version: NAME.into(),
        value: 24_000.0,
        min: 23_000.0,
        max: 25_000.0,
        blocks: 3,
        limited: run == 1,
        control: None,
        spoiled: run as u32,
    };
    let change = SeriesChange {
        at: 1,
        run: "b".into(),
        after_run: "a".into(),
        before: 24_000.0,
        after: 25_000.0,
        net: 25.0 / 24.0,
        p: 0.002,
        told_with: "c".into(),
        worse: true,
        text: NAME.into(),
    };
    HistoryFindings {
        headlines: vec![Sentence {
            text: NAME.into(),
            tone: Tone::Alarm,
            scenario: None,
            variant: None,
        }],
        runs: runs.collect(),
        series: vec![SeriesFindings {
            scenario: NAME.into(),
            gateway: NAME.into(),
            load: "64 connections".into(),
            metric: Metric::GatewayCpuPerRequest,
            unit: Unit::CpuNanosecondsPerRequest,
            direction: Direction::LowerIsBetter,
            conditions: "abc".into(),
            points: vec![point(0), point(1)],
            searched: true,
            changes: vec![change],
        }],
    }
}

fn assert_plain(text: &str) {
    let hostile = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(hostile), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

#[test]
fn a_comparison_begins_with_the_decision_in_every_form() {
    let found = compared();
    let text = terminal::render(&found, TerminalOptions::default());
    assert_plain(&text);
    assert!(
        text.lines()
            .nth(1)
            .unwrap()
            .contains("Worse: mine changed."),
        "{text}"
    );
    assert!(
        text.contains("24.0 µs") && text.contains("1.09× (1.06–1.12)"),
        "{text}"
    );
    let markdown = markdown::render(&found);
    assert!(
        markdown.starts_with("### ❌ Worse: mine changed."),
        "{markdown}"
    );
    assert!(!markdown.contains("<b>"), "{markdown}");
    page::check(&html::render(&found));
    assert_eq!(html::render(&found), html::render(&found));
    assert!(json::render(&found).contains("\"decision\": \"worse\""));
}

#[test]
fn a_history_is_a_page_a_table_and_json() {
    let found = over_time();
    assert_plain(&terminal::render(&found, TerminalOptions::default()));
    let page = html::render(&found);
    page::check(&page);
    assert!(page.contains("class=\"change worse\"") && page.contains("hollow"));
    assert!(json::render(&found).contains("\"searched\": true"));
}
