//! Expands the scenarios and loads of a selection into a plan.

use std::path::PathBuf;

use gatebench_model::{
    GatewayFolder, Isolation, Length, Placement, Plan, Scenario, Suite, SuiteStudy, Variant,
};
use gatebench_studies::choice::Given;

use super::duration_mode::{Asked, Loads, adapt, of_length};
use super::library::{Library, Listed};
use super::selection::Selection;
use super::suite::suite_of;
use crate::error::RunnerError;

/// The default seed is fixed, so that the same arguments, files and gateways result in the same
/// plan, and `--dry-run` shows the plan of the run.
const DEFAULT_SEED: u64 = 1;

/// The scenarios and loads of a run, with the changes that its length and its study require.
pub(super) struct Expansion {
    pub(super) scenarios: Vec<Listed<Scenario>>,
    pub(super) loads: Loads,
    tests: Vec<Isolation>,
}

impl Expansion {
    /// # Errors
    /// A load is unknown, there are zero blocks, a published load is missing or ambiguous, or a
    /// scenario cannot be tested for isolation.
    pub(super) fn of(
        asked: &Asked<'_>,
        scenarios: Vec<Listed<Scenario>>,
    ) -> Result<Self, RunnerError> {
        let selection = asked.selection;
        let mut loads = asked.loads(&scenarios)?;
        let scenarios = of_length(scenarios, &loads, selection.length);
        let (scenarios, tests) = isolated(selection, scenarios)?;
        loads.extend_to_twins(&tests);
        loads.all().for_each(|load| adapt(load, selection));
        Ok(Self {
            scenarios,
            loads,
            tests,
        })
    }

    /// Returns the plan for these variants. `gateways` are the folders of the gateways that
    /// gatebench starts.
    pub(super) fn plan(
        self,
        asked: &Asked<'_>,
        variants: Vec<Variant>,
        gateways: Vec<&GatewayFolder>,
        placement: Placement,
    ) -> Plan {
        let Self {
            scenarios,
            loads,
            tests,
        } = self;
        let (selection, suite) = (asked.selection, asked.suite);
        let scenarios = scenarios.into_iter().map(|it| it.document).collect();
        let seed = selection.seed.unwrap_or(DEFAULT_SEED);
        let all = std::iter::once(&loads.common).chain(loads.of_scenarios.values());
        let others = selection.study().other_blocks(&Vec::from_iter(all));
        let (load, blocks) = (loads.common, loads.blocks + others.unwrap_or(0));
        let mut plan = Plan::expand(suite, scenarios, load, variants, seed, blocks, placement);
        let own = loads.of_scenarios.into_iter();
        plan.scenario_loads = own.map(|(name, load)| (name, load.expanded())).collect();
        plan.length = loads.length;
        plan.places = selection.places.clone();
        let given = Given {
            suite: suite.study.as_ref(),
            tests,
            others,
            gateways,
        };
        selection.study().plan(&mut plan, given);
        plan
    }
}

/// Returns the suite of a selection, with the changes that the selection's arguments require, and
/// the base folder of the suite's relative paths.
///
/// # Errors
/// The suite is unknown or has mistakes, or its study needs the built-in load generator.
pub(super) fn adapted_suite(
    selection: &Selection,
    library: &Library,
) -> Result<(Suite, PathBuf), RunnerError> {
    let (mut suite, base) = suite_of(selection, library)?;
    suite.direct &= !selection.no_direct;
    suite.study = suite_study(selection, &suite)?;
    suite.settle = suite.settle.filter(|_| selection.length != Length::Smoke);
    Ok((suite, base))
}

/// Returns the scenarios of the run and the isolation tests. Each scenario that is tested for
/// isolation is replaced by the scenarios of its test.
fn isolated(
    selection: &Selection,
    scenarios: Vec<Listed<Scenario>>,
) -> Result<(Vec<Listed<Scenario>>, Vec<Isolation>), RunnerError> {
    let (mut all, mut tests) = (Vec::new(), Vec::new());
    for listed in scenarios {
        let Some((test, scenarios)) = selection.study().isolated(&listed.document)? else {
            all.push(listed);
            continue;
        };
        tests.push(test);
        all.extend(scenarios.map(|document| Listed {
            document,
            ..listed.clone()
        }));
    }
    Ok((all, tests))
}

/// Returns the study that the suite requests, unless the command is for another study.
///
/// # Errors
/// The suite requests a study, but the load generator is external.
fn suite_study(selection: &Selection, suite: &Suite) -> Result<Option<SuiteStudy>, RunnerError> {
    let study = suite.study.clone();
    let study = study.filter(|_| selection.study().only_measures());
    if study.is_none() || selection.engine.is_none() {
        return Ok(study);
    }
    let message = format!(
        "the study of the suite '{}' needs the built-in load generator",
        suite.suite
    );
    let remedy = "omit --engine, or choose another suite";
    Err(RunnerError::words(message, remedy))
}
