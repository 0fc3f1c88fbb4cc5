//! Another load engine in place of gatebench's own: found and asked before anything starts, then run
//! as a process on the engine's cores.

mod measure;
mod record;
mod resolve;

use std::path::{Path, PathBuf};

use gatebench_model::{Phase, Plan, Scenario};
use gatebench_peers::{Job, Limits, Order, Part, Peer, Refusal, UNCHECKED_ANSWERS, translate};
use gatebench_store::{FileDigest, ForeignEngine, PhaseRecord};

use crate::error::LabError;
use crate::warning::Warning;

pub(crate) use measure::measure;
pub(crate) use resolve::{again, resolve};

/// Another engine, as a user asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineChoice {
    /// Which one.
    pub peer: Peer,
    /// A script of the user's in place of the scenario's requests.
    pub script: Option<PathBuf>,
}

/// Another engine that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedEngine {
    /// Which one.
    pub peer: Peer,
    /// Its program, its version, its script.
    pub identity: ForeignEngine,
    /// Whether the script says its own load.
    pub own_load: bool,
}

/// Where requests go in an order that is never carried out.
const NOWHERE: &str = "http://127.0.0.1:9";

impl PreparedEngine {
    fn script(&self) -> Option<&Path> {
        let script = self.identity.script.as_ref()?;
        Some(Path::new(&script.path))
    }

    /// The order for a part of a phase.
    fn order(
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
        translate(self.peer, &job)
    }

    /// What this engine does otherwise than the plan says.
    ///
    /// # Errors
    /// Everything in the plan that it cannot do at all.
    fn rehearse(&self, plan: &Plan) -> Result<Vec<Warning>, LabError> {
        if let Some(scenario) = plan.scenarios.iter().find(|it| !it.transport.is_plain()) {
            let (peer, name) = (self.peer, &scenario.scenario);
            return Err(LabError::words(
                format!("{peer} is asked over plain HTTP/1.1 only, and '{name}' has a `transport`"),
                "use gatebench's own engine for it",
            ));
        }
        let disturbed = |phase: &&Phase| phase.change.is_some() || phase.failure.is_some();
        if let Some(phase) = plan.phases().find(disturbed) {
            let (peer, name) = (self.peer, &phase.name);
            return Err(LabError::words(
                format!(
                    "what happens in '{name}' is judged by its seconds, which {peer} does not tell"
                ),
                "use gatebench's own engine for it",
            ));
        }
        if let Some(phase) = plan.phases().find(|phase| phase.side_by_side) {
            let (peer, name) = (self.peer, &phase.name);
            return Err(LabError::words(
                format!(
                    "'{name}' loads all gateways of a block side by side, and {peer} loads one at a time"
                ),
                "choose a load without `side_by_side` (--load), or use gatebench's own engine",
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
        Err(LabError::words(messages.join("\n"), first.remedy.clone()))
    }

    fn warnings(&self, limits: Limits) -> Vec<Warning> {
        let engine = format!("{} {}", self.peer, self.identity.version);
        let kinds = [
            ("does otherwise than asked", limits.not_expressed),
            ("does not tell", limits.not_measured),
        ];
        kinds
            .into_iter()
            .filter(|(_, what)| !what.is_empty())
            .map(|(how, what)| Warning::ForeignEngine {
                engine: engine.clone(),
                how,
                what: what.join("; "),
            })
            .collect()
    }
}

/// The threads that an engine is asked to have: those that a specification names, or one for each of its cores.
fn threads(plan: &Plan) -> usize {
    let asked = plan.study.engine_threads();
    let cores = plan.placement.engine.len();
    asked.map_or(cores, |threads| threads as usize)
}

/// What goes on beside a load only where gatebench's own engine sends it.
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

/// What the reader must know of a phase that another engine drove.
pub(crate) fn warnings(record: &PhaseRecord) -> Vec<String> {
    let Some(foreign) = &record.foreign else {
        return Vec::new();
    };
    let crossed = foreign.thresholds.iter().filter(|(_, held)| !**held);
    let unchecked = foreign
        .metrics
        .get(UNCHECKED_ANSWERS)
        .and_then(|counts| counts.get("count"))
        .filter(|count| **count > 0.0);
    let unchecked = unchecked.map(|count| {
        format!(
            "{count} answers in '{}' had a status of 400 or above, and {} made no checks; see that they are meant",
            record.name, foreign.engine
        )
    });
    crossed
        .map(|(threshold, _)| {
            format!(
                "the threshold '{threshold}' of the script does not hold in '{}'; see its figures in trial.json",
                record.name
            )
        })
        .chain(unchecked)
        .collect()
}

/// The digest of a file under its absolute path.
fn digest(path: &Path) -> std::io::Result<FileDigest> {
    let bytes = std::fs::read(path)?;
    Ok(FileDigest::of(path.display().to_string(), &bytes))
}
