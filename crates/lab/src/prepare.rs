//! From the words of a user to a plan whose gateways are known to be there.

use std::collections::BTreeMap;
use std::path::Path;

use gatebench_drivers::{Catalogue, Launcher};
use gatebench_model::{
    Capacity, DecisiveMetric, Duel, Elsewhere, Length, Limits, Phase, Plan, Scenario, Shape,
    Shares, Specification, Suite, Variant,
};
use gatebench_store::{Manifest, Run};

use crate::demand;
use crate::equip::{self, PreparedGateway};
use crate::error::LabError;
use crate::foreign::{self, EngineChoice, PreparedEngine};
use crate::found::{Found, Places, Wanted};
use crate::identity;
use crate::lengths::{Asked, Loads, of_length};
use crate::library::{Library, Listed, Source};
use crate::purpose::{self, FlameChoice, IsolationChoice, SoakChoice};
use crate::rehearse::rehearse;
use crate::remote::RemoteHosts;
use crate::room;
use crate::site::Site;
use crate::specified;
use crate::suite::{beside, scenarios_of, suite_of};
use crate::warning::Warning;

/// A plan is the same whenever it is made from the same words, so that `--dry-run` shows what runs.
const DEFAULT_SEED: u64 = 1;

/// Blocks in which a comparison measures the other metrics: the fewest that permit a verdict.
const OTHER_BLOCKS: u32 = 10;

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
    /// Another engine in place of gatebench's own.
    pub engine: Option<EngineChoice>,
    /// Makes the run a comparison, decided by this: `gateways` are then the candidate, the baseline, and the
    /// baseline again.
    pub decided_by: Option<DecisiveMetric>,
    /// Leaves out the blocks in which a comparison measures the other metrics.
    pub only_deciding: bool,
    /// Makes the run a search for capacity, in place of the suite's load.
    pub capacity: Option<Capacity>,
    /// Also measures at these shares of each gateway's own saturation, in per cent.
    pub at: Vec<u32>,
    /// Numbers of cores, one variant of each gateway for each.
    pub cores: Vec<usize>,
    /// The shape of every phase, in place of the load profile's.
    pub shape: Option<Shape>,
    /// Makes the run an endurance test.
    pub soak: Option<SoakChoice>,
    /// Makes the run a profile.
    pub flame: Option<FlameChoice>,
    /// Makes the run a test of isolation.
    pub isolation: Option<IsolationChoice>,
    /// Makes the run of a specification: its scenarios and its load in place of a suite's.
    pub specification: Option<Listed<Specification>>,
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
    /// gateways of this machine, without another purpose.
    fn allows_null(&self) -> bool {
        let is_purposeful = self.decided_by.is_some()
            || self.capacity.is_some()
            || self.soak.is_some()
            || self.flame.is_some()
            || self.isolation.is_some();
        let is_elsewhere = self.elsewhere.is_some() || self.attach.is_some();
        let is_varied = !self.sizes.is_empty() || !self.cores.is_empty();
        let is_own_load =
            self.engine.is_none() && matches!(self.length, Length::Full | Length::Quick);
        !is_purposeful && !is_elsewhere && !is_varied && is_own_load && !self.no_floor
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
    /// Another engine in place of gatebench's own.
    pub engine: Option<PreparedEngine>,
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
) -> Result<Prepared, LabError> {
    purpose::refuse_unknown_cores(selection)?;
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
    let (scenarios, isolation) = purpose::scenarios(scenarios, selection)?;
    loads.extend_to_twins(&isolation);
    loads.all().for_each(|load| purpose::load(load, selection));
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
    let others = other_blocks(selection, &loads);
    let (load, blocks) = (loads.common, loads.blocks + others.unwrap_or(0));
    let mut plan = Plan::expand(&suite, scenarios, load, variants, seed, blocks, placement);
    let own = loads.of_scenarios.into_iter();
    plan.scenario_loads = own.map(|(name, load)| (name, load.expanded())).collect();
    plan.length = loads.length;
    plan.isolation = isolation;
    note_purposes(&mut plan, selection, others)?;
    purpose::watch_pools(&mut plan, &gateways);
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
) -> Result<Prepared, LabError> {
    let run = Run::open(out)?;
    let mut manifest: Manifest = run.manifest().clone();
    let records = run.trials().iter().map(|trial| &trial.record);
    purpose::go_on(&mut manifest.plan, records);
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
    let engine = match foreign::again(&manifest)? {
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
) -> Result<Option<PreparedEngine>, LabError> {
    warnings.extend(specified::gateways(selection));
    let mut engine = None;
    if let Some(choice) = specified::engine(selection)? {
        let (found, limits) = foreign::resolve(&choice, plan)?;
        warnings.extend(limits);
        engine = Some(found);
    }
    warnings.extend(specified::threads(plan, engine.as_ref()));
    Ok(engine)
}

/// Notes in a plan what it is made for besides measuring.
fn note_purposes(
    plan: &mut Plan,
    selection: &Selection,
    others: Option<u32>,
) -> Result<(), LabError> {
    let metric = selection.decided_by;
    plan.duel = metric.and_then(|metric| duel(plan, metric, others));
    plan.capacity = selection.capacity.clone();
    plan.soak = purpose::soak(selection, plan);
    plan.flame = selection.flame.map(|choice| choice.flame);
    let specification = selection.specification.as_ref();
    plan.specification = specification.map(|it| it.document.specified());
    plan.at = purpose::shares(selection, plan)?;
    Ok(())
}

/// Renders every request once. The script of another engine sends its own requests.
fn check_demand(
    plan: &Plan,
    sources: &[Source],
    engine: Option<&PreparedEngine>,
) -> Result<(), LabError> {
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
    own.chain(plan.at.as_ref().map(Shares::saturation))
        .collect()
}

/// The comparison of a plan with three gateways, whose last blocks measure the other metrics.
fn duel(plan: &Plan, metric: DecisiveMetric, others: Option<u32>) -> Option<Duel> {
    let gateways: Vec<&Variant> = plan
        .variants
        .iter()
        .filter(|variant| **variant != Variant::Floor)
        .collect();
    let [candidate, baseline, again] = gateways[..] else {
        return None;
    };
    Some(Duel {
        candidate: candidate.label().into(),
        baseline: baseline.label().into(),
        again: again.label().into(),
        metric,
        blocks_max: plan.blocks - others.unwrap_or(0),
        decides_first: others.is_some(),
    })
}

/// Blocks of a comparison that measure the other metrics. None if the deciding metric has no blocks
/// of its own: only a load with both kinds of phases can be divided.
fn other_blocks(selection: &Selection, loads: &Loads) -> Option<u32> {
    let metric = selection.decided_by?;
    let mut all = std::iter::once(&loads.common).chain(loads.of_scenarios.values());
    let is_divided = all.all(|load| {
        let decides = |phase: &&Phase| metric.is_taken_from(phase);
        let deciding = load.phases.iter().filter(decides).count();
        (1..load.phases.len()).contains(&deciding)
    });
    is_divided.then_some(if selection.only_deciding {
        0
    } else {
        OTHER_BLOCKS
    })
}

fn found(
    selection: &Selection,
    (suite, base): (&Suite, &Path),
    (wanted, places): (&Wanted, &Places<'_>),
    hosts: RemoteHosts,
) -> Result<Found, LabError> {
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
) -> Result<Vec<Listed<Scenario>>, LabError> {
    if !selection.scenarios.is_empty() {
        let words = selection.scenarios.iter().map(String::as_str);
        return scenarios_of(words, Path::new(""), library);
    }
    let words = suite.scenarios.iter().map(|it| it.word());
    let mut scenarios = scenarios_of(words, base, library)?;
    if let Some(specification) = &selection.specification {
        specified::ask(specification, &mut scenarios)?;
    }
    Ok(scenarios)
}

fn wanted(selection: &Selection, sizes: Vec<Limits>) -> Result<Wanted, LabError> {
    let one = matches!(&selection.gateways[..], [word] if word != "all");
    if !selection.configs.is_empty() && !one {
        return Err(LabError::words(
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
