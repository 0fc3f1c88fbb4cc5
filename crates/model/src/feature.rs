//! The features of a gateway, as its folder states them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of support that a gateway has for a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// The gateway has a built-in function or a directive for the feature.
    Native,
    /// A script provides the feature, in a language that the gateway ships with.
    Script,
    /// The gateway has the feature, but this folder does not use it.
    Unused,
    /// The gateway does not have the feature.
    Unsupported,
}

/// A statement about a feature: a keyword, or a mapping from the keyword to an explanation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Feature {
    Word(Support),
    /// A keyword with an explanation and further facts.
    Explained(ExplainedFeature),
}

/// A statement with its explanation.
// serde cannot combine `deny_unknown_fields` with `flatten`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExplainedFeature {
    #[serde(flatten)]
    pub statement: Statement,
    /// Missing parts of the policy. A scenario that requires one of them is *not supported*.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// A separately installed part of the gateway, required by the feature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Extra>,
}

/// A keyword of [`Support`] with an explanation for readers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Statement {
    /// The feature or directive of the gateway.
    Native(String),
    /// The language or the hook of the script.
    Script(String),
    /// The feature that the folder does not use.
    Unused(String),
    /// The reason why the gateway lacks the feature.
    Unsupported(String),
}

/// A separately installed part of a gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extra {
    /// A path that exists if the part is installed: an absolute path, as in
    /// `{{ prefix }}/lib/module.so`, or a path in gatebench's data folder. If the gateway runs from
    /// an image, the path must be absolute and exist in the image.
    pub path: String,
    /// A command that fails if the part is present but unusable, and prints the reason as its last
    /// line. It runs in the gateway's environment; `{{ binary }}` is the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test: Vec<String>,
    /// How to install the part: a command, or an instruction such as `follow https://...`.
    pub install: String,
}

impl Feature {
    pub fn support(&self) -> Support {
        match self {
            Self::Word(support) => *support,
            Self::Explained(explained) => explained.statement.parts().0,
        }
    }

    fn explained(&self) -> Option<&ExplainedFeature> {
        match self {
            Self::Word(_) => None,
            Self::Explained(explained) => Some(explained),
        }
    }

    pub fn explanation(&self) -> Option<&str> {
        let (_, text) = self.explained()?.statement.parts();
        // In a folder of contract 1, a supported feature has no explanation.
        Some(text).filter(|text| !text.is_empty())
    }

    pub fn without(&self) -> &[String] {
        self.explained().map_or(&[], |explained| &explained.without)
    }

    pub fn needs(&self) -> Option<&Extra> {
        self.explained()?.needs.as_ref()
    }
}

impl Statement {
    fn parts(&self) -> (Support, &str) {
        match self {
            Self::Native(text) => (Support::Native, text),
            Self::Script(text) => (Support::Script, text),
            Self::Unused(text) => (Support::Unused, text),
            Self::Unsupported(text) => (Support::Unsupported, text),
        }
    }
}
