//! Turns a user's arguments into a plan with available gateways.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatebench_agent::Agents;
use gatebench_model::{Limits, Plan, Scenario, Suite, SuiteGateway, Variant};
use gatebench_store::{Manifest, Run};
use gatebench_testbed::gateway::Catalogue;
use gatebench_testbed::{Launcher, Testbed};

use super::cluster::ClusterPlan;
use super::duration_mode::Asked;
use super::expand::{Expansion, adapted_suite};
use super::fd_limit;
use super::gateway_selection::{self, GatewaySelection, Places, Wanted};
use super::hosts::Hosts;
use super::identity;
use super::library::{Library, Listed, Source};
use super::own_config;
use super::selection::{Prepared, Selection};
use super::specification;
use super::suite::{resolve_path, scenarios_of};
use crate::error::RunnerError;
use crate::external::{self, PreparedGenerator};
use crate::warning::Warning;
use crate::workload;

/// Resolves a user's request before the first trial. Connects to the hosts of the run, and creates
/// the run's pods if the run is in a cluster.
///
/// A gateway that is not installed is an error if the user named it; if only the suite or `all`
/// names it, it is omitted with a warning.
///
/// # Errors
/// A name is unknown, a file has mistakes, a named gateway is not installed, a template does not
/// render, there are too few cores, or a host or the cluster is not available.
pub fn prepare(
    selection: &Selection,
    library: &Library,
    catalogue: &Catalogue,
    launcher: &Launcher,
) -> Result<Prepared, RunnerError> {
    refuse_unknown_cores(selection)?;
    let (mut suite, base) = adapted_suite(selection, library)?;
    let scenarios = select_scenarios(selection, &suite, &base, library)?;
    suite.null_gateway = selection.loads_null(&suite, &scenarios);
    let testbed = open(selection, library, catalogue, launcher)?;
    let hosts = Hosts::of(&testbed);
    let (sizes, too_large) = hosts.sizes(selection, &suite)?;
    let asked = Asked {
        selection,
        suite: &suite,
        base: &base,
        known: library,
        sizes: &sizes,
    };
    let mut expansion = Expansion::of(&asked, scenarios)?;
    let fitted = fd_limit::fit(expansion.loads.all(), &expansion.scenarios);
    let wanted = wanted(selection, sizes.clone())?;
    let places = Places {
        catalogue,
        testbed: &testbed,
    };
    let found = select_gateways(selection, &suite, &base, &wanted, &places)?;
    let placement = hosts.placement(selection, &wanted.sizes)?;
    let scenarios = expansion.scenarios.iter();
    let files: Vec<PathBuf> = scenarios.map(|it| it.source.path().to_owned()).collect();
    let (variants, gateways) = (found.variants, found.gateways);
    let mut warnings = found.warnings;
    let further = too_large.into_iter().chain(fitted);
    warnings.extend(further.chain(refused_objects(&testbed)));
    let folders = gateways.values().map(|it| &it.folder.spec).collect();
    let mut plan = expansion.plan(&asked, variants, folders, placement);
    gatebench_studies::check(&plan)?;
    let engine = engine(selection, &mut plan, &mut warnings)?;
    warnings.extend(retries_unused(&plan));
    check_workload(&plan, &files, engine.as_ref())?;
    let agents = agents(&plan, launcher, &testbed)?;
    let here = address_for(&plan, agents.as_deref());
    let prepared = Prepared {
        agents,
        plan,
        gateways,
        engine,
        warnings,
        testbed: testbed.reached_at(here),
    };
    dry_render(&prepared)?;
    Ok(prepared)
}

fn open(
    selection: &Selection,
    library: &Library,
    catalogue: &Catalogue,
    launcher: &Launcher,
) -> Result<Testbed, RunnerError> {
    let cluster = ClusterPlan::of(selection, library, catalogue)?;
    let pods = cluster.as_ref().map(ClusterPlan::start).transpose()?;
    let places = &selection.places;
    let elsewhere = selection.elsewhere.as_ref();
    Ok(Testbed::open(launcher, elsewhere, places, pods)?)
}

