//! Computes the findings of runs, and lays them out as the chapters of a report. Each study has one
//! folder with whichever of these parts it needs: changes to the plan, the next step during a run,
//! the decision rule, the facts and the chapter.
//!
//! The findings are a pure function of the run: the crate reads no clock and uses no network, so
//! the same directory always yields the same findings.

pub mod ab;
pub mod across_runs;
mod admin;
mod agents;
pub mod capacity;
pub mod choice;
mod cold_start;
pub mod common;
pub mod isolation;
mod kind;
pub mod marginal_cost;
pub mod measure;
mod own_metrics;
pub mod policy_cost;
pub mod profile;
pub mod published;
pub mod run;
pub mod soak;
pub mod versions;

use gatebench_store::{Run, StoreError};

use crate::common::collect::Collected;
use crate::common::context::Context;
use crate::common::{summary_table, trials};
use crate::kind::Analysed;
use crate::run::redact::Redaction;
use crate::run::{limitations, proof, run_facts, sentences, summary, verdicts};

pub use crate::choice::StudyChoice;
pub use crate::common::context::throughput_per_second;
pub use crate::common::gates::{judge_load, thresholds};
pub use crate::kind::{
    FurtherLoad, Next, StudyFacts, StudyResult, after_block, after_load, check, further_loads,
    resume,
};
pub use crate::run::Findings;

/// Like [`analyse`], but masks the secrets of the run's scenarios and withholds a user's own
/// gateway configurations, so that others may read the findings.
///
/// # Errors
/// See [`analyse`].
pub fn analyse_masked(run: &Run) -> Result<Findings, StoreError> {
    let mut findings = analyse(run)?;
    Redaction::of_plan(&run.manifest().plan).mask(&mut findings);
    Ok(findings)
}

/// Computes the findings of a run. The run may be unfinished; its missing parts are listed.
///
/// # Errors
/// Fails with a [`StoreError`] that names the file if histograms, series, profiles or rendered
/// files cannot be read.
pub fn analyse(run: &Run) -> Result<Findings, StoreError> {
    let context = Context::of(run);
    let collected = Collected::from_trials(&context)?;
    let missing = trials::missing(&context);
    let failures = trials::failures(&context);
    let parity = proof::parity(&context);
    let mut scenarios = summary_table::of_run(&context, &collected);
    let costs = verdicts::add(&context, &mut scenarios);
    for scenario in &mut scenarios {
        scenario.sentences = ab::differences_from_itself(&context, scenario);
        let others = sentences::of_scenario(scenario);
        scenario.sentences.extend(others);
        scenario.summary = summary::of_scenario(&context, scenario);
    }
    let marginal_costs = marginal_cost::of_run(&context, &scenarios);
    let found = kind::of(&context.plan.study).findings(&Analysed {
        context: &context,
        collected: &collected,
        scenarios: &scenarios,
    })?;
    let mut headlines = found.headlines;
    headlines.extend(admin::headlines(&context));
    headlines.extend(own_metrics::headlines(&context));
    let of_all = sentences::headlines(
        &context,
        &scenarios,
        costs.as_ref(),
        &marginal_costs,
        &parity,
    );
    headlines.extend(of_all);
    let mut findings = Findings {
        run: run_facts::of(&context),
        headlines,
        notes: limitations::of(&context, &missing, &scenarios, costs.as_ref()),
        study: found.result,
        costs,
        marginal_costs,
        sections: Vec::new(),
        scenarios,
        trials: collected.trials,
        missing,
        failures,
        parity,
        configurations: proof::configurations(&context)?,
        environment: proof::environment(&run.manifest().environment),
    };
    if context.plan.network_ceiling {
        findings
            .sections
            .extend(published::network(run, &findings)?);
    }
    findings.sections.extend(found.sections);
    findings.sections.extend(admin::sections(&context));
    findings.sections.extend(own_metrics::sections(&context));
    findings.sections.extend(agents::section(&context));
    Ok(findings)
}
