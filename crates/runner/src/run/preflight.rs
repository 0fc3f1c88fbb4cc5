//! Checks, before the first trial, that the machine meets the plan's requirements.

use std::thread;
use std::time::Duration;

use gatebench_model::{Blame, Plan, Scenario, Stacks};
use gatebench_testbed::probe::{MachineSample, Profiler, allowed_cores};

use crate::context::local_cores;
use crate::error::RunnerError;
use crate::plan::{Prepared, fd_limit};
use crate::warning::Warning;
use crate::workload::connections;

/// The time over which the cores are observed. The kernel counts in ticks, usually of 10 ms.
const LOOK: Duration = Duration::from_millis(250);
/// The busy share of a core above which a warning is issued.
const BUSY_MAX: f64 = 0.25;

/// Checks the plan's cores, perf if it is needed, and the file descriptor limit, which is raised if
/// necessary.
pub(crate) fn check(prepared: &Prepared) -> Result<(), RunnerError> {
    let plan = &prepared.plan;
    let allowed = allowed_cores();
    let missing: Vec<String> = planned_cores(plan)
        .iter()
        .filter(|core| !allowed.contains(core))
        .map(ToString::to_string)
        .collect();
    if !missing.is_empty() && !allowed.is_empty() {
        return Err(RunnerError::environment(
            format!(
                "the plan needs cores that this process may not use: {}",
                missing.join(", ")
            ),
            "resume the run where gatebench may use these cores, or start a new run here",
        ));
    }
    if needs_perf(prepared) {
        Profiler::find()
            .map_err(|error| RunnerError::environment(error.to_string(), error.remedy()))?;
    }
    let of_scenario =
        |scenario: &Scenario| connections(scenario, &plan.load_of(&scenario.scenario).phases);
    let most = plan.scenarios.iter().map(of_scenario).max().unwrap_or(0);
    fd_limit::raise_for(u64::from(most))
}

fn needs_perf(prepared: &Prepared) -> bool {
    let Some(flame) = prepared.plan.study.profile() else {
        return false;
    };
    let has_own = |label: &str| {
        let gateway = prepared.gateways.get(label);
        gateway.is_some_and(|it| it.folder.spec.profile.is_some())
    };
    let mut variants = prepared.plan.variants.iter();
    flame.stacks != Stacks::Own || variants.any(|variant| !has_own(variant.label()))
}

pub(crate) fn busy_cores(plan: &Plan) -> Vec<Warning> {
    let before = MachineSample::read();
    thread::sleep(LOOK);
    let after = MachineSample::read();
    let window_ns = after.at_ns.saturating_sub(before.at_ns).max(1);
    let warning = |core: usize| {
        let busy_ns = |at: &MachineSample| at.busy_ns(&[core]);
        let busy_ns = busy_ns(&after).saturating_sub(busy_ns(&before));
        let busy = (busy_ns as f64 / window_ns as f64).min(1.0);
        (busy > BUSY_MAX).then_some(Warning::CoreBusy { core, busy })
    };
    planned_cores(plan)
        .into_iter()
        .filter_map(warning)
        .collect()
}

fn planned_cores(plan: &Plan) -> Vec<usize> {
    local_cores(&plan.placement, &plan.placement.gateway)
}