/// Restores the plan of an interrupted run from its manifest. A gateway that has changed since the
/// run began causes a warning.
///
/// # Errors
/// `out` contains no readable run, a gateway or the external load generator of the run is missing,
/// or a host or the cluster is not available.
pub fn prepare_resume(
    out: &Path,
    catalogue: &Catalogue,
    launcher: &Launcher,
) -> Result<Prepared, RunnerError> {
    let manifest = manifest_of_missing(out)?;
    let mut gateways = BTreeMap::new();
    let mut warnings = Vec::new();
    let setups = || manifest.plan.variants.iter().filter_map(Variant::setup);
    let elsewhere = setups().find_map(|setup| setup.elsewhere.as_ref());
    let cluster = ClusterPlan::of_plan(&manifest.plan, catalogue)?;
    let pods = cluster.as_ref().map(ClusterPlan::start).transpose()?;
    let testbed = Testbed::open(launcher, elsewhere, &manifest.plan.places, pods)?;
    for variant in &manifest.plan.variants {
        if let Variant::Gateway {
            name,
            folder,
            setup,
        } = variant
        {
            let folder = own_config::folder(folder, setup, catalogue)?;
            let gateway = testbed.find(folder, setup)?;
            warnings.extend(gateway_selection::limited_by_cores(name, &gateway, setup));
            let before = manifest.gateways.get(name);
            let change = before.and_then(|it| identity::change(it, &identity::of(&gateway)));
            warnings.extend(change.map(|what| Warning::GatewayChanged {
                gateway: name.clone(),
                what,
            }));
            gateways.insert(name.clone(), gateway);
        }
    }
    let (engine, changes) = external::again(&manifest)?.unzip();
    warnings.extend(changes.into_iter().flatten());
    let agents = agents(&manifest.plan, launcher, &testbed)?;
    let testbed = testbed.reached_at(address_for(&manifest.plan, agents.as_deref()));
    Ok(Prepared {
        agents,
        plan: manifest.plan,
        gateways,
        engine,
        warnings,
        testbed,
    })
}

/// Returns the manifest of a run, with a plan that includes what a resumed run needs in addition to
/// the missing trials, such as a further segment of a soak.
pub(crate) fn manifest_of_missing(out: &Path) -> Result<Manifest, RunnerError> {
    let run = Run::open(out)?;
    let mut manifest: Manifest = run.manifest().clone();
    let records = run.trials().iter().map(|trial| &trial.record);
    gatebench_studies::resume(&mut manifest.plan, &Vec::from_iter(records));
    Ok(manifest)
}

/// Returns warnings about the objects that the cluster refused but the run does not need.
fn refused_objects(testbed: &Testbed) -> impl Iterator<Item = Warning> {
    let refusals = testbed.pods().map_or(&[][..], |pods| pods.warnings());
    let refusals = refusals.iter().cloned();
    refusals.map(|refusal| Warning::ObjectRefused { refusal })
}

/// Returns a warning if the plan retries failed trials, but has gateways that are loaded side by
/// side and therefore not retried.
fn retries_unused(plan: &Plan) -> Option<Warning> {
    let gateways = plan.variants.iter();
    let gateways = gateways.filter(|it| matches!(it, Variant::Gateway { .. }));
    if plan.retries() == 0 || gateways.count() < 2 {
        return None;
    }
    let mut loads = plan.scenarios.iter().map(|it| plan.load_of(&it.scenario));
    let load = loads.find(|load| load.phases.iter().any(|phase| phase.side_by_side))?;
    Some(Warning::RetriesUnused {
        load: load.profile.clone(),
    })
}

fn agents(
    plan: &Plan,
    launcher: &Launcher,
    testbed: &Testbed,
) -> Result<Option<Arc<Agents>>, RunnerError> {
    let places = &plan.places.agents;
    if places.is_empty() {
        return Ok(None);
    }
    Ok(Some(Arc::new(Agents::connect(
        places,
        launcher,
        &plan.placement.engine,
        testbed.pods().map(|pods| &**pods),
    )?)))
}

/// Returns this machine's address for agents on other hosts; `None` if all agents are on this
/// machine or in pods, or there are no agents.
fn address_for(plan: &Plan, agents: Option<&Agents>) -> Option<IpAddr> {
    let here = agents?.here()?;
    Some(plan.places.address.unwrap_or(here))
}

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

/// Rejects --keep-awake for a gateway whose cores this process cannot keep busy: an attached one,
/// or one on another host.
fn refuse_unknown_cores(selection: &Selection) -> Result<(), RunnerError> {
    if selection.keep_awake && selection.attach.is_some() {
        return Err(RunnerError::words(
            "--keep-awake needs cores that gatebench assigns, but an attached gateway has none",
            "omit --keep-awake, or start the gateway with --gateway",
        ));
    }
    if selection.keep_awake && selection.elsewhere.is_some() {
        return Err(RunnerError::words(
            "--keep-awake needs a gateway on this machine, but the gateways run on another host",
            "omit --keep-awake, or run the gateways on this machine",
        ));
    }
    Ok(())
}

/// Checks that each scenario can be run with its loads, unless a script for an external load
/// generator sends its own requests.
fn check_workload(
    plan: &Plan,
    files: &[PathBuf],
    engine: Option<&PreparedGenerator>,
) -> Result<(), RunnerError> {
    if engine.is_some_and(|it| it.identity.script.is_some()) {
        return Ok(());
    }
    // Only the phases that are known in advance can be checked.
    let phases_of = |scenario: &Scenario| {
        let own = plan.load_of(&scenario.scenario).phases.iter().cloned();
        own.chain(plan.study.known_load()).collect()
    };
    workload::check(&plan.scenarios, files, phases_of)
}

