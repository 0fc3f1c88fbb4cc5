//! The configuration of each gateway.

use std::collections::BTreeMap;

use gatebench_store::{GatewayFacts, Outcome, StoreError, StoredTrial};

use super::proof::{Configuration, ConfigurationFile};
use super::run_facts::shell_line;
use crate::common::context::Context;

/// One entry for each scenario and variant that was started, in the plan's order.
pub(crate) fn of_run(context: &Context) -> Result<Vec<Configuration>, StoreError> {
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
            found.push(of_trial(trial, gateway)?);
        }
    }
    Ok(found)
}

fn of_trial(trial: &StoredTrial, gateway: &GatewayFacts) -> Result<Configuration, StoreError> {
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
