//! From the words of a user to a plan whose gateways are known to be there.

use std::collections::BTreeMap;
use std::path::Path;

use gatebench_drivers::{Catalogue, Launcher};
use gatebench_model::{Elsewhere, Length, Limits, Phase, Plan, Scenario, Shape, Suite, Variant};
use gatebench_store::{Manifest, Run};

use crate::demand;
use crate::equip::{self, PreparedGateway};
use crate::error::RunnerError;
use crate::external::{self, GeneratorChoice, PreparedGenerator};
use crate::found::{Found, Places, Wanted};
use crate::identity;
use crate::lengths::{self, Asked, of_length};
use crate::library::{Library, Listed, Source};
use crate::rehearse::rehearse;
use crate::remote::RemoteHosts;
use crate::room;
use crate::site::Site;
use crate::specified;
use crate::study::{self, StudyChoice};
use crate::suite::{beside, scenarios_of, suite_of};
use crate::warning::Warning;

/// A plan is the same whenever it is made from the same words, so that `--dry-run` shows what runs.
const DEFAULT_SEED: u64 = 1;

/// What a user asked for.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Names or files of one suite or of scenarios; none is the tour.
    pub words: Vec<String>,
    /// Gateways by name, name and version (`nginx@1.22`) or folder, or `all`; none is what the suite says.
    pub gateways: Vec<String>,
    /// Scenarios by name or file, in place of the suite's.
    pub scenarios: Vec<String>,
    /// Leaves the floor out, whatever the suite says.
    pub no_floor: bool,
    /// Adds the null gateway, whatever the suite says.
    pub null: bool,
    /// Repeats open loads with threads that keep the gateway's cores from idling.
    pub keep_awake: bool,
    /// A gateway that already runs.
    pub attach: Option<Attach>,
    /// Load profile by name or file, in place of the suite's.
    pub load: Option<String>,
    /// Blocks, in place of the suite's.
    pub blocks: Option<u32>,
    /// Seed of the order.
    pub seed: Option<u64>,
    /// Cores of the gateway; one without.
    pub gateway_cores: Option<usize>,
    /// What each gateway may use at most, one variant for each.
    pub sizes: Vec<Limits>,
    /// Configurations of the user's for the one gateway named, one variant for each.
    pub configs: Vec<String>,
    /// The host that the gateways run on; this machine without.
    pub elsewhere: Option<Elsewhere>,
    /// How long the run is.
    pub length: Length,
    /// An external load generator in place of gatebench's own engine.
    pub engine: Option<GeneratorChoice>,
    /// The study that the run is made for.
    pub study: StudyChoice,
    /// Numbers of cores, one variant of each gateway for each.
    pub cores: Vec<usize>,
    /// The shape of every phase, in place of the load profile's.
    pub shape: Option<Shape>,
    /// What to call the gateways of these words, where their folders' names do not tell them apart.
    pub labels: BTreeMap<String, String>,
}

impl Selection {
    /// Reports whether the null gateway is loaded: it must be requested, and comparable in a
    /// scenario.
    fn loads_null(&self, suite: &Suite, scenarios: &[Listed<Scenario>]) -> bool {
        let is_wanted = self.null || suite.null_gateway && self.allows_null();
        let mut documents = scenarios.iter().map(|listed| &listed.document);
        is_wanted && documents.any(|it| it.incomparable_with_null().is_none())
    }

    /// Reports whether a suite's null gateway takes part: only if gatebench's own engine measures
    /// gateways of this machine, for no other study.
    fn allows_null(&self) -> bool {
        let is_elsewhere = self.elsewhere.is_some() || self.attach.is_some();
        let is_varied = !self.sizes.is_empty() || !self.cores.is_empty();
        let is_own_load =
            self.engine.is_none() && matches!(self.length, Length::Full | Length::Quick);
        self.study.only_measures() && !is_elsewhere && !is_varied && is_own_load && !self.no_floor
    }
}

/// A gateway that already runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// Its URL, `http://HOST:PORT`.
    pub url: String,
    /// Root of its process tree, where CPU and memory can be read.
    pub pid: Option<u32>,
}

