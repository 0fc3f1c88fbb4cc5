//! Finds an external load generator to use in place of gatebench's own engine, and checks the plan
//! against it, before anything starts.
//!
//! It must not run one: a phase does ([`crate::phase::external`]).

mod resolve;

use std::path::{Path, PathBuf};

use gatebench_external::{Generator, Job, Limits, Order, Part, Refusal, translate};
use gatebench_model::{Phase, Plan, Scenario};
use gatebench_store::{ExternalGenerator, FileDigest};

use crate::error::RunnerError;
use crate::warning::Warning;

pub(crate) use resolve::{again, resolve};

/// An external load generator, as a user asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorChoice {
    /// Which one.
    pub generator: Generator,
    /// A script of the user's in place of the scenario's requests.
    pub script: Option<PathBuf>,
}

/// An external load generator that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedGenerator {
    /// Which one.
    pub generator: Generator,
    /// Its program, its version, its script.
    pub identity: ExternalGenerator,
    /// Whether the script says its own load.
    pub own_load: bool,
}

/// Where requests go in an order that is never carried out.
const NOWHERE: &str = "http://127.0.0.1:9";

impl PreparedGenerator {
    pub(crate) fn script(&self) -> Option<&Path> {
        let script = self.identity.script.as_ref()?;
        Some(Path::new(&script.path))
    }

    /// The order for a part of a phase.
    pub(crate) fn order(
        &self,
        url: &str,
        scenario: &Scenario,
        phase: &Phase,
        part: Part,
        threads: usize,
    ) -> Result<Order, Refusal> {
        let job = Job {
            url,
            scenario,
            phase,
            part,
            threads,
            script: self.script(),
            own_load: self.own_load,
        };
        translate(self.generator, &job)
    }

    /// What this engine does otherwise than the plan says.
    ///
    /// # Errors
    /// Everything in the plan that it cannot do at all.
    fn check(&self, plan: &Plan) -> Result<Vec<Warning>, RunnerError> {
        if let Some(scenario) = plan.scenarios.iter().find(|it| !it.transport.is_plain()) {
            let (generator, name) = (self.generator, &scenario.scenario);
            return Err(RunnerError::words(
                format!(
                    "{generator} is supported only over plain HTTP/1.1, but '{name}' has a `transport`"
                ),
                "use the built-in load generator for it",
            ));
        }
        let disturbed = |phase: &&Phase| phase.change.is_some() || phase.failure.is_some();
        if let Some(phase) = plan.phases().find(disturbed) {
            let (generator, name) = (self.generator, &phase.name);
            return Err(RunnerError::words(
                format!("'{name}' is judged second by second, which {generator} does not report"),
                "use the built-in load generator for it",
            ));
        }
        if let Some(phase) = plan.phases().find(|phase| phase.side_by_side) {
            let (generator, name) = (self.generator, &phase.name);
            return Err(RunnerError::words(
                format!(
                    "'{name}' loads all gateways of a block side by side, but {generator} loads one at a time"
                ),
                "choose a load without `side_by_side` (--load), or use the built-in load generator",
            ));
        }
        let mut loads = plan.scenarios.iter().map(|it| plan.load_of(&it.scenario));
        if let Some(load) = loads.find(|load| load.cold) {
            let (generator, name) = (self.generator, &load.profile);
            return Err(RunnerError::words(
                format!(
                    "'{name}' begins at the first correct response, for which {generator} starts \
                     too late"
                ),
                "choose a load without `cold` (--load), or use the built-in load generator",
            ));
        }
        let mut refusals: Vec<Refusal> = Vec::new();
        let mut limits = Limits::default();
        let threads = threads(plan);
        for (scenario, phase, part) in parts(plan) {
            match self.order(NOWHERE, scenario, phase, part, threads) {
                Ok(order) => {
                    add(&mut limits.not_expressed, order.limits.not_expressed);
                    add(&mut limits.not_measured, order.limits.not_measured);
                }
                Err(refusal) => add(&mut refusals, vec![refusal]),
            }
        }
        add(&mut limits.not_expressed, beside(plan));
        let Some(first) = refusals.first() else {
            return Ok(self.warnings(limits));
        };
        let messages: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        Err(RunnerError::words(
            messages.join("\n"),
            first.remedy.clone(),
        ))
    }

    fn warnings(&self, limits: Limits) -> Vec<Warning> {
        let engine = format!("{} {}", self.generator, self.identity.version);
        let kinds = [
            ("differs from the plan", limits.not_expressed),
            ("does not report", limits.not_measured),
        ];
        kinds
            .into_iter()
            .filter(|(_, what)| !what.is_empty())
            .map(|(how, what)| Warning::ExternalGenerator {
                engine: engine.clone(),
                how,
                what: what.join("; "),
            })
            .collect()
    }
}

/// The threads that an engine is asked to have: those that a specification names, or one for each of its cores.
pub(crate) fn threads(plan: &Plan) -> usize {
    let asked = plan.study.engine_threads();
    let cores = plan.placement.engine.len();
    asked.map_or(cores, |threads| threads as usize)
}

/// The activities next to a load that need gatebench's own engine.
fn beside(plan: &Plan) -> Vec<String> {
    let scenarios = || plan.scenarios.iter();
    let scrapes = scenarios().any(|it| {
        let metrics = it.metrics.as_ref();
        metrics.is_some_and(|metrics| metrics.scrape_every.is_some())
    });
    let calls = scenarios().any(|it| {
        let admin = it.admin.as_ref();
        admin.is_some_and(|admin| admin.under_load_every.is_some())
    });
    let scrapes = scrapes.then(|| "the gateway's own metrics are not fetched meanwhile".into());
    let calls = calls.then(|| "no calls are made to its admin interface meanwhile".into());
    scrapes.into_iter().chain(calls).collect()
}

/// Every part of every load that the plan holds.
fn parts(plan: &Plan) -> impl Iterator<Item = (&Scenario, &Phase, Part)> {
    let loads = plan.scenarios.iter().flat_map(move |scenario| {
        let load = plan.load_of(&scenario.scenario);
        load.phases.iter().map(move |phase| (scenario, phase))
    });
    loads.flat_map(|(scenario, phase)| {
        let warm_up = (!phase.warm_up.0.is_zero()).then_some(Part::WarmUp);
        let parts = warm_up.into_iter().chain([Part::Measure]);
        parts.map(move |part| (scenario, phase, part))
    })
}

/// Adds what is not there yet.
fn add<T: PartialEq>(known: &mut Vec<T>, new: Vec<T>) {
    for item in new {
        if !known.contains(&item) {
            known.push(item);
        }
    }
}

/// The digest of a file under its absolute path.
fn digest(path: &Path) -> std::io::Result<FileDigest> {
    let bytes = std::fs::read(path)?;
    Ok(FileDigest::of(path.display().to_string(), &bytes))
}
