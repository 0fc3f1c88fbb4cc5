//! No form of a report contains secrets.

use super::facts::*;
use gatebench_report::{TerminalOptions, csv, html, json, markdown, terminal};
use gatebench_studies::Findings;
use gatebench_studies::policy_cost::records::CostRecords;
use gatebench_studies::run::redact::{LEFT_OUT, MASK, Redaction, leave_out};

use super::{fixture, page};

const SECRET: &str = "SEKRET-API-KEY-123";
const OWN: &str = "listen 8080; # mine alone";

/// Findings that contain a secret in every place that quotes other text.
fn findings() -> Findings {
    let mut findings = fixture::findings();
    let quoted = format!("before {SECRET} after");
    findings.run.command = quoted.clone();
    findings.notes.push(quoted.clone());
    findings.headlines[0].text = quoted.clone();
    findings.scenarios[0].sentences[0].text = quoted.clone();
    findings.trials[0].warnings.push(quoted.clone());
    findings.failures.push(Failure {
        trial: 7,
        block: 1,
        scenario: "proxy-json".into(),
        variant: "nginx".into(),
        culprit: "gateway nginx".into(),
        reason: format!("it ended\n{quoted}"),
        remedy: quoted.clone(),
        phase: None,
    });
    findings.parity[0].cases[0].failure = Some(ParityMismatch {
        trial: 1,
        after_load: true,
        sent: quoted.clone(),
        received: quoted.clone(),
        expected: quoted.clone(),
    });
    let file = |text: &str| ConfigurationFile {
        sha256: String::new(),
        text: Some(text.into()),
    };
    let configuration = &mut findings.configurations[0];
    configuration.commands.push(quoted.clone());
    let files = &mut configuration.files;
    files.insert("keys".into(), file(&quoted));
    findings.configurations[1]
        .files
        .insert("own".into(), file(OWN));
    findings
}

fn forms(findings: &Findings) -> [String; 6] {
    let page = html::render(findings);
    page::check(&page);
    [
        page,
        markdown::render(findings),
        json::render(findings),
        csv::render(findings),
        csv::render(&CostRecords(findings.costs.as_ref())),
        terminal::render(findings, TerminalOptions::default()),
    ]
}

#[test]
fn no_form_contains_secrets_or_own_configurations() {
    let mut findings = findings();
    let shown = forms(&findings);
    for form in &shown[..3] {
        assert!(form.contains(SECRET), "{form}");
    }
    let own = findings.configurations[1].variant.clone();
    Redaction::of([SECRET.to_owned()], [own]).mask(&mut findings);
    let masked = forms(&findings);
    for form in &masked {
        assert!(!form.contains(SECRET) && !form.contains(OWN), "{form}");
    }
    assert!(masked[2].contains(&format!("before {MASK} after")));
}

#[test]
fn details_of_the_machine_are_left_out() {
    let mut findings = findings();
    findings.run.gateways[0]
        .notes
        .push("It was configured by /srv/me/own.conf.".into());
    leave_out(&mut findings);
    let forms = forms(&findings);
    for form in &forms[..3] {
        assert!(
            form.contains(LEFT_OUT) || form.contains("left out"),
            "{form}"
        );
    }
    for form in &forms {
        for local in ["/srv/me", OWN, &format!("it ended\nbefore {SECRET}")] {
            assert!(!form.contains(local), "{local} is in {form}");
        }
    }
    assert!(
        findings
            .configurations
            .iter()
            .all(|it| it.commands.is_empty())
    );
}
