//! A comparison for a CI system and for a pull request.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{AbTestFindings, Decision, Verdict};
use gatebench_report::{Comment, junit, markdown};

use crate::fixture::findings;
use crate::verdicts::with_verdicts;

fn comment(findings: &Findings) -> String {
    markdown::render(&Comment(findings))
}

/// nginx is judged, haproxy is compared with; gatebench beside nginx stands for haproxy beside itself.
fn judged(decision: Decision) -> Findings {
    let mut findings = with_verdicts();
    findings.ab_test = Some(AbTestFindings {
        candidate: "nginx".into(),
        baseline: "haproxy".into(),
        again: "haproxy-2".into(),
        decision,
        text: "nginx is <better> than haproxy: because.".into(),
        caution: None,
    });
    for scenario in &mut findings.scenarios {
        for cell in &mut scenario.comparisons {
            if cell.candidate == "gatebench" && cell.baseline == "nginx" {
                cell.candidate = "haproxy".into();
                cell.baseline = "haproxy-2".into();
            }
        }
    }
    findings
}

#[test]
fn junit_has_a_suite_for_each_scenario_and_a_case_for_each_metric() {
    let mut findings = judged(Decision::Fine);
    let text = junit::render(&findings);
    let suite =
        "  <testsuite name=\"proxy-json\" tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"1\">\n";
    assert!(text.contains(suite), "{text}");
    assert_eq!(
        text.matches("<testcase ").count(),
        3 * findings.scenarios.len()
    );
    assert_eq!(text.matches("<skipped ").count(), findings.scenarios.len());
    assert_eq!(
        text.matches("<failure ").count(),
        0,
        "what does not decide fails nothing"
    );

    let cells = findings.scenarios[0].comparisons.iter_mut();
    let deciding = cells.filter(|it| it.primary && it.candidate == "nginx");
    deciding.for_each(|it| it.result.verdict = Verdict::Worse);
    let text = junit::render(&findings);
    assert_eq!(text.matches("<failure message=\"").count(), 1);
    assert!(text.contains("tests=\"3\" failures=\"1\""));
}

#[test]
fn a_comment_begins_with_the_answer_and_has_the_noise_beside_it() {
    let text = comment(&judged(Decision::Worse));
    assert!(
        text.starts_with(
            "### ❌ nginx is &lt;better&gt; than haproxy: because.\n\n**proxy-json**: "
        ),
        "{text}"
    );
    let line = text.lines().find(|line| line.starts_with("| **")).unwrap();
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    assert_eq!(cells[2], "0.88× (0.86–0.89)");
    assert_eq!(cells[3], "better");
    assert_eq!(cells[4], "0.60× (0.59–0.61)", "the baseline beside itself");
    assert!(comment(&judged(Decision::Open)).starts_with("### ❔ "));
    assert!(comment(&judged(Decision::Fine)).starts_with("### ✅ "));
}

#[test]
fn a_comment_has_the_caution_below_the_answer() {
    let mut findings = judged(Decision::Worse);
    findings.ab_test.as_mut().unwrap().caution = Some("It may be <layout>.".into());
    let text = comment(&findings);
    let caution = "because.\n\nIt may be &lt;layout&gt;.\n\n**proxy-json**";
    assert!(text.contains(caution), "{text}");
}

#[test]
fn a_run_made_to_measure_has_neither() {
    let findings = findings();
    assert_eq!(comment(&findings), "");
    assert!(!junit::render(&findings).contains("<testsuite "));
}
