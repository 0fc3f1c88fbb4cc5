//! Translates jobs for k6, which runs closed and open loads from a script in JavaScript.

mod check;
mod data;
mod execution;
mod executor;
mod output;
mod request;
mod script;

use std::path::Path;

use gatebench_model::{Phase, Scenario, Shape};

use crate::job::{Job, Limits, ONLY_OURS, Order, OrderFile, Part, Refusal};

pub use execution::{Execution, ScriptError, has_own_load, read_execution};
pub(crate) use output::parse;
use script::{Purpose, Script};

const SCRIPT_FILE: &str = "scenario.js";
pub(crate) const SUMMARY_FILE: &str = "summary.json";

/// The statistics in the summary. By default, k6 prints no percentile above the 95th.
const TREND_STATS: &str = "avg,min,med,p(90),p(95),p(99),p(99.9),max,count";

/// Returns the arguments and files for k6: a generated script, or the options that run the user's
/// script.
pub(crate) fn translate(job: &Job<'_>) -> Result<Order, Refusal> {
    let mut limits = Limits::default();
    let mut files = Vec::new();
    let options = "run --quiet --no-color --no-usage-report --address=127.0.0.1:0";
    let summary = [
        "--summary-export",
        SUMMARY_FILE,
        "--summary-trend-stats",
        TREND_STATS,
    ];
    let mut arguments: Vec<String> = options
        .split(' ')
        .chain(summary)
        .map(String::from)
        .collect();
    match job.script {
        Some(own) => arguments.extend(own_script(job, own, &mut limits)?),
        None => {
            let mut script = Script::new(job.scenario, job.url);
            script.add(job.phase, job.part, &mut limits)?;
            files.push(OrderFile {
                name: SCRIPT_FILE,
                bytes: script.write(Purpose::Measure).into_bytes(),
            });
            arguments.push(SCRIPT_FILE.into());
        }
    }
    limits.measure(
        "response times from the intended send time: k6 measures from the actual send time, so a stall affects only a few of them",
    );
    limits.measure(ONLY_OURS);
    Ok(Order {
        arguments,
        files,
        environment: job.environment(),
        takes: executor::length(job.phase, job.part),
        limits,
    })
}

/// Returns the arguments for a user's script. A script that defines a load runs with it. For any
/// other script, the phase must be a plain closed load, which the arguments then contain.
fn own_script(job: &Job<'_>, own: &Path, limits: &mut Limits) -> Result<Vec<String>, Refusal> {
    limits.express("the scenario's requests and checks: the script has its own");
    limits.measure("status classes, and requests without a response, which k6 counts together with unexpected responses");
    let own = own.display().to_string();
    if job.own_load {
        limits.express("the load: the script has its own, without a warm-up");
        return Ok(vec![own]);
    }
    if let Shape::Open(open) = &job.phase.shape {
        return Err(Refusal::new(
            format!(
                "the script defines no load, but phase '{}' requires {} requests/s, which k6 accepts only in a script",
                job.phase.name, open.rate_per_second
            ),
            "define the load in options.scenarios of the script, or choose a load that has only closed phases (--load)",
        ));
    }
    let remedy =
        "define the load in options.scenarios of the script, or use the built-in load generator";
    let closed = job
        .plain_closed("k6 with a user's script")
        .map_err(|refusal| Refusal::new(refusal.message, remedy))?;
    executor::note_length(job.phase, job.part, limits);
    let length = executor::length(job.phase, job.part);
    Ok(vec![
        format!("--vus={}", closed.connections),
        format!("--duration={}ms", length.as_millis()),
        own,
    ])
}

/// Exports a scenario and the phases of a load profile, one after another, as a script for users.
/// Also returns the differences from a gatebench run.
///
/// # Errors
/// Fails if k6 cannot do what a phase requires, or if the scenario does not fit a phase.
pub fn export(
    scenario: &Scenario,
    phases: &[Phase],
    url: &str,
) -> Result<(String, Limits), Refusal> {
    let mut limits = Limits::default();
    let mut script = Script::new(scenario, url);
    for phase in phases {
        for part in [Part::WarmUp, Part::Measure] {
            script.add(phase, part, &mut limits)?;
        }
    }
    Ok((script.write(Purpose::Keep), limits))
}
