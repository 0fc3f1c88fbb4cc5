//! From the words of a user to a plan whose gateways are known to be there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gatebench_model::{Length, Limits, Phase, Plan, Scenario, Suite, SuiteStudy, Variant};
use gatebench_store::{Manifest, Run};
use gatebench_testbed::{Catalogue, Launcher};

use super::dry_render::dry_render;
use super::duration_mode::{self, Asked, of_length};
use super::fd_limit;
use super::gateway_selection::{GatewaySelection, Places, Wanted};
use super::hosts::Hosts;
use super::identity;
use super::library::{Library, Listed};
use super::selection::{Prepared, Selection};
use super::specification;
use super::study;
use super::suite::{beside, scenarios_of, suite_of};
use crate::error::RunnerError;
use crate::external::{self, PreparedGenerator};
use crate::testbed::remote::RemoteHosts;
use crate::testbed::resolve_gateway;
use crate::warning::Warning;
use crate::workload;

/// A plan is the same whenever it is made from the same words, so that `--dry-run` shows what runs.
const DEFAULT_SEED: u64 = 1;

/// Resolves what a user asked for, before anything starts.
///
/// A gateway that the user named and that is not there is an error; one that only the suite or `all`
/// names is left out with a warning.
///
/// # Errors
/// Words that name nothing, files with mistakes, gateways that were named and are not installed,
/// templates that do not render, more cores than there are.
pub fn prepare(
    selection: &Selection,
    library: &Library,
    catalogue: &Catalogue,
    launcher: &Launcher,
) -> Result<Prepared, RunnerError> {
    refuse_unknown_cores(selection)?;
    let (mut suite, base) = suite_of(selection, library)?;
    suite.direct &= !selection.no_direct;
    suite.study = suite_study(selection, &suite)?;
    suite.settle = suite.settle.filter(|_| selection.length != Length::Smoke);
    let scenarios = select_scenarios(selection, &suite, &base, library)?;
    suite.null_gateway = selection.loads_null(&suite, &scenarios);
    let mut remote_hosts = RemoteHosts::default();
    let hosts = Hosts::of(selection, &mut remote_hosts, launcher)?;
    let (sizes, too_large) = hosts.sizes(selection, &suite)?;
    let asked = Asked {
        selection,
        suite: &suite,
        base: &base,
        known: library,
        sizes: &sizes,
    };
    let mut loads = asked.loads(&scenarios)?;
    let scenarios = of_length(scenarios, &loads, selection.length);
    let (scenarios, tests) = selection.study.scenarios(scenarios)?;
    loads.extend_to_twins(&tests);
    loads
        .all()
        .for_each(|load| duration_mode::adapt(load, selection));
    let fitted = fd_limit::fit(loads.all(), &scenarios);
    let wanted = wanted(selection, sizes)?;
    let places = Places {
        catalogue,
        launcher,
    };
    let found = select_gateways(selection, (&suite, &base), (&wanted, &places), remote_hosts)?;
    let placement = hosts.placement(selection, &wanted.sizes)?;
    let (scenarios, files): (Vec<_>, Vec<_>) = scenarios
        .into_iter()
        .map(|listed| (listed.document, listed.source.path().to_owned()))
        .unzip();
    let seed = selection.seed.unwrap_or(DEFAULT_SEED);
    let GatewaySelection {
        variants,
        gateways,
        mut warnings,
        ..
    } = found;
    warnings.extend(too_large.into_iter().chain(fitted));
    let all = std::iter::once(&loads.common).chain(loads.of_scenarios.values());
    let others = selection.study.other_blocks(all);
    let (load, blocks) = (loads.common, loads.blocks + others.unwrap_or(0));
    let mut plan = Plan::expand(&suite, scenarios, load, variants, seed, blocks, placement);
    let own = loads.of_scenarios.into_iter();
    plan.scenario_loads = own.map(|(name, load)| (name, load.expanded())).collect();
    plan.length = loads.length;
    plan.study = selection
        .study
        .of_plan(&plan, suite.study.as_ref(), (tests, others))?;
    study::watch_pools(&mut plan, &gateways);
    let engine = engine(selection, &mut plan, &mut warnings)?;
    check_workload(&plan, &files, engine.as_ref())?;
    let prepared = Prepared {
        plan,
        gateways,
        engine,
        warnings,
    };
    dry_render(&prepared, launcher)?;
    Ok(prepared)
}

/// Resolves the plan of a run that was interrupted. The plan is the manifest's; a gateway that has
/// changed since is a warning.
///
/// # Errors
/// `out` holds no run that can be read, or a gateway of it is not there any more.
pub fn prepare_resume(
    out: &Path,
    catalogue: &Catalogue,
    launcher: &Launcher,
) -> Result<Prepared, RunnerError> {
    let run = Run::open(out)?;
    let mut manifest: Manifest = run.manifest().clone();
    let records = run.trials().iter().map(|trial| &trial.record);
    study::go_on(&mut manifest.plan, records);
    let mut gateways = BTreeMap::new();
    let mut warnings = Vec::new();
    let mut hosts = RemoteHosts::default();
    for variant in &manifest.plan.variants {
        if let Variant::Gateway {
            name,
            folder,
            setup,
        } = variant
        {
            let folder = resolve_gateway::folder(folder, setup.config.as_deref(), catalogue)?;
            let host = hosts.of(setup, launcher)?;
            let binary = resolve_gateway::binary(&folder, setup, launcher, host.as_deref())?;
            let (gateway, warning) = resolve_gateway::gateway(name, folder, binary, setup, host)?;
            warnings.extend(warning);
            let before = manifest.gateways.get(name);
            if let Some(what) =
                before.and_then(|before| identity::change(before, &identity::of(&gateway)))
            {
                warnings.push(Warning::GatewayChanged {
                    gateway: name.clone(),
                    what,
                });
            }
            gateways.insert(name.clone(), gateway);
        }
    }
    let engine = match external::again(&manifest)? {
        Some((engine, changes)) => {
            warnings.extend(changes);
            Some(engine)
        }
        None => None,
    };
    Ok(Prepared {
        plan: manifest.plan,
        gateways,
        engine,
        warnings,
    })
}

