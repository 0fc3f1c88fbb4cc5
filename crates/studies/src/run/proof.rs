//! The facts that let a reader check and repeat the run: parity, configurations and the machine.

use std::collections::{BTreeMap, BTreeSet};

use gatebench_report::format::distinct;
use gatebench_store::{
    GatewayFacts, Outcome, ParityCaseRecord, ParityRecord, StoreError, StoredTrial, TrialRecord,
};
use serde::Serialize;
use serde_json::Value;

use super::run_facts::shell_line;
use crate::common::context::Context;
use crate::common::joined;

/// The results of the parity tests of a variant in a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct ParityFindings {
    pub scenario: String,
    pub variant: String,
    /// True if every case passed and every route responded in all parity tests. Never `None`,
    /// because only scenarios and variants with parity tests have an entry.
    pub holds: Option<bool>,
    /// The number of trials in which parity was tested.
    pub trials: u32,
    pub cases: Vec<ParityCaseFindings>,
    pub routes_expected: u32,
    /// The smallest number of routes that responded in any trial.
    pub routes_answering: u32,
}

/// A parity case over all trials of a variant.
#[derive(Clone, Debug, Serialize)]
pub struct ParityCaseFindings {
    /// The property that the case proves, as text.
    pub name: String,
    pub passed: u32,
    pub tried: u32,
    /// The request and responses of the first failure; `None` if all passed.
    pub failure: Option<ParityMismatch>,
}

/// A failed parity case: the request, its response, and the expected response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParityMismatch {
    pub trial: u32,
    pub after_load: bool,
    pub sent: String,
    pub received: String,
    pub expected: String,
}

/// The configuration of a gateway as rendered, with the commands that started it.
#[derive(Clone, Debug, Serialize)]
pub struct Configuration {
    pub scenario: String,
    pub variant: String,
    /// The trial whose files are shown. Other trials have different ports and folders.
    pub trial: u32,
    pub version: String,
    pub workers: u32,
    /// The commands that were run, in order, each quoted for a shell.
    pub commands: Vec<String>,
    pub files: BTreeMap<String, ConfigurationFile>,
}

/// A rendered file.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigurationFile {
    /// SHA-256 in lowercase hex.
    pub sha256: String,
    /// The file's contents; `None` if the file is no longer in the run directory.
    pub text: Option<String>,
}

/// A fact about the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The name as a path: `cpu.model`.
    pub name: String,
    pub value: String,
}

pub(crate) fn parity(context: &Context) -> Vec<ParityFindings> {
    let mut found = Vec::new();
    for (scenario, variant) in context.cells() {
        let trials = context.trials_of(&scenario.scenario, variant.label());
        let records: Vec<_> = trials.map(|trial| &trial.record).collect();
        found.extend(of_cell(&scenario.scenario, variant.label(), &records));
    }
    found
}

/// A pass over the cases, before or after the load of a trial.
struct Pass<'a> {
    trial: u32,
    after_load: bool,
    record: &'a ParityRecord,
}

fn of_cell(scenario: &str, variant: &str, records: &[&TrialRecord]) -> Option<ParityFindings> {
    let passes: Vec<_> = records.iter().flat_map(|record| passes(record)).collect();
    let first = passes.first()?;
    let trials: BTreeSet<u32> = passes.iter().map(|pass| pass.trial).collect();
    // Without a gateway, requests on different routes may become the same request and share a name.
    let names = distinct(first.record.cases.iter().map(|case| &*case.name)).into_iter();
    let routes = passes.iter().map(|pass| pass.record.routes_answering);
    Some(ParityFindings {
        scenario: scenario.to_owned(),
        variant: variant.to_owned(),
        holds: Some(passes.iter().all(|pass| pass.record.holds())),
        trials: trials.len() as u32,
        cases: names.map(|name| case_findings(name, &passes)).collect(),
        routes_expected: first.record.routes_expected,
        routes_answering: routes.min().unwrap_or(0),
    })
}

fn passes(record: &TrialRecord) -> impl Iterator<Item = Pass<'_>> {
    let all = [(false, &record.parity_before), (true, &record.parity_after)];
    all.into_iter().filter_map(|(after_load, pass)| {
        Some(Pass {
            trial: record.trial.number,
            after_load,
            record: pass.as_ref()?,
        })
    })
}

fn case_findings(name: &str, passes: &[Pass]) -> ParityCaseFindings {
    let tries: Vec<(&Pass, &ParityCaseRecord)> = passes
        .iter()
        .flat_map(|pass| pass.record.cases.iter().map(move |case| (pass, case)))
        .filter(|(_, case)| case.name == name)
        .collect();
    let mut failed = tries.iter().filter(|(_, case)| !case.passed);
    let failure = failed.next().map(|(pass, case)| ParityMismatch {
        trial: pass.trial,
        after_load: pass.after_load,
        sent: case.sent.clone(),
        received: case.received.clone(),
        expected: case.expected.clone(),
    });
    ParityCaseFindings {
        name: name.to_owned(),
        passed: tries.iter().filter(|(_, case)| case.passed).count() as u32,
        tried: tries.len() as u32,
        failure,
    }
}

/// One entry for each scenario and variant that was started, in the plan's order.
pub(crate) fn configurations(context: &Context) -> Result<Vec<Configuration>, StoreError> {
    let mut found = Vec::new();
    for (scenario, variant) in context.cells() {
        let trials = context.trials_of(&scenario.scenario, variant.label());
        let started = trials.filter_map(|it| Some((it, it.record.gateway.as_ref()?)));
        // A completed trial is the better example, but a failed one is better than none.
        let example = started.min_by_key(|(it, _)| {
            let record = &it.record;
            (record.outcome != Outcome::Completed, record.trial.number)
        });
        if let Some((trial, gateway)) = example {
            found.push(configuration(trial, gateway)?);
        }
    }
    Ok(found)
}

fn configuration(trial: &StoredTrial, gateway: &GatewayFacts) -> Result<Configuration, StoreError> {
    let mut files = BTreeMap::new();
    for file in &gateway.rendered {
        let text = trial.gateway_file(&file.path)?;
        let sha256 = file.sha256.clone();
        files.insert(file.path.clone(), ConfigurationFile { sha256, text });
    }
    let of = &trial.record.trial;
    let commands = gateway.commands.iter();
    Ok(Configuration {
        scenario: of.scenario.clone(),
        variant: of.variant.clone(),
        trial: of.number,
        version: gateway.version.clone(),
        workers: gateway.workers,
        commands: commands.map(|words| shell_line(words)).collect(),
        files,
    })
}

/// Flattens the manifest's environment to lines named by their path, in the manifest's order.
pub(crate) fn environment(environment: &Value) -> Vec<Fact> {
    let mut found = Vec::new();
    flatten("", environment, &mut found);
    found
}

fn flatten(name: &str, value: &Value, found: &mut Vec<Fact>) {
    let below = |key: &str| match name.is_empty() {
        true => key.to_owned(),
        false => format!("{name}.{key}"),
    };
    let value = match value {
        Value::Null => return,
        Value::Object(entries) => {
            let entries = entries.iter();
            return entries.for_each(|(key, value)| flatten(&below(key), value, found));
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            let items = items.iter().enumerate();
            return items.for_each(|(index, it)| flatten(&below(&index.to_string()), it, found));
        }
        Value::Array(items) => joined(items.iter().map(scalar), ", "),
        _ => scalar(value),
    };
    let name = name.to_owned();
    found.push(Fact { name, value });
}

/// A string without its quotes; any other value as JSON.
fn scalar(value: &Value) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}
