//! A specification: a benchmark as named steps, as Kong's testing framework writes it, that runs for one version of a
//! gateway after the other.
//!
//! It has no conductor of its own: its steps say what a plan says, and become one. Scenarios are what `setup` names,
//! the load is that of `start_load`, and the variants are the versions that the command line gives for
//! `start_gateway`.

use gatebench_config::{Span, schema_fragments};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::load::{Closed, GatewayChange};
use crate::{Check, LoadProfile, Phase, Request, Scenario, Shape, Suite};

/// One specification file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// The specification's name: lower case, digits and hyphens.
    #[schemars(schema_with = "schema_fragments::name")]
    pub specification: String,
    /// One line for people.
    pub title: String,
    /// Words by which it can be chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema_fragments::tags")]
    pub tags: Vec<String>,
    /// How often a trial that failed is tried again. Every try is kept.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10))]
    pub retries: u32,
    /// How quiet the machine is before each load.
    #[serde(default)]
    pub settle: Settle,
    /// What is done, in this order.
    #[schemars(length(min = 1))]
    pub steps: Vec<Step>,
}

/// How quiet the machine is to be before a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// The machine's load average over the last minute, per core, below which it is quiet.
    #[serde(default = "quiet")]
    #[schemars(range(min = 0.01, max = 100.0))]
    pub load_per_core: f64,
    /// How long it is waited for. Then the load begins all the same, and the report says so; with 0s nothing is
    /// waited for.
    #[serde(default = "patience")]
    pub at_most: Span,
}

fn quiet() -> f64 {
    0.2
}

fn patience() -> Span {
    Span::from_millis(90_000)
}

impl Default for Settle {
    fn default() -> Self {
        Self {
            load_per_core: quiet(),
            at_most: patience(),
        }
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Step {
    /// A step without settings.
    Plain(#[schemars(schema_with = "plain_steps")] PlainStep),
    /// A step with settings.
    With(StepWithSettings),
}

/// The schema of the steps without settings.
fn plain_steps(_: &mut SchemaGenerator) -> Schema {
    let words = PlainStep::ALL.map(PlainStep::as_str);
    json_schema!({"type": "string", "enum": words})
}

/// The steps without settings, by the words of the framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlainStep {
    /// The origin that the scenarios name is started.
    StartUpstream,
    /// Each version of the gateway is started. Without this step the load goes straight to the upstream.
    StartGateway,
    /// The end of the load is waited for.
    WaitResult,
    /// The runs of each version become one row of the report.
    CombineResults,
    /// The report names the gateway's error log, which is kept in any case.
    SaveErrorLog,
    /// Gateway and upstream are ended.
    Teardown,
}

impl PlainStep {
    /// Every one, in the order in which they may stand.
    pub const ALL: [Self; 6] = [
        Self::StartUpstream,
        Self::StartGateway,
        Self::WaitResult,
        Self::CombineResults,
        Self::SaveErrorLog,
        Self::Teardown,
    ];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StartUpstream => "start_upstream",
            Self::StartGateway => "start_gateway",
            Self::WaitResult => "wait_result",
            Self::CombineResults => "combine_results",
            Self::SaveErrorLog => "save_error_log",
            Self::Teardown => "teardown",
        }
    }
}

/// The steps with settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepWithSettings {
    /// What the gateway is to do.
    Setup(SetupStep),
    /// What is sent, and how long.
    StartLoad(LoadStep),
}

/// Settings of `setup`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupStep {
    /// Scenarios by name, or paths of files beside this one: each is measured with each version. Several that count
    /// something up (routes, consumers) make a trend.
    #[schemars(length(min = 1))]
    pub scenarios: Vec<String>,
}

/// Settings of `start_load`: a closed load, as wrk has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadStep {
    /// What is asked for, in place of the scenario's requests; each answer must have the status 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema_fragments::optional_path")]
    pub path: Option<String>,
    /// Connections, each with one request in flight.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub connections: u32,
    /// Threads of wrk or h2load. gatebench's own engine has one on each of its cores, and k6 as many as it likes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub threads: Option<u32>,
    /// How long each run lasts.
    pub duration: Span,
    /// How long the same load goes before each run, discarded.
    #[serde(default = "warm_up")]
    pub warm_up: Span,
    /// Runs, one after the other, in the same process of the gateway.
    #[serde(default = "runs")]
    #[schemars(range(min = 1, max = 100))]
    pub runs: u32,
    /// A Lua script for wrk beside this file, in place of the scenario's requests. wrk then sends the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// What happens to the gateway in each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<GatewayChange>,
}

fn warm_up() -> Span {
    Span::from_millis(1_000)
}

fn runs() -> u32 {
    3
}

/// What a plan keeps of the specification that it was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Specified {
    /// Its name.
    pub name: String,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// How often a trial that failed is tried again.
    pub retries: u32,
    /// How quiet the machine is before each load.
    pub settle: Settle,
    /// Threads of the load engine, where it can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Whether the runs of each version are combined.
    pub combines: bool,
    /// Whether the error logs are named.
    pub saves_error_log: bool,
}

impl Specification {
    /// Whether a gateway is started; else the load goes straight to the upstream.
    pub fn has_gateway(&self) -> bool {
        self.has(PlainStep::StartGateway)
    }

