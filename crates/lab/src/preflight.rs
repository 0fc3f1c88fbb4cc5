//! What the machine must be able to do, asked before anything starts.

use std::thread;
use std::time::Duration;

use gatebench_model::{Plan, Scenario};
use gatebench_probe::MachineSample;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::cores;
use crate::demand::connections;
use crate::error::LabError;
use crate::warning::Warning;

/// Descriptors of a process besides its load's connections.
const DESCRIPTORS_BESIDES: u64 = 256;
/// Descriptors that a proxy needs for each connection of the load.
const DESCRIPTORS_PER_PROXIED: u64 = 2;
/// How long cores are looked at. The kernel counts in ticks of 10 ms.
const LOOK: Duration = Duration::from_millis(250);
/// A core busier than this before the run is used by something else.
const BUSY_MAX: f64 = 0.25;

/// Sees that the plan's cores are there and that descriptors suffice, and raises this process's limit.
pub(crate) fn check(plan: &Plan) -> Result<(), LabError> {
    let allowed = cores::allowed();
    let missing: Vec<String> = planned_cores(plan)
        .iter()
        .filter(|core| !allowed.contains(core))
        .map(ToString::to_string)
        .collect();
    if !missing.is_empty() && !allowed.is_empty() {
        return Err(LabError::environment(
            format!(
                "the plan needs core {}, which this process may not use",
                missing.join(", ")
            ),
            "run it where the plan was made, or begin a new run here",
        ));
    }
    let of_scenario =
        |scenario: &Scenario| connections(scenario, &plan.load_of(&scenario.scenario).phases);
    let most = plan.scenarios.iter().map(of_scenario).max().unwrap_or(0);
    raise_descriptor_limit(u64::from(most))
}

/// The plan's cores that something else uses now.
pub(crate) fn busy_cores(plan: &Plan) -> Vec<Warning> {
    let before = MachineSample::read();
    thread::sleep(LOOK);
    let after = MachineSample::read();
    let window_ns = after.at_ns.saturating_sub(before.at_ns).max(1);
    let busy = |core: usize| {
        after
            .busy_ns(&[core])
            .saturating_sub(before.busy_ns(&[core])) as f64
            / window_ns as f64
    };
    let cores = planned_cores(plan)
        .into_iter()
        .map(|core| (core, busy(core).min(1.0)));
    cores
        .filter(|(_, busy)| *busy > BUSY_MAX)
        .map(|(core, busy)| Warning::CoreBusy { core, busy })
        .collect()
}

fn planned_cores(plan: &Plan) -> Vec<usize> {
    let placement = &plan.placement;
    let mut cores = [
        &placement.gateway[..],
        &placement.engine,
        &placement.upstream,
    ]
    .concat();
    cores.sort_unstable();
    cores.dedup();
    cores
}

fn raise_descriptor_limit(connections: u64) -> Result<(), LabError> {
    // The gateway inherits the hard limit and needs more than the engine.
    let needed = connections * DESCRIPTORS_PER_PROXIED + DESCRIPTORS_BESIDES;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.maximum.is_some_and(|hard| hard < needed) {
        return Err(LabError::environment(
            format!(
                "{connections} connections need {needed} open descriptors, and the hard limit is {}",
                limit.maximum.unwrap_or_default()
            ),
            format!(
                "raise it (ulimit -Hn {needed}, or LimitNOFILE of the service), or use fewer connections"
            ),
        ));
    }
    if limit.current.is_some_and(|soft| soft < needed) {
        limit.current = Some(needed);
        setrlimit(Resource::Nofile, limit).map_err(|error| {
            LabError::environment(
                format!("the limit on open descriptors cannot be raised: {error}"),
                format!("ulimit -n {needed}"),
            )
        })?;
    }
    Ok(())
}
