//! Finds an external load generator that replaces the built-in one, and checks that it supports the
//! plan, before the first trial.
//!
//! This module must not send loads; [`crate::phase::external`] sends them.

mod resolve;

use std::path::{Path, PathBuf};

use gatebench_external::{Generator, Job, Limits, Order, Part, Refusal, translate};
use gatebench_model::{Phase, Plan, Scenario};
use gatebench_store::ExternalGenerator;

use crate::error::RunnerError;
use crate::warning::Warning;

pub(crate) use resolve::{again, resolve};

/// An external load generator that a user requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorChoice {
    pub generator: Generator,
    /// The user's script, which replaces the scenario's requests.
    pub script: Option<PathBuf>,
}

/// An external load generator that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedGenerator {
    pub generator: Generator,
    /// The load generator's program, version and script.
    pub identity: ExternalGenerator,
    /// True if the script sets its own load.
    pub own_load: bool,
}

/// The target URL if no load is sent: when a plan is checked, and for `k6 inspect`.
const NOWHERE: &str = "http://127.0.0.1:9";

impl PreparedGenerator {
    pub(crate) fn script(&self) -> Option<&Path> {
        let script = self.identity.script.as_ref()?;
        Some(Path::new(&script.path))
    }

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

    /// Returns warnings about the parts of the plan that the load generator cannot express or
    /// measure.
    ///
    /// # Errors
    /// The plan has properties that the load generator does not support.
    fn check(&self, plan: &Plan) -> Result<Vec<Warning>, RunnerError> {
        if let Some((message, remedy)) = self.refusal(plan) {
            return Err(RunnerError::words(message, remedy));
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
        add(&mut limits.not_expressed, unsupported_activities(plan));
        let Some(first) = refusals.first() else {
            return Ok(self.warnings(limits));
        };
        let messages: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        Err(RunnerError::words(messages.join("\n"), &first.remedy))
    }

    /// Returns the reason why this load generator cannot run the plan at all, and the remedy.
    fn refusal(&self, plan: &Plan) -> Option<(String, &'static str)> {
        let generator = self.generator;
        if let Some(scenario) = plan.scenarios.iter().find(|it| !it.transport.is_plain()) {
            let name = &scenario.scenario;
            let message = format!(
                "{generator} is supported only over plain HTTP/1.1, but the scenario '{name}' has a `transport`"
            );
            return Some((message, "use the built-in load generator for this scenario"));
        }
        let disturbed = |phase: &&Phase| phase.change.is_some() || phase.failure.is_some();
        if let Some(Phase { name, .. }) = plan.phases().find(disturbed) {
            let message = format!(
                "the load '{name}' is judged by figures per second, which {generator} does not report"
            );
            return Some((message, "use the built-in load generator for this load"));
        }
        if let Some(Phase { name, .. }) = plan.phases().find(|phase| phase.side_by_side) {
            let message = format!(
                "the load '{name}' runs against all gateways of a block side by side, but {generator} can send load to only one at a time"
            );
            return Some((
                message,
                "choose a load without `side_by_side` (--load), or use the built-in load generator",
            ));
        }
        let mut loads = plan.scenarios.iter().map(|it| plan.load_of(&it.scenario));
        let name = &loads.find(|load| load.cold)?.profile;
        let message = format!(
            "the load '{name}' begins at the gateway's first correct response, but {generator} takes too long to start"
        );
        let remedy = "choose a load without `cold` (--load), or use the built-in load generator";
        Some((message, remedy))
    }

    fn warnings(&self, limits: Limits) -> Vec<Warning> {
        let engine = format!("{} {}", self.generator, self.identity.version);
        let warning = |(how, what): (_, Vec<String>)| Warning::ExternalGenerator {
            engine: engine.clone(),
            how,
            what: what.join("; "),
        };
        let kinds = [
            ("differs from the plan", limits.not_expressed),
            ("does not report", limits.not_measured),
        ];
        let kinds = kinds.into_iter().filter(|(_, what)| !what.is_empty());
        kinds.map(warning).collect()
    }
}

/// Returns the number of threads of the load generator: the number in the specification, or
/// otherwise one per core.
pub(crate) fn threads(plan: &Plan) -> usize {
    let asked = plan.study.engine_threads();
    let cores = plan.placement.engine.len();
    asked.map_or(cores, |threads| threads as usize)
}

/// Describes the activities of the plan that do not take place, because they need the built-in load
/// generator.
fn unsupported_activities(plan: &Plan) -> Vec<String> {
    let scenarios = || plan.scenarios.iter();
    let mut fetches = scenarios().filter_map(|it| it.metrics.as_ref()?.scrape_every);
    let mut calls = scenarios().filter_map(|it| it.admin.as_ref()?.under_load_every);
    let fetches = fetches.next();
    let fetches = fetches.map(|_| "the gateway's own metrics are not fetched during the load");
    let calls = calls.next();
    let calls = calls.map(|_| "the gateway's admin interface is not called during the load");
    let all = fetches.into_iter().chain(calls);
    all.map(str::to_owned).collect()
}

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

fn add<T: PartialEq>(known: &mut Vec<T>, new: Vec<T>) {
    for item in new {
        if !known.contains(&item) {
            known.push(item);
        }
    }
}