    /// The settings of `setup`. There is one in every specification that was read.
    pub fn setup(&self) -> Option<&SetupStep> {
        self.steps.iter().find_map(|step| match step {
            Step::With(StepWithSettings::Setup(setup)) => Some(setup),
            _ => None,
        })
    }

    /// The settings of `start_load`. There is one in every specification that was read.
    pub fn load(&self) -> Option<&LoadStep> {
        self.steps.iter().find_map(|step| match step {
            Step::With(StepWithSettings::StartLoad(load)) => Some(load),
            _ => None,
        })
    }

    fn has(&self, plain: PlainStep) -> bool {
        self.steps.contains(&Step::Plain(plain))
    }

    /// The words of each step, in their order.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.steps.iter().map(|step| match step {
            Step::Plain(plain) => plain.as_str(),
            Step::With(StepWithSettings::Setup(_)) => "setup",
            Step::With(StepWithSettings::StartLoad(_)) => "start_load",
        })
    }

    /// The load: a phase for each run.
    pub fn load_profile(&self) -> LoadProfile {
        let runs = self.load().into_iter().flat_map(LoadStep::phases);
        LoadProfile {
            profile: self.specification.clone(),
            title: self.title.clone(),
            phases: runs.collect(),
        }
    }

    /// The suite that it is, but for the load.
    pub fn suite(&self) -> Suite {
        let gateway = self.has_gateway().then(|| "reference".to_owned());
        Suite {
            suite: self.specification.clone(),
            title: self.title.clone(),
            gateways: gateway.into_iter().collect(),
            scenarios: self
                .setup()
                .into_iter()
                .flat_map(|it| it.scenarios.iter().cloned().map(Into::into))
                .collect(),
            load: self.specification.clone(),
            blocks: 1,
            floor: !self.has_gateway(),
            cpus: Vec::new(),
            null_gateway: false,
            network_ceiling: false,
            as_published: None,
        }
    }

    /// Has a scenario ask for what `start_load` names, if it names anything.
    ///
    /// # Errors
    /// The path, where no route of the scenario has it.
    pub fn ask(&self, scenario: &mut Scenario) -> Result<(), String> {
        let Some(path) = self.load().and_then(|load| load.path.as_ref()) else {
            return Ok(());
        };
        if scenario.route_of(path).is_none() {
            return Err(path.clone());
        }
        // What the scenario itself checks of the same request is more than a status.
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

    /// What a plan keeps of it.
    pub fn specified(&self) -> Specified {
        Specified {
            name: self.specification.clone(),
            tags: self.tags.clone(),
            retries: self.retries,
            settle: self.settle,
            threads: self.load().and_then(|load| load.threads),
            combines: self.has(PlainStep::CombineResults),
            saves_error_log: self.has(PlainStep::SaveErrorLog),
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
    #![allow(clippy::unwrap_used)]
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
    fn its_steps_are_a_suite_and_a_load() {
        let found: Specification = parse("s.yaml", TEXT).unwrap();
        let suite = found.suite();
        assert_eq!((suite.blocks, suite.floor), (1, false));
        assert_eq!(suite.scenarios[0].word(), "routes-1");
        let load = found.load_profile();
        let phases: Vec<_> = load
            .phases
            .iter()
            .map(|it| (it.name.as_str(), it.warm_up, it.measure))
            .collect();
        let (warm_up, run) = (Span::from_millis(1_000), Span::from_millis(10_000));
        assert_eq!(
            phases,
            [
                ("run-1", warm_up, run),
                ("run-2", warm_up, run),
                ("run-3", warm_up, run)
            ]
        );
        let kept = found.specified();
        assert_eq!((kept.retries, kept.threads), (2, Some(5)));
        assert!(kept.combines && kept.saves_error_log);
        assert_eq!(kept.settle, Settle::default());
        let words: Vec<_> = found.words().collect();
        assert_eq!(words[..3], ["setup", "start_upstream", "start_gateway"]);
    }

    #[test]
    fn without_a_gateway_it_is_the_floor() {
        let text = TEXT
            .replace("  - start_gateway\n", "")
            .replace("  - save_error_log\n", "");
        let found: Specification = parse("s.yaml", &text).unwrap();
        let suite = found.suite();
        assert!(suite.floor && suite.gateways.is_empty());
        assert!(!found.specified().saves_error_log);
    }

    #[test]
    fn a_path_takes_the_place_of_the_requests() {
        let found: Specification = parse("s.yaml", TEXT).unwrap();
        let text = "{scenario: s, title: t, upstream: go-bench, routes: [{name: r, path: /route-1, strip_path: true}], \
                    requests: [{path: /route-1/size/350B, checks: [status: 200]}]}";
        let mut scenario: Scenario = parse("s.yaml", text).unwrap();
        found.ask(&mut scenario).unwrap();
        assert_eq!(scenario.requests[0].path, "/route-1/json/valid");
        assert_eq!(scenario.requests[0].checks, [Check::Status(200)]);
        scenario.routes[0].path = "/other".into();
        assert_eq!(found.ask(&mut scenario), Err("/route-1/json/valid".into()));
    }
}
