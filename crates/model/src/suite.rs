//! A suite (plan file): which gateways go through which scenarios under which load.

use std::collections::BTreeMap;

use gatebench_config::schema_fragments;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settle::Settle;
use crate::study::SuiteStudy;

/// One suite file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The suite's name: lower case, digits and hyphens.
    #[schemars(schema_with = "schema_fragments::name")]
    pub suite: String,
    /// One line for people.
    pub title: String,
    /// Gateways by name or folder; `--gateway` replaces the list.
    #[schemars(length(min = 1))]
    pub gateways: Vec<String>,
    /// Scenarios by name, or paths of files beside this one; those with a load of their own say it.
    #[schemars(length(min = 1))]
    pub scenarios: Vec<SuiteScenario>,
    /// Load profile by name, or path of a file beside this one.
    pub load: String,
    /// Repetitions, each with a fresh process of every variant.
    #[schemars(range(min = 1, max = 10_000))]
    pub blocks: u32,
    /// How often a trial that failed is tried again. Every try is kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 10))]
    pub retries: u32,
    /// How quiet the machine is before each load; none where nothing is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settle>,
    /// Whether the upstream is also loaded directly.
    #[serde(default = "yes", alias = "floor")]
    #[schemars(extend("aliases" = ["floor"]))]
    pub direct: bool,
    /// True if the null gateway, which only copies bytes, is loaded too, in comparable scenarios.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub null_gateway: bool,
    /// Whether the bare network is measured before each direct load: messages as large as
    /// requests and answers, that nobody reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network_ceiling: bool,
    /// What each gateway may use at most, in CPUs: a variant of it for each size that the machine has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 0.01, max = 4_096.0)))]
    pub cpus: Vec<f64>,
    /// What the document that it repeats has asked for: `--as-published`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_published: Option<AsPublished>,
    /// What the run is made for besides its loads; none where they are all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<SuiteStudy>,
}

fn yes() -> bool {
    true
}

/// For serde, which passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A scenario of a suite: its name, or its name and its loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SuiteScenario {
    /// The suite's loads are its.
    Named(String),
    /// It has loads of its own.
    Loaded(ScenarioLoads),
}

/// The loads of one scenario, in place of the suite's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioLoads {
    /// The scenario's name, or the path of its file beside this one.
    pub scenario: String,
    /// Load profile in place of the suite's `load`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// Load profile in place of the suite's under `as_published`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_published: Option<String>,
}

/// The durations, ramps and users of a published document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AsPublished {
    /// Load profile by name, or path of a file beside this one.
    pub load: String,
    /// Repetitions.
    #[schemars(range(min = 1, max = 10_000))]
    pub blocks: u32,
    /// Load profiles of sizes, in place of `load`, where the document has one for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_cpus: Vec<LoadOfSize>,
}

/// The load of a size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadOfSize {
    /// The size, one of the suite's `cpus`.
    #[schemars(range(min = 0.01, max = 4_096.0))]
    pub cpus: f64,
    /// Load profile by name, or path of a file beside this one.
    pub load: String,
    /// Load profiles of single scenarios of the suite in place of it, by the words of these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub of_scenarios: BTreeMap<String, String>,
}

impl SuiteScenario {
    /// The name or path.
    pub fn word(&self) -> &str {
        match self {
            Self::Named(word) => word,
            Self::Loaded(loads) => &loads.scenario,
        }
    }

    /// The load that it has of its own.
    pub fn load(&self, as_published: bool) -> Option<&str> {
        match self {
            Self::Named(_) => None,
            Self::Loaded(loads) if as_published => loads.as_published.as_deref(),
            Self::Loaded(loads) => loads.load.as_deref(),
        }
    }
}

impl From<String> for SuiteScenario {
    fn from(word: String) -> Self {
        Self::Named(word)
    }
}