/// The engine in place of gatebench's own: the user's, or that of a specification with a script.
fn engine(
    selection: &Selection,
    plan: &mut Plan,
    warnings: &mut Vec<Warning>,
) -> Result<Option<PreparedGenerator>, RunnerError> {
    warnings.extend(specification::gateways(selection));
    let mut engine = None;
    if let Some(choice) = specification::engine(selection)? {
        let (found, limits) = external::resolve(&choice, plan)?;
        warnings.extend(limits);
        engine = Some(found);
    }
    warnings.extend(specification::threads(plan, engine.as_ref()));
    Ok(engine)
}

/// Refuses to keep the cores of a gateway awake that gatebench did not place on any.
///
/// # Errors
/// Such a gateway takes part.
fn refuse_unknown_cores(selection: &Selection) -> Result<(), RunnerError> {
    if !selection.keep_awake || selection.attach.is_none() {
        return Ok(());
    }
    Err(RunnerError::words(
        "--keep-awake needs cores that gatebench assigns, but an attached gateway has none",
        "omit --keep-awake, or start the gateway with --gateway",
    ))
}

/// Returns the study that the suite asks for, unless the command is made for another.
///
/// # Errors
/// There is one, and an external load generator.
fn suite_study(selection: &Selection, suite: &Suite) -> Result<Option<SuiteStudy>, RunnerError> {
    let study = suite.study.clone();
    let study = study.filter(|_| selection.study.only_measures());
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

/// Renders every request once. The script of an external load generator sends its own requests.
fn check_workload(
    plan: &Plan,
    files: &[PathBuf],
    engine: Option<&PreparedGenerator>,
) -> Result<(), RunnerError> {
    if engine.is_some_and(|it| it.identity.script.is_some()) {
        return Ok(());
    }
    workload::check(&plan.scenarios, files, |scenario| phases_of(plan, scenario))
}

/// The phases of a scenario that are known beforehand.
fn phases_of(plan: &Plan, scenario: &Scenario) -> Vec<Phase> {
    let own = plan.load_of(&scenario.scenario).phases.iter().cloned();
    own.chain(plan.study.known_load()).collect()
}

fn select_gateways(
    selection: &Selection,
    (suite, base): (&Suite, &Path),
    (wanted, places): (&Wanted, &Places<'_>),
    hosts: RemoteHosts,
) -> Result<GatewaySelection, RunnerError> {
    let named = !selection.gateways.is_empty();
    let words: Vec<String> = match (named, &selection.attach) {
        _ if suite.gateways.is_empty() => Vec::new(),
        (true, _) => selection.gateways.clone(),
        (false, Some(_)) => Vec::new(),
        (false, None) => suite
            .gateways
            .iter()
            .map(|word| beside(word, base))
            .collect(),
    };
    let mut found = GatewaySelection::called(&selection.labels, hosts);
    for word in &words {
        found.add_word(word, named, wanted, places)?;
    }
    if let Some(attach) = &selection.attach {
        found.add_attached(attach);
    }
    if suite.null_gateway {
        found.add_null(places)?;
    }
    // A specification without a gateway is the direct variant alone.
    if !(suite.gateways.is_empty() && suite.direct) {
        found.must_not_be_empty()?;
    }
    Ok(found)
}

/// The scenarios that were asked for, or those of the suite.
fn select_scenarios(
    selection: &Selection,
    suite: &Suite,
    base: &Path,
    library: &Library,
) -> Result<Vec<Listed<Scenario>>, RunnerError> {
    if !selection.scenarios.is_empty() {
        let words = selection.scenarios.iter().map(String::as_str);
        return scenarios_of(words, Path::new(""), library);
    }
    let words = suite.scenarios.iter().map(|it| it.word());
    let mut scenarios = scenarios_of(words, base, library)?;
    if let Some(specification) = selection.study.specification() {
        specification::ask(specification, &mut scenarios)?;
    }
    Ok(scenarios)
}

fn wanted(selection: &Selection, sizes: Vec<Limits>) -> Result<Wanted, RunnerError> {
    let one = matches!(&selection.gateways[..], [word] if word != "all");
    if !selection.configs.is_empty() && !one {
        return Err(RunnerError::words(
            "--config needs exactly one gateway",
            "name the gateway: --gateway NAME --config FILE",
        ));
    }
    let absolute = |path: &String| {
        std::path::absolute(path).map_or_else(|_| path.clone(), |path| path.display().to_string())
    };
    Ok(Wanted {
        configs: selection.configs.iter().map(absolute).collect(),
        sizes,
        elsewhere: selection.elsewhere.clone(),
        cores_follow_size: selection.gateway_cores.is_none(),
        cores: selection.cores.clone(),
    })
}

#[cfg(test)]
mod tests;
