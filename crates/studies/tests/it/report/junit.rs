//! The decisions and trials of runs as test results. A/B tests have their own module.

use gatebench_report::junit;
use gatebench_studies::isolation::facts::IsolationFindings;
use gatebench_studies::soak::facts::SoakFindings;
use gatebench_studies::{Findings, StudyResult};

use super::capacity::with_capacity;
use super::facts::*;
use super::fixture::findings;
use super::parts::with_external_results;
use super::purposes::{isolation, soak};

/// The line that begins the suite of this name: its counts of failed and skipped tests.
fn suite<'a>(text: &'a str, name: &str) -> &'a str {
    let begins = format!("  <testsuite name=\"{name}\" ");
    let line = text.lines().find_map(|line| line.strip_prefix(&begins));
    line.unwrap_or_else(|| panic!("{name}: {text}"))
}

fn fail(findings: &mut Findings, index: usize) {
    let trial = &mut findings.trials[index];
    trial.outcome = "failed".into();
    findings.failures.push(Failure {
        trial: trial.number,
        block: trial.block,
        scenario: trial.scenario.clone(),
        variant: trial.variant.clone(),
        culprit: "upstream".into(),
        reason: "the upstream died: exit code 3\nits last words".into(),
        remedy: "repeat the trial".into(),
        phase: None,
    });
}

fn invalidate(findings: &mut Findings, index: usize, gate: Gate) {
    let trial = &mut findings.trials[index];
    trial.validity = Validity::Invalid;
    trial.reasons = vec![Reason {
        gate,
        validity: Validity::Invalid,
        spoils: Vec::new(),
        phase: None,
        message: format!("It is {gate:?}."),
        remedy: "Look.".into(),
    }];
}

#[test]
fn a_run_without_a_decision_has_a_case_for_each_trial() {
    let mut findings = findings();
    let text = junit::render(&findings);
    assert!(
        text.contains("<testsuites name=\"gatebench tour\">"),
        "{text}"
    );
    assert_eq!(
        suite(&text, "trials"),
        "tests=\"24\" failures=\"0\" errors=\"0\" skipped=\"0\">"
    );
    fail(&mut findings, 0);
    invalidate(&mut findings, 1, Gate::ParityLost);
    invalidate(&mut findings, 2, Gate::EngineSaturated);
    findings.trials[3].outcome = "interrupted".into();
    findings.missing.push(MissingTrial {
        number: 25,
        block: 4,
        scenario: "proxy-json".into(),
        variant: "nginx".into(),
    });
    let text = junit::render(&findings);
    assert_eq!(
        suite(&text, "trials"),
        "tests=\"25\" failures=\"2\" errors=\"0\" skipped=\"3\">"
    );
    for expected in [
        "<failure message=\"upstream: the upstream died: exit code 3; repeat the trial\"/>",
        "<failure message=\"It is ParityLost. Look.\"/>",
        "<skipped message=\"It is EngineSaturated. Look.\"/>",
        "<skipped message=\"interrupted\"/>",
        "name=\"trial 25, block 4\">\n      <skipped message=\"The trial was not measured.\"/>",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_failed_trial_that_was_repeated_is_not_a_failure() {
    let mut findings = findings();
    fail(&mut findings, 0);
    let mut again = findings.trials[0].clone();
    (again.number, again.outcome) = (25, "completed".into());
    findings.trials.push(again);
    let text = junit::render(&findings);
    assert_eq!(
        suite(&text, "trials"),
        "tests=\"25\" failures=\"1\" errors=\"0\" skipped=\"0\">",
        "trial 25 does not repeat trial 1"
    );
    findings.trials[24].again = Some(findings.trials[0].number);
    let text = junit::render(&findings);
    assert_eq!(
        suite(&text, "trials"),
        "tests=\"25\" failures=\"0\" errors=\"0\" skipped=\"1\">"
    );
}

#[test]
fn a_crossed_threshold_of_a_script_is_a_failure() {
    let mut findings = findings();
    assert!(!junit::render(&findings).contains("thresholds"));
    with_external_results(&mut findings);
    let text = junit::render(&findings);
    assert_eq!(
        suite(&text, "thresholds"),
        "tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"0\">"
    );
    let name = "name=\"steady, basket_size: avg&lt;3\">";
    let failure = "<failure message=\"k6: crossed in 1 of 3 trials\"/>";
    assert!(text.contains(&format!("{name}\n      {failure}")), "{text}");
    findings.study = StudyResult::new(soak());
    assert!(junit::render(&findings).contains(failure));
}

#[test]
fn a_decision_is_a_case_and_only_failed_trials_are_added() {
    for (decision, counts) in [
        (Decision::Fine, "failures=\"0\" errors=\"0\" skipped=\"0\""),
        (Decision::Worse, "failures=\"1\" errors=\"0\" skipped=\"0\""),
        (Decision::Open, "failures=\"0\" errors=\"0\" skipped=\"1\""),
    ] {
        let soak = SoakFindings { decision, ..soak() };
        let isolation = IsolationFindings {
            decision,
            ..isolation()
        };
        let studies = [
            (StudyResult::new(soak), "nginx leaks memory."),
            (
                StudyResult::new(vec![isolation]),
                "nginx does not isolate errors.",
            ),
        ];
        for (study, sentence) in studies {
            let mut findings = Findings {
                study,
                ..findings()
            };
            let text = junit::render(&findings);
            let expected = format!("tests=\"1\" {counts}>");
            assert_eq!(suite(&text, "decision"), expected);
            assert!(text.contains(sentence), "{text}");
            assert!(!text.contains("name=\"trials\""), "{text}");
            fail(&mut findings, 0);
            let text = junit::render(&findings);
            assert!(suite(&text, "trials").starts_with("tests=\"1\" failures=\"1\""));
        }
    }
}

#[test]
fn a_search_for_capacity_states_its_result() {
    let findings = with_capacity();
    let text = junit::render(&findings);
    assert!(
        suite(&text, "decision").ends_with("skipped=\"1\">"),
        "{text}"
    );
    let headline = findings.headlines[0].text.replace('<', "&lt;");
    assert!(text.contains(&headline), "{text}");
}
