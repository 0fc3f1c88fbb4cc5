//! Applies a specification to a run: sets the requests of the scenarios, selects the load
//! generator, and warns about arguments that have no effect.

use gatebench_external::Generator;
use gatebench_model::specification::NoRoute;
use gatebench_model::{Plan, Scenario, Specification};

use super::library::{Listed, Source};
use super::selection::Selection;
use super::suite::file_next_to;
use crate::error::RunnerError;
use crate::external::{GeneratorChoice, PreparedGenerator};
use crate::warning::Warning;

/// Sets the requests of each scenario to those of the specification.
///
/// # Errors
/// Scenarios have no route for these requests; the error lists all of them, and names the
/// specification's file.
pub(crate) fn ask(
    specification: &Listed<Specification>,
    scenarios: &mut [Listed<Scenario>],
) -> Result<(), RunnerError> {
    let mut mistakes = Vec::new();
    for scenario in scenarios {
        if let Err(NoRoute { path }) = specification.document.ask(&mut scenario.document) {
            let scenario = &scenario.document;
            let prefixes: Vec<&str> = scenario.routes.iter().map(|it| it.path.as_str()).collect();
            mistakes.push(RunnerError::File {
                path: specification.source.path().to_owned(),
                message: format!(
                    "start_load requests '{path}', but the scenario '{}' has no route for it",
                    scenario.scenario
                ),
                remedy: format!(
                    "begin the path with one of the scenario's routes: {}",
                    gatebench_config::suggest::listed(prefixes.into_iter(), "or")
                ),
            });
        }
    }
    RunnerError::unless_none(mistakes)
}

/// Returns the external load generator: the user's choice, or wrk for the script of a
/// specification.
///
/// # Errors
/// The script is not for the load generator that the user named, or is not in the file system.
pub(crate) fn engine(selection: &Selection) -> Result<Option<GeneratorChoice>, RunnerError> {
    let chosen = selection.engine.as_ref();
    let script = selection.specification.as_ref().and_then(|listed| {
        let load = listed.document.load()?;
        Some((listed, load.script.as_ref()?))
    });
    let Some((listed, script)) = script else {
        return Ok(chosen.cloned());
    };
    if let Some(other) = chosen.filter(|it| it.generator != Generator::Wrk) {
        return Err(RunnerError::words(
            format!(
                "the specification '{}' has a script for wrk, but --engine names {}",
                listed.document.specification, other.generator
            ),
            "omit --engine, or use --engine wrk",
        ));
    }
    let Source::File(file) = &listed.source else {
        return Err(RunnerError::words(
            format!("the script '{script}' is not in the file system"),
            "save the specification and its script in a folder, and give the specification's path",
        ));
    };
    Ok(Some(GeneratorChoice {
        generator: Generator::Wrk,
        script: Some(file_next_to(file, script)),
    }))
}

/// Returns a warning if gateways were named but the specification starts no gateway.
pub(crate) fn gateways(selection: &Selection) -> Option<Warning> {
    let specification = &selection.specification.as_ref()?.document;
    let is_unused = !specification.has_gateway() && !selection.gateways.is_empty();
    is_unused.then(|| Warning::GatewaysUnused {
        specification: specification.specification.clone(),
    })
}

/// Returns a warning if the load generator ignores the requested threads.
pub(crate) fn threads(plan: &Plan, engine: Option<&PreparedGenerator>) -> Option<Warning> {
    let asked = plan.study.engine_threads()?;
    let engine = match engine.map(|it| it.generator) {
        Some(Generator::Wrk | Generator::H2load) => return None,
        Some(Generator::K6) => Generator::K6.to_string(),
        None => "the built-in load generator".into(),
    };
    Some(Warning::ThreadsOfItsOwn { asked, engine })
}
