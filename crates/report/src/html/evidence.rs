//! What the findings rest on: every trial, the proof of the policies, the machine, the
//! configurations and the commands.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{
    Configuration, Fact, GatewayLine, MissingTrial, ParityFindings, ScenarioFindings, TrialFindings,
};
use serde::Serialize;

use super::cores::{self, CoreRow};
use super::view::{Pair, pair};
use super::wire::{self, WireRow};
use crate::number;
use crate::palette::Palette;
use crate::problems::word;

/// The second half of the page.
#[derive(Serialize)]
pub struct Evidence {
    trials: Vec<TrialView>,
    missing: Vec<String>,
    parity: Vec<ParityTable>,
    gateways: Vec<GatewayView>,
    environment: Vec<Topic>,
    placement_note: String,
    configurations: Vec<ConfigurationView>,
    command: String,
}

#[derive(Serialize)]
struct TrialView {
    number: u32,
    block: u32,
    scenario: String,
    variant: String,
    class: String,
    outcome: String,
    completed: bool,
    validity: &'static str,
    took: String,
    reasons: Vec<ReasonView>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct ReasonView {
    phase: Option<String>,
    message: String,
    remedy: String,
}

/// The parity of a scenario: cases down, variants across.
#[derive(Serialize)]
struct ParityTable {
    scenario: String,
    variants: Vec<Pair>,
    cases: Vec<ParityRow>,
    routes: Vec<String>,
    /// What went over the wire, variants across as above.
    wire: Vec<WireRow>,
    /// The busy time of the gateway's cores.
    cores: Vec<CoreRow>,
    failures: Vec<MismatchView>,
}

#[derive(Serialize)]
struct ParityRow {
    name: String,
    cells: Vec<ParityCell>,
}

#[derive(Serialize)]
struct ParityCell {
    class: &'static str,
    text: String,
}

#[derive(Serialize)]
struct MismatchView {
    title: String,
    sent: String,
    received: String,
    expected: String,
}

#[derive(Serialize)]
struct GatewayView {
    variant: String,
    class: String,
    title: String,
    version: String,
    binary: String,
    sha256: String,
    notes: Vec<String>,
}

/// Facts that share the first word of their names.
#[derive(Serialize)]
struct Topic {
    name: String,
    facts: Vec<Pair>,
}

#[derive(Serialize)]
struct ConfigurationView {
    variant: String,
    class: String,
    scenario: String,
    version: String,
    workers: String,
    trial: u32,
    commands: Vec<String>,
    files: Vec<FileView>,
}

#[derive(Serialize)]
struct FileView {
    path: String,
    sha256: String,
    text: Option<String>,
}

impl Evidence {
    /// Lays out the evidence of a run.
    pub fn of(findings: &Findings, palette: &Palette) -> Self {
        let run = &findings.run;
        let trial = |trial| trial_view(trial, palette);
        let configuration = |found| configuration_view(found, palette);
        let gateway = |line| gateway_view(line, palette);
        Self {
            trials: findings.trials.iter().map(trial).collect(),
            missing: findings.missing.iter().map(missing).collect(),
            parity: parity(findings, palette),
            gateways: run.gateways.iter().map(gateway).collect(),
            environment: topics(&findings.environment),
            placement_note: run.placement.note.clone(),
            configurations: findings.configurations.iter().map(configuration).collect(),
            command: run.command.clone(),
        }
    }
}

fn trial_view(trial: &TrialFindings, palette: &Palette) -> TrialView {
    TrialView {
        number: trial.number,
        block: trial.block,
        scenario: trial.scenario.clone(),
        variant: trial.variant.clone(),
        class: palette.class(&trial.variant),
        outcome: trial.outcome.clone(),
        completed: trial.outcome == "completed",
        validity: word(trial.validity),
        took: number::duration(trial.duration_ns),
        reasons: trial
            .reasons
            .iter()
            .map(|reason| ReasonView {
                phase: reason.phase.clone(),
                message: reason.message.clone(),
                remedy: reason.remedy.clone(),
            })
            .collect(),
        warnings: trial.warnings.clone(),
    }
}

fn missing(trial: &MissingTrial) -> String {
    format!(
        "{}: {} in {}, block {}",
        trial.number, trial.variant, trial.scenario, trial.block
    )
}

fn parity(findings: &Findings, palette: &Palette) -> Vec<ParityTable> {
    let table = |scenario: &ScenarioFindings| {
        let of: Vec<&ParityFindings> = findings
            .parity
            .iter()
            .filter(|parity| parity.scenario == scenario.name)
            .collect();
        (!of.is_empty()).then(|| parity_table(scenario, &of, palette))
    };
    findings.scenarios.iter().filter_map(table).collect()
}

fn parity_table(
    scenario: &ScenarioFindings,
    of: &[&ParityFindings],
    palette: &Palette,
) -> ParityTable {
    let mut names: Vec<&str> = Vec::new();
    for case in of.iter().flat_map(|parity| &parity.cases) {
        if !names.contains(&case.name.as_str()) {
            names.push(&case.name);
        }
    }
    ParityTable {
        scenario: scenario.name.clone(),
        wire: wire::rows(
            &scenario.wire,
            of.iter().map(|parity| parity.variant.as_str()),
        ),
        cores: cores::rows(scenario, of.iter().map(|parity| parity.variant.as_str())),
        variants: of
            .iter()
            .map(|parity| pair(parity.variant.as_str(), palette.class(&parity.variant)))
            .collect(),
        cases: names
            .iter()
            .map(|name| ParityRow {
                name: (*name).into(),
                cells: of.iter().map(|parity| parity_cell(parity, name)).collect(),
            })
            .collect(),
        routes: of.iter().map(|parity| routes(parity)).collect(),
        failures: of.iter().flat_map(|parity| mismatches(parity)).collect(),
    }
}

fn parity_cell(parity: &ParityFindings, name: &str) -> ParityCell {
    let found = parity.cases.iter().find(|case| case.name == name);
    match found.filter(|case| case.tried > 0) {
        None => ParityCell {
            class: "",
            text: "not tried".into(),
        },
        Some(case) => ParityCell {
            class: if case.passed == case.tried {
                "passed"
            } else {
                "failed"
            },
            text: format!("{} of {}", case.passed, case.tried),
        },
    }
}

fn routes(parity: &ParityFindings) -> String {
    match parity.holds {
        Some(_) => format!("{} of {}", parity.routes_answering, parity.routes_expected),
        None => "–".into(),
    }
}

fn mismatches(parity: &ParityFindings) -> Vec<MismatchView> {
    let view = |case: &gatebench_analysis::findings::ParityCaseFindings| {
        let failure = case.failure.as_ref()?;
        let when = if failure.after_load {
            "after"
        } else {
            "before"
        };
        Some(MismatchView {
            title: format!(
                "{}: {}, trial {}, {when} the load",
                parity.variant, case.name, failure.trial
            ),
            sent: failure.sent.clone(),
            received: failure.received.clone(),
            expected: failure.expected.clone(),
        })
    };
    parity.cases.iter().filter_map(view).collect()
}

fn gateway_view(line: &GatewayLine, palette: &Palette) -> GatewayView {
    GatewayView {
        variant: line.variant.clone(),
        class: palette.class(&line.variant),
        title: line.title.clone(),
        version: line.version.clone(),
        binary: line.binary.clone(),
        sha256: line.sha256.clone(),
        notes: line.notes.clone(),
    }
}

fn topics(facts: &[Fact]) -> Vec<Topic> {
    let mut topics: Vec<Topic> = Vec::new();
    for fact in facts {
        let (topic, name) = fact.name.split_once('.').unwrap_or(("", &fact.name));
        let fact = pair(name.replace('_', " "), fact.value.as_str());
        match topics.iter_mut().find(|known| known.name == topic) {
            Some(known) => known.facts.push(fact),
            None => topics.push(Topic {
                name: topic.into(),
                facts: vec![fact],
            }),
        }
    }
    topics
}

fn configuration_view(found: &Configuration, palette: &Palette) -> ConfigurationView {
    let noun = if found.workers == 1 {
        "worker"
    } else {
        "workers"
    };
    ConfigurationView {
        variant: found.variant.clone(),
        class: palette.class(&found.variant),
        scenario: found.scenario.clone(),
        version: found.version.clone(),
        workers: format!("{} {noun}", found.workers),
        trial: found.trial,
        commands: found.commands.clone(),
        files: found
            .files
            .iter()
            .map(|(path, file)| FileView {
                path: path.clone(),
                sha256: file.sha256.clone(),
                text: file.text.clone(),
            })
            .collect(),
    }
}