/// A plan, and everything resolved that it names.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What will be done.
    pub plan: Plan,
    /// The gateways by label of their variant.
    pub gateways: BTreeMap<String, PreparedGateway>,
    /// An external load generator in place of gatebench's own engine.
    pub engine: Option<PreparedGenerator>,
    /// What the reader must know.
    pub warnings: Vec<Warning>,
}

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
    suite.floor &= !selection.no_floor;
    suite.settle = suite.settle.filter(|_| selection.length != Length::Smoke);
    let scenarios = chosen(selection, &suite, &base, library)?;
    suite.null_gateway = selection.loads_null(&suite, &scenarios);
    let mut hosts = RemoteHosts::default();
    let site = Site::of(selection, &mut hosts, launcher)?;
    let (sizes, too_large) = site.sizes(selection, &suite)?;
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
    loads.all().for_each(|load| lengths::adapt(load, selection));
    let fitted = room::fit(loads.all(), &scenarios);
    let wanted = wanted(selection, sizes)?;
    let places = Places {
        catalogue,
        launcher,
    };
    let found = found(selection, (&suite, &base), (&wanted, &places), hosts)?;
    let placement = site.placement(selection, &wanted.sizes)?;
    let (scenarios, sources): (Vec<_>, Vec<_>) = scenarios
        .into_iter()
        .map(|listed| (listed.document, listed.source))
        .unzip();
    let seed = selection.seed.unwrap_or(DEFAULT_SEED);
    let Found {
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
        .of_plan(&plan, selection.length, (tests, others))?;
    study::watch_pools(&mut plan, &gateways);
    let engine = engine(selection, &mut plan, &mut warnings)?;
    check_demand(&plan, &sources, engine.as_ref())?;
    let prepared = Prepared {
        plan,
        gateways,
        engine,
        warnings,
    };
    rehearse(&prepared, launcher)?;
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
            let folder = equip::folder(folder, setup.config.as_deref(), catalogue)?;
            let host = hosts.of(setup, launcher)?;
            let binary = equip::binary(&folder, setup, launcher, host.as_deref())?;
            let (gateway, warning) = equip::gateway(name, folder, binary, setup, host)?;
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
    warnings.extend(specified::gateways(selection));
    let mut engine = None;
    if let Some(choice) = specified::engine(selection)? {
        let (found, limits) = external::resolve(&choice, plan)?;
        warnings.extend(limits);
        engine = Some(found);
    }
    warnings.extend(specified::threads(plan, engine.as_ref()));
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
        "--keep-awake needs cores that gatebench assigns, and an attached gateway has none of them",
        "leave out --keep-awake, or let gatebench start the gateway with --gateway",
    ))
}

/// Renders every request once. The script of an external load generator sends its own requests.
fn check_demand(
    plan: &Plan,
    sources: &[Source],
    engine: Option<&PreparedGenerator>,
) -> Result<(), RunnerError> {
    if engine.is_some_and(|it| it.identity.script.is_some()) {
        return Ok(());
    }
    demand::check(&plan.scenarios, sources, |scenario| {
        phases_of(plan, scenario)
    })
}

/// The phases of a scenario that are known beforehand.
fn phases_of(plan: &Plan, scenario: &Scenario) -> Vec<Phase> {
    let own = plan.load_of(&scenario.scenario).phases.iter().cloned();
    own.chain(plan.study.known_load()).collect()
}

fn found(
    selection: &Selection,
    (suite, base): (&Suite, &Path),
    (wanted, places): (&Wanted, &Places<'_>),
    hosts: RemoteHosts,
) -> Result<Found, RunnerError> {
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
    let mut found = Found::called(&selection.labels, hosts);
    for word in &words {
        found.add_word(word, named, wanted, places)?;
    }
    if let Some(attach) = &selection.attach {
        found.add_attached(attach);
    }
    if suite.null_gateway {
        found.add_null(places)?;
    }
    // A specification without a gateway is the floor alone.
    if !(suite.gateways.is_empty() && suite.floor) {
        found.must_not_be_empty()?;
    }
    Ok(found)
}

/// The scenarios that were asked for, or those of the suite.
fn chosen(
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
        specified::ask(specification, &mut scenarios)?;
    }
    Ok(scenarios)
}

fn wanted(selection: &Selection, sizes: Vec<Limits>) -> Result<Wanted, RunnerError> {
    let one = matches!(&selection.gateways[..], [word] if word != "all");
    if !selection.configs.is_empty() && !one {
        return Err(RunnerError::words(
            "a configuration is one gateway's, and not exactly one is named",
            "name it: --gateway NAME --config FILE",
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
