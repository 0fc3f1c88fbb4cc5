//! A suite: gateways, scenarios and the load.

use std::collections::BTreeMap;

use gatebench_config::schema_fragments;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::Settle;
use crate::study::SuiteStudy;

/// One suite file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The suite's name: lowercase letters, digits and hyphens.
    #[schemars(schema_with = "schema_fragments::name")]
    pub suite: String,
    /// A one-line description.
    pub title: String,
    /// Gateways by name or folder, with an optional configuration; `--gateway` replaces the list.
    #[schemars(length(min = 1))]
    pub gateways: Vec<SuiteGateway>,
    /// Scenarios by name, or paths of files next to this one, with an optional load.
    #[schemars(length(min = 1))]
    pub scenarios: Vec<SuiteScenario>,
    /// Load profile by name, or path of a file next to this one.
    pub load: String,
    /// The number of repetitions, each with fresh processes of every gateway.
    #[schemars(range(min = 1, max = 10_000))]
    pub blocks: u32,
    /// The maximum number of retries of a failed trial. Every attempt is kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 10))]
    pub retries: u32,
    /// The wait for a quiet machine before each load [default: no wait].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settle>,
    /// True if the load is also sent directly to the upstream.
    #[serde(default = "yes", alias = "floor")]
    #[schemars(extend("aliases" = ["floor"]))]
    pub direct: bool,
    /// True if the null gateway, which only copies bytes, is measured in the scenarios where it is
    /// comparable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub null_gateway: bool,
    /// True if the bare network is measured before each closed direct load with a constant number
    /// of connections and without TLS or HTTP/2. The messages are as large as the load's first
    /// request and its response, and their contents are not read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network_ceiling: bool,
    /// The sizes of each gateway in CPUs. There is a variant for each size that the machine can
    /// provide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 0.01, max = 4_096.0)))]
    pub cpus: Vec<f64>,
    /// The settings for `--as-published`, from the document that the suite repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_published: Option<AsPublished>,
    /// The study of the run, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<SuiteStudy>,
}

impl Suite {
    /// A suite of one block without gateways or scenarios; other settings have the same defaults as
    /// in a file.
    pub fn new(
        suite: impl Into<String>,
        title: impl Into<String>,
        load: impl Into<String>,
    ) -> Self {
        Self {
            suite: suite.into(),
            title: title.into(),
            load: load.into(),
            blocks: 1,
            direct: true,
            ..Self::default()
        }
    }
}

fn yes() -> bool {
    true
}

// serde calls this function with a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A gateway of a suite: its name or folder, optionally with the user's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SuiteGateway {
    /// A gateway with the configuration that its folder renders.
    Named(String),
    /// A gateway with the user's configuration.
    Configured(ConfiguredGateway),
}

/// A gateway with the user's configuration, as with `--config`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfiguredGateway {
    /// The gateway's name or folder.
    pub gateway: String,
    /// The path of the configuration next to this file.
    pub config: String,
}

impl SuiteGateway {
    /// The name or folder.
    pub fn word(&self) -> &str {
        match self {
            Self::Named(word) => word,
            Self::Configured(configured) => &configured.gateway,
        }
    }

    pub fn config(&self) -> Option<&str> {
        match self {
            Self::Named(_) => None,
            Self::Configured(configured) => Some(&configured.config),
        }
    }
}

impl From<String> for SuiteGateway {
    fn from(word: String) -> Self {
        Self::Named(word)
    }
}

/// A scenario of a suite: its name, optionally with its own loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SuiteScenario {
    /// A scenario with the suite's loads.
    Named(String),
    /// A scenario with its own loads.
    Loaded(ScenarioLoads),
}

/// The loads of a scenario, which replace the suite's loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioLoads {
    /// The scenario's name, or the path of its file next to this one.
    pub scenario: String,
    /// Load profile that replaces the suite's `load`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// Load profile that replaces the `load` under the suite's `as_published`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_published: Option<String>,
}

/// The loads and the number of repetitions of a published document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AsPublished {
    /// Load profile by name, or path of a file next to this one.
    pub load: String,
    /// The number of repetitions.
    #[schemars(range(min = 1, max = 10_000))]
    pub blocks: u32,
    /// Load profiles that replace `load`, if the document has a different load for each size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_cpus: Vec<LoadOfSize>,
}

/// The load profiles that a suite uses at one size of the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadOfSize {
    /// The size, one of the suite's `cpus`.
    #[schemars(range(min = 0.01, max = 4_096.0))]
    pub cpus: f64,
    /// Load profile by name, or path of a file next to this one.
    pub load: String,
    /// Load profiles that replace `load` for individual scenarios, by scenario name.
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

    /// Returns the scenario's own `load` or, if `as_published` is true, its own `as_published`.
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
