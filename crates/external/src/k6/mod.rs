//! k6: closed and open loads in JavaScript.

mod check;
mod data;
mod execution;
mod executor;
mod output;
mod request;
mod script;

use std::path::Path;

use gatebench_model::{Phase, Scenario, Shape};

use crate::job::{Job, Limits, Order, OrderFile, Part, Refusal};

pub use execution::{Execution, ScriptError, has_own_load, read_execution};
pub(crate) use output::parse;
use script::{Purpose, Script};

/// The script that is written for k6.
const SCRIPT_FILE: &str = "scenario.js";
/// Where k6 writes its summary.
pub(crate) const SUMMARY_FILE: &str = "summary.json";

/// The percentiles of the summary; by itself k6 tells nothing beyond the 95th.
const TREND_STATS: &str = "avg,min,med,p(90),p(95),p(99),p(99.9),max,count";

/// What k6 is told: a script, or how to run the user's own.
pub(crate) fn translate(job: &Job<'_>) -> Result<Order, Refusal> {
    let mut limits = Limits::default();
    let mut files = Vec::new();
    let mut arguments: Vec<String> = [
        "run",
        "--quiet",
        "--no-color",
        "--no-usage-report",
        "--address=127.0.0.1:0",
        "--summary-export",
        SUMMARY_FILE,
        "--summary-trend-stats",
        TREND_STATS,
    ]
    .map(String::from)
    .to_vec();
    match job.script {
        Some(own) => arguments.extend(own_script(job, own, &mut limits)?),
        None => {
            let script = Script::of_part(job, &mut limits)?;
            files.push(OrderFile {
                name: SCRIPT_FILE,
                bytes: script.write(Purpose::Measure).into_bytes(),
            });
            arguments.push(SCRIPT_FILE.into());
        }
    }
    limits.measure(
        "response times from the intended send time: k6 counts from the actual one, so a stall affects only few of them",
    );
    limits
        .measure("response times by status class, lateness, added latency, and results per second");
    Ok(Order {
        arguments,
        files,
        environment: job.environment(),
        takes: executor::length(job.phase, job.part),
        limits,
    })
}

/// How a user's own script is run: with its own load where it says one, else with that of a plain
/// closed phase.
fn own_script(job: &Job<'_>, own: &Path, limits: &mut Limits) -> Result<Vec<String>, Refusal> {
    limits.express("the scenario's requests and checks: the script has its own");
    limits.measure("status classes, and requests without a response: k6 counts them with responses that the script does not expect");
    let own = own.display().to_string();
    if job.own_load {
        limits.express("the load: the script has its own, without warm-up");
        return Ok(vec![own]);
    }
    if let Shape::Open(open) = &job.phase.shape {
        return Err(Refusal::new(
            format!(
                "the script says nothing of its load, and phase '{}' asks for {} requests/s, which k6 takes from a script alone",
                job.phase.name, open.rate_per_second
            ),
            "write the load in options.scenarios of the script, or choose a load with closed phases only (--load)",
        ));
    }
    let closed = job.plain_closed("k6 with a script of its own")?;
    executor::say_length(job.phase, job.part, limits);
    let length = executor::length(job.phase, job.part);
    Ok(vec![
        format!("--vus={}", closed.connections),
        format!("--duration={}ms", length.as_millis()),
        own,
    ])
}

/// A scenario under a whole load profile as a script for people to keep, and what it says otherwise
/// than gatebench would do. Its phases follow each other.
///
/// # Errors
/// k6 cannot do what a phase asks for.
pub fn export(
    scenario: &Scenario,
    phases: &[Phase],
    url: &str,
) -> Result<(String, Limits), Refusal> {
    let mut limits = Limits::default();
    let mut script = Script::new(scenario, url)?;
    for phase in phases {
        for part in [Part::WarmUp, Part::Measure] {
            script.add(scenario, phase, part, &mut limits)?;
        }
    }
    Ok((script.write(Purpose::Keep), limits))
}
