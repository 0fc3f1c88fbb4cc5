//! From a run directory to findings: estimates, validity, sentences. A pure function of the run; it
//! has no clock and needs no network, so the same directory gives the same findings for ever.

mod across;
mod admin;
pub mod capacity;
mod cautions;
mod changes;
mod collect;
mod combined;
mod comparisons;
mod configuration;
mod context;
mod costs;
mod curves;
mod digest;
mod documents;
mod duel;
mod environment;
pub mod findings;
mod flame;
mod gates;
mod groups;
mod isolation;
mod limits;
pub mod loads;
mod metrics;
mod notes;
mod own_metrics;
mod parity;
mod relation;
mod rows;
mod run_facts;
mod runs;
mod scale;
mod sentences;
mod shares;
mod soak;
mod spoiled;
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
pub use duel::is_settled;
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
        scenario.sentences = duel::differences_from_itself(&context, scenario);
        let others = sentences::of_scenario(scenario);
        scenario.sentences.extend(others);
    }
    let scale = scale::of_run(&context, &scenarios);
    let duel = duel::findings(&context, &scenarios);
    let mut headlines =
        sentences::headlines(&context, &scenarios, (costs.as_ref(), &scale), &parity);
    let soak = soak::findings(&context)?;
    let isolation = isolation::findings(&context, &collected);
    let answers = duel.iter().flat_map(duel::headlines);
    let answers = answers.chain(soak.iter().map(soak::headline));
    let answers = answers.chain(isolation.iter().map(isolation::headline));
    headlines.splice(0..0, answers.collect::<Vec<_>>());
    let combined = combined::findings(&context, &collected)?;
    headlines.splice(
        0..0,
        combined
            .iter()
            .flat_map(combined::headlines)
            .collect::<Vec<_>>(),
    );
    headlines.splice(0..0, admin::headlines(&context));
    let flames = flame::of_run(&context)?;
    headlines.splice(0..0, flames.headlines);
    let capacity = capacity::findings(&context)?;
    headlines.splice(0..0, capacity.iter().flat_map(capacity::headlines));
    let shares = shares::section(&context, &collected);
    let mut findings = Findings {
        run: run_facts::of(&context),
        headlines,
        notes: notes::of(&context, &missing, &scenarios, costs.as_ref()),
        duel,
        capacity,
        soak,
        isolation,
        combined,
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
    findings.sections.extend(shares);
    findings.sections.extend(admin::sections(&context));
    findings.sections.extend(flames.sections);
    Ok(findings)
}
