//! What each gateway was given.

use std::collections::BTreeMap;

use gatebench_store::{GatewayFacts, Outcome, StoreError, StoredTrial};

use crate::context::Context;
use crate::findings::{Configuration, ConfigurationFile};
use crate::format::shell_line;

/// One entry per scenario and variant that was started, in the plan's order.
pub(crate) fn of_run(context: &Context) -> Result<Vec<Configuration>, StoreError> {
    let mut found = Vec::new();
    for scenario in &context.plan.scenarios {
        for variant in &context.plan.variants {
            let started = context.trials().iter().filter(|trial| {
                let of = &trial.record.trial;
                of.scenario == scenario.scenario
                    && of.variant == variant.label()
                    && trial.record.gateway.is_some()
            });
            // A completed trial is the better example; a failed one is shown rather than none.
            let example = started.min_by_key(|trial| {
                (
                    trial.record.outcome != Outcome::Completed,
                    trial.record.trial.number,
                )
            });
            if let Some((trial, gateway)) =
                example.and_then(|trial| Some((trial, trial.record.gateway.as_ref()?)))
            {
                found.push(of_trial(trial, gateway)?);
            }
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
    Ok(Configuration {
        scenario: trial.record.trial.scenario.clone(),
        variant: trial.record.trial.variant.clone(),
        trial: trial.record.trial.number,
        version: gateway.version.clone(),
        workers: gateway.workers,
        commands: gateway
            .commands
            .iter()
            .map(|words| shell_line(words))
            .collect(),
        files,
    })
}
