//! From a run directory to findings: estimates, validity, sentences. A pure function of the run; it
//! has no clock and needs no network, so the same directory gives the same findings for ever.

mod admin;
mod changes;
mod collect;
mod combined;
mod comparisons;
mod configuration;
mod context;
mod costs;
mod cpu;
mod cross_run;
mod curves;
mod digest;
mod environment;
mod external_results;
pub mod findings;
pub mod format;
mod gates;
mod groups;
mod limitations;
mod limits;
pub mod loads;
mod marginal_cost;
mod metrics;
mod parity;
mod published;
mod run_facts;
mod runs;
mod scenario_limitations;
mod self_reported_metrics;
mod sentences;
mod shares;
mod spoiled;
pub mod study;
mod summary_table;
mod timeline;
mod trials;
mod unranked;
mod verdicts;
mod weights;
mod wire;

use gatebench_store::{Run, StoreError};

pub use context::throughput_per_second;
pub use cross_run::{
    HISTORY_RUNS_MIN, RunSummary, compare, compare_with_baseline, entry, history, summarise,
};
pub use findings::Findings;
pub use gates::{judge_load, thresholds};
pub use published::in_columns_of;

use crate::collect::Collected;
use crate::context::Context;

/// Works out what a run says. The run may be unfinished: what is missing is listed.
///
/// # Errors
/// [`StoreError`] naming the file, where histograms, series or rendered files cannot be read.
pub fn analyse(run: &Run) -> Result<Findings, StoreError> {
    let context = Context::of(run);
    let collected = Collected::from_trials(&context)?;
    let missing = trials::missing(&context);
    let failures = trials::failures(&context);
    let parity = parity::of_run(&context);
    let mut scenarios = summary_table::of_run(&context, &collected);
    let costs = verdicts::add(&context, &mut scenarios);
    for scenario in &mut scenarios {
        scenario.sentences = study::ab::differences_from_itself(&context, scenario);
        let others = sentences::of_scenario(scenario);
        scenario.sentences.extend(others);
    }
    let marginal_costs = marginal_cost::of_run(&context, &scenarios);
    let study = study::findings(&context, &collected, &scenarios)?;
    let mut headlines = study.headlines;
    headlines.extend(admin::headlines(&context));
    let of_all = sentences::headlines(
        &context,
        &scenarios,
        (costs.as_ref(), &marginal_costs),
        &parity,
    );
    headlines.extend(of_all);
    let mut findings = Findings {
        run: run_facts::of(&context),
        headlines,
        notes: limitations::of(&context, &missing, &scenarios, costs.as_ref()),
        ab_test: study.ab_test,
        capacity: study.capacity,
        soak: study.soak,
        isolation: study.isolation,
        combined: study.combined,
        costs,
        marginal_costs,
        sections: Vec::new(),
        scenarios,
        trials: collected.trials,
        missing,
        failures,
        parity,
        configurations: configuration::of_run(&context)?,
        environment: environment::facts(&run.manifest().environment),
    };
    if context.plan.network_ceiling {
        findings
            .sections
            .extend(published::network(run, &findings)?);
    }
    findings.sections.extend(study.sections);
    findings.sections.extend(admin::sections(&context));
    Ok(findings)
}
