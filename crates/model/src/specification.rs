//! A specification: a benchmark written as the steps of Kong's testing framework, which contain the
//! same information as a suite and a load.
//!
//! The order of the steps is fixed, except that `combine_results` and `save_error_log` may be
//! swapped. A specification therefore states only which steps it has, and the settings of `setup`
//! and `start_load`. `setup` names the scenarios, and `start_load` is the load. The versions for
//! `start_gateway`, which are the variants, come from the command line.

use gatebench_config::{HumanDuration, schema_fragments};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::load::{Closed, GatewayChange};
use crate::{Check, LoadProfile, Phase, Request, Scenario, Settle, Shape, Specified, Suite};

/// One specification file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// The specification's name: lowercase letters, digits and hyphens.
    #[schemars(schema_with = "schema_fragments::name")]
    pub specification: String,
    /// A one-line description.
    pub title: String,
    /// Words by which the specification can be selected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema_fragments::tags")]
    pub tags: Vec<String>,
    /// The maximum number of retries of a failed trial. Every attempt is kept.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10))]
    pub retries: u32,
    /// The wait for a quiet machine before each load.
    #[serde(default)]
    pub settle: Settle,
    /// The steps, in order.
    #[schemars(length(min = 1))]
    pub steps: Vec<Step>,
}

/// No route of a scenario matches the path that `start_load` requests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no route of the scenario matches {path}")]
pub struct NoRoute {
    pub path: String,
}

pub(crate) struct KnownStep {
    pub(crate) word: &'static str,
    /// The step's position in the order. Steps with the same position may come in any order.
    pub(crate) place: u8,
    pub(crate) is_needed: bool,
}

const fn step(word: &'static str, place: u8, is_needed: bool) -> KnownStep {
    KnownStep {
        word,
        place,
        is_needed,
    }
}

pub(crate) const SETUP: &str = "setup";
pub(crate) const START_LOAD: &str = "start_load";
/// The optional step that starts a gateway. Without it, the load is sent straight to the upstream.
pub(crate) const START_GATEWAY: &str = "start_gateway";
/// The optional step that combines the runs of each version into one row of the report.
const COMBINE_RESULTS: &str = "combine_results";
/// The optional step that makes the report name the gateway's error log, which is always kept.
pub(crate) const SAVE_ERROR_LOG: &str = "save_error_log";

/// The steps by their names in the framework, in order.
pub(crate) static STEPS: [KnownStep; 8] = [
    step(SETUP, 0, true),
    step("start_upstream", 1, true),
    step(START_GATEWAY, 2, false),
    step(START_LOAD, 3, true),
    step("wait_result", 4, true),
    step(COMBINE_RESULTS, 5, false),
    step(SAVE_ERROR_LOG, 5, false),
    step("teardown", 6, true),
];

/// An entry of a specification's `steps`: a bare word, or a map with settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Step {
    /// A step without settings.
    Plain(#[schemars(schema_with = "plain_steps")] String),
    /// A step with settings.
    With(StepWithSettings),
}

fn plain_steps(_: &mut SchemaGenerator) -> Schema {
    let words = STEPS.iter().map(|step| step.word);
    let plain = words.filter(|word| ![SETUP, START_LOAD].contains(word));
    let words: Vec<&str> = plain.collect();
    json_schema!({"type": "string", "enum": words})
}

/// A step with settings, written as a map with one key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepWithSettings {
    /// The scenarios to be measured.
    Setup(SetupStep),
    /// The load and its length.
    StartLoad(LoadStep),
}

/// Settings of `setup`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupStep {
    /// Scenarios by name, or paths of files next to this one. Each scenario is measured with each
    /// version. If scenarios differ only in a number (of routes, consumers or upstreams), the
    /// combined results include a chart of the throughput by that number.
    #[schemars(length(min = 1))]
    pub scenarios: Vec<String>,
}

/// Settings of `start_load`: a closed load like wrk's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadStep {
    /// The path to request, instead of the scenario's requests. Each response must pass the checks
    /// of the scenario's GET request for this path or, if there is none, have the status 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema_fragments::optional_path")]
    pub path: Option<String>,
    /// Connections, each with one request in flight.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub connections: u32,
    /// Threads of wrk or h2load. The built-in load generator has one on each of its cores, and k6
    /// chooses its own number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub threads: Option<u32>,
    /// The length of each run.
    pub duration: HumanDuration,
    /// The minimum length of the warm-up before each run, with the same load. Its figures are
    /// discarded.
    #[serde(default = "warm_up")]
    pub warm_up: HumanDuration,
    /// The number of consecutive runs in the same gateway process.
    #[serde(default = "runs")]
    #[schemars(range(min = 1, max = 100))]
    pub runs: u32,
    /// A Lua script next to this file, instead of the scenario's requests. wrk then sends the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The change to the gateway in each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<GatewayChange>,
}

fn warm_up() -> HumanDuration {
    HumanDuration::from_millis(1_000)
}

fn runs() -> u32 {
    3
}

impl Specification {
    pub fn has_gateway(&self) -> bool {
        self.has(START_GATEWAY)
    }

    fn has(&self, word: &str) -> bool {
        let is_it = |step: &Step| matches!(step, Step::Plain(plain) if plain == word);
        self.steps.iter().any(is_it)
    }

    /// The settings of `setup`, which every valid specification has.
    pub fn setup(&self) -> Option<&SetupStep> {
        self.steps.iter().find_map(|step| match step {
            Step::With(StepWithSettings::Setup(setup)) => Some(setup),
            _ => None,
        })
    }

