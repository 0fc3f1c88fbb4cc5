//! The reports of an A/B test for a CI system and for a pull request.

use gatebench_report::{junit, markdown};
use gatebench_stats::Verdict;
use gatebench_studies::ab::facts::AbTestFindings;
use gatebench_studies::common::facts::Decision;
use gatebench_studies::{Findings, StudyResult};

use super::fixture::findings;
use super::verdicts::with_verdicts;

fn comment(findings: &Findings) -> String {
    let comment = findings.comment();
    comment.as_ref().map(markdown::render).unwrap_or_default()
}

/// nginx is the candidate and haproxy the baseline. The comparison of gatebench with nginx is
/// renamed to that of haproxy with its second process.
fn judged(decision: Decision, caution: Option<String>) -> Findings {
    let mut findings = with_verdicts();
    findings.study = StudyResult::new(AbTestFindings {
        candidate: "nginx".into(),
        baseline: "haproxy".into(),
        again: "haproxy-2".into(),
        decision,
        text: "nginx is <better> than haproxy: because.".into(),
        caution,
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

/// Makes the candidate worse on the deciding metric of the first scenario.
fn make_worse(findings: &mut Findings) {
    let cells = findings.scenarios[0].comparisons.iter_mut();
    let deciding = cells.filter(|it| it.primary && it.candidate == "nginx");
    deciding.for_each(|it| it.result.verdict = Verdict::Worse);
}

#[test]
fn junit_has_a_suite_for_each_scenario_and_a_case_for_each_metric() {
    let mut findings = judged(Decision::Fine, None);
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
        "a metric that does not decide cannot fail"
    );

    findings = judged(Decision::Worse, None);
    make_worse(&mut findings);
    let text = junit::render(&findings);
    assert_eq!(text.matches("<failure message=\"").count(), 1);
    assert!(text.contains("tests=\"3\" failures=\"1\""));
}

#[test]
fn junit_has_no_failure_and_a_skipped_case_if_there_is_no_decision() {
    let mut findings = judged(Decision::Open, None);
    let cases = junit::render(&findings).matches("<skipped ").count();
    assert_eq!(cases, findings.scenarios.len() + 1);
    make_worse(&mut findings);
    let text = junit::render(&findings);
    assert_eq!(text.matches("<failure ").count(), 0, "{text}");
    assert_eq!(text.matches("<skipped ").count(), cases + 1, "{text}");
    let decision = "name=\"decision\">\n      <skipped message=\"nginx is &lt;better&gt; than";
    assert!(text.contains(decision), "{text}");
}

#[test]
fn a_comment_begins_with_the_verdict_and_has_the_noise_next_to_it() {
    let text = comment(&judged(Decision::Worse, None));
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
    assert_eq!(
        cells[4], "0.60× (0.59–0.61)",
        "the baseline is compared with itself"
    );
    assert!(comment(&judged(Decision::Open, None)).starts_with("### ❔ "));
    assert!(comment(&judged(Decision::Fine, None)).starts_with("### ✅ "));
}

#[test]
fn a_comment_has_the_caution_below_the_decision() {
    let text = comment(&judged(Decision::Worse, Some("It may be <layout>.".into())));
    let caution = "because.\n\nIt may be &lt;layout&gt;.\n\n**proxy-json**";
    assert!(text.contains(caution), "{text}");
}

#[test]
fn a_run_that_only_measures_has_no_comment() {
    assert_eq!(comment(&findings()), "");
}
