//! From a run directory to findings: estimates, validity, sentences. A pure function of the run; it
//! has no clock and needs no network, so the same directory gives the same findings for ever.

mod across;
mod admin;
mod cautions;
mod changes;
mod collect;
mod combined;
mod comparisons;
mod configuration;
mod context;
mod costs;
mod cpu;
mod curves;
mod digest;
mod documents;
mod environment;
pub mod findings;
mod gates;
mod groups;
mod limits;
pub mod loads;
mod metrics;
mod notes;
mod own_metrics;
mod parity;
mod rows;
mod run_facts;
mod runs;
mod scale;
mod sentences;
mod shares;
mod spoiled;
pub mod study;
mod timeline;
mod told;
mod trials;
mod unranked;
mod verdicts;
mod weights;
mod wire;
pub mod words;

use gatebench_store::{Run, StoreError};

pub use across::{
    HISTORY_RUNS_MIN, RunSummary, compare, compare_with_baseline, entry, history, summarise,
};
pub use context::throughput_per_second;
pub use documents::in_columns_of;
pub use findings::Findings;
pub use gates::{judge_load, thresholds};

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
    let mut scenarios = rows::of_run(&context, &collected);
    let costs = verdicts::add(&context, &mut scenarios);
    for scenario in &mut scenarios {
        scenario.sentences = study::ab::differences_from_itself(&context, scenario);
        let others = sentences::of_scenario(scenario);
        scenario.sentences.extend(others);
    }
    let scale = scale::of_run(&context, &scenarios);
    let study = study::findings(&context, &collected, &scenarios)?;
    let mut headlines = study.headlines;
    headlines.extend(admin::headlines(&context));
    let of_all = sentences::headlines(&context, &scenarios, (costs.as_ref(), &scale), &parity);
    headlines.extend(of_all);
    let mut findings = Findings {
        run: run_facts::of(&context),
        headlines,
        notes: notes::of(&context, &missing, &scenarios, costs.as_ref()),
        duel: study.duel,
        capacity: study.capacity,
        soak: study.soak,
        isolation: study.isolation,
        combined: study.combined,
        costs,
        scale,
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
            .extend(documents::network(run, &findings)?);
    }
    findings.sections.extend(study.sections);
    findings.sections.extend(admin::sections(&context));
    Ok(findings)
}