fn select_gateways(
    selection: &Selection,
    suite: &Suite,
    base: &Path,
    wanted: &Wanted,
    places: &Places<'_>,
) -> Result<GatewaySelection, RunnerError> {
    let named = !selection.gateways.is_empty();
    let of_suite = |gateway: &SuiteGateway| {
        let config = gateway.config().map(|config| base.join(config));
        let config = config.map(|it| it.display().to_string());
        (resolve_path(gateway.word(), base), config)
    };
    let words: Vec<(String, Option<String>)> = match (named, &selection.attach) {
        _ if suite.gateways.is_empty() => Vec::new(),
        (true, _) => {
            let named = selection.gateways.iter();
            named.map(|it| (it.clone(), None)).collect()
        }
        (false, Some(_)) => Vec::new(),
        (false, None) => suite.gateways.iter().map(of_suite).collect(),
    };
    let mut found = GatewaySelection::called(&selection.labels);
    for (word, config) in &words {
        let mut wanted = wanted.clone();
        wanted.configs.extend(config.as_deref().map(absolute));
        found.add_word(word, named, &wanted, places)?;
    }
    let changed = own_config::warnings(&found.variants)?;
    found.warnings.extend(changed);
    if let Some(attach) = &selection.attach {
        found.add_attached(attach);
    }
    if suite.null_gateway {
        found.add_null(selection.elsewhere.as_ref(), places)?;
    }
    // A specification without a gateway measures only the direct variant.
    if !(suite.gateways.is_empty() && suite.direct) {
        found.must_not_be_empty()?;
    }
    Ok(found)
}

/// Returns the requested scenarios, or the suite's scenarios if none are requested.
pub(super) fn select_scenarios(
    selection: &Selection,
    suite: &Suite,
    base: &Path,
    library: &Library,
) -> Result<Vec<Listed<Scenario>>, RunnerError> {
    if let Some(scenario) = &selection.scenario {
        let path = selection.configs.first().cloned().unwrap_or_default();
        return Ok(vec![Listed {
            document: scenario.clone(),
            source: Source::File(path.clone().into()),
            word: path,
        }]);
    }
    if !selection.scenarios.is_empty() {
        let words = selection.scenarios.iter().map(String::as_str);
        return scenarios_of(words, Path::new(""), library);
    }
    let words = suite.scenarios.iter().map(|it| it.word());
    let mut scenarios = scenarios_of(words, base, library)?;
    if let Some(specification) = &selection.specification {
        specification::ask(specification, &mut scenarios)?;
    }
    Ok(scenarios)
}

/// Makes a path absolute, because the plan may be read again from another directory.
fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

fn wanted(selection: &Selection, sizes: Vec<Limits>) -> Result<Wanted, RunnerError> {
    let one = matches!(&selection.gateways[..], [word] if word != "all");
    if !selection.configs.is_empty() && !one {
        return Err(RunnerError::words(
            "--config needs exactly one gateway",
            "name the gateway: --gateway NAME --config FILE",
        ));
    }
    let configs = selection.configs.iter().map(|path| absolute(path));
    Ok(Wanted {
        configs: configs.collect(),
        sizes,
        elsewhere: selection.elsewhere.clone(),
        cores_follow_size: selection.gateway_cores.is_none(),
        cores: selection.cores.clone(),
    })
}

/// Renders the templates of each gateway for each scenario that it supports, with placeholders for
/// ports and folders.
///
/// # Errors
/// Templates have mistakes; the error lists all of them, without duplicates.
fn dry_render(prepared: &Prepared) -> Result<(), RunnerError> {
    let mut mistakes: Vec<RunnerError> = Vec::new();
    for (label, gateway) in &prepared.gateways {
        let setup = prepared.plan.variant(label).and_then(Variant::setup);
        let placement = &prepared.plan.placement;
        let cores = setup.map_or(&placement.gateway[..], |it| it.gateway_cores(placement));
        for scenario in &prepared.plan.scenarios {
            if gateway.supports(scenario).is_err() {
                continue;
            }
            let rendered = prepared.testbed.rehearse(gateway, scenario, cores);
            let mistake = rendered.err().map(RunnerError::from);
            let is_new = |it: &RunnerError| {
                let mut known = mistakes.iter();
                !known.any(|known| known.one_line() == it.one_line())
            };
            let mistake = mistake.filter(is_new);
            mistakes.extend(mistake);
        }
    }
    RunnerError::unless_none(mistakes)
}