    /// The settings of `start_load`, which every valid specification has.
    pub fn load(&self) -> Option<&LoadStep> {
        self.steps.iter().find_map(|step| match step {
            Step::With(StepWithSettings::StartLoad(load)) => Some(load),
            _ => None,
        })
    }

    /// Returns the load, with a phase for each run.
    pub fn load_profile(&self) -> LoadProfile {
        let runs = self.load().into_iter().flat_map(LoadStep::phases);
        LoadProfile {
            profile: self.specification.clone(),
            title: self.title.clone(),
            cold: false,
            phases: runs.collect(),
        }
    }

    /// Returns the corresponding suite, without the load.
    pub fn suite(&self) -> Suite {
        let gateway = self.has_gateway().then(|| "reference".to_owned());
        let scenarios = self.setup().into_iter().flat_map(|it| &it.scenarios);
        Suite {
            gateways: gateway.into_iter().map(Into::into).collect(),
            scenarios: scenarios.cloned().map(Into::into).collect(),
            retries: self.retries,
            settle: Some(self.settle),
            direct: !self.has_gateway(),
            ..Suite::new(&self.specification, &self.title, &self.specification)
        }
    }

    /// Replaces the scenario's requests with a request for the path in `start_load`, if it names
    /// one.
    ///
    /// # Errors
    /// No route of the scenario matches the path.
    pub fn ask(&self, scenario: &mut Scenario) -> Result<(), NoRoute> {
        let Some(path) = self.load().and_then(|load| load.path.as_ref()) else {
            return Ok(());
        };
        if scenario.route_of(path).is_none() {
            return Err(NoRoute { path: path.clone() });
        }
        // If the scenario has the same request, its checks are used, because they are usually
        // stricter than a check of the status.
        let written = scenario
            .load_requests()
            .find(|it| it.path == *path && it.method == "GET");
        let request = written.cloned().unwrap_or_else(|| Request {
            checks: vec![Check::Status(200)],
            ..Request::new("GET", path)
        });
        scenario.requests = vec![request];
        scenario.groups.clear();
        Ok(())
    }

    pub fn specified(&self) -> Specified {
        Specified {
            name: self.specification.clone(),
            tags: self.tags.clone(),
            threads: self.load().and_then(|load| load.threads),
            combines: self.has(COMBINE_RESULTS),
            saves_error_log: self.has(SAVE_ERROR_LOG),
            ..Specified::default()
        }
    }
}

impl LoadStep {
    fn phases(&self) -> impl Iterator<Item = Phase> {
        (1..=self.runs).map(|number| {
            let shape = Shape::Closed(Closed::new(self.connections));
            Phase {
                warm_up: self.warm_up,
                change: self.change.clone(),
                ..Phase::new(format!("run-{number}"), shape, self.duration)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use gatebench_config::parse;

    use super::*;

    const TEXT: &str = "
specification: single-route
title: One route
tags: [single_route, routes]
retries: 2
steps:
  - setup: {scenarios: [routes-1]}
  - start_upstream
  - start_gateway
  - start_load: {path: /route-1/json/valid, connections: 100, threads: 5, duration: 10s}
  - wait_result
  - combine_results
  - save_error_log
  - teardown
";

    #[test]
    fn the_steps_become_a_suite_and_a_load() {
        let found: Specification = parse("s.yaml", TEXT).unwrap();
        let suite = found.suite();
        assert_eq!((suite.blocks, suite.direct), (1, false));
        assert_eq!(suite.scenarios[0].word(), "routes-1");
        let load = found.load_profile();
        let phases = load.phases.iter();
        let phases: Vec<_> = phases
            .map(|it| (&*it.name, it.warm_up, it.measure))
            .collect();
        let [warm_up, run] = [1_000, 10_000].map(HumanDuration::from_millis);
        let expected = ["run-1", "run-2", "run-3"].map(|name| (name, warm_up, run));
        assert_eq!(phases, expected);
        let kept = found.specified();
        assert_eq!((suite.retries, kept.threads), (2, Some(5)));
        assert!(kept.combines && kept.saves_error_log);
        assert_eq!(suite.settle, Some(Settle::default()));
    }

    #[test]
    fn without_a_gateway_the_suite_has_the_direct_variant() {
        let text = TEXT
            .replace("  - start_gateway\n", "")
            .replace("  - save_error_log\n", "");
        let found: Specification = parse("s.yaml", &text).unwrap();
        let suite = found.suite();
        assert!(suite.direct && suite.gateways.is_empty());
        assert!(!found.specified().saves_error_log);
    }

    #[test]
    fn a_path_replaces_the_requests() {
        let found: Specification = parse("s.yaml", TEXT).unwrap();
        let text = "{scenario: s, title: t, upstream: go-bench, routes: [{name: r, path: /route-1, strip_path: true}], \
                    requests: [{path: /route-1/size/350B, checks: [status: 200]}]}";
        let mut scenario: Scenario = parse("s.yaml", text).unwrap();
        found.ask(&mut scenario).unwrap();
        assert_eq!(scenario.requests[0].path, "/route-1/json/valid");
        assert_eq!(scenario.requests[0].checks, [Check::Status(200)]);
        scenario.routes[0].path = "/other".into();
        let path = "/route-1/json/valid".into();
        assert_eq!(found.ask(&mut scenario), Err(NoRoute { path }));
    }
}
